//! Calls: one outcome each, decided at the callee (rules P4, P6, P8, P9).

use super::{Program, Stop, World, terminal, transient};
use crate::message::Message;

fn counting(name: &'static str) -> Program {
    Program::new(name).on("add", |cx| {
        cx.add(1);
        Ok("added")
    })
}

#[test]
fn retry_does_not_call_twice() {
    let orders = Program::new("orders").on("place", |cx| {
        cx.call("stock", "add", "sku", "")?;
        if cx.attempt() == 1 {
            return Err(transient("flaky"));
        }
        cx.emit("placed");
        Ok("ok")
    });
    let mut world = World::new(vec![orders, counting("stock")]);
    world.events("orders", &["a"]).settle().pass(1_000).finished();
    assert_eq!(world.emitted, ["placed"]);
    assert_eq!(world.counter("stock", "sku"), 1);
    assert_eq!(world.begun, ["orders.place a #1", "stock.add sku #1", "orders.place a #2"]);
}

#[test]
fn race_of_two_calls_is_the_same_on_re_run() {
    let orders = Program::new("orders").on("place", |cx| {
        let slow = cx.start("stock", "add", "slow", "");
        let fast = cx.start("stock", "add", "fast", "");
        let first = cx.any(&[slow, fast])?;
        cx.wait(slow)?.map_err(Stop::Fail)?;
        cx.wait(fast)?.map_err(Stop::Fail)?;
        // A third call that depends on who was first.
        cx.call("stock", "add", if first == slow { "slow-won" } else { "fast-won" }, "")?;
        cx.emit(if first == slow { "slow" } else { "fast" });
        Ok("ok")
    });
    let mut world = World::new(vec![orders, counting("stock")]);
    world.hold(|message| matches!(message, Message::Ask(ask) if ask.key == "slow"));
    world.events("orders", &["a"]).settle();
    world
        .let_go()
        .hold(|message| matches!(message, Message::Ask(ask) if ask.key.ends_with(b"won")))
        .settle()
        .commit();
    // Both answers are in the journal: whatever order they could arrive in now, the
    // re-run is the same.
    world.crash().settle().commit();
    assert_eq!(world.emitted, ["fast"]);
    assert_eq!((world.counter("stock", "fast-won"), world.counter("stock", "slow-won")), (1, 0));
    world.finished();
}

