use std::{path::Path, sync::Arc, time::Duration};

use weir_core::{
    batch::{Batch, Event, NO_TIMESTAMP},
    clock::{Clock, Now},
    ids::{Epoch, EventTime, Offset, Partition},
    plan::{Source, Start, Watermark},
};
use weir_store::{Append, Commit, DomainName, Options, SimDisk, Store, TopicConfig, ViewKind};

use super::{Reader, SourceShard};

struct Still;

impl Clock for Still {
    fn now(&self) -> Now {
        Now { monotonic: Duration::ZERO, wall: EventTime(0) }
    }
}

/// A topic `t` whose record `i` of partition `p` is `{"at": i}` at time `10 * i`.
fn store(lengths: &[i64]) -> Arc<Store> {
    let disk = Arc::new(SimDisk::new(1));
    let store =
        Store::open(Path::new("/d"), disk, ViewKind::Memory, Arc::new(Still), Options::default())
            .unwrap();
    let topic = "t".parse().unwrap();
    store.create_topic(&topic, TopicConfig { partitions: lengths.len() as u32 }, Box::new(|_| {}));
    store.step();
    let mut appends = Vec::new();
    for (partition, length) in lengths.iter().enumerate() {
        let mut records = Batch::default();
        for i in 0..*length {
            let value =
                format!(r#"{{"at":{}}}"#, if i == 2 { "null".into() } else { i.to_string() });
            records.push(Event {
                timestamp: 10 * i,
                key: None,
                value: value.as_bytes(),
                port: 0,
                origin: None,
            });
        }
        appends.push(Append {
            topic: topic.clone(),
            partition: Partition(partition as u32),
            records: Arc::new(records),
        });
    }
    let commit = Commit { domain: DomainName::ingest(), epoch: Epoch(0), rows: vec![], appends };
    store.submit(commit, Box::new(|outcome| assert!(outcome.is_ok())));
    store.step();
    store
}

fn source(from: Start, timestamp: Option<&str>) -> Source {
    Source {
        topic: "t".parse().unwrap(),
        partitions: 1,
        from,
        timestamp: timestamp.map(|pointer| pointer.parse().unwrap()),
        watermark: Watermark::default(),
    }
}

fn read_all(shard: &mut SourceShard, store: &Store) -> Vec<(u32, u64)> {
    let mut read = Vec::new();
    while let Some(batch) = shard.read(store, 3, 1 << 20).unwrap() {
        assert!(batch.len() <= 3);
        read.extend(batch.origins.iter().map(|origin| (origin.partition, origin.offset)));
    }
    read
}

#[test]
fn partitions_take_turns_and_each_is_read_once_in_order() {
    let store = store(&[5, 0, 4]);
    let readers = (0..3)
        .map(|p| Reader::beginning(Partition(p), Start::Earliest, Offset(0), Offset(9)))
        .collect();
    let mut shard = SourceShard::new(3, 0, &source(Start::Earliest, None), 1, readers);
    assert!(shard.has_changed(), "the beginning is committed, so that it stays the beginning");
    assert_eq!(
        read_all(&mut shard, &store),
        [(0, 0), (0, 1), (0, 2), (2, 0), (2, 1), (2, 2), (0, 3), (0, 4), (2, 3)]
    );
    let positions: Vec<_> = shard.changed().map(|(_, r)| (r.start.0, r.read, r.next.0)).collect();
    assert_eq!(positions, [(0, 5, 5), (0, 0, 0), (0, 4, 4)]);
    assert!(!shard.has_changed());
    assert_eq!(shard.behind(), 0);
}

#[test]
fn a_source_begins_where_its_start_says() {
    for (from, expected) in [
        (Start::Earliest, (0, 5)),
        (Start::Latest, (5, 0)),
        (Start::Offset(3), (3, 2)),
        (Start::Timestamp(EventTime(25)), (3, 2)),
        (Start::Timestamp(EventTime(20)), (2, 3)),
        (Start::Timestamp(EventTime(9_999)), (5, 0)),
    ] {
        let store = store(&[5]);
        let readers = vec![Reader::beginning(Partition(0), from, Offset(0), Offset(5))];
        let mut shard = SourceShard::new(0, 0, &source(from, None), 1, readers);
        let read = read_all(&mut shard, &store);
        assert_eq!(read.len(), expected.1, "{from:?}");
        let (start, next) = shard.changed().map(|(_, r)| (r.start.0, r.next.0)).next().unwrap();
        assert_eq!((start, next), (expected.0, 5), "{from:?}");
    }
}

#[test]
fn event_time_comes_from_the_value_and_what_has_none_says_so() {
    let store = store(&[4]);
    let readers = vec![Reader::beginning(Partition(0), Start::Earliest, Offset(0), Offset(4))];
    let mut shard = SourceShard::new(0, 0, &source(Start::Earliest, Some("/at")), 1, readers);
    let batch = shard.read(&store, 10, 1 << 20).unwrap().unwrap();
    assert_eq!(batch.timestamps[2], NO_TIMESTAMP);
    assert!(batch.timestamps[0] != NO_TIMESTAMP && batch.timestamps[3] != NO_TIMESTAMP);
}
