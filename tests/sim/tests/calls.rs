//! Rules P6 to P9: journals, deadlines, ids.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use rand::Rng;
use weir_core::{description::CellKind, failure::Failure};
use weir_sim::{
    script::{Module, first},
    world::World,
};

use crate::common::{
    CALLS, Gate, TOPICS, assert_clean, bank, caller, events, feed, run_to_epoch, setup,
};

/// P6: a retry keeps the journal, so a call that was answered is not made again.
///
/// Fails without: the journal that an item keeps over a failed attempt.
#[test]
fn retry_does_not_call_twice() {
    let module = Module::new().output("out").handler("take", |ctx, invocation| async move {
        let reply = ctx.call("bank", "add", "bank", invocation.value.clone()).await?;
        let again = ctx.call("bank", "add", "other", reply.clone()).await?;
        if ctx.attempt < 4 {
            return Err(Failure::transient("not-yet", "try again"));
        }
        ctx.emit(0, again);
        Ok(Bytes::new())
    });
    let mut world = World::new(
        1,
        setup(CALLS, vec![("caller", Arc::new(module)), ("bank", bank(&Gate::closed()))], TOPICS),
    );
    feed(&mut world, "in", &events(&["a", "b"], 6));
    world.settle(Duration::from_secs(30));
    assert_eq!(world.values("out").len(), 6);
    assert_eq!(world.counter("bank", "bank", "count"), 6);
    assert_eq!(world.counter("bank", "other", "count"), 6);
    assert_clean(&world);
}

/// P6: the order in which answers were handed to the guest is part of the journal: a
/// re-run sees the same winner of a race, though all answers are there now.
///
/// Fails with: handing over recorded outcomes in the order of their calls.
#[test]
fn race_of_two_calls_is_the_same_on_re_run() {
    let gate = Gate::closed();
    let opener = gate.clone();
    let module = Module::new().output("out").handler("take", move |ctx, _| {
        let opener = opener.clone();
        async move {
            // The first call hangs at its callee until the race is decided.
            let slow = ctx.start("bank", "wait", "slow", "slow", None);
            let fast = ctx.start("bank", "add", "fast", "fast", None);
            let (winner, reply) = first(slow, fast).await;
            let _ = reply?;
            opener.open();
            ctx.call("bank", "add", if winner == 0 { "slow won" } else { "fast won" }, "x").await?;
            if ctx.attempt < 3 {
                return Err(Failure::transient("not-yet", "try again"));
            }
            ctx.emit(0, format!("{winner}"));
            Ok(Bytes::new())
        }
    });
    let text = "
pipeline: sim
sources: { in: { topic: in } }
operators:
  caller: { module: caller, input: in, handler: take, retry: { first: 10s } }
  bank: { module: bank, retry: { first: 1s } }
sinks: { out: { topic: out, input: caller.out } }
";
    // `wait` fails for a while instead of hanging, so that it is answered later by
    // itself.
    let bank = Module::new()
        .cell("count", CellKind::Counter)
        .handler("add", |ctx, invocation| async move {
            ctx.add(0, 1);
            Ok(invocation.value)
        })
        .handler("wait", move |ctx, invocation| {
            let is_open = gate.is_open();
            async move {
                if !is_open {
                    return Err(Failure::transient("closed", "the gate is closed"));
                }
                ctx.add(0, 1);
                Ok(invocation.value)
            }
        });
    let mut world = World::new(
        1,
        setup(text, vec![("caller", Arc::new(module)), ("bank", Arc::new(bank))], TOPICS),
    );
    feed(&mut world, "in", &events(&["a"], 1));
    world.settle(Duration::from_secs(5));
    world.crash();
    world.settle(Duration::from_secs(200));
    assert_eq!(world.values("out"), ["1"]);
    assert_eq!(world.counter("bank", "fast won", "count"), 1);
    assert_eq!(world.counter("bank", "slow won", "count"), 0);
    assert!(world.dead_letters("caller").is_empty());
    assert_clean(&world);
}

/// P8: the callee decides. If the deadline comes first the call never runs, and if
/// it began first its reply counts: the caller knows which, whatever the timing.
///
/// Fails with: deciding a deadline at the caller, without asking the callee.
#[test]
fn deadline_against_begin_leaks_nothing() {
    let module = Module::new().cell("ok", CellKind::Counter).output("out").handler(
        "take",
        |ctx, invocation| async move {
            let outcome = ctx.start("bank", "slow", "bank", invocation.value, Some(20)).await;
            match outcome {
                Ok(_) => ctx.emit(0, "done"),
                Err(failure) => ctx.emit(0, failure.code),
            }
            Ok(Bytes::new())
        },
    );
    let module = Arc::new(module);
    let (mut done, mut late) = (0, 0);
    for seed in 0..150 {
        // Some time passes in each: it fails once before it succeeds.
        let bank = Module::new().cell("count", CellKind::Counter).handler(
            "slow",
            |ctx, invocation| async move {
                if ctx.attempt == 1 {
                    return Err(Failure::transient("not-yet", "try again"));
                }
                ctx.add(0, 1);
                Ok(invocation.value)
            },
        );
        let text = "
pipeline: sim
sources: { in: { topic: in } }
operators:
  caller: { module: caller, input: in, handler: take }
  bank: { module: bank, retry: { first: 8ms } }
sinks: { out: { topic: out, input: caller.out } }
";
        let mut world = World::new(
            seed,
            setup(text, vec![("caller", module.clone()), ("bank", Arc::new(bank))], TOPICS),
        );
        feed(&mut world, "in", &events(&["a", "b", "c", "d", "e"], 5));
        if seed % 3 == 0 {
            let steps = world.rng.random_range(1..200);
            world.steps(steps);
            world.crash();
        }
        world.settle(Duration::from_secs(10));
        let values = world.values("out");
        assert_eq!(values.len(), 5, "seed {seed}: {values:?}");
        let ok = values.iter().filter(|value| *value == "done").count();
        assert_eq!(
            values.iter().filter(|value| *value == "deadline").count(),
            5 - ok,
            "seed {seed}: {values:?}"
        );
        assert_eq!(
            world.counter("bank", "bank", "count"),
            ok as i64,
            "seed {seed}: as many effects as replies"
        );
        assert_clean(&world);
        done += ok;
        late += 5 - ok;
    }
    assert!(done > 50 && late > 50, "{done} came through, {late} came too late");
}

