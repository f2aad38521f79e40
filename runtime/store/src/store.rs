//! The store: commits in, rows and records out.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use weir_core::{
    clock::Clock,
    ids::{Epoch, Offset, Partition, TopicName},
};

use crate::{
    Change, Commit, Disk, DomainName, Done, Options, Receipt, StoreError, Threads, ViewKind,
    disk::Lock,
    group::{self, Outcome, Plan},
    journal::{Journal, record::Prepared},
    lock,
    meta::{Meta, TOPIC_PREFIX, TopicRow},
    queue::{Decide, Entry, Queue},
    recover::{Recovered, recover},
    registry,
    rows::{Page, RowStore, Scanned},
    snapshot,
    threads::Alarm,
    topics::{Read, TopicConfig, TopicInfo, Topics, Watch, watch::Watchers},
};

/// Rows: keys and values, ascending by key.
pub type Rows = Vec<(Vec<u8>, Bytes)>;

/// Called once with the outcome, on the thread that steps.
pub type TopicDone = Box<dyn FnOnce(Result<TopicInfo, StoreError>) + Send>;

/// Beyond so many times `settle_bytes`, commits wait for rows to be settled.
const SETTLE_LIMIT: u64 = 8;
/// Prefixes of rows in the domain `meta` that belong to the store.
const RESERVED: [&str; 4] =
    [TOPIC_PREFIX, registry::MODULE_PREFIX, registry::PIPELINE_PREFIX, registry::REVISION_PREFIX];

/// A journaled, ordered key-value store per commit domain, with topics.
pub struct Store {
    pub(crate) root: PathBuf,
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) queue: Queue,
    pub(crate) alarm: Alarm,
    options: Options,
    core: Mutex<Core>,
    rows: RowStore,
    topics: Topics,
    watchers: Arc<Watchers>,
    upkeep: Mutex<Upkeep>,
    /// When the last commit was, in milliseconds of the monotonic clock.
    last_commit: AtomicU64,
    _lock: Lock,
}

/// What only a step changes.
struct Core {
    journal: Journal,
    meta: Meta,
}

struct Upkeep {
    /// Position of the newest snapshot.
    snapshot: u64,
    /// A topic file could not be synced: what it holds is in doubt until it is written
    /// anew from the journal, at the next open.
    topics_in_doubt: bool,
}

impl Store {
    /// Opens a data directory, creating it if it is missing, and recovers: everything
    /// that was acknowledged is there, of everything else all or nothing.
    ///
    /// # Errors
    /// `Locked`, `Format`, `Damaged` (with the place), `Full`, `Io`.
    pub fn open(
        dir: &Path,
        disk: Arc<dyn Disk>,
        view: ViewKind,
        clock: Arc<dyn Clock>,
        options: Options,
    ) -> Result<Arc<Store>, StoreError> {
        disk.create_dir(dir).map_err(|e| StoreError::io("creating", dir, e))?;
        let held = lock::take(&*disk, dir)?;
        lock::check_format(&*disk, dir)?;
        registry::open(&*disk, dir)?;
        let Recovered { journal, meta, rows, topics, snapshot } =
            recover(dir, &disk, view, &options)?;
        Ok(Arc::new(Self {
            root: dir.into(),
            disk,
            last_commit: AtomicU64::new(milliseconds(clock.now().monotonic)),
            clock,
            queue: Queue::default(),
            alarm: Alarm::default(),
            options,
            core: Mutex::new(Core { journal, meta }),
            rows,
            topics,
            watchers: Arc::default(),
            upkeep: Mutex::new(Upkeep { snapshot, topics_in_doubt: false }),
            _lock: held,
        }))
    }

    /// Queues a commit. `done` is called from [`Store::step`] once it is durable, or
    /// refused. The order of queueing is the order in the journal.
    ///
    /// Refused as `Fenced`, `UnknownTopic`, `TopicClosed`, `TooLarge`, `Reserved` or
    /// `Full` it has left nothing behind; as `Stopped` it may turn up at the next open.
    pub fn submit(&self, commit: Commit, done: Done) {
        let reserved =
            (commit.domain == DomainName::meta()).then_some(&commit.rows).and_then(|rows| {
                let owner = |row: &Change| {
                    RESERVED.into_iter().find(|prefix| row.key.starts_with(prefix.as_bytes()))
                };
                rows.iter().find_map(owner)
            });
        let prepared = match reserved {
            Some(prefix) => Err(StoreError::Reserved(prefix)),
            None => Prepared::new(commit, None),
        };
        self.submit_prepared(prepared, done);
    }

