//! Records from outside: partitioned, deduplicated, one commit for each request.
//!
//! ```text
//! domain `ingest`
//! d TOPIC 0x00 ID        -> version, body hash, time, append of each record, offsets
//! t TIME d TOPIC 0x00 ID -> nothing: the order in which entries expire
//! ```
//! The entry is in the same record as the records (rule P18), with the offsets that
//! they got there, so a repeat gets the first answer whatever happened between.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use weir_core::{
    batch::{Batch, Event},
    ids::{Epoch, EventTime, Offset, Partition, TopicName, hash_key},
};

use crate::{
    Append, Change, Commit, DomainName, Page, Receipt, Store, StoreError, TopicInfo,
    codec::Input,
    journal::record::{Prepared, RECORD_BYTES_MAX},
};

/// How long an id is known.
pub const DEDUPE_KEPT: Duration = Duration::from_secs(24 * 60 * 60);
/// Entries that one commit of [`Ingest::expire`] removes.
const EXPIRE_AT_ONCE: usize = 10_000;
const VERSION: u8 = 1;

/// Takes records for topics, in the commit domain `ingest`.
pub struct Ingest {
    store: Arc<Store>,
    turn: AtomicUsize,
    in_flight: Mutex<HashMap<Vec<u8>, Flight>>,
}

/// A record that has no place yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewRecord {
    /// Decides the partition; without one the partitions take turns.
    pub key: Option<Bytes>,
    /// The value.
    pub value: Bytes,
    /// Event time.
    pub timestamp: EventTime,
    /// Names and values; names need not be unique.
    pub headers: Vec<(String, Bytes)>,
    /// The partition, if the sender has chosen.
    pub partition: Option<Partition>,
}

/// Records of a request.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "one per request, taken apart at once")]
pub enum NewRecords {
    /// One by one.
    List(Vec<NewRecord>),
    /// As columns; partitions are chosen as for [`NewRecord`].
    Batch(Batch),
}

/// What makes a repeated request known.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Dedupe {
    /// The id of the request.
    pub id: DedupeId,
    /// Hash of the request's body: a repeat must have the same.
    pub body_hash: [u8; 32],
}

/// The id of a request. Ids of one topic say nothing about another.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum DedupeId {
    /// The header `Idempotency-Key`.
    Key(String),
    /// The headers `X-Weir-Producer` and `X-Weir-Sequence`.
    Producer {
        /// Who sends.
        producer: String,
        /// Which of its requests it is.
        sequence: u64,
    },
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ingested {
    /// For each record, in the order of the request, its partition and offset.
    pub records: Vec<(Partition, Offset)>,
    /// Was it a repeat, answered as the first was?
    pub repeated: bool,
}

/// Called once with the outcome: on the thread that steps or, if nothing must be
/// stored, at once.
pub type IngestDone = Box<dyn FnOnce(Result<Ingested, StoreError>) + Send>;

struct Flight {
    body_hash: [u8; 32],
    waiting: Vec<IngestDone>,
}

impl Ingest {
    /// Takes records into this store. One per store: it knows what is in flight.
    #[must_use]
    pub fn new(store: Arc<Store>) -> Arc<Self> {
        Arc::new(Self { store, turn: AtomicUsize::new(0), in_flight: Mutex::default() })
    }

