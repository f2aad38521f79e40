//! The whole way: a topic, an operator, a topic; commit, crash, recovery.

use std::time::Duration;

use weir_sim::{audit, world::World};

use crate::common::{count, feed, setup};

const TEXT: &str = "
pipeline: sim
sources: { in: { topic: in } }
operators: { count: { module: count, input: in } }
sinks: { out: { topic: out, input: count.out } }
";

#[test]
fn events_go_through_once_over_a_crash() {
    let mut world = World::new(1, setup(TEXT, vec![("count", count())], &[("in", 2), ("out", 2)]));
    let records: Vec<(&str, String)> =
        (0..40).map(|i| (["a", "b", "c"][i % 3], format!("r{i}"))).collect();
    feed(&mut world, "in", &records[..20]);
    world.steps(37);
    world.crash();
    feed(&mut world, "in", &records[20..]);
    world.settle(Duration::from_secs(5));
    let mut values = world.values("out");
    values.sort();
    let mut expected: Vec<String> = (0..40).map(|i| format!("r{i}#{}", i / 3 + 1)).collect();
    expected.sort();
    assert_eq!(values, expected);
    assert_eq!(world.counter("count", "a", "count"), 14);
    assert_eq!(audit::faults(&world), Vec::<String>::new());
    let epoch = world.epoch();
    world.settle(Duration::from_secs(100));
    assert_eq!(world.epoch(), epoch, "an idle pipeline does not commit");
}