/// P9: a call that is asked for again while it is queued or running attaches its
/// caller: it does not begin a second time.
///
/// Fails without: looking the id up in `asks` when a call is asked for.
#[test]
fn known_id_still_running_attaches() {
    let gate = Gate::closed();
    let mut world = World::new(
        1,
        setup(CALLS, vec![("caller", caller("wait")), ("bank", bank(&gate))], TOPICS),
    );
    feed(&mut world, "in", &events(&["a", "b", "c"], 3));
    world.settle(Duration::from_secs(2));
    assert!(
        world.leftovers().iter().any(|left| left == "waiting of bank"),
        "the calls are committed at the callee"
    );
    world.crash();
    world.settle(Duration::from_secs(2));
    gate.open();
    world.crash();
    world.settle(Duration::from_secs(5));
    assert_eq!(world.counter("bank", "bank", "count"), 3);
    assert_eq!(world.values("out").len(), 3);
    assert_clean(&world);
}

/// P9: an answer is kept until its caller's commit holds it, not for a time.
///
/// Fails without: the answers in `restore`, as if they had expired while the machine
/// was down.
#[test]
fn caller_waits_longer_than_any_retention() {
    let mut waited = 0;
    for seed in 0..150 {
        let modules = vec![("caller", caller("add")), ("bank", bank(&Gate::closed()))];
        let mut world = World::new(seed, setup(CALLS, modules, TOPICS));
        feed(&mut world, "in", &events(&["a", "b", "c"], 6));
        let epoch = world.rng.random_range(1..5);
        run_to_epoch(&mut world, epoch);
        waited += usize::from(world.leftovers().iter().any(|left| left == "answers of bank"));
        world.crash();
        // Down for a year, and again before anything is said.
        world.clock.advance(Duration::from_secs(366 * 86_400));
        world.crash();
        world.settle(Duration::from_secs(5));
        assert_eq!(world.counter("bank", "bank", "count"), 6, "seed {seed}");
        assert_eq!(world.values("out").len(), 6, "seed {seed}");
        assert_clean(&world);
    }
    assert!(waited > 5, "an answer was waiting in {waited} runs only");
}

/// P9 and P6: a call that was refused before it began is asked for anew, under
/// another id, when its caller is retried: the refusal is not replayed.
///
/// Fails without: dropping trailing refusals from the journal at a retry.
#[test]
fn refused_then_retried_gets_through() {
    let gate = Gate::closed();
    let holder = gate.clone();
    let attempts = Arc::new(AtomicU32::new(0));
    let seen = attempts.clone();
    let module = Module::new().output("out").handler("take", move |ctx, invocation| {
        let (holder, seen) = (holder.clone(), seen.clone());
        async move {
            if ctx.key == "holder" {
                ctx.call("bank", "wait", "bank", "held").await?;
                return Ok(Bytes::new());
            }
            seen.fetch_max(ctx.attempt, Ordering::SeqCst);
            match ctx.start("bank", "add", "bank", invocation.value, Some(50)).await {
                Ok(reply) => {
                    ctx.emit(0, reply);
                    Ok(Bytes::new())
                }
                Err(failure) => {
                    assert_eq!(failure.code, "deadline");
                    holder.open();
                    Err(Failure::transient("refused", "try again"))
                }
            }
        }
    });
    let modules = vec![("caller", Arc::new(module)), ("bank", bank(&gate))];
    let text = CALLS.replace("handler: take", "handler: take, retry: { first: 1s }");
    let mut world = World::new(1, setup(&text, modules, TOPICS));
    // The key of the callee is held by a call that hangs.
    feed(&mut world, "in", &[("holder", "e0".into())]);
    world.settle(Duration::from_millis(200));
    feed(&mut world, "in", &[("a", "e1".into())]);
    world.run_until("the call is refused", |_| attempts.load(Ordering::SeqCst) >= 1);
    world.run_until("the gate is open", |_| gate.is_open());
    world.settle(Duration::from_millis(300));
    // The holder runs again with the gate open.
    world.crash();
    world.settle(Duration::from_secs(150));
    assert_eq!(world.values("out"), ["e1"]);
    assert_eq!(world.entries("bank", "bank", "values"), ["held", "e1"]);
    assert!(world.dead_letters("caller").is_empty());
    assert_clean(&world);
}
