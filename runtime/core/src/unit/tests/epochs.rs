//! Barriers, crashes, and what must be known afterwards (rules P2, P4, P9).

use super::{Program, Stop, World, transient};
use crate::message::Message;

/// `orders.place` reserves at `stock` and emits.
fn shop() -> World {
    let orders = Program::new("orders").on("place", |cx| {
        cx.add(1);
        cx.call("stock", "reserve", "sku", "")?;
        let key = cx.key();
        cx.emit(&format!("placed {key}"));
        Ok("ok")
    });
    let stock = Program::new("stock").on("reserve", |cx| {
        cx.add(1);
        Ok("reserved")
    });
    World::new(vec![orders, stock])
}

#[test]
fn an_event_that_begins_and_ends_in_one_epoch_leaves_only_its_effects() {
    let mut world = shop();
    world.events("orders", &["a", "b"]).settle().commit();
    assert_eq!(world.emitted, ["placed a", "placed b"]);
    assert!(world.tables().is_empty(), "{:?}", world.tables());
    assert_eq!((world.counter("orders", "a"), world.counter("stock", "sku")), (1, 2));
    world.finished();
}

#[test]
fn event_behind_a_pending_key_survives() {
    let mut world = shop();
    world
        .hold(|message| matches!(message, Message::Ask(_)))
        .events("orders", &["a 1", "a 2"])
        .settle()
        .commit();
    assert_eq!(world.tables().get("waiting"), Some(&2));
    world.crash().settle().commit();
    assert_eq!(world.emitted, ["placed a", "placed a"]);
    assert_eq!((world.counter("orders", "a"), world.counter("stock", "sku")), (2, 2));
    world.finished();
}

#[test]
fn what_was_not_committed_never_was() {
    let mut world = shop();
    world.commit().events("orders", &["a 1"]).settle().crash().settle();
    world.finished();
    assert_eq!((world.counter("orders", "a"), world.counter("stock", "sku")), (0, 0));
    assert_eq!(world.figures("orders").counts.taken, 0);
}

#[test]
fn call_begun_and_ended_in_one_epoch_is_known_afterwards() {
    let mut world = shop();
    // The reply is on its way when the commit is made.
    world
        .hold(|message| matches!(message, Message::Outcome { .. }))
        .events("orders", &["a"])
        .settle()
        .commit();
    assert_eq!(world.tables().get("answers"), Some(&1));
    world.crash().settle().commit();
    assert_eq!(world.begun.iter().filter(|begun| begun.starts_with("stock")).count(), 1);
    assert_eq!(world.counter("stock", "sku"), 1);
    assert_eq!(world.emitted, ["placed a"]);
    world.finished();
}

#[test]
fn reply_from_a_later_epoch_waits_until_the_caller_is_there() {
    let mut world = shop();
    // The callee is past the barrier when it replies: its effects are of epoch 2.
    world.barrier("stock").events("orders", &["a"]).settle();
    assert!(world.emitted.is_empty());
    world.commit().settle();
    assert_eq!(world.emitted, ["placed a"]);
    // The commit holds neither effect: after a crash the call runs for the first time.
    world.crash().settle().commit();
    assert_eq!((world.counter("orders", "a"), world.counter("stock", "sku")), (1, 1));
    world.finished();
}

#[test]
fn request_from_an_earlier_epoch_is_asked_again_after_a_crash() {
    let mut world = shop();
    world.hold(|message| matches!(message, Message::Ask(_))).events("orders", &["a"]).settle();
    world.barrier("stock").let_go().settle();
    // Asked in epoch 1, taken in epoch 2, answered in epoch 2: the caller waits.
    assert!(world.emitted.is_empty());
    world.commit();
    assert_eq!(world.tables().get("journals"), Some(&1));
    world.crash().settle().commit();
    assert_eq!((world.counter("orders", "a"), world.counter("stock", "sku")), (1, 1));
    assert_eq!(world.emitted, ["placed a"]);
    world.finished();
}

