use std::{
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicI64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use weir_core::{
    batch::{Batch, Event},
    clock::{Clock, Now},
    ids::{Epoch, EventTime, Offset, Partition, TopicName},
};

use crate::{
    Append, Change, Commit, DomainName, Options, Page, RealDisk, Receipt, SimDisk, Store,
    StoreError, TopicConfig, TopicInfo, ViewKind,
};

mod crashes;
mod faults;

/// A clock that stands until it is set.
#[derive(Default)]
pub(crate) struct StillClock(AtomicI64);

impl StillClock {
    pub(crate) fn advance(&self, time: Duration) {
        self.0.fetch_add(time.as_millis() as i64, Ordering::SeqCst);
    }
}

impl Clock for StillClock {
    fn now(&self) -> Now {
        let ms = self.0.load(Ordering::SeqCst);
        Now { monotonic: Duration::from_millis(ms as u64), wall: EventTime(1_700_000_000_000 + ms) }
    }
}

pub(crate) const ROOT: &str = "/data";

pub(crate) fn open_with(disk: &SimDisk, options: Options) -> Result<Arc<Store>, StoreError> {
    Store::open(
        Path::new(ROOT),
        Arc::new(disk.clone()),
        ViewKind::Memory,
        Arc::new(StillClock::default()),
        options,
    )
}

pub(crate) fn open(disk: &SimDisk) -> Arc<Store> {
    open_with(disk, Options::default()).unwrap()
}

/// An answer that is given by callback.
pub(crate) struct Promise<T>(Arc<Mutex<Option<T>>>);

impl<T: Send + 'static> Promise<T> {
    pub(crate) fn new() -> (Self, Box<dyn FnOnce(T) + Send>) {
        let shared = Arc::new(Mutex::new(None));
        let to = shared.clone();
        (Self(shared), Box::new(move |value| *to.lock().unwrap() = Some(value)))
    }

    pub(crate) fn get(&self) -> Option<T> {
        self.0.lock().unwrap().take()
    }
}

pub(crate) fn domain(name: &str) -> DomainName {
    name.parse().unwrap()
}

pub(crate) fn topic(name: &str) -> TopicName {
    name.parse().unwrap()
}

pub(crate) fn put(key: &str, value: &str) -> Change {
    Change { key: key.into(), value: Some(Bytes::copy_from_slice(value.as_bytes())) }
}

pub(crate) fn remove(key: &str) -> Change {
    Change { key: key.into(), value: None }
}

pub(crate) fn batch(values: &[&str]) -> Batch {
    let mut batch = Batch::default();
    for (i, value) in values.iter().enumerate() {
        batch.push(Event {
            timestamp: i as i64,
            key: Some(b"k"),
            value: value.as_bytes(),
            port: 0,
            origin: None,
        });
    }
    batch
}

pub(crate) fn append(name: &str, partition: u32, values: &[&str]) -> Append {
    Append { topic: topic(name), partition: Partition(partition), records: Arc::new(batch(values)) }
}

pub(crate) fn commit_of(name: &str, epoch: u64, rows: Vec<Change>, appends: Vec<Append>) -> Commit {
    Commit { domain: domain(name), epoch: Epoch(epoch), rows, appends }
}

pub(crate) fn submit(store: &Store, commit: Commit) -> Promise<Result<Receipt, StoreError>> {
    let (promise, done) = Promise::new();
    store.submit(commit, done);
    promise
}

pub(crate) fn commit(store: &Store, commit: Commit) -> Result<Receipt, StoreError> {
    let promise = submit(store, commit);
    while store.step() {}
    promise.get().expect("answered")
}

pub(crate) fn create(store: &Store, name: &str, partitions: u32) -> Result<TopicInfo, StoreError> {
    let (promise, done) = Promise::new();
    store.create_topic(&topic(name), TopicConfig { partitions }, done);
    while store.step() {}
    promise.get().expect("answered")
}

