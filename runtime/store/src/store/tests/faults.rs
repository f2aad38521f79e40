//! A disk that is full, fails to sync, or gives back other bytes than it was given.

use std::path::PathBuf;

use super::*;
use crate::disk::Disk;

fn small() -> Options {
    Options {
        segment_bytes: 2_000,
        snapshot_bytes: 4_000,
        settle_bytes: 2_000,
        topic_segment_bytes: 2_000,
        ..Options::default()
    }
}

fn file(disk: &SimDisk, part: &str) -> (PathBuf, u64) {
    disk.files().into_iter().find(|(path, _)| path.to_string_lossy().contains(part)).unwrap()
}

fn write_some(store: &Store, from: u64, to: u64) {
    for i in from..to {
        let row = put(&format!("k{}", i % 7), &format!("{i}"));
        commit(store, commit_of("p", i, vec![row], vec![append("t", 0, &[&format!("v{i}")])]))
            .unwrap();
    }
}

fn check(store: &Store, count: u64) {
    assert_eq!(store.last_epoch(&domain("p")), Epoch(count));
    assert_eq!(values(store, "t", 0), (1..=count).map(|i| format!("v{i}")).collect::<Vec<_>>());
    for i in count.saturating_sub(6).max(1)..=count {
        assert_eq!(get(store, "p", &format!("k{}", i % 7)), Some(Bytes::from(i.to_string())));
    }
}

#[test]
fn a_full_disk_refuses_and_works_again_with_space() {
    // At every amount of space that is left.
    for room in (0..700).step_by(13) {
        let disk = SimDisk::new(room);
        let store = open_with(&disk, small()).unwrap();
        create(&store, "t", 1).unwrap();
        write_some(&store, 1, 20);
        disk.set_capacity(Some(disk.used() + room));
        let mut next = 20;
        let refused = loop {
            let commit_now = commit_of(
                "p",
                next,
                vec![put(&format!("k{}", next % 7), &next.to_string())],
                vec![append("t", 0, &[&format!("v{next}")])],
            );
            match commit(&store, commit_now) {
                Ok(_) => next += 1,
                Err(error) => break error,
            }
        };
        assert!(matches!(refused, StoreError::Full), "{refused}");
        // Refused means refused, also after a crash.
        disk.crash();
        disk.set_capacity(None);
        let store = open_with(&disk, small()).unwrap();
        check(&store, next - 1);
        // And without a crash.
        disk.set_capacity(Some(disk.used() + room % 50));
        let error = loop {
            let commit_now = commit_of(
                "p",
                next,
                vec![put(&format!("k{}", next % 7), &next.to_string())],
                vec![append("t", 0, &[&format!("v{next}")])],
            );
            match commit(&store, commit_now) {
                Ok(_) => next += 1,
                Err(error) => break error,
            }
        };
        assert!(matches!(error, StoreError::Full), "{error}");
        disk.set_capacity(None);
        write_some(&store, next, next + 10);
        check(&store, next + 9);
        disk.crash();
        check(&open_with(&disk, small()).unwrap(), next + 9);
    }
}

#[test]
fn records_that_wait_for_space_are_told_to_their_readers_later() {
    let waits = |room: u64| {
        let disk = SimDisk::new(1);
        let store = open(&disk);
        create(&store, "t", 1).unwrap();
        disk.set_capacity(Some(disk.used() + room));
        let result = commit(&store, commit_of("p", 1, vec![], vec![append("t", 0, &["x"])]));
        (result.is_ok() && values(&store, "t", 0).is_empty()).then_some((disk, store))
    };
    // There is space for the journal, not for the topic.
    let (disk, store) = (0..2_000).find_map(waits).unwrap();
    let refused = commit(&store, commit_of("p", 2, vec![], vec![append("t", 0, &["y"])]));
    assert!(matches!(refused, Err(StoreError::Full)));
    let woken = Arc::new(AtomicUsize::new(0));
    let count = woken.clone();
    let wake = move || {
        count.fetch_add(1, Ordering::SeqCst);
    };
    let _watch = store.watch(&topic("t"), Arc::new(wake));
    assert!(store.upkeep().is_err());
    disk.set_capacity(None);
    woken.store(0, Ordering::SeqCst);
    store.upkeep().unwrap();
    assert_eq!(woken.load(Ordering::SeqCst), 1);
    assert_eq!(values(&store, "t", 0), ["x"]);
    commit(&store, commit_of("p", 2, vec![], vec![append("t", 0, &["y"])])).unwrap();
    assert_eq!(values(&store, "t", 0), ["x", "y"]);
}

#[test]
fn a_sync_that_fails_is_not_tried_again_on_that_file() {
    for n in 0..12 {
        let disk = SimDisk::new(n);
        let store = open_with(&disk, small()).unwrap();
        create(&store, "t", 1).unwrap();
        write_some(&store, 1, 10);
        disk.fail_sync(n);
        for i in 10..40 {
            // Commits go on, in a new segment. Upkeep may say what it could not do.
            write_some(&store, i, i + 1);
            let _ = store.upkeep();
        }
        check(&store, 39);
        disk.crash();
        check(&open_with(&disk, small()).unwrap(), 39);
        disk.crash();
        check(&open_with(&disk, small()).unwrap(), 39);
    }
}

