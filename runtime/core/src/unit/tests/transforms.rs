//! Batches of the `transform` face (rule P13).

use std::sync::{Arc, Mutex};

use bytes::Bytes;

use super::{
    Program, World,
    guest::{request, trap},
};
use crate::{
    batch::{Batch, Event},
    failure::Failure,
    guest::{Effects, Output, Packed, Subject},
    unit::Unit,
};

/// Counts per key with `load` and `store`, and gives every value on. Values: `fail` is
/// reported, `worse` is reported as terminal, `whole` fails the batch, `trap` traps,
/// `send` sends.
fn count(
    batch: &Arc<Batch>,
    unit: &Mutex<Unit>,
) -> Result<Result<Output, Failure>, crate::failure::Trap> {
    let loaded = unit.load(0).unwrap();
    let mut sums: Vec<i64> = (0..loaded.cells.ends.len())
        .map(|slot| {
            let from = if slot == 0 { 0 } else { loaded.cells.ends[slot - 1] as usize };
            let bytes = &loaded.cells.values[from..loaded.cells.ends[slot] as usize];
            bytes.try_into().map_or(0, i64::from_be_bytes)
        })
        .collect();
    let mut output = Output::default();
    for event in 0..batch.len() {
        if let Some(sum) = sums.get_mut(loaded.slots[event] as usize) {
            *sum += 1;
        }
        match batch.value(event) {
            b"fail" => output.failures.push((event as u32, Failure::transient("fail", ""))),
            b"worse" => output.failures.push((event as u32, Failure::terminal("worse", ""))),
            b"whole" => return Ok(Err(Failure::transient("whole", ""))),
            b"trap" => return Err(trap(None)),
            b"send" => output.sends.push((event as u32, request("stock", "ship", "sku", ""))),
            b"lost" => output.sends.push((event as u32, request("nobody", "ship", "sku", ""))),
            value => {
                if let Some(key) = batch.key(event) {
                    let entry = Bytes::copy_from_slice(value);
                    unit.map_put(
                        Subject::Event(event as u32),
                        2,
                        entry,
                        Some(Bytes::copy_from_slice(key)),
                    )
                    .unwrap();
                }
            }
        }
        let value = batch.value(event);
        output.batch.push(Event {
            timestamp: 5,
            key: batch.key(event),
            value,
            port: 0,
            origin: None,
        });
        output.causes.push(event as u32);
    }
    let mut packed = Packed::default();
    for sum in &sums {
        packed.values.extend_from_slice(&sum.to_be_bytes());
        packed.ends.push(packed.values.len() as u32);
    }
    let slots: Vec<u32> = (0..sums.len() as u32).collect();
    unit.store(0, &slots, &packed).unwrap();
    Ok(Ok(output))
}

pub(super) fn counts() -> Program {
    Program::new("count").transform(Arc::new(count))
}

fn world() -> World {
    let stock = Program::new("stock").on("ship", |cx| {
        cx.add(1);
        Ok("")
    });
    World::new(vec![counts(), stock])
}

#[test]
fn a_good_batch_runs_once() {
    let mut world = world();
    world.events("count", &["a 1", "b 2", "a 3"]).finished();
    assert_eq!(world.begun, ["count [1 2 3]"]);
    assert_eq!(world.emitted, ["1", "2", "3"]);
    assert_eq!((world.counter("count", "a"), world.counter("count", "b")), (2, 1));
    world.crash().events("count", &["a 4"]).finished();
    assert_eq!(world.counter("count", "a"), 3);
}

#[test]
fn failure_in_mid_batch_keeps_key_order() {
    let mut world = world();
    world.events("count", &["a 1", "b 2", "a fail", "a 3", "b 4"]);
    // The bad one is taken out, what is behind it of its key waits, the rest goes on.
    assert_eq!(world.begun, ["count [1 2 fail 3 4]", "count [1 2 4]"]);
    assert_eq!(world.emitted, ["1", "2", "4"]);
    // Later batches join behind it.
    world.events("count", &["a 5", "b 6"]);
    assert_eq!(world.emitted, ["1", "2", "4", "6"]);
    // Also over a restart.
    world.commit().crash().pass(1_000).finished();
    assert_eq!(world.emitted, ["1", "2", "4", "6", "3", "5"]);
    assert_eq!((world.counter("count", "a"), world.counter("count", "b")), (3, 3));
    let letters = world.dead_letters();
    assert_eq!((letters.len(), letters[0].attempts, letters[0].handler.as_str()), (1, 3, "in"));
    assert_eq!(letters[0].position.as_ref().unwrap().offset, 2);
}

#[test]
fn several_reported_failures_and_a_terminal_one() {
    let mut world = world();
    world.events("count", &["a worse", "a 1", "b fail", "b fail", "c 2"]);
    assert_eq!(world.emitted, ["1", "2"]);
    world.pass(2_000).finished();
    assert_eq!(world.dead_letters().len(), 3);
    assert_eq!((world.counter("count", "a"), world.counter("count", "b")), (1, 0));
}