pub(crate) fn values(store: &Store, name: &str, partition: u32) -> Vec<String> {
    let mut values = Vec::new();
    let mut from = Offset(0);
    loop {
        let read = store.read(&topic(name), Partition(partition), from, 3, 1 << 20).unwrap();
        assert_eq!(read.first, from);
        if read.batch.is_empty() {
            assert_eq!(read.next, read.end);
            return values;
        }
        values.extend(
            (0..read.batch.len()).map(|i| String::from_utf8(read.batch.value(i).to_vec()).unwrap()),
        );
        assert_eq!(read.next.0, from.0 + read.batch.len() as u64);
        from = read.next;
    }
}

fn get(store: &Store, name: &str, key: &str) -> Option<Bytes> {
    store.get(&domain(name), key.as_bytes()).unwrap()
}

#[test]
fn what_was_acknowledged_is_there_after_a_crash() {
    let disk = SimDisk::new(1);
    let store = open(&disk);
    create(&store, "orders", 2).unwrap();
    let receipt = commit(
        &store,
        commit_of(
            "p",
            1,
            vec![put("a", "1"), put("b", "2")],
            vec![append("orders", 1, &["x", "y"])],
        ),
    );
    assert_eq!(receipt.unwrap().appended, vec![(topic("orders"), Partition(1), Offset(0), 2)]);
    let receipt =
        commit(&store, commit_of("p", 2, vec![remove("a")], vec![append("orders", 1, &["z"])]));
    assert_eq!(receipt.unwrap().appended[0].2, Offset(2));
    for _ in 0..3 {
        disk.crash();
        let store = open(&disk);
        assert_eq!(store.last_epoch(&domain("p")), Epoch(2));
        assert_eq!(get(&store, "p", "a"), None);
        assert_eq!(get(&store, "p", "b"), Some("2".into()));
        assert_eq!(values(&store, "orders", 1), ["x", "y", "z"]);
        assert_eq!(values(&store, "orders", 0), [""; 0]);
        assert_eq!(store.topic(&topic("orders")).unwrap().partitions[1].next, Offset(3));
    }
}

#[test]
fn nothing_is_visible_before_the_step_that_makes_it_durable() {
    let disk = SimDisk::new(1);
    let store = open(&disk);
    create(&store, "t", 1).unwrap();
    let answer =
        submit(&store, commit_of("p", 1, vec![put("a", "1")], vec![append("t", 0, &["x"])]));
    assert!(answer.get().is_none());
    assert_eq!(get(&store, "p", "a"), None);
    assert_eq!(store.last_epoch(&domain("p")), Epoch(0));
    assert!(store.read(&topic("t"), Partition(0), Offset(0), 10, 10).unwrap().batch.is_empty());
    assert!(store.step());
    assert_eq!(answer.get().unwrap().unwrap().epoch, Epoch(1));
    assert_eq!(get(&store, "p", "a"), Some("1".into()));
    assert!(!store.step());
}

#[test]
fn all_that_waits_shares_one_sync() {
    let disk = SimDisk::new(1);
    let store = open(&disk);
    let answers: Vec<_> = (0..50)
        .map(|i| submit(&store, commit_of(&format!("p{i}"), 0, vec![put("a", "1")], vec![])))
        .collect();
    let before = disk.syncs();
    assert!(store.step());
    assert_eq!(disk.syncs(), before + 1);
    assert!(answers.iter().all(|answer| answer.get().unwrap().is_ok()));
}

#[test]
fn a_commit_that_is_not_the_next_is_fenced() {
    let store = open(&SimDisk::new(1));
    commit(&store, commit_of("p", 1, vec![], vec![])).unwrap();
    for wrong in [1, 3] {
        let error = commit(&store, commit_of("p", wrong, vec![put("a", "1")], vec![])).unwrap_err();
        assert!(matches!(error, StoreError::Fenced { expected: Epoch(2), .. }), "{error}");
    }
    assert_eq!(get(&store, "p", "a"), None);
    // Several epochs may be in one group.
    let answers = [2, 3].map(|epoch| submit(&store, commit_of("p", epoch, vec![], vec![])));
    store.step();
    assert!(answers.iter().all(|answer| answer.get().unwrap().is_ok()));
    assert_eq!(commit(&store, commit_of("p", 0, vec![], vec![])).unwrap().epoch, Epoch(4));
}

