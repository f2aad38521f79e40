use std::sync::Arc;

use weir_core::{
    batch::{Batch, Event, NO_TIMESTAMP},
    ids::hash_key,
};

use super::SinkShard;

fn batch(events: &[(Option<&str>, &str)]) -> Arc<Batch> {
    let mut batch = Batch::default();
    for (key, value) in events {
        let key = key.map(str::as_bytes);
        batch.push(Event {
            timestamp: NO_TIMESTAMP,
            key,
            value: value.as_bytes(),
            port: 0,
            origin: None,
        });
    }
    Arc::new(batch)
}

fn appended(sink: &mut SinkShard) -> Vec<(u32, Vec<String>)> {
    sink.appends()
        .into_iter()
        .map(|append| {
            assert!(append.records.timestamps.iter().all(|t| *t == 0), "no time is 0 in a topic");
            let values = (0..append.records.len())
                .map(|i| String::from_utf8_lossy(append.records.value(i)).into_owned());
            (append.partition.0, values.collect())
        })
        .collect()
}

#[test]
fn a_key_has_one_partition_and_no_key_takes_turns() {
    let mut sink = SinkShard::new(0, 0, Some(("t".parse().unwrap(), 3)), vec![(7, 10)]);
    sink.take(
        7,
        batch(&[
            (Some("a"), "1"),
            (None, "2"),
            (Some("a"), "3"),
            (None, "4"),
            (None, "5"),
            (Some("b"), "6"),
        ]),
    );
    let got = appended(&mut sink);
    let of =
        |value: &str| got.iter().find(|(_, values)| values.iter().any(|v| v == value)).unwrap().0;
    assert_eq!(u64::from(of("1")), hash_key(b"a") % 3);
    assert_eq!(of("3"), of("1"));
    assert_eq!(u64::from(of("6")), hash_key(b"b") % 3);
    let mut turns = [of("2"), of("4"), of("5")];
    turns.sort_unstable();
    assert_eq!(turns, [0, 1, 2]);
    assert_eq!(appended(&mut sink), [], "each is handed over once");
}

#[test]
fn taken_is_told_when_it_has_changed() {
    let mut sink = SinkShard::new(0, 0, None, vec![(7, 10), (8, 0)]);
    assert_eq!(sink.changed_taken(), []);
    assert_eq!(
        sink.take(8, batch(&[(None, "1"), (None, "2")])),
        0,
        "what is discarded adds nothing to the commit"
    );
    assert!(sink.has_changed());
    assert_eq!(sink.changed_taken(), [(7, 10), (8, 2)]);
    assert_eq!(sink.changed_taken(), []);
}