#[test]
fn request_from_a_later_epoch_waits_until_the_callee_is_there() {
    let mut world = shop();
    world.barrier("orders").events("orders", &["a"]).settle();
    assert!(!world.begun.iter().any(|begun| begun.starts_with("stock")));
    world.commit().settle();
    assert_eq!(world.emitted, ["placed a"]);
    world.crash().settle().commit();
    assert_eq!(
        (world.counter("orders", "a"), world.counter("stock", "sku")),
        (0, 0),
        "neither was committed"
    );
    world.finished();
}

#[test]
fn known_id_still_running_attaches() {
    let orders = Program::new("orders").on("place", |cx| {
        cx.call("stock", "reserve", "sku", "")?;
        cx.emit("placed");
        Ok("ok")
    });
    let stock = Program::new("stock").on("reserve", |cx| {
        cx.add(1);
        cx.call("depot", "fetch", "d", "")?;
        Ok("reserved")
    });
    let depot = Program::new("depot").on("fetch", |cx| {
        cx.add(1);
        Ok("")
    });
    let mut world = World::new(vec![orders, stock, depot]);
    world
        .hold(|message| matches!(message, Message::Ask(ask) if ask.chain.len() == 2))
        .events("orders", &["a"]);
    world.settle().commit();
    // Both the order and the reservation wait; after the crash the order asks again.
    world.crash().settle();
    assert_eq!(
        world.begun.iter().filter(|begun| begun.starts_with("stock")).count(),
        2,
        "one per process"
    );
    world.commit();
    assert_eq!((world.counter("stock", "sku"), world.counter("depot", "d")), (1, 1));
    assert_eq!(world.emitted, ["placed"]);
    world.finished();
}

#[test]
fn event_between_two_attempts_survives() {
    let orders = Program::new("orders").on("place", |cx| {
        cx.add(1);
        if cx.attempt() < 3 {
            return Err(transient("not-yet"));
        }
        cx.emit("placed");
        Ok("ok")
    });
    let mut world = World::new(vec![orders]);
    world.events("orders", &["a 1", "a 2", "b 1"]).pass(120).commit();
    assert_eq!(world.figures("orders").retrying, 2);
    world.crash();
    assert_eq!(world.figures("orders").retrying, 2, "attempts are not begun early by a crash");
    world.pass(2_000).commit();
    assert_eq!(world.emitted, ["placed", "placed", "placed"]);
    let of_a: Vec<_> = world
        .begun
        .iter()
        .filter(|begun| begun.contains(" a "))
        .map(|begun| &begun[begun.len() - 2..])
        .collect();
    assert_eq!(
        of_a,
        ["#1", "#2", "#3", "#1", "#2", "#3"],
        "attempts go on where they were; the key is held"
    );
    world.finished();
    assert_eq!(world.counter("orders", "a"), 2);
}

#[test]
fn answered_calls_are_not_asked_again_after_a_crash() {
    let orders = Program::new("orders").on("place", |cx| {
        cx.add(1);
        cx.call("stock", "reserve", "one", "")?;
        cx.call("stock", "reserve", "two", "")?;
        cx.emit("placed");
        Ok("ok")
    });
    let stock = Program::new("stock").on("reserve", |cx| {
        cx.add(1);
        Ok("")
    });
    let mut world = World::new(vec![orders, stock]);
    world.hold(|message| matches!(message, Message::Ask(ask) if ask.key == "two"));
    world.events("orders", &["a"]).settle().commit().settle().commit().settle().commit();
    assert!(!world.tables().contains_key("answers"), "the caller's commit holds the first answer");
    world.crash().settle().commit();
    assert_eq!((world.counter("stock", "one"), world.counter("stock", "two")), (1, 1));
    assert_eq!(world.begun.iter().filter(|begun| begun.contains(" one ")).count(), 1);
    world.finished();
}