#[test]
fn unknown_targets_fail_at_once_and_so_on_every_re_run() {
    let orders = Program::new("orders").on("place", |cx| {
        let calls = [
            cx.start("nobody", "add", "k", ""),
            cx.start("stock", "nothing", "k", ""),
            cx.start("stock", "add", "-", "{}"),
            cx.start("stock", "add", "-", r#"{"key":"from-value"}"#),
        ];
        let mut codes = Vec::new();
        for call in calls {
            codes.push(cx.wait(call)?.map_or_else(|failure| failure.code, |_| "ok".into()));
        }
        cx.call("stock", "add", "last", "")?;
        cx.emit(&codes.join(" "));
        Ok("ok")
    });
    let mut world = World::new(vec![orders, counting("stock")]);
    world.hold(|message| matches!(message, Message::Ask(ask) if ask.key == "last"));
    world.events("orders", &["a"]).settle().commit().crash().settle().commit();
    assert_eq!(world.emitted, ["unknown-operator unknown-handler no-key ok"]);
    assert_eq!(world.counter("stock", "from-value"), 1);
    world.finished();
}

#[test]
fn a_key_up_its_own_chain_is_re_entrant_at_once() {
    let a = Program::new("a").on("go", |cx| {
        cx.call("b", "go", "x", "")?;
        Ok("")
    });
    let b = Program::new("b").on("go", |cx| {
        let call = cx.start("a", "go", "root", "");
        let failure = cx.wait(call)?.unwrap_err();
        cx.emit(&failure.code);
        Ok("")
    });
    let mut world = World::new(vec![a, b]);
    world.events("a", &["root"]).settle();
    assert_eq!(world.emitted, ["re-entrant"]);
    world.finished();
}

#[test]
fn a_chain_is_at_most_32_deep() {
    let a = Program::new("a").on("go", |cx| {
        let n: u32 = cx.value().parse().unwrap();
        let call = cx.start("a", "go", &format!("k{}", n + 1), &(n + 1).to_string());
        match cx.wait(call)? {
            Ok(_) => Ok(""),
            Err(failure) => {
                cx.emit(&format!("{} at {n}", failure.code));
                Ok("")
            }
        }
    });
    let mut world = World::new(vec![a]);
    world.events("a", &["k1 1"]).settle();
    assert_eq!(world.emitted, ["too-deep at 32"]);
    world.finished();
}

#[test]
fn a_failed_call_is_its_callers_failure_and_no_dead_letter() {
    let orders = Program::new("orders").on("place", |cx| {
        let hard = cx.start("stock", "hard", "k", "");
        let flaky = cx.start("stock", "flaky", "k", "");
        let never = cx.start("stock", "never", "k", "");
        let mut codes = Vec::new();
        for call in [hard, flaky, never] {
            codes.push(cx.wait(call)?.map_or_else(|failure| failure.code, |_| "ok".into()));
        }
        cx.emit(&codes.join(" "));
        Ok("ok")
    });
    let stock = Program::new("stock")
        .on("hard", |cx| {
            cx.add(100);
            Err(terminal("out-of-stock"))
        })
        .on("flaky", |cx| {
            cx.add(1);
            if cx.attempt() < 3 { Err(transient("flaky")) } else { Ok("") }
        })
        .on("never", |cx| {
            cx.add(100);
            Err(transient("never"))
        });
    let mut world = World::new(vec![orders, stock]);
    world.events("orders", &["a"]).settle().pass(2_000).finished();
    assert_eq!(world.emitted, ["out-of-stock ok exhausted"]);
    assert_eq!(world.counter("stock", "k"), 1);
    assert!(world.dead_letters().is_empty());
    assert_eq!(world.figures("stock").counts.ended, 3);
}

#[test]
fn deadline_against_begin_leaks_nothing() {
    let place = |cx: &mut super::guest::Cx<'_>| {
        let call = cx.start_within("stock", "add", "sku", "", Some(500));
        let ended = cx.wait(call)?.map_or_else(|failure| failure.code, |_| "ok".into());
        cx.emit(&ended);
        Ok("ok")
    };
    // The cancel overtakes the call: it never begins, though it arrives later.
    let mut world = World::new(vec![Program::new("orders").on("place", place), counting("stock")]);
    world
        .hold(|message| matches!(message, Message::Ask(_)))
        .events("orders", &["a"])
        .settle()
        .pass(600);
    assert_eq!(world.emitted, ["deadline"]);
    world.let_go().finished();
    assert_eq!(world.counter("stock", "sku"), 0);
    assert_eq!(world.figures("stock").counts.taken, 0);

    // The call has ended, and its answer crosses the cancel: the result counts.
    let mut world = World::new(vec![Program::new("orders").on("place", place), counting("stock")]);
    world
        .hold(|message| matches!(message, Message::Outcome { .. }))
        .events("orders", &["a"])
        .settle()
        .pass(600);
    assert!(world.emitted.is_empty());
    world.let_go().settle();
    assert_eq!(world.emitted, ["ok"]);
    world.finished();
    assert_eq!(world.counter("stock", "sku"), 1);
}

#[test]
fn a_running_call_is_rolled_back_at_its_deadline_and_says_what_stays_done() {
    let orders = Program::new("orders").on("place", |cx| {
        let call = cx.start_within("stock", "reserve", "sku", "", Some(500));
        let failure = cx.wait(call)?.unwrap_err();
        Err(Stop::Fail(failure))
    });
    let stock = Program::new("stock").on("reserve", |cx| {
        cx.add(1);
        cx.call("depot", "add", "first", "")?;
        cx.call("depot", "add", "second", "")?;
        Ok("")
    });
    let mut world = World::new(vec![orders, stock, counting("depot")]);
    world.hold(|message| matches!(message, Message::Ask(ask) if ask.key == "second"));
    world.events("orders", &["a"]).settle().pass(600).let_go().finished();
    let letters = world.dead_letters();
    assert_eq!(letters.len(), 1);
    assert_eq!(letters[0].failure.code, "deadline");
    assert_eq!(letters[0].done, ["depot.add first"]);
    assert_eq!((world.counter("stock", "sku"), world.counter("depot", "first")), (0, 1));
    assert_eq!(world.counter("depot", "second"), 0, "it was given up before it came");
}