    pub(crate) fn submit_prepared(&self, prepared: Result<Prepared, StoreError>, done: Done) {
        let entry = match prepared {
            Ok(prepared) => Entry::Commit(Box::new(prepared), done),
            Err(error) => Entry::Refused(error, done),
        };
        if let Err(Entry::Commit(_, done) | Entry::Refused(_, done)) = self.queue.push(entry) {
            done(Err(stopping()));
        }
    }

    /// Queues a decision: see [`Decide`].
    pub(crate) fn decide(&self, decide: Decide) {
        if let Err(Entry::Decide(decide)) = self.queue.push(Entry::Decide(decide)) {
            decide(Err(stopping()));
        }
    }

    /// One group commit: appends what is queued, syncs once, makes it visible, calls
    /// the `done`s. Returns false if nothing was queued. For ONE owner: the thread of
    /// [`Store::spawn`] or the simulation.
    pub fn step(&self) -> bool {
        let entries = self.queue.take(self.options.group_bytes);
        if entries.is_empty() {
            return false;
        }
        if self.rows.unsettled_bytes() > self.options.settle_bytes.saturating_mul(SETTLE_LIMIT)
            && let Err(error) = self.rows.settle()
        {
            tracing::error!(%error, "rows could not be settled: they stay in memory");
        }
        let stopped = self.stopped();
        let entries = entries.into_iter().filter_map(|entry| match entry {
            Entry::Commit(prepared, done) => Some((Ok(prepared), done)),
            Entry::Refused(error, done) => Some((Err(error), done)),
            Entry::Decide(decide) => {
                // What is in doubt could decide otherwise.
                let store = stopped.clone().map_or(Ok(self), Err);
                decide(store).map(|(prepared, done)| (Ok(Box::new(prepared)), done))
            }
        });
        let entries: Vec<_> = entries.collect();
        let (outcomes, touched) = self.commit(entries);
        self.watchers.wake(&touched);
        for Outcome { done, result } in outcomes {
            done(result.map(|prepared| group::receipt(&prepared)));
        }
        true
    }

    /// Makes a group durable and visible. Also answers the topics that it touched.
    fn commit(
        &self,
        entries: Vec<(Result<Box<Prepared>, StoreError>, Done)>,
    ) -> (Vec<Outcome>, Vec<TopicName>) {
        let mut core = self.core();
        let mut touched = Vec::new();
        let behind = self.topics.catch_up(&mut touched).err();
        let mut plan = Plan::new(&core.meta, core.journal.end(), behind);
        let admit = |(prepared, done): (Result<Box<Prepared>, _>, _)| {
            let result = prepared.and_then(|prepared| plan.admit(prepared));
            Outcome { done, result }
        };
        let mut outcomes: Vec<Outcome> = entries.into_iter().map(admit).collect();
        let records: Vec<&[u8]> = outcomes
            .iter()
            .filter_map(|outcome| Some(outcome.result.as_ref().ok()?.bytes.as_slice()))
            .collect();
        if records.is_empty() {
            return (outcomes, touched);
        }
        if let Err(error) = core.journal.append(&records) {
            for outcome in outcomes.iter_mut().filter(|outcome| outcome.result.is_ok()) {
                outcome.result = Err(error.clone());
            }
            return (outcomes, touched);
        }
        let mut rows = Vec::new();
        for prepared in outcomes.iter_mut().filter_map(|outcome| outcome.result.as_mut().ok()) {
            self.publish(&mut core.meta, prepared, &mut touched);
            rows.push((
                prepared.domain.clone(),
                prepared.epoch,
                std::mem::take(&mut prepared.rows),
            ));
        }
        self.rows.apply(core.journal.end(), rows.into_iter());
        drop(core);
        touched.sort_unstable();
        touched.dedup();
        self.last_commit.store(milliseconds(self.clock.now().monotonic), Ordering::Relaxed);
        if self.rows.unsettled_bytes() > self.options.settle_bytes {
            self.alarm.ring();
        }
        (outcomes, touched)
    }

