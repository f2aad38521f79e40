use std::sync::Arc;

use weir_core::{
    batch::{Batch, Event},
    epoch::Credit,
    ids::{Epoch, KeyGroup, NodeId},
    plan::{Edge, KeyRule, Node, NodeKind, Partitioning, Plan, Sink},
};

use super::{Lane, Outlet, To};
use crate::{
    actor::Signal,
    channel::{Channel, Item},
    figures::Figures,
    tuning::Tuning,
};

fn batch(events: &[(Option<&str>, &str, u8)]) -> Arc<Batch> {
    let mut batch = Batch::default();
    for (key, value, port) in events {
        let key = key.map(str::as_bytes);
        batch.push(Event { timestamp: 5, key, value: value.as_bytes(), port: *port, origin: None });
        batch.push_header("of", value.as_bytes());
    }
    Arc::new(batch)
}

fn edge(key: KeyRule) -> Edge {
    Edge {
        index: 0,
        from: 0,
        port: 1,
        port_name: "out".into(),
        to: 1,
        entry: 0,
        key,
        partitioning: Partitioning::Hash,
    }
}

fn figures() -> Arc<Figures> {
    let node = |index: u16, id: &str| Node {
        index,
        id: id.parse::<NodeId>().unwrap(),
        shards: 1,
        first_unit: index,
        task: index,
        kind: NodeKind::Sink(Sink::Discard),
    };
    let nodes = vec![node(0, "a"), node(1, "b")];
    Arc::new(Figures::new(&Plan {
        pipeline: "p".parse().unwrap(),
        nodes,
        edges: vec![edge(KeyRule::Keep)],
        tasks: vec![],
    }))
}

fn outlet(key: KeyRule, shards: usize, tuning: &Tuning) -> (Outlet, Vec<Arc<Channel>>) {
    let figures = figures();
    let channels: Vec<_> = (0..shards)
        .map(|_| {
            let credit = Credit::new(tuning.queue_records, tuning.queue_bytes);
            Channel::new(0, Epoch(1), credit, Signal::new(), Signal::new(), figures.clone())
        })
        .collect();
    let lanes = channels.iter().map(|channel| Lane::new(channel.clone())).collect();
    (Outlet::new(&edge(key), 0, To::Lanes(lanes), 0, tuning, figures), channels)
}

fn drain(channel: &Channel) -> Vec<Item> {
    std::iter::from_fn(|| channel.pop(false)).collect()
}

fn texts(items: &[Item]) -> Vec<String> {
    let mut texts = Vec::new();
    for item in items {
        match item {
            Item::Barrier(next) => texts.push(format!("| {next}")),
            Item::Batch(batch) => {
                for i in 0..batch.len() {
                    let key = batch.key(i).map_or("-".into(), String::from_utf8_lossy);
                    let value = String::from_utf8_lossy(batch.value(i));
                    let of: Vec<_> = batch
                        .headers_of(i)
                        .map(|h| String::from_utf8_lossy(&h.value).into_owned())
                        .collect();
                    assert_eq!(of, std::slice::from_ref(&value), "headers stay with their event");
                    assert_eq!(batch.event(i).port, 0, "the consumer's port");
                    texts.push(format!("{key} {value}"));
                }
            }
        }
    }
    texts
}

#[test]
fn events_of_other_ports_stay_behind_and_keys_come_from_the_value() {
    let pointer = KeyRule::Pointer("/k".parse().unwrap());
    let (mut outlet, channels) = outlet(pointer, 1, &Tuning::default());
    let events = [
        (Some("x"), r#"{"k":"a"}"#, 1),
        (Some("y"), r#"{"k":"b"}"#, 0),
        (None, r#"{"k":5}"#, 1),
        (Some("z"), "{}", 1),
    ];
    assert!(outlet.offer(batch(&events)).is_none());
    outlet.flush();
    assert_eq!(texts(&drain(&channels[0])), [r#"a {"k":"a"}"#, r#"5 {"k":5}"#, "- {}"]);
    assert_eq!(outlet.sent(), 3);
}

#[test]
fn an_event_goes_to_the_shard_of_its_keys_group_in_order() {
    let (mut outlet, channels) = outlet(KeyRule::Keep, 3, &Tuning::default());
    let keys: Vec<String> = (0..40).map(|i| format!("k{}", i % 9)).collect();
    let values: Vec<String> = (0..40).map(|i| format!("v{i}")).collect();
    let events: Vec<_> =
        keys.iter().zip(&values).map(|(k, v)| (Some(k.as_str()), v.as_str(), 1)).collect();
    assert!(outlet.offer(batch(&events)).is_none());
    outlet.flush();
    let mut all = 0;
    for (shard, channel) in channels.iter().enumerate() {
        let got = texts(&drain(channel));
        let of_shard = |key: &str| usize::from(KeyGroup::of(key.as_bytes()).shard(3).0) == shard;
        let expected: Vec<String> = events
            .iter()
            .filter(|(k, ..)| of_shard(k.unwrap()))
            .map(|(k, v, _)| format!("{} {v}", k.unwrap()))
            .collect();
        assert_eq!(got, expected);
        all += got.len();
    }
    assert_eq!(all, 40);
}

#[test]
fn without_credit_batches_wait_but_a_barrier_takes_them_along() {
    let tuning = Tuning { batch_records: 2, queue_records: 2, ..Tuning::default() };
    let (mut outlet, channels) = outlet(KeyRule::Keep, 1, &tuning);
    for value in ["1", "2", "3", "4", "5"] {
        outlet.offer(batch(&[(Some("k"), value, 1)]));
        outlet.flush();
    }
    assert!(outlet.is_blocked());
    assert_eq!(texts(&drain(&channels[0])), ["k 1", "k 2"]);
    outlet.flush();
    outlet.barrier(Epoch(2));
    assert!(!outlet.is_blocked());
    assert_eq!(channels[0].queued_before(Epoch(2)), 3);
    assert_eq!(texts(&drain(&channels[0])), ["k 3", "k 4", "k 5", "| 2"]);
    assert_eq!(channels[0].queued_before(Epoch(2)), 0);
}

#[test]
fn one_batch_of_one_consumer_is_passed_on_as_it_is() {
    let (mut outlet, channels) = outlet(KeyRule::Keep, 1, &Tuning::default());
    let mut events = Batch::default();
    for i in 0..200u32 {
        events.push(Event {
            timestamp: 0,
            key: Some(b"k"),
            value: &i.to_be_bytes(),
            port: 0,
            origin: None,
        });
    }
    outlet.port = 0;
    let events = Arc::new(events);
    outlet.offer(events.clone());
    match channels[0].pop(false) {
        Some(Item::Batch(got)) => assert!(Arc::ptr_eq(&got, &events)),
        other => panic!("{other:?}"),
    }
}