#[test]
fn scans_see_overlay_and_view_as_one() {
    let disk = SimDisk::new(1);
    let store = open(&disk);
    commit(
        &store,
        commit_of("p", 0, (0..10).map(|i| put(&format!("k{i}"), "old")).collect(), vec![]),
    )
    .unwrap();
    store.close().unwrap();
    commit(
        &store,
        commit_of(
            "p",
            0,
            vec![remove("k3"), put("k5", "new"), put("k55", "new"), put("kz", "new")],
            vec![],
        ),
    )
    .unwrap();
    commit(&store, commit_of("q", 0, vec![put("k4", "other")], vec![])).unwrap();
    let scan = |from: &str, to: Option<&str>, limit| {
        let page = Page { rows: limit, ..Page::default() };
        let (from, to) = (from.as_bytes(), to.map(str::as_bytes));
        let found = store.scan(&domain("p"), from, to, page).unwrap();
        found
            .rows
            .into_iter()
            .map(|(k, v)| {
                format!("{}={}", String::from_utf8_lossy(&k), String::from_utf8_lossy(&v))
            })
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(scan("k2", Some("k7"), 100), "k2=old k4=old k5=new k55=new k6=old");
    assert_eq!(scan("k2", Some("k7"), 3), "k2=old k4=old k5=new");
    assert_eq!(scan("k9", None, 100), "k9=old kz=new");
    assert_eq!(scan("k7", Some("k2"), 100), "");
}

#[test]
fn readers_are_woken_until_they_drop_their_watch() {
    let store = open(&SimDisk::new(1));
    let woken = Arc::new(AtomicUsize::new(0));
    let count = woken.clone();
    let watch = store.watch(
        &topic("t"),
        Arc::new(move || {
            count.fetch_add(1, Ordering::SeqCst);
        }),
    );
    create(&store, "t", 2).unwrap();
    create(&store, "other", 2).unwrap();
    commit(&store, commit_of("p", 0, vec![], vec![append("t", 0, &["a"]), append("t", 1, &["b"])]))
        .unwrap();
    commit(&store, commit_of("p", 0, vec![], vec![append("other", 0, &["a"])])).unwrap();
    assert_eq!(woken.load(Ordering::SeqCst), 2);
    drop(watch);
    commit(&store, commit_of("p", 0, vec![], vec![append("t", 0, &["a"])])).unwrap();
    assert_eq!(woken.load(Ordering::SeqCst), 2);
}

#[test]
fn a_topic_created_again_begins_empty() {
    let disk = SimDisk::new(1);
    let store = open(&disk);
    assert_eq!(create(&store, "t", 2).unwrap().partitions.len(), 2);
    assert_eq!(create(&store, "t", 2).unwrap().partitions.len(), 2);
    assert!(matches!(create(&store, "t", 3), Err(StoreError::TopicConflict { partitions: 2, .. })));
    commit(&store, commit_of("p", 0, vec![], vec![append("t", 0, &["a"])])).unwrap();
    let (deleted, done) = Promise::new();
    store.delete_topic(&topic("t"), done);
    store.step();
    assert_eq!(deleted.get().unwrap().unwrap().partitions[0].next, Offset(1));
    assert!(store.topic(&topic("t")).is_none());
    assert!(matches!(
        commit(&store, commit_of("p", 0, vec![], vec![append("t", 0, &["a"])])),
        Err(StoreError::UnknownTopic(_))
    ));
    create(&store, "t", 1).unwrap();
    commit(&store, commit_of("p", 0, vec![], vec![append("t", 0, &["b"])])).unwrap();
    disk.crash();
    let store = open(&disk);
    assert_eq!(values(&store, "t", 0), ["b"]);
    let (closed, done) = Promise::new();
    store.close_topic(&topic("t"), done);
    store.step();
    assert!(closed.get().unwrap().unwrap().closed);
    assert!(matches!(
        commit(&store, commit_of("p", 0, vec![], vec![append("t", 0, &["a"])])),
        Err(StoreError::TopicClosed(_))
    ));
    disk.crash();
    assert!(open(&disk).topic(&topic("t")).unwrap().closed);
}

#[test]
fn snapshots_let_old_journal_go_and_lose_nothing() {
    let disk = SimDisk::new(1);
    let options = Options {
        segment_bytes: 2_000,
        snapshot_bytes: 5_000,
        settle_bytes: 3_000,
        topic_segment_bytes: 2_000,
        ..Options::default()
    };
    let store = open_with(&disk, options.clone()).unwrap();
    create(&store, "t", 1).unwrap();
    for i in 0..200 {
        let row = put(&format!("k{}", i % 17), &format!("{i}"));
        commit(&store, commit_of("p", 0, vec![row], vec![append("t", 0, &[&format!("v{i}")])]))
            .unwrap();
        store.upkeep().unwrap();
    }
    let count = |what: &str| {
        disk.files().iter().filter(|(path, _)| path.to_string_lossy().contains(what)).count()
    };
    assert_eq!(count("snapshots/"), 2);
    assert!(count("journal/") < 12, "{}", count("journal/"));
    let rows = store.scan(&domain("p"), b"", None, Page::default()).unwrap().rows;
    disk.crash();
    let store = open_with(&disk, options).unwrap();
    assert_eq!(store.scan(&domain("p"), b"", None, Page::default()).unwrap().rows, rows);
    assert_eq!(rows.len(), 17);
    let expected: Vec<String> = (0..200).map(|i| format!("v{i}")).collect();
    assert_eq!(values(&store, "t", 0), expected);
}

#[test]
fn rows_of_the_store_can_not_be_written_from_outside() {
    let store = open(&SimDisk::new(1));
    let error =
        commit(&store, commit_of("meta", 0, vec![put("topic/x", "1")], vec![])).unwrap_err();
    assert!(matches!(error, StoreError::Reserved("topic/")));
    commit(&store, commit_of("meta", 0, vec![put("mine/x", "1")], vec![])).unwrap();
}

#[test]
fn a_domain_can_be_cleared() {
    let disk = SimDisk::new(1);
    let store = open(&disk);
    commit(&store, commit_of("p", 0, vec![put("a", "1"), put("b", "1")], vec![])).unwrap();
    let (cleared, done) = Promise::new();
    store.clear_domain(&domain("p"), done);
    store.step();
    assert_eq!(cleared.get().unwrap().unwrap().epoch, Epoch(2));
    assert!(store.scan(&domain("p"), b"", None, Page::default()).unwrap().rows.is_empty());
}

#[test]
fn one_process_has_the_directory() {
    let dir = tempfile::tempdir().unwrap();
    let open = || {
        Store::open(
            dir.path(),
            Arc::new(RealDisk),
            ViewKind::Sled,
            Arc::new(StillClock::default()),
            Options::default(),
        )
    };
    let store = open().unwrap();
    let pid = format!("process {}", std::process::id());
    assert!(matches!(open(), Err(StoreError::Locked { by }) if by == pid));
    drop(store);
    open().unwrap();
}

#[test]
fn another_format_is_refused_with_what_to_do() {
    let disk = SimDisk::new(1);
    drop(open(&disk));
    let file = crate::disk::Disk::append(&disk, &Path::new(ROOT).join("format")).unwrap();
    file.truncate(0).unwrap();
    file.append(b"weir 7\n").unwrap();
    let error = open_with(&disk, Options::default()).err().unwrap();
    assert_eq!(
        error.to_string(),
        "the data directory has format 7, this program reads format 2: \
         use the release that wrote it, or begin with an empty directory"
    );
}

#[test]
fn threads_commit_settle_and_stop_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let open = || {
        Store::open(
            dir.path(),
            Arc::new(RealDisk),
            ViewKind::Sled,
            Arc::new(StillClock::default()),
            Options::default(),
        )
        .unwrap()
    };
    let store = open();
    let threads = store.spawn().unwrap();
    let answers: Vec<_> = (0..100)
        .map(|i| submit(&store, commit_of("p", 0, vec![put(&format!("{i}"), "v")], vec![])))
        .collect();
    drop(threads);
    assert!(answers.iter().all(|answer| answer.get().unwrap().is_ok()));
    assert!(matches!(
        submit(&store, commit_of("p", 0, vec![], vec![])).get(),
        Some(Err(StoreError::Stopped { .. }))
    ));
    drop(store);
    let store = open();
    assert_eq!(store.scan(&domain("p"), b"", None, Page::default()).unwrap().rows.len(), 100);
    assert_eq!(store.last_epoch(&domain("p")), Epoch(100));
}
