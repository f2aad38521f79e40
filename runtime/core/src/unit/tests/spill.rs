//! What waits beyond the bound of memory is in its row only (rule P3).

use super::{Program, Stop, World, sends::stock, transforms, transient};
use crate::{ids::Epoch, message::Message};

/// Each order ships and, as `flaky`, fails once after that.
fn orders() -> Program {
    Program::new("orders").on("place", |cx| {
        cx.add(1);
        cx.call("stock", "ship", "sku", "")?;
        if cx.value() == "flaky" && cx.attempt() == 1 {
            return Err(transient("flaky"));
        }
        let value = cx.value();
        cx.emit(&value);
        Ok("")
    })
}

fn spilled(world: &World, operator: &str) -> usize {
    world.figures(operator).spilled_bytes
}

#[test]
fn what_waits_for_a_busy_key_is_spilled_and_runs_in_order() {
    let mut world = World::new(vec![orders(), stock()]);
    world.hold(|message| matches!(message, Message::Outcome { .. }));
    world.events("orders", &["a 1", "a 2", "a 3", "b 4"]).settle();
    assert_eq!(spilled(&world, "orders"), 0, "no commit has their rows yet");
    world.commit();
    let figures = world.figures("orders");
    assert_eq!((figures.waiting, figures.running), (4, 2));
    assert_eq!(figures.spilled_bytes, figures.waiting_bytes / 2, "two run, two are spilled");
    world.events("orders", &["a 5"]).let_go().settle();
    assert_eq!(world.emitted, ["1", "4", "2", "3", "5"]);
    world.finished();
    assert_eq!(world.counter("orders", "a"), 4);
}

#[test]
fn what_is_handed_over_is_spilled_only_when_its_commit_is_durable() {
    let mut world = World::new(vec![orders(), stock()]);
    world.hold(|message| matches!(message, Message::Outcome { .. }));
    world.events("orders", &["a 1", "a 2"]).settle().barrier("orders");
    world.with_unit("orders", |unit, now| unit.on_committed(now, Epoch(0)));
    assert_eq!(spilled(&world, "orders"), 0, "the commit before it does not have the rows");
    world.commit();
    assert!(spilled(&world, "orders") > 0);
    world.let_go().settle();
    assert_eq!(world.emitted, ["1", "2"]);
    world.finished();
}

#[test]
fn only_what_is_beyond_the_bound_is_spilled_the_newest_first() {
    let bound = |program: &mut Program| {
        program.waiting_bytes = 3 * 280;
        program.concurrency = 1;
    };
    let mut world = World::new(vec![orders().with(bound), stock()]);
    world.hold(|message| matches!(message, Message::Outcome { .. }));
    world.events("orders", &["a 1", "b 2", "c 3", "d 4", "e 5", "f 6"]).settle().commit();
    let each = world.figures("orders").waiting_bytes / 6;
    assert!((210..280).contains(&each), "an item takes {each} bytes here");
    assert_eq!(spilled(&world, "orders"), 3 * each);
    // Those that are next can run without a row.
    world.break_store(Some("no disk")).let_go();
    world.settle();
    assert_eq!(world.emitted, ["1", "2", "3"]);
    assert!(world.halted.take().is_some());
}

#[test]
fn a_row_that_cannot_be_read_stops_the_pipeline_and_loses_nothing() {
    let mut world = World::new(vec![orders(), stock()]);
    world.hold(|message| matches!(message, Message::Outcome { .. }));
    world.events("orders", &["a 1", "a 2"]).settle().commit();
    world.break_store(Some("the disk is gone")).let_go().settle();
    let reason = world.halted.take().unwrap();
    assert!(reason.contains("operator `orders` cannot read"), "{reason}");
    assert!(reason.ends_with("from the store: the disk is gone"), "{reason}");
    world.break_store(None).crash().settle();
    assert_eq!(world.emitted, ["1", "2"]);
    assert_eq!(world.halted, None);
    world.finished();
}

