use std::{path::Path, time::Duration};

use weir_core::ids::hash_key;

use super::*;
use crate::{
    Options, Page, SimDisk, ViewKind,
    store::tests::{Promise, ROOT, StillClock, create, topic, values},
};

struct Fixture {
    disk: SimDisk,
    clock: Arc<StillClock>,
    store: Arc<Store>,
    ingest: Arc<Ingest>,
}

impl Fixture {
    fn new(partitions: u32) -> Self {
        let fixture = Self::open(SimDisk::new(5), Arc::default());
        create(&fixture.store, "t", partitions).unwrap();
        fixture
    }

    fn open(disk: SimDisk, clock: Arc<StillClock>) -> Self {
        let store = Store::open(
            Path::new(ROOT),
            Arc::new(disk.clone()),
            ViewKind::Memory,
            clock.clone(),
            Options::default(),
        )
        .unwrap();
        let ingest = Ingest::new(store.clone());
        Self { disk, clock, store, ingest }
    }

    fn again(self) -> Self {
        let Self { disk, clock, .. } = self;
        disk.crash();
        Self::open(disk, clock)
    }

    fn queue(
        &self,
        records: Vec<NewRecord>,
        dedupe: Option<Dedupe>,
    ) -> Promise<Result<Ingested, StoreError>> {
        let (promise, done) = Promise::new();
        self.ingest.append(&topic("t"), NewRecords::List(records), dedupe, done);
        promise
    }

    fn append(
        &self,
        records: Vec<NewRecord>,
        dedupe: Option<Dedupe>,
    ) -> Result<Ingested, StoreError> {
        let promise = self.queue(records, dedupe);
        while self.store.step() {}
        promise.get().expect("answered")
    }
}

fn record(key: Option<&str>, value: &str) -> NewRecord {
    let bytes = |text: &str| Bytes::copy_from_slice(text.as_bytes());
    NewRecord {
        key: key.map(bytes),
        value: bytes(value),
        timestamp: EventTime(7),
        headers: Vec::new(),
        partition: None,
    }
}

fn dedupe(key: &str, body: u8) -> Option<Dedupe> {
    Some(Dedupe { id: DedupeId::Key(key.into()), body_hash: [body; 32] })
}

#[test]
fn keys_choose_the_partition_and_without_one_they_take_turns() {
    let fixture = Fixture::new(3);
    let answer = fixture
        .append(vec![record(Some("a"), "1"), record(Some("b"), "2"), record(Some("a"), "3")], None)
        .unwrap();
    for (key, (partition, _)) in ["a", "b", "a"].iter().zip(&answer.records) {
        assert_eq!(u64::from(partition.0), hash_key(key.as_bytes()) % 3);
    }
    assert_eq!(
        answer.records[2].1,
        Offset(answer.records[0].1.0 + 1 + u64::from(answer.records[0].0 == answer.records[1].0))
    );
    let answer = fixture.append((0..6).map(|_| record(None, "x")).collect(), None).unwrap();
    for partition in 0..3 {
        assert_eq!(answer.records.iter().filter(|(p, _)| p.0 == partition).count(), 2);
    }
    let chosen = NewRecord { partition: Some(Partition(1)), ..record(Some("a"), "x") };
    assert_eq!(fixture.append(vec![chosen.clone()], None).unwrap().records[0].0, Partition(1));
    let wrong = NewRecord { partition: Some(Partition(3)), ..chosen };
    let refused = fixture.append(vec![wrong], None).unwrap_err().to_string();
    assert_eq!(refused, "there is no partition `t/3`");
}

#[test]
fn a_batch_goes_where_its_records_would() {
    let fixture = Fixture::new(2);
    let mut batch = Batch::default();
    for key in ["a", "b", "c", "d"] {
        batch.push(Event {
            timestamp: 1,
            key: Some(key.as_bytes()),
            value: key.as_bytes(),
            port: 0,
            origin: None,
        });
        batch.push_header("n", key.as_bytes());
    }
    let (promise, done) = Promise::new();
    fixture.ingest.append(&topic("t"), NewRecords::Batch(batch), None, done);
    fixture.store.step();
    for (key, (partition, offset)) in
        ["a", "b", "c", "d"].iter().zip(promise.get().unwrap().unwrap().records)
    {
        let read = fixture.store.read(&topic("t"), partition, offset, 1, 1).unwrap().batch;
        assert_eq!((read.key(0), read.value(0)), (Some(key.as_bytes()), key.as_bytes()));
        assert_eq!(read.headers[0].value, key.as_bytes());
    }
}