#[test]
fn refused_then_retried_gets_through() {
    let orders = Program::new("orders").on("place", |cx| {
        let call = cx.start_within("stock", "add", "sku", "", Some(500));
        match cx.wait(call)? {
            Ok(_) => {
                cx.emit("placed");
                Ok("ok")
            }
            Err(failure) => Err(transient(&failure.code)),
        }
    });
    let mut world = World::new(vec![orders, counting("stock")]);
    world
        .hold(|message| matches!(message, Message::Ask(ask) if ask.id.r == 0))
        .events("orders", &["a"])
        .pass(700);
    // The first call was refused; the retry asks anew, under a new id.
    assert_eq!(world.emitted, ["placed"]);
    world.let_go().finished();
    assert_eq!(world.counter("stock", "sku"), 1);
}

#[test]
fn calls_open_at_the_return_are_cancelled_and_counted() {
    let orders = Program::new("orders").on("place", |cx| {
        let fast = cx.start("stock", "add", "fast", "");
        cx.start("stock", "slow", "slow", "");
        cx.wait(fast)?.map_err(Stop::Fail)?;
        cx.emit("placed");
        Ok("ok")
    });
    let stock = counting("stock").on("slow", |cx| {
        cx.add(1);
        cx.call("stock", "add", "never", "")?;
        Ok("")
    });
    let mut world = World::new(vec![orders, stock]);
    world.hold(|message| matches!(message, Message::Ask(ask) if ask.key == "never"));
    world.events("orders", &["a 1", "a 2"]).settle();
    assert_eq!(world.emitted, ["placed", "placed"]);
    assert_eq!(world.figures("orders").calls_cancelled, 2);
    world.let_go().finished();
    assert_eq!((world.counter("stock", "slow"), world.counter("stock", "fast")), (0, 2));
}

#[test]
fn a_return_with_open_calls_is_the_same_after_a_crash_while_they_are_decided() {
    let orders = Program::new("orders").on("place", |cx| {
        cx.add(1);
        let fast = cx.start("stock", "add", "fast", "");
        cx.start("stock", "add", "slow", "");
        cx.wait(fast)?.map_err(Stop::Fail)?;
        cx.emit("placed");
        Ok("ok")
    });
    let mut world = World::new(vec![orders, counting("stock")]);
    world.hold(|message| {
        matches!(message, Message::Ask(ask) if ask.key == "slow")
            || matches!(message, Message::Cancel { .. })
    });
    world.events("orders", &["a"]).settle().commit();
    assert!(world.emitted.is_empty(), "the invocation has not ended");
    world.crash().settle();
    assert_eq!(world.emitted, ["placed"]);
    world.finished();
    assert_eq!((world.counter("orders", "a"), world.counter("stock", "fast")), (1, 1));
}

#[test]
fn a_re_run_that_asks_for_another_call_stops_its_key() {
    let orders = Program::new("orders").on("place", |cx| {
        let key = if cx.attempt() == 1 { "one" } else { "two" };
        cx.call("stock", "add", key, "")?;
        Err(transient("again"))
    });
    let mut world = World::new(vec![orders, counting("stock")]);
    world.events("orders", &["a 1", "a 2", "b 1"]).settle().pass(1_000).settle().commit();
    let letters = world.dead_letters();
    let of_a: Vec<_> =
        letters.iter().filter(|letter| letter.key.as_deref() == Some(b"a")).collect();
    assert_eq!(of_a.len(), 1);
    assert_eq!(of_a[0].failure.code, "mismatch");
    assert!(of_a[0].blocks_key && of_a[0].done == ["stock.add one"]);
    // The key stays blocked, also after a crash, until a person decides.
    world.crash().pass(5_000);
    assert_eq!(world.figures("orders").waiting, 1);
    assert_eq!(world.figures("orders").blocked, 2);
    let id = of_a[0].id;
    world.with_unit("orders", |unit, now| unit.on_discard(now, id)).settle().pass(1_000).rest();
    assert_eq!(world.dead_letters().iter().filter(|letter| letter.id == id).count(), 0);
    assert_eq!(world.figures("orders").waiting, 0);
    assert!(world.begun.iter().filter(|begun| begun.contains("orders.place a")).count() > 2);
}