    /// Appends records to a topic, all or nothing, in one commit with its dedupe entry.
    ///
    /// A repeat within [`DEDUPE_KEPT`] is answered as the first was; while the first is
    /// in flight it waits for that answer. The same id with another body is
    /// `IdempotencyConflict`. Without records nothing is stored.
    ///
    /// Also refused as `UnknownTopic`, `TopicClosed`, `TooLarge` and `Full`.
    pub fn append(
        self: &Arc<Self>,
        topic: &TopicName,
        records: NewRecords,
        dedupe: Option<Dedupe>,
        done: IngestDone,
    ) {
        let Some(TopicInfo { id: topic_id, .. }) = self.store.topic(topic) else {
            return done(Err(StoreError::UnknownTopic(topic.clone())));
        };
        let request = self.place(topic, records);
        let Some(dedupe) = dedupe else {
            match request {
                Ok(request) if request.batches.is_empty() => {
                    done(Ok(request.places.answer(&[], false)))
                }
                Ok(request) => self.submit(topic, request, None, done),
                Err(error) => done(Err(error)),
            }
            return;
        };
        let key = entry_key(topic, topic_id, &dedupe.id);
        let mut in_flight = self.in_flight();
        if let Some(flight) = in_flight.get_mut(&key) {
            if flight.body_hash == dedupe.body_hash {
                flight.waiting.push(done);
            } else {
                drop(in_flight);
                done(Err(StoreError::IdempotencyConflict));
            }
            return;
        }
        // What is no more in flight can be seen in the store.
        let known = self.known(&key);
        if let Ok(None) = known {
            match request {
                Ok(request) => {
                    in_flight.insert(
                        key.clone(),
                        Flight { body_hash: dedupe.body_hash, waiting: Vec::new() },
                    );
                    drop(in_flight);
                    self.submit(topic, request, Some((key, dedupe.body_hash)), done);
                }
                Err(error) => {
                    drop(in_flight);
                    done(Err(error));
                }
            }
            return;
        }
        drop(in_flight);
        done(known.and_then(|known| match known {
            Some(entry) if entry.body_hash == dedupe.body_hash => {
                Ok(entry.places.answer(&entry.firsts, true))
            }
            _ => Err(StoreError::IdempotencyConflict),
        }));
    }

    /// Removes dedupe entries that are too old, a bounded number in one commit. Call it
    /// every minute. What could not be removed is removed later.
    ///
    /// # Errors
    /// If the rows can not be read.
    pub fn expire(self: &Arc<Self>) -> Result<(), StoreError> {
        let until = time_key(self.oldest_kept(), &[]);
        let domain = DomainName::ingest();
        let page = Page { rows: EXPIRE_AT_ONCE, ..Page::default() };
        let expired = self.store.scan(&domain, b"t", Some(&until), page)?.rows;
        if expired.is_empty() {
            return Ok(());
        }
        let mut rows = Vec::with_capacity(2 * expired.len());
        for (key, _) in expired {
            let entry = key.get(TIME_PREFIX..).unwrap_or_default().to_vec();
            // The id may have been used again since.
            let still = self.store.get(&domain, &entry)?.and_then(|value| Entry::decode(&value));
            if still.is_none_or(|entry| entry.time < self.oldest_kept()) {
                rows.push(Change { key: entry, value: None });
            }
            rows.push(Change { key, value: None });
        }
        let commit = Commit { domain, epoch: Epoch(0), rows, appends: Vec::new() };
        self.store.submit(
            commit,
            Box::new(|result| {
                if let Err(error) = result {
                    tracing::warn!(%error, "old dedupe entries could not be removed; trying again");
                }
            }),
        );
        Ok(())
    }

    /// Chooses a partition for each record.
    fn place(&self, topic: &TopicName, records: NewRecords) -> Result<Request, StoreError> {
        let unknown = || StoreError::UnknownTopic(topic.clone());
        let info = self.store.topic(topic).ok_or_else(unknown)?;
        let count = info.partitions.len();
        let size: usize = match &records {
            NewRecords::List(records) => {
                records.iter().map(|r| r.value.len() + r.key.as_ref().map_or(0, Bytes::len)).sum()
            }
            NewRecords::Batch(batch) => batch.bytes(),
        };
        if size as u64 > RECORD_BYTES_MAX {
            return Err(StoreError::TooLarge {
                what: "a request",
                size: size as u64,
                limit: RECORD_BYTES_MAX,
            });
        }
        let mut request = Request::default();
        // Which append a partition has.
        let mut appends: Vec<Option<u16>> = vec![None; count];
        match records {
            NewRecords::List(records) => {
                for record in records {
                    let key = record.key.as_deref();
                    let chosen = record
                        .partition
                        .map_or_else(|| self.partition(key.map(hash_key), count), |p| p.0 as usize);
                    let batch = request.batch(&mut appends, chosen).ok_or_else(|| {
                        let partition = Partition(u32::try_from(chosen).unwrap_or(u32::MAX));
                        StoreError::UnknownPartition { topic: topic.clone(), partition }
                    })?;
                    let timestamp = record.timestamp.0;
                    batch.push(Event {
                        timestamp,
                        key,
                        value: &record.value,
                        port: 0,
                        origin: None,
                    });
                    for (name, value) in &record.headers {
                        batch.push_header(name, value);
                    }
                }
            }
            NewRecords::Batch(batch) if count == 1 && !batch.is_empty() => {
                request.places =
                    Places { partitions: vec![Partition(0)], places: vec![0; batch.len()] };
                request.batches = vec![batch];
            }
            NewRecords::Batch(batch) => {
                for i in 0..batch.len() {
                    let hash = batch.key(i).map(|_| batch.hash(i));
                    let to = request
                        .batch(&mut appends, self.partition(hash, count))
                        .ok_or_else(unknown)?;
                    to.push_from(&batch, i);
                }
            }
        }
        Ok(request)
    }