#[test]
fn a_repeat_gets_the_first_answer_also_after_a_crash() {
    let fixture = Fixture::new(4);
    let records = || (0..20).map(|i| record(Some(&format!("k{i}")), "v")).collect::<Vec<_>>();
    fixture.append(records(), None).unwrap();
    let first = fixture.append(records(), dedupe("id", 1)).unwrap();
    assert!(!first.repeated);
    let fixture = fixture.again();
    fixture.append(records(), None).unwrap();
    let again = fixture.append(records(), dedupe("id", 1)).unwrap();
    assert_eq!(again, Ingested { repeated: true, ..first });
    assert!(matches!(
        fixture.append(records(), dedupe("id", 2)),
        Err(StoreError::IdempotencyConflict)
    ));
    let producer = |sequence| {
        Some(Dedupe {
            id: DedupeId::Producer { producer: "id".into(), sequence },
            body_hash: [1; 32],
        })
    };
    assert!(!fixture.append(records(), producer(1)).unwrap().repeated);
    assert!(!fixture.append(records(), producer(2)).unwrap().repeated);
    assert!(fixture.append(records(), producer(1)).unwrap().repeated);
}

#[test]
fn a_repeat_while_the_first_is_in_flight_waits_for_its_answer() {
    let fixture = Fixture::new(1);
    let answers = [1, 1, 2].map(|body| fixture.queue(vec![record(None, "x")], dedupe("id", body)));
    assert!(matches!(answers[2].get(), Some(Err(StoreError::IdempotencyConflict))));
    assert!(answers[1].get().is_none());
    fixture.store.step();
    let first = answers[0].get().unwrap().unwrap();
    assert_eq!(answers[1].get().unwrap().unwrap(), Ingested { repeated: true, ..first });
    assert_eq!(values(&fixture.store, "t", 0), ["x"]);
}

#[test]
fn a_topic_that_is_created_again_takes_again_what_the_one_before_took() {
    let fixture = Fixture::new(1);
    fixture.append(vec![record(None, "x")], dedupe("id", 1)).unwrap();
    let (promise, done) = Promise::new();
    fixture.store.delete_topic(&topic("t"), done);
    fixture.store.step();
    promise.get().unwrap().unwrap();
    let gone = fixture.append(vec![record(None, "x")], dedupe("id", 1));
    assert!(matches!(gone, Err(StoreError::UnknownTopic(name)) if name == topic("t")));
    create(&fixture.store, "t", 1).unwrap();
    assert!(!fixture.append(vec![record(None, "x")], dedupe("id", 1)).unwrap().repeated);
    assert_eq!(values(&fixture.store, "t", 0), ["x"]);
}

#[test]
fn what_was_refused_is_not_remembered() {
    let fixture = Fixture::new(1);
    fixture.disk.set_capacity(Some(fixture.disk.used()));
    let answers = [1, 1].map(|body| fixture.queue(vec![record(None, "x")], dedupe("id", body)));
    fixture.store.step();
    assert!(answers.iter().all(|answer| matches!(answer.get(), Some(Err(StoreError::Full)))));
    fixture.disk.set_capacity(None);
    assert!(!fixture.append(vec![record(None, "x")], dedupe("id", 2)).unwrap().repeated);
}

#[test]
fn ids_are_forgotten_after_a_day() {
    let fixture = Fixture::new(1);
    fixture.append(vec![record(None, "x")], dedupe("old", 1)).unwrap();
    fixture.clock.advance(DEDUPE_KEPT - Duration::from_secs(1));
    fixture.append(vec![record(None, "x")], dedupe("new", 1)).unwrap();
    assert!(fixture.append(vec![record(None, "x")], dedupe("old", 1)).unwrap().repeated);
    fixture.clock.advance(Duration::from_secs(2));
    assert!(!fixture.append(vec![record(None, "y")], dedupe("old", 2)).unwrap().repeated);
    fixture.ingest.expire().unwrap();
    fixture.store.step();
    let rows = fixture.store.scan(&DomainName::ingest(), b"", None, Page::default()).unwrap().rows;
    // The new one and the one that was used again, each with its time.
    assert_eq!(rows.len(), 4);
    assert!(fixture.append(vec![record(None, "y")], dedupe("old", 2)).unwrap().repeated);
    fixture.clock.advance(DEDUPE_KEPT + Duration::from_secs(1));
    fixture.ingest.expire().unwrap();
    fixture.store.step();
    let none = fixture.store.scan(&DomainName::ingest(), b"", None, Page::default()).unwrap();
    assert!(none.rows.is_empty());
}

#[test]
fn without_records_nothing_is_stored() {
    let fixture = Fixture::new(1);
    let before = fixture.store.last_epoch(&DomainName::ingest());
    assert!(fixture.append(vec![], None).unwrap().records.is_empty());
    assert_eq!(fixture.store.last_epoch(&DomainName::ingest()), before);
    assert!(matches!(
        {
            let (promise, done) = Promise::new();
            fixture.ingest.append(&topic("none"), NewRecords::List(vec![]), None, done);
            promise.get()
        },
        Some(Err(StoreError::UnknownTopic(_)))
    ));
}

#[test]
fn times_sort_as_keys() {
    let times = [i64::MIN, -5, -1, 0, 1, 500, i64::MAX].map(|time| time_key(EventTime(time), b"x"));
    assert!(times.is_sorted());
}