#[test]
fn a_trap_is_narrowed_down_to_the_bad_event() {
    for bad in ["trap", "whole"] {
        let mut world = world();
        let bad_event = format!("b {bad}");
        world.events("count", &["a 1", &bad_event, "a 2", "b 3", "c 4"]);
        assert_eq!(world.emitted, ["1", "2", "4"], "{bad}");
        world.pass(2_000).finished();
        assert_eq!(world.emitted, ["1", "2", "4", "3"]);
        let letters = world.dead_letters();
        assert_eq!((letters.len(), letters[0].trap.is_some()), (1, bad == "trap"));
        assert_eq!(
            (world.counter("count", "a"), world.counter("count", "b"), world.counter("count", "c")),
            (2, 1, 1)
        );
    }
}

#[test]
fn what_fails_beside_earlier_events_of_its_key_stays_behind_them() {
    let mut world = world();
    // `fail` is taken out first; then the first event traps, and must stay first.
    world.events("count", &["a trap", "a fail", "a 1"]).pass(5_000).finished();
    assert_eq!(world.emitted, ["1"]);
    let codes: Vec<_> =
        world.dead_letters().into_iter().map(|letter| letter.failure.code).collect();
    assert_eq!(codes.len(), 2);
}

#[test]
fn sends_of_a_batch_are_sent_once() {
    let mut world = world();
    world
        .events("count", &["a send", "b send", "a fail", "c lost"])
        .settle()
        .pass(2_000)
        .finished();
    assert_eq!(world.counter("stock", "sku"), 2);
    let mut codes: Vec<_> =
        world.dead_letters().into_iter().map(|letter| letter.failure.code).collect();
    codes.sort_unstable();
    assert_eq!(codes, ["fail", "unknown-operator"]);
}

#[test]
fn events_without_a_key_are_dead_letters_only_where_a_key_is_needed() {
    let mut keyed = world();
    keyed.events("count", &["- 1", "a 2"]).finished();
    assert_eq!((keyed.emitted.len(), keyed.dead_letters().len()), (1, 1));
    let program =
        Program::new("count").transform(Arc::new(count)).with(|program| program.keyed = false);
    let mut free = World::new(vec![program]);
    free.events("count", &["- 1", "- fail", "a 2", "- 3"]).commit().crash().pass(2_000).finished();
    assert_eq!(free.emitted, ["1", "2", "3"]);
    assert_eq!(free.dead_letters()[0].failure.code, "fail");
}

#[test]
fn events_without_a_key_may_be_left_out() {
    let skip = |program: &mut Program| program.missing_key = crate::plan::MissingKey::Skip;
    let mut world = World::new(vec![Program::new("count").transform(Arc::new(count)).with(skip)]);
    world
        .events("count", &["- 0", "a 1", "- 2", "- 3", "b 4", "a 5", "- 6"])
        .events("count", &["- 7"])
        .finished();
    assert_eq!(world.begun, ["count [1 4 5]"]);
    assert_eq!(world.figures("count").counts.filtered, 5);
    assert_eq!(world.counter("count", "a"), 2);
    let handlers = Program::new("orders").with(skip).on("place", |_| Ok(""));
    let mut world = World::new(vec![handlers]);
    world.events("orders", &["- 0", "a 1"]).finished();
    assert_eq!((world.figures("orders").counts.filtered, world.begun.len()), (1, 1));
}

fn three_events(timestamp: i64) -> Arc<Batch> {
    let mut batch = Batch::default();
    for (key, value) in [("a", "1"), ("b", "2"), ("a", "3")] {
        let (key, value) = (Some(key.as_bytes()), value.as_bytes());
        batch.push(Event { timestamp, key, value, port: 0, origin: None });
    }
    Arc::new(batch)
}

#[test]
fn a_batch_that_waits_for_an_instance_waits_over_a_barrier() {
    let mut world = world();
    world.with_unit("count", |unit, now| {
        let actions = unit.on_batch(now, 0, 0, three_events(5));
        assert!(matches!(actions[..], [crate::unit::Action::Process(_)]));
        // There is no instance: nothing is done about it.
        Vec::new()
    });
    world.commit();
    assert_eq!(world.tables().get("waiting"), Some(&3));
    world.crash().finished();
    assert_eq!(world.emitted, ["1", "2", "3"]);
    assert_eq!((world.counter("count", "a"), world.counter("count", "b")), (2, 1));
}

#[test]
fn events_without_a_readable_time_are_dead_letters() {
    let mut world = world();
    let batch = three_events(crate::batch::NO_TIMESTAMP);
    world
        .with_unit("count", |unit, now| unit.on_batch(now, 0, 0, batch))
        .events("count", &["a 4"])
        .finished();
    assert_eq!(world.emitted, ["4"]);
    let codes: Vec<_> =
        world.dead_letters().into_iter().map(|letter| letter.failure.code).collect();
    assert_eq!(codes, ["no-timestamp"; 3]);
}
