//! Traps with many invocations in flight (rule P14).

use super::{Program, Stop, World};
use crate::message::Message;

/// All wait for `stock`; then those whose value is `trap` trap.
fn shop(known: bool) -> World {
    let orders = Program::new("orders").on("place", move |cx| {
        cx.add(1);
        cx.call("stock", "reserve", "sku", "")?;
        if cx.value() == "trap" {
            return Err(Stop::Trap { known });
        }
        cx.call("stock", "reserve", "sku", "")?;
        let key = cx.key();
        cx.emit(&key);
        Ok("")
    });
    let stock = Program::new("stock").on("reserve", |cx| {
        cx.add(1);
        Ok("")
    });
    World::new(vec![orders, stock])
}

fn attempts(world: &World, key: &str) -> Vec<String> {
    let prefix = format!("orders.place {key} ");
    let mut attempts: Vec<_> = world
        .begun
        .iter()
        .filter_map(|begun| begun.strip_prefix(&prefix))
        .map(str::to_owned)
        .collect();
    attempts.dedup();
    attempts
}

#[test]
fn trap_with_neighbours_in_flight() {
    for known in [true, false] {
        let mut world = shop(known);
        world
            .hold(|message| matches!(message, Message::Ask(_)))
            .events("orders", &["a", "b trap", "c", "d"])
            .settle();
        assert_eq!(world.figures("orders").running, 4);
        world.let_go().settle().pass(2_000).settle();
        let mut emitted = world.emitted.clone();
        emitted.sort_unstable();
        assert_eq!(emitted, ["a", "c", "d"], "known: {known}");
        for key in ["a", "c", "d"] {
            assert_eq!(
                attempts(&world, key),
                ["#1"],
                "a neighbour loses no attempt; known: {known}"
            );
        }
        assert_eq!(attempts(&world, "b"), ["#1", "#2", "#3"]);
        world.finished();
        let letters = world.dead_letters();
        assert_eq!(letters.len(), 1);
        assert_eq!(letters[0].failure.code, "trap");
        assert_eq!(letters[0].trap.as_ref().unwrap().panic.as_deref(), Some("scripted"));
        assert_eq!(letters[0].done, ["stock.reserve sku"]);
        assert_eq!(world.counter("stock", "sku"), 7, "nobody called twice; known: {known}");
    }
}

#[test]
fn two_culprits_are_both_found() {
    let mut world = shop(false);
    world
        .hold(|message| matches!(message, Message::Ask(_)))
        .events("orders", &["a trap", "b", "c trap", "d"])
        .settle();
    world.let_go().settle().pass(2_000).finished();
    let mut emitted = world.emitted.clone();
    emitted.sort_unstable();
    assert_eq!(emitted, ["b", "d"]);
    assert_eq!(
        (attempts(&world, "b"), attempts(&world, "d")),
        (vec!["#1".to_owned()], vec!["#1".to_owned()])
    );
    assert_eq!(world.dead_letters().len(), 2);
}

#[test]
fn a_trap_that_nobody_repeats_costs_nobody_an_attempt() {
    // What traps is the company: it does not happen again when each repeats alone.
    let flying = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
    let trapped = flying.clone();
    let orders = Program::new("orders").on("place", move |cx| {
        cx.call("stock", "reserve", "sku", "")?;
        if cx.value() == "last" && trapped.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 0 {
            return Err(Stop::Trap { known: false });
        }
        cx.call("stock", "reserve", "again", "")?;
        let key = cx.key();
        cx.emit(&key);
        Ok("")
    });
    let stock = Program::new("stock").on("reserve", |_| Ok(""));
    let mut world = World::new(vec![orders, stock]);
    world.hold(|message| matches!(message, Message::Ask(ask) if ask.key == "again"));
    world.events("orders", &["a", "b", "c last"]).settle();
    assert_eq!(world.figures("orders").traps, 1);
    world.let_go().settle().events("orders", &["d", "e", "f"]).settle().finished();
    assert_eq!(world.emitted.len(), 6);
    assert!(world.begun.iter().all(|begun| begun.ends_with("#1")));
}