    fn partition(&self, hash: Option<u64>, count: usize) -> usize {
        match hash {
            Some(hash) => (hash % count.max(1) as u64) as usize,
            None => self.turn.fetch_add(1, Ordering::Relaxed) % count.max(1),
        }
    }

    /// Queues the commit of a request, with its entry if it has an id.
    fn submit(
        self: &Arc<Self>,
        topic: &TopicName,
        request: Request,
        entry: Option<(Vec<u8>, [u8; 32])>,
        done: IngestDone,
    ) {
        let Request { places, batches } = request;
        let appends = places.partitions.iter().zip(batches).map(|(partition, batch)| Append {
            topic: topic.clone(),
            partition: *partition,
            records: Arc::new(batch),
        });
        let mut commit = Commit {
            domain: DomainName::ingest(),
            epoch: Epoch(0),
            rows: Vec::new(),
            appends: appends.collect(),
        };
        let now = self.store.clock.now().wall;
        let receipt = entry.as_ref().map(|(key, body_hash)| {
            commit.rows.push(Change { key: time_key(now, key), value: Some(Bytes::new()) });
            (key.clone(), Entry::encode(&places, body_hash, now))
        });
        let ingest = self.clone();
        let answer = move |result: Result<Receipt, StoreError>| {
            let result = result.map(|receipt| {
                let firsts: Vec<Offset> =
                    receipt.appended.iter().map(|(_, _, first, _)| *first).collect();
                places.answer(&firsts, false)
            });
            let flight = entry.and_then(|(key, _)| ingest.in_flight().remove(&key));
            for waiting in flight.into_iter().flat_map(|flight| flight.waiting) {
                waiting(result.clone().map(|answer| Ingested { repeated: true, ..answer }));
            }
            done(result);
        };
        self.store.submit_prepared(Prepared::new(commit, receipt), Box::new(answer));
    }

    fn known(&self, key: &[u8]) -> Result<Option<Entry>, StoreError> {
        let Some(value) = self.store.get(&DomainName::ingest(), key)? else { return Ok(None) };
        let entry = Entry::decode(&value).ok_or_else(|| StoreError::Damaged {
            segment: "ingest".into(),
            offset: 0,
            problem: "a dedupe entry can not be read".into(),
        })?;
        Ok(Some(entry).filter(|entry| entry.time >= self.oldest_kept()))
    }

    fn oldest_kept(&self) -> EventTime {
        EventTime(self.store.clock.now().wall.0.saturating_sub(DEDUPE_KEPT.as_millis() as i64))
    }