#[test]
fn a_re_run_that_ends_early_stops_its_key_too() {
    let orders = Program::new("orders").on("place", |cx| {
        if cx.attempt() > 1 {
            return Ok("ok");
        }
        cx.call("stock", "add", "one", "")?;
        Err(transient("again"))
    });
    let mut world = World::new(vec![orders, counting("stock")]);
    world.events("orders", &["a 1"]).settle().pass(1_000).rest();
    assert_eq!(world.dead_letters()[0].failure.code, "mismatch");
}

#[test]
fn caller_waits_longer_than_any_retention() {
    let orders = Program::new("orders").on("place", |cx| {
        cx.call("stock", "add", "one", "")?;
        cx.call("stock", "stuck", "two", "")?;
        cx.emit("placed");
        Ok("ok")
    });
    let stock = counting("stock")
        .on("stuck", |cx| if cx.attempt() < 3 { Err(transient("later")) } else { Ok("") });
    let mut world = World::new(vec![orders.with(|_| ()), stock]);
    world
        .hold(|message| matches!(message, Message::Outcome { .. }))
        .events("orders", &["a"])
        .settle()
        .commit();
    // Days pass while the answer is under way; the record stays.
    world.now.wall.0 += 10 * 24 * 3_600_000;
    world.with_unit("stock", |unit, now| unit.on_time(now)).commit();
    assert_eq!(world.tables().get("answers"), Some(&1));
    world.crash().settle().pass(2_000).finished();
    assert_eq!(world.emitted, ["placed"]);
    assert_eq!(world.counter("stock", "one"), 1);
}

#[test]
fn a_retry_attaches_to_calls_that_are_under_way() {
    let orders = Program::new("orders").on("place", |cx| {
        let slow = cx.start("stock", "add", "slow", "");
        let fast = cx.start("stock", "add", "fast", "");
        cx.wait(fast)?.map_err(Stop::Fail)?;
        if cx.attempt() == 1 {
            return Err(transient("flaky"));
        }
        cx.wait(slow)?.map_err(Stop::Fail)?;
        cx.emit("placed");
        Ok("ok")
    });
    // The answer comes before the retry, or after it.
    for pause in [10, 1_000] {
        let mut world = World::new(vec![orders.clone(), counting("stock")]);
        world.hold(|message| matches!(message, Message::Ask(ask) if ask.key == "slow"));
        world.events("orders", &["a"]).settle().pass(pause).let_go().settle().pass(1_000);
        assert_eq!(world.emitted, ["placed"]);
        assert_eq!(world.figures("orders").calls_cancelled, 0);
        world.finished();
        assert_eq!((world.counter("stock", "slow"), world.counter("stock", "fast")), (1, 1));
    }
    // Over a restart between the two attempts, too.
    let mut world = World::new(vec![orders, counting("stock")]);
    world.hold(|message| matches!(message, Message::Ask(ask) if ask.key == "slow"));
    world.events("orders", &["a"]).settle().commit().crash().settle().pass(1_000).finished();
    assert_eq!(world.emitted, ["placed"]);
    assert_eq!((world.counter("stock", "slow"), world.counter("stock", "fast")), (1, 1));
}

#[test]
fn a_call_that_retries_is_cancelled_between_its_attempts() {
    let orders = Program::new("orders").on("place", |cx| {
        let call = cx.start_within("stock", "never", "k", "", Some(150));
        let failure = cx.wait(call)?.unwrap_err();
        cx.emit(&failure.code);
        Ok("ok")
    });
    let stock = counting("stock").on("never", |cx| {
        cx.start("stock", "add", "meanwhile", "");
        Err(transient("never"))
    });
    let mut world = World::new(vec![orders, stock]);
    world.hold(|message| matches!(message, Message::Ask(ask) if ask.key == "meanwhile"));
    world.events("orders", &["a"]).settle().pass(160).settle();
    assert_eq!(world.emitted, ["deadline"]);
    world.let_go().pass(1_000).finished();
    assert_eq!(world.counter("stock", "meanwhile"), 0);
}