#[test]
fn time_and_randomness_are_the_same_on_a_re_run() {
    let seen = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let log = seen.clone();
    let orders = Program::new("orders").on("place", move |cx| {
        let first = (cx.now(), cx.random());
        cx.call("stock", "reserve", "one", "")?;
        let second = (cx.now(), cx.random());
        let call = cx.start("stock", "reserve", "two", "");
        if cx.wait(call).is_err() {
            log.lock().unwrap().push([first, second]);
            return Err(Stop::Wait);
        }
        Ok("ok")
    });
    let stock = Program::new("stock").on("reserve", |_| Ok(""));
    let mut world = World::new(vec![orders, stock]);
    world.hold(|message| matches!(message, Message::Ask(_))).events("orders", &["a"]).pass(1_500);
    world
        .let_go()
        .hold(|message| matches!(message, Message::Ask(ask) if ask.key == "two"))
        .settle()
        .commit();
    world.pass(7_000).crash().settle();
    let seen = seen.lock().unwrap();
    assert!(seen.len() >= 2 && seen.iter().all(|run| *run == seen[0]), "{seen:?}");
    assert_eq!(seen[0][1].0 - seen[0][0].0, 1_500, "time moves with a result");
    assert_ne!(seen[0][0].1, seen[0][1].1);
}

#[test]
fn limit_reached_at_a_barrier_does_not_deadlock() {
    let mut world = shop_with_limit();
    world
        .hold(|message| matches!(message, Message::Ask(_)))
        .events("orders", &["a", "b", "c"])
        .settle();
    assert_eq!(world.figures("orders").running, 1);
    world.commit();
    assert_eq!(world.tables().get("waiting"), Some(&3));
    world.let_go().finished();
    assert_eq!(world.emitted, ["placed a", "placed b", "placed c"]);
}

fn shop_with_limit() -> World {
    let orders = Program::new("orders").with(|program| program.concurrency = 1).on("place", |cx| {
        cx.call("stock", "reserve", "sku", "")?;
        let key = cx.key();
        cx.emit(&format!("placed {key}"));
        Ok("ok")
    });
    let stock =
        Program::new("stock").with(|program| program.concurrency = 1).on("reserve", |_| Ok(""));
    World::new(vec![orders, stock])
}

#[test]
fn two_operators_full_of_each_other_go_on() {
    let leaf = |cx: &mut super::guest::Cx<'_>| {
        cx.add(1);
        Ok("")
    };
    let left = Program::new("left").with(|program| program.concurrency = 1).on("go", |cx| {
        let key = cx.key();
        cx.call("right", "leaf", &key, "")?;
        cx.emit("left");
        Ok("")
    });
    let right = Program::new("right").with(|program| program.concurrency = 1).on("go", |cx| {
        let key = cx.key();
        cx.call("left", "leaf", &key, "")?;
        cx.emit("right");
        Ok("")
    });
    let mut world = World::new(vec![left.on("leaf", leaf), right.on("leaf", leaf)]);
    world.events("left", &["a", "b"]).events("right", &["c", "d"]).settle();
    assert_eq!(world.emitted.len(), 4);
    world.finished();
}

#[test]
fn planted_miscount_is_seen() {
    let mut world = shop();
    world.events("orders", &["a"]).settle().commit();
    world.with_unit("orders", |unit, _| {
        unit.plant_miscount();
        Vec::new()
    });
    world.commit().crash();
    let figures = world.figures("orders");
    assert!(!figures.counts.balanced(figures.waiting as u64));
    let figures = world.figures("stock");
    assert!(figures.counts.balanced(figures.waiting as u64));
}

#[test]
fn two_shards_take_over_from_one() {
    let mut world = shop();
    world
        .hold(|message| matches!(message, Message::Ask(_)))
        .events("orders", &["a", "b", "c", "d", "e 1", "e 2"]);
    world.settle().commit();
    let before = world.figures("orders");
    let shards = world.resharded("orders", 2);
    let figures: Vec<_> = shards.iter().map(crate::unit::Unit::figures).collect();
    assert!(figures.iter().all(|figures| figures.waiting > 0));
    assert_eq!(figures.iter().map(|figures| figures.waiting).sum::<usize>(), before.waiting);
    let taken: u64 = figures.iter().map(|figures| figures.counts.taken).sum();
    assert_eq!(taken, before.counts.taken, "the sum over all shards is what is audited");
}