    /// Takes a durable commit into what the store knows of itself, and into its topics.
    fn publish(&self, meta: &mut Meta, prepared: &Prepared, touched: &mut Vec<TopicName>) {
        let changed = meta
            .on_epoch(&prepared.domain, prepared.epoch.0)
            .and_then(|_| meta.on_rows(&prepared.domain, &prepared.rows));
        match changed {
            Ok(changed) => {
                for name in changed {
                    self.topics.follow(&name, meta.topics.get(&name));
                    touched.push(name);
                }
            }
            Err(contradiction) => {
                tracing::error!(domain = %prepared.domain, epoch = %prepared.epoch, problem = contradiction.0, "a commit could not be followed");
            }
        }
        for append in &prepared.appends {
            if let Err(contradiction) =
                meta.on_append(&append.topic, append.partition.0, append.first.0, append.count)
            {
                tracing::error!(topic = %append.topic, problem = contradiction.0, "an append could not be followed");
                continue;
            }
            let bytes = prepared.bytes.get(append.bytes.clone()).unwrap_or_default();
            self.topics.append(
                &append.topic,
                append.partition,
                append.first,
                &append.blocks,
                bytes,
            );
            touched.push(append.topic.clone());
        }
    }

    /// Upkeep that is due: the rest marker, settling rows into the view, snapshots,
    /// dropping old segments. May run beside [`Store::step`], in another thread.
    ///
    /// # Errors
    /// What failed is tried again at the next call, except a sync of topic files:
    /// those are written anew at the next open, and until then no journal is dropped.
    pub fn upkeep(&self) -> Result<(), StoreError> {
        let mut upkeep = self.upkeep.lock().unwrap_or_else(PoisonError::into_inner);
        let last = self.last_commit.load(Ordering::Relaxed);
        let idle =
            Duration::from_millis(milliseconds(self.clock.now().monotonic).saturating_sub(last));
        let caught_up = self.catch_up();
        if idle >= self.options.rest_after {
            self.rest()?;
        }
        let unsettled = self.rows.unsettled_bytes();
        if unsettled > self.options.settle_bytes
            || (unsettled > 0 && idle >= self.options.settle_idle)
        {
            self.rows.settle()?;
        }
        let due =
            self.rows.position().saturating_sub(upkeep.snapshot) > self.options.snapshot_bytes;
        if due && caught_up.is_ok() && !upkeep.topics_in_doubt {
            self.snapshot(&mut upkeep)?;
        }
        caught_up
    }

    fn snapshot(&self, upkeep: &mut Upkeep) -> Result<(), StoreError> {
        // The view goes ahead of the snapshot, so that it can follow from the journal
        // that is kept.
        let position = self.rows.settle()?;
        self.catch_up()?;
        let segments = self.core().journal.segments();
        if let Err(error) = self.topics.sync() {
            upkeep.topics_in_doubt = true;
            return Err(error);
        }
        snapshot::make(&*self.disk, &self.root, &segments, position)?;
        upkeep.snapshot = position;
        let Some(needed) = snapshot::prune(&*self.disk, &snapshot::dir(&self.root))? else {
            return Ok(());
        };
        let gone = self.core().journal.forget_before(needed);
        for path in gone {
            self.disk.remove(&path).map_err(|e| StoreError::io("removing", &path, e))?;
        }
        Ok(())
    }

    /// Writes topic records that waited for the disk, and tells their readers.
    fn catch_up(&self) -> Result<(), StoreError> {
        let mut touched = Vec::new();
        let core = self.core();
        let result = self.topics.catch_up(&mut touched);
        drop(core);
        self.watchers.wake(&touched);
        result
    }