#[test]
fn a_retry_that_was_spilled_has_its_journal() {
    let mut world = World::new(vec![orders(), stock()]);
    world.events("orders", &["a flaky", "a 2"]).settle();
    assert!(world.emitted.is_empty());
    world.commit();
    let figures = world.figures("orders");
    assert_eq!((figures.retrying, figures.spilled_bytes), (1, figures.waiting_bytes));
    world.pass(1_000).settle();
    assert_eq!(world.emitted, ["flaky", "2"]);
    world.finished();
    assert_eq!(world.counter("stock", "sku"), 2, "the call was not made again");
}

#[test]
fn a_failed_attempt_that_no_commit_has_yet_is_not_spilled() {
    let mut world = World::new(vec![orders(), stock()]);
    world.hold(|message| matches!(message, Message::Outcome { .. }));
    world.events("orders", &["a flaky"]).settle().commit();
    world.let_go().settle();
    assert_eq!(world.figures("orders").retrying, 1);
    world.with_unit("orders", |unit, now| unit.on_committed(now, Epoch(1)));
    assert_eq!(spilled(&world, "orders"), 0);
    world.commit().crash().pass(1_000);
    assert_eq!(world.begun.last().map(String::as_str), Some("orders.place a #2"));
    world.finished();
}

#[test]
fn an_answer_finds_the_journal_of_a_retry_that_waits_for_it() {
    let hasty = Program::new("orders").on("place", |cx| {
        let call = cx.start("stock", "ship", "sku", "");
        if cx.attempt() == 1 {
            return Err(transient("hasty"));
        }
        cx.wait(call)?.map_err(Stop::Fail)?;
        Ok("")
    });
    let mut world = World::new(vec![hasty, stock()]);
    world.hold(|message| matches!(message, Message::Outcome { .. }));
    world.events("orders", &["a 1"]).settle().commit();
    assert_eq!(world.figures("orders").retrying, 1);
    assert_eq!(spilled(&world, "orders"), 0, "its call is open");
    world.let_go().settle().commit();
    assert!(spilled(&world, "orders") > 0, "its call is answered");
    world.pass(1_000).finished();
    assert_eq!(world.counter("stock", "sku"), 1);
}

#[test]
fn a_restart_leaves_what_waits_in_its_rows() {
    let mut world = World::new(vec![orders(), stock()]);
    world.hold(|message| matches!(message, Message::Ask(_)));
    world.events("orders", &["a 1", "a 2", "b 3", "b 4"]).settle().commit();
    world.crash();
    let figures = world.figures("orders");
    assert_eq!((figures.waiting, figures.running), (4, 2));
    assert_eq!(figures.spilled_bytes, figures.waiting_bytes / 2);
    world.settle();
    assert_eq!(world.emitted, ["1", "3", "2", "4"]);
    world.finished();
    assert_eq!(world.counter("stock", "sku"), 4);
}

#[test]
fn a_delayed_send_that_was_spilled_comes_in_its_time() {
    let orders = Program::new("orders").on("place", |cx| {
        cx.send("stock", "ship", "sku", "", Some(5_000));
        Ok("")
    });
    let mut world = World::new(vec![orders, stock()]);
    world.events("orders", &["a 1", "a 2"]).settle().commit().settle().commit();
    let figures = world.figures("stock");
    assert_eq!((figures.delayed, figures.spilled_bytes), (2, figures.waiting_bytes));
    assert!(figures.spilled_bytes > 0);
    world.pass(4_000).commit();
    assert_eq!(world.counter("stock", "sku"), 0);
    world.pass(2_000).commit();
    assert_eq!(world.counter("stock", "sku"), 2);
    world.finished();
}

#[test]
fn events_of_a_transform_are_spilled_behind_a_bad_one() {
    let mut world = World::new(vec![transforms::counts(), stock()]);
    world.events("count", &["a fail", "a 1", "a 2", "b 3"]).settle().commit();
    assert_eq!(world.emitted, ["3"]);
    let figures = world.figures("count");
    assert_eq!((figures.waiting, figures.spilled_bytes), (3, figures.waiting_bytes));
    world.pass(2_000).finished();
    assert_eq!(world.emitted, ["3", "1", "2"]);
    assert_eq!(world.dead_letters().len(), 1);
}