#[test]
fn a_turned_bit_in_the_journal_is_reported_with_its_place() {
    let clock = Arc::new(StillClock::default());
    let mut refused = 0;
    let length = {
        let disk = SimDisk::new(1);
        let store = open_with(&disk, Options::default()).unwrap();
        create(&store, "t", 1).unwrap();
        write_some(&store, 1, 6);
        file(&disk, "journal/").1
    };
    for at in (0..length).step_by(3) {
        let disk = SimDisk::new(1);
        let store = Store::open(
            Path::new(ROOT),
            Arc::new(disk.clone()),
            ViewKind::Memory,
            clock.clone(),
            Options::default(),
        )
        .unwrap();
        create(&store, "t", 1).unwrap();
        write_some(&store, 1, 6);
        clock.advance(Duration::from_secs(2));
        store.upkeep().unwrap();
        drop(store);
        let (path, _) = file(&disk, "journal/");
        assert!(disk.flip(&path, at, (at % 8) as u8));
        match open_with(&disk, Options::default()) {
            Err(StoreError::Damaged { segment, offset, .. }) => {
                assert_eq!(segment, "journal/0000000001.log");
                assert!(offset <= at, "{offset} is reported, {at} was turned");
                refused += 1;
            }
            // The marker itself says nothing about what was committed.
            Ok(store) => check(&store, 5),
            Err(error) => panic!("{error}"),
        }
    }
    assert!(refused as u64 >= length / 3 - 20, "{refused} of {length}");
}

#[test]
fn the_last_group_is_in_doubt_until_the_journal_rests() {
    let disk = SimDisk::new(1);
    let store = open(&disk);
    create(&store, "t", 1).unwrap();
    write_some(&store, 1, 3);
    drop(store);
    let (path, length) = file(&disk, "journal/");
    disk.flip(&path, length - 1, 0);
    let store = open(&disk);
    check(&store, 1);
}

#[test]
fn a_turned_bit_in_a_topic_is_reported_to_its_reader() {
    let disk = SimDisk::new(1);
    let options = Options { snapshot_bytes: 0, ..Options::default() };
    let store = open_with(&disk, options.clone()).unwrap();
    create(&store, "t", 1).unwrap();
    write_some(&store, 1, 3);
    store.upkeep().unwrap();
    let (path, length) = file(&disk, "topics/");
    disk.flip(&path, length - 3, 1);
    let error = store.read(&topic("t"), Partition(0), Offset(0), 10, 1000).unwrap_err();
    assert!(
        matches!(&error, StoreError::Damaged { segment, .. } if segment == "topics/t.0/0/00000000000000000000.log"),
        "{error}"
    );
    // What lies before it can be read.
    assert_eq!(store.read(&topic("t"), Partition(0), Offset(0), 1, 1000).unwrap().batch.len(), 1);
}

#[test]
fn topic_files_behind_the_snapshot_are_made_from_the_journal() {
    let disk = SimDisk::new(1);
    let store = open(&disk);
    create(&store, "t", 1).unwrap();
    write_some(&store, 1, 9);
    drop(store);
    let (path, length) = file(&disk, "topics/");
    disk.flip(&path, length / 2, 1);
    check(&open(&disk), 8);
    disk.remove(&path).unwrap();
    check(&open(&disk), 8);
}

#[test]
fn a_damaged_snapshot_is_passed_over() {
    let disk = SimDisk::new(1);
    let store = open_with(&disk, small()).unwrap();
    create(&store, "t", 1).unwrap();
    for i in 1..120 {
        write_some(&store, i, i + 1);
        store.upkeep().unwrap();
    }
    drop(store);
    let snapshots: Vec<_> = disk
        .files()
        .into_iter()
        .filter(|(path, _)| path.to_string_lossy().contains("snapshots/"))
        .collect();
    assert_eq!(snapshots.len(), 2);
    for at in [0, 30, snapshots[1].1 - 1] {
        disk.flip(&snapshots[1].0, at, 2);
        let store = open_with(&disk, small()).unwrap();
        check(&store, 119);
        drop(store);
        disk.flip(&snapshots[1].0, at, 2);
    }
    // A new one is made from what is good.
    disk.flip(&snapshots[1].0, 100, 2);
    let store = open_with(&disk, small()).unwrap();
    for i in 120..240 {
        write_some(&store, i, i + 1);
        store.upkeep().unwrap();
    }
    drop(store);
    check(&open_with(&disk, small()).unwrap(), 239);
}

#[test]
fn sled_that_is_missing_or_garbage_is_made_anew() {
    let dir = tempfile::tempdir().unwrap();
    let open = || {
        Store::open(
            dir.path(),
            Arc::new(RealDisk),
            ViewKind::Sled,
            Arc::new(StillClock::default()),
            small(),
        )
        .unwrap()
    };
    let store = open();
    create(&store, "t", 1).unwrap();
    for i in 1..60 {
        write_some(&store, i, i + 1);
        store.upkeep().unwrap();
    }
    store.close().unwrap();
    drop(store);
    let state = dir.path().join("state");
    let check_again = || check(&open(), 59);
    check_again();
    std::fs::remove_dir_all(&state).unwrap();
    check_again();
    for entry in std::fs::read_dir(&state).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            std::fs::write(&path, vec![0x5a; 5000]).unwrap();
        }
    }
    check_again();
    std::fs::remove_dir_all(&state).unwrap();
    std::fs::write(&state, b"not a directory").unwrap();
    check_again();
    let db = sled::open(&state).unwrap();
    db.open_tree("view").unwrap().insert("version", &9u32.to_be_bytes()).unwrap();
    db.flush().unwrap();
    drop(db);
    check_again();
    // Behind, after files of an older day were put back.
    let db = sled::open(&state).unwrap();
    let view = db.open_tree("view").unwrap();
    view.insert("position", &3u64.to_be_bytes()).unwrap();
    view.insert("mark", &3u64.to_le_bytes()).unwrap();
    db.flush().unwrap();
    drop((view, db));
    check_again();
}