    fn rest(&self) -> Result<(), StoreError> {
        match self.core().journal.rest() {
            // It says nothing that must be said.
            Ok(_) | Err(StoreError::Full) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Starts the threads that step and keep up.
    ///
    /// # Errors
    /// If the system gives no threads.
    pub fn spawn(self: &Arc<Self>) -> std::io::Result<Threads> {
        Threads::spawn(self)
    }

    /// Commits what is queued, says in the journal that nothing is in doubt, and settles
    /// all rows, so that the next open is quick. Only needed where [`Store::spawn`] is
    /// not used.
    ///
    /// # Errors
    /// Those of [`Store::upkeep`]; nothing is lost then.
    pub fn close(&self) -> Result<(), StoreError> {
        while self.step() {}
        self.rest()?;
        if self.rows.unsettled_bytes() > 0 { self.rows.settle().map(drop) } else { Ok(()) }
    }

    /// Why the store takes no more commits, if it does not.
    #[must_use]
    pub fn stopped(&self) -> Option<StoreError> {
        self.core().journal.stopped()
    }

    /// The last durable epoch of a domain; 0 if it has none.
    #[must_use]
    pub fn last_epoch(&self, domain: &DomainName) -> Epoch {
        self.rows.epoch(domain)
    }

    /// A row as of the last durable commit.
    ///
    /// # Errors
    /// If the view can not be read.
    pub fn get(&self, domain: &DomainName, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        self.rows.get(domain, key)
    }

    /// The first page of rows with `from <= key < to`, ascending, as of the last durable
    /// commit. Commits of the domain wait while it runs.
    ///
    /// # Errors
    /// If the view can not be read.
    pub fn scan(
        &self,
        domain: &DomainName,
        from: &[u8],
        to: Option<&[u8]>,
        page: Page,
    ) -> Result<Scanned, StoreError> {
        self.rows.scan(domain, from, to, page)
    }

    /// All rows with `from <= key < to`, ascending, read in pages of the default size:
    /// each as of the last durable commit when it is read.
    ///
    /// # Errors
    /// If the view can not be read; nothing comes after an error.
    pub fn scan_all(
        &self,
        domain: &DomainName,
        from: &[u8],
        to: Option<&[u8]>,
    ) -> impl Iterator<Item = Result<(Vec<u8>, Bytes), StoreError>> {
        let mut next = Some(from.to_vec());
        let pages = std::iter::from_fn(move || {
            let scanned = self.scan(domain, &next.take()?, to, Page::default());
            Some(scanned.map(|page| {
                next = page.next;
                page.rows
            }))
        });
        pages.flat_map(|page| {
            let (rows, error) = page.map_or_else(|e| (Rows::new(), Some(e)), |rows| (rows, None));
            rows.into_iter().map(Ok).chain(error.map(Err))
        })
    }

    /// Removes all rows of a domain in one commit, when its turn comes. Its epochs go
    /// on counting.
    pub fn clear_domain(&self, domain: &DomainName, done: Done) {
        let domain = domain.clone();
        self.decide(Box::new(move |store| {
            let removal = store.and_then(|store| {
                let rows = store.scan_all(&domain, &[], None);
                rows.map(|row| row.map(|(key, _)| Change { key, value: None })).collect()
            });
            match removal {
                Ok(rows) => {
                    prepare(Commit { domain, epoch: Epoch(0), rows, appends: Vec::new() }, done)
                }
                Err(error) => {
                    done(Err(error));
                    None
                }
            }
        }));
    }

    /// Creates a topic, as a commit. One that exists with the same settings is
    /// answered; with others it is `TopicConflict`.
    pub fn create_topic(&self, name: &TopicName, config: TopicConfig, done: TopicDone) {
        let partitions = config.partitions;
        self.change_topic(name, done, move |name, known, next_id| {
            let limit = u64::from(TopicConfig::PARTITIONS_MAX);
            if partitions == 0 || u64::from(partitions) > limit {
                return Err(StoreError::TooLarge {
                    what: "the number of partitions",
                    size: partitions.into(),
                    limit,
                });
            }
            match known {
                None => Ok(Some(Some(TopicRow { id: next_id, partitions, closed: false }))),
                Some(row) if row.partitions == partitions => Ok(None),
                Some(row) => Err(StoreError::TopicConflict {
                    topic: name.clone(),
                    partitions: row.partitions,
                }),
            }
        });
    }

    /// Closes a topic: it takes no more records, and finite readers end at its end.
    pub fn close_topic(&self, name: &TopicName, done: TopicDone) {
        self.change_topic(name, done, |name, known, _| match known {
            None => Err(StoreError::UnknownTopic(name.clone())),
            Some(row) if row.closed => Ok(None),
            Some(row) => Ok(Some(Some(TopicRow { closed: true, ..row }))),
        });
    }

    /// Deletes a topic with its records. Answers what it was.
    pub fn delete_topic(&self, name: &TopicName, done: TopicDone) {
        self.change_topic(name, done, |name, known, _| match known {
            None => Err(StoreError::UnknownTopic(name.clone())),
            Some(_) => Ok(Some(None)),
        });
    }

    /// Changes the row of a topic as `change` says, which sees the row and the id for a
    /// new one: `None` changes nothing, `Some(None)` removes it.
    fn change_topic(
        &self,
        name: &TopicName,
        done: TopicDone,
        change: impl FnOnce(
            &TopicName,
            Option<TopicRow>,
            u64,
        ) -> Result<Option<Option<TopicRow>>, StoreError>
        + Send
        + 'static,
    ) {
        let name = name.clone();
        self.decide(Box::new(move |store| {
            let store = match store {
                Ok(store) => store,
                Err(error) => {
                    done(Err(error));
                    return None;
                }
            };
            let (row, next_id) = store.topic_row(&name);
            let before = store.topic(&name);
            let row = match change(&name, row, next_id) {
                Ok(Some(row)) => row,
                Ok(None) => {
                    done(before.ok_or(StoreError::UnknownTopic(name)));
                    return None;
                }
                Err(error) => {
                    done(Err(error));
                    return None;
                }
            };
            let rows = vec![Change {
                key: TopicRow::key(&name),
                value: row.map(|row| row.encode().into()),
            }];
            let commit =
                Commit { domain: DomainName::meta(), epoch: Epoch(0), rows, appends: Vec::new() };
            // What it is after the commit, or was before if it is gone.
            let info = store.topics.describe(&name, row.as_ref()).or(before);
            let answer = move |result: Result<Receipt, StoreError>| {
                done(result.and_then(|_| info.ok_or(StoreError::UnknownTopic(name))));
            };
            prepare(commit, Box::new(answer))
        }));
    }

    /// The row of a topic, and the id for a new one.
    fn topic_row(&self, name: &TopicName) -> (Option<TopicRow>, u64) {
        let core = self.core();
        let row = core.meta.topics.get(name);
        let row =
            row.map(|t| TopicRow { id: t.id, partitions: t.next.len() as u32, closed: t.closed });
        (row, core.meta.next_topic)
    }

    /// A topic.
    #[must_use]
    pub fn topic(&self, name: &TopicName) -> Option<TopicInfo> {
        self.topics.info(name)
    }

    /// All topics, by name.
    #[must_use]
    pub fn topics(&self) -> Vec<TopicInfo> {
        self.topics.infos()
    }

    /// Committed records from an offset on: at least one if there is one, at most
    /// `max_records`, and no more after `max_bytes` of keys and values are passed. May
    /// be fewer: a read likes to end where a stored block does. Past the end it is
    /// empty.
    ///
    /// # Errors
    /// `UnknownTopic`; `Damaged` if a stored block is not what was written.
    pub fn read(
        &self,
        topic: &TopicName,
        partition: Partition,
        from: Offset,
        max_records: usize,
        max_bytes: usize,
    ) -> Result<Read, StoreError> {
        self.topics.read(topic, partition, from, max_records, max_bytes)
    }

    /// Calls `wake` after each commit that added records to the topic, created, closed
    /// or deleted it, from the thread that steps. The topic need not exist yet.
    pub fn watch(&self, topic: &TopicName, wake: Arc<dyn Fn() + Send + Sync>) -> Watch {
        self.watchers.add(topic, wake)
    }

    fn core(&self) -> MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lays out a decided commit; what can not be is told at once.
pub(crate) fn prepare(commit: Commit, done: Done) -> Option<(Prepared, Done)> {
    match Prepared::new(commit, None) {
        Ok(prepared) => Some((prepared, done)),
        Err(error) => {
            done(Err(error));
            None
        }
    }
}

pub(crate) fn stopping() -> StoreError {
    StoreError::Stopped { reason: "it is shutting down".into() }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
pub(crate) mod tests;
