//! Retries and what comes after the last (contract 3).

use super::{Program, World, terminal, transient};
use crate::plan::Exhausted;

fn failing() -> Program {
    Program::new("orders").on("place", |cx| {
        cx.add(1);
        match cx.value().as_str() {
            "bad" => Err(transient("bad")),
            "worse" => Err(terminal("worse")),
            value => {
                cx.emit(value);
                Ok("")
            }
        }
    })
}

#[test]
fn later_events_of_a_key_wait_for_its_retry_and_other_keys_go_on() {
    let mut world = World::new(vec![failing()]);
    world.events("orders", &["a bad", "a one", "b two"]);
    assert_eq!(world.emitted, ["two"]);
    world.pass(1_000);
    assert_eq!(world.emitted, ["two", "one"]);
    world.finished();
    let letters = world.dead_letters();
    assert_eq!(
        (letters.len(), letters[0].attempts, letters[0].failure.code.as_str()),
        (1, 3, "bad")
    );
    let position = letters[0].position.clone().unwrap();
    assert_eq!((position.topic.as_str(), position.offset), ("topic", 0));
    assert_eq!(world.counter("orders", "a"), 1, "a failed attempt leaves nothing");
}

#[test]
fn a_terminal_failure_is_not_tried_again() {
    let mut world = World::new(vec![failing()]);
    world.events("orders", &["a worse", "a one"]).finished();
    assert_eq!(world.emitted, ["one"]);
    assert_eq!(world.dead_letters()[0].attempts, 1);
}

#[test]
fn a_policy_may_skip() {
    let mut world =
        World::new(vec![failing().with(|program| program.retry.then = Exhausted::Skip)]);
    world.events("orders", &["a worse"]).finished();
    assert!(world.dead_letters().is_empty());
    assert_eq!(world.figures("orders").counts.skipped, 1);
}

#[test]
fn a_policy_may_halt_and_keeps_the_event() {
    let mut world =
        World::new(vec![failing().with(|program| program.retry.then = Exhausted::Halt)]);
    world.events("orders", &["a bad"]).commit().pass(1_000);
    assert!(
        world.halted.as_ref().is_some_and(|reason| reason.contains("halt: bad")),
        "{:?}",
        world.halted
    );
    world.halted = None;
    world.crash().pass(1_000);
    assert!(world.halted.is_some(), "resumed, it tries the event again");
}

#[test]
fn a_policy_may_block_the_key() {
    let mut world = World::new(vec![failing().with(|program| program.retry.block_key = true)]);
    world.events("orders", &["a worse", "a one", "b two"]).commit();
    assert_eq!(world.emitted, ["two"]);
    world.crash().events("orders", &["a three"]);
    assert_eq!(world.emitted, ["two"]);
    let id = world.dead_letters()[0].id;
    world.with_unit("orders", |unit, now| unit.on_discard(now, id)).finished();
    assert_eq!(world.emitted, ["two", "one", "three"]);
    assert!(world.dead_letters().is_empty());
}

#[test]
fn an_event_without_a_key_is_a_dead_letter() {
    let mut world = World::new(vec![failing()]);
    world.events("orders", &["- one", "a two"]).finished();
    assert_eq!(world.emitted, ["two"]);
    let letters = world.dead_letters();
    assert_eq!((letters.len(), letters[0].failure.code.as_str()), (1, "no-key"));
    assert_eq!(letters[0].key, None);
}