    fn in_flight(&self) -> MutexGuard<'_, HashMap<Vec<u8>, Flight>> {
        self.in_flight.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Which records of a request went where.
#[derive(Default)]
struct Places {
    /// Partition of each append.
    partitions: Vec<Partition>,
    /// The append of each record. Within an append records keep their order.
    places: Vec<u16>,
}

/// A request whose records have partitions.
#[derive(Default)]
struct Request {
    places: Places,
    batches: Vec<Batch>,
}

impl Request {
    /// The batch for the next record; `None` if there is no such partition.
    fn batch(&mut self, appends: &mut [Option<u16>], partition: usize) -> Option<&mut Batch> {
        let append = appends.get_mut(partition)?;
        let place = *append.get_or_insert_with(|| {
            self.places.partitions.push(Partition(partition as u32));
            self.batches.push(Batch::default());
            (self.batches.len() - 1) as u16
        });
        self.places.places.push(place);
        self.batches.get_mut(place as usize)
    }
}

impl Places {
    /// The answer, when the first offset of each append is known.
    fn answer(&self, firsts: &[Offset], repeated: bool) -> Ingested {
        let mut next: Vec<u64> = firsts.iter().map(|first| first.0).collect();
        let records = self.places.iter().filter_map(|place| {
            let next = next.get_mut(*place as usize)?;
            let offset = Offset(*next);
            *next += 1;
            Some((*self.partitions.get(*place as usize)?, offset))
        });
        Ingested { records: records.collect(), repeated }
    }
}

/// A dedupe entry.
struct Entry {
    body_hash: [u8; 32],
    time: EventTime,
    places: Places,
    firsts: Vec<Offset>,
}

impl Entry {
    /// All but the offsets, which the store adds (8 bytes each, big-endian).
    fn encode(places: &Places, body_hash: &[u8; 32], time: EventTime) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        bytes.extend_from_slice(body_hash);
        bytes.extend_from_slice(&time.0.to_le_bytes());
        bytes.extend_from_slice(&(places.partitions.len() as u32).to_le_bytes());
        for partition in &places.partitions {
            bytes.extend_from_slice(&partition.0.to_le_bytes());
        }
        bytes.extend_from_slice(&(places.places.len() as u32).to_le_bytes());
        // With one append there is nothing to tell apart.
        if places.partitions.len() > 1 {
            bytes.extend(places.places.iter().flat_map(|place| place.to_le_bytes()));
        }
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut input = Input(bytes);
        if input.u8()? != VERSION {
            return None;
        }
        let body_hash = input.bytes(32)?.try_into().ok()?;
        let time = EventTime(input.u64()? as i64);
        let appends = input.u32()? as usize;
        let partitions = input.bytes(appends.checked_mul(4)?)?.as_chunks().0;
        let records = input.u32()? as usize;
        let places = match appends {
            0 | 1 => vec![0; records],
            _ => input
                .bytes(records.checked_mul(2)?)?
                .as_chunks()
                .0
                .iter()
                .map(|p| u16::from_le_bytes(*p))
                .collect(),
        };
        let firsts = input.bytes(appends.checked_mul(8)?)?.as_chunks().0;
        input.0.is_empty().then(|| Self {
            body_hash,
            time,
            places: Places {
                partitions: partitions.iter().map(|p| Partition(u32::from_le_bytes(*p))).collect(),
                places,
            },
            firsts: firsts.iter().map(|first| Offset(u64::from_be_bytes(*first))).collect(),
        })
    }
}

/// Length of what comes before the entry's key in the key of its time.
const TIME_PREFIX: usize = 9;

fn time_key(time: EventTime, entry: &[u8]) -> Vec<u8> {
    // The sign is turned over, so that negative times come first.
    let time = (time.0 as u64) ^ (1 << 63);
    [b"t", time.to_be_bytes().as_slice(), entry].concat()
}

/// Of this very topic: one that is created again under its name takes again what the
/// one before took.
fn entry_key(topic: &TopicName, topic_id: u64, id: &DedupeId) -> Vec<u8> {
    let topic = [topic.as_str().as_bytes(), b"\0", &topic_id.to_be_bytes()].concat();
    match id {
        DedupeId::Key(key) => [b"d", topic.as_slice(), b"k", key.as_bytes()].concat(),
        DedupeId::Producer { producer, sequence } => {
            let sequence = sequence.to_be_bytes();
            [b"d", topic.as_slice(), b"p", &sequence, producer.as_bytes()].concat()
        }
    }
}

#[cfg(test)]
mod tests;
