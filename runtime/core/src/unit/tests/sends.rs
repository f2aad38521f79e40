//! One-way sends, and delays.

use super::{Program, World, terminal, transient};
use crate::message::Message;

fn shop() -> World {
    let orders = Program::new("orders").on("place", |cx| {
        cx.send("stock", "ship", "sku", "", None);
        cx.send("stock", "ship", "sku", "", None);
        Ok("")
    });
    World::new(vec![orders, stock()])
}

pub(super) fn stock() -> Program {
    Program::new("stock")
        .on("ship", |cx| {
            cx.add(1);
            Ok("shipped")
        })
        .on("broken", |_| Err(terminal("broken")))
}

#[test]
fn send_across_a_barrier_survives() {
    let mut world = shop();
    world
        .hold(|message| matches!(message, Message::Ask(_)))
        .events("orders", &["a"])
        .settle()
        .commit();
    assert_eq!(world.tables().get("outbox"), Some(&2));
    world.crash().settle().commit();
    assert_eq!(world.counter("stock", "sku"), 2);
    world.finished();
}

#[test]
fn a_send_that_was_taken_is_not_taken_again_when_its_receipt_is_lost() {
    let mut world = shop();
    world
        .hold(|message| matches!(message, Message::Taken { .. }))
        .events("orders", &["a"])
        .settle()
        .commit();
    assert_eq!(world.tables().get("outbox"), Some(&2));
    assert_eq!(world.tables().get("answers"), Some(&2));
    world.crash().settle().commit();
    assert_eq!(world.counter("stock", "sku"), 2);
    world.finished();
}

#[test]
fn a_send_of_a_later_epoch_is_of_that_epoch() {
    let mut world = shop();
    world.barrier("orders").events("orders", &["a"]).settle();
    world.commit();
    assert_eq!(world.counter("stock", "sku"), 0);
    world.crash().settle().finished();
    assert_eq!(world.counter("stock", "sku"), 0, "the event is to be read again");
}

#[test]
fn a_receipt_of_a_later_epoch_leaves_the_row_until_then() {
    let mut world = shop();
    world.hold(|message| matches!(message, Message::Ask(_))).events("orders", &["a"]).settle();
    world.barrier("stock").let_go().settle().commit();
    // The target took it in epoch 2: commit 1 holds it at the sender.
    assert_eq!(world.tables().get("outbox"), Some(&2));
    world.settle().crash().settle().finished();
    assert_eq!(world.counter("stock", "sku"), 2);
}

#[test]
fn sends_within_one_epoch_leave_no_rows() {
    let mut world = shop();
    world.events("orders", &["a"]).settle().commit();
    assert!(world.tables().is_empty(), "{:?}", world.tables());
    world.finished();
}

#[test]
fn a_failed_send_is_a_dead_letter() {
    let orders = Program::new("orders").on("place", |cx| {
        cx.send("stock", "broken", "sku", "{}", None);
        Ok("")
    });
    let mut world = World::new(vec![orders, stock()]);
    world.events("orders", &["a"]).settle().finished();
    let letters = world.dead_letters();
    assert_eq!((letters.len(), letters[0].handler.as_str()), (1, "broken"));
    let json = serde_json::to_value(&letters[0]).unwrap();
    assert_eq!(json["key"], "sku");
    assert_eq!(json["value"], serde_json::json!({}));
    assert_eq!(json["cause"], "send");
}

#[test]
fn a_send_to_nobody_fails_the_invocation() {
    let orders = Program::new("orders").on("place", |cx| {
        cx.add(1);
        cx.send("nobody", "ship", "sku", "", None);
        Ok("")
    });
    let mut world = World::new(vec![orders]);
    world.events("orders", &["a"]).settle().finished();
    assert_eq!(world.dead_letters()[0].failure.code, "unknown-operator");
    assert_eq!(world.counter("orders", "a"), 0);
}

#[test]
fn a_delayed_send_waits_at_its_target_without_blocking_the_key() {
    let orders = Program::new("orders").on("place", |cx| {
        cx.send("stock", "ship", "sku", "late", Some(10_000));
        cx.send("stock", "ship", "sku", "now", None);
        Ok("")
    });
    let mut world = World::new(vec![orders, stock()]);
    world.events("orders", &["a"]).settle().commit().settle().commit();
    assert_eq!(world.counter("stock", "sku"), 1);
    assert_eq!(world.figures("stock").delayed, 1);
    world.pass(4_000).crash().pass(4_000).commit();
    assert_eq!(world.counter("stock", "sku"), 1);
    world.pass(3_000).finished();
    assert_eq!(world.counter("stock", "sku"), 2);
}

#[test]
fn clock_jumps_an_hour_either_way() {
    let orders = Program::new("orders").on("place", |cx| {
        if cx.attempt() == 1 {
            return Err(transient("once"));
        }
        cx.emit("placed");
        cx.send("stock", "ship", "sku", "", Some(10_000));
        Ok("")
    });
    let mut world = World::new(vec![orders, stock()]);
    // Back: a retry does not care, and after a restart waits at most its pause.
    world.events("orders", &["a"]).commit();
    world.now.wall.0 -= 3_600_000;
    world.crash().pass(120);
    assert_eq!(world.emitted, ["placed"]);
    // Forth: what was held back is due, within a second.
    world.settle();
    assert_eq!(world.figures("stock").delayed, 1);
    world.now.wall.0 += 3_600_000;
    world.pass(1_100).finished();
    assert_eq!(world.counter("stock", "sku"), 1);
}
