//! Rules P1 to P5: barriers, deltas, waiting, epochs of messages, answers.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use rand::Rng;
use weir_core::{
    description::CellKind,
    failure::Failure,
    ingress::{IngressKind, Response},
};
use weir_sim::{audit, script::Module, world::World};

use crate::common::{
    CALLS, Gate, TOPICS, assert_clean, bank, caller, count, events, feed, run_to_epoch, setup,
    sorted,
};

const CALL: IngressKind = IngressKind::Call { deadline: None };

/// P2: the delta holds events that wait behind another of their key.
///
/// Fails without: items in phase `Queued` in the rows of `on_barrier`.
#[test]
fn event_behind_a_pending_key_survives() {
    let gate = Gate::closed();
    let mut world = World::new(
        1,
        setup(CALLS, vec![("caller", caller("wait")), ("bank", bank(&gate))], TOPICS),
    );
    let records = events(&["a"], 3);
    feed(&mut world, "in", &records);
    world.settle(Duration::from_secs(1));
    assert_eq!(world.values("out"), Vec::<String>::new());
    gate.open();
    world.crash();
    world.settle(Duration::from_secs(5));
    assert_eq!(world.values("out"), ["e0", "e1", "e2"]);
    assert_eq!(world.entries("caller", "a", "values"), ["e0", "e1", "e2"]);
    assert_clean(&world);
}

/// P2: the delta holds an event that waits for its next attempt, with the number of
/// the attempt.
///
/// Fails without: items in phase `Retrying` in the rows of `on_barrier`.
#[test]
fn event_between_two_attempts_survives() {
    let attempts = Arc::new(AtomicU32::new(0));
    let seen = attempts.clone();
    let module = Module::new().output("out").handler("take", move |ctx, invocation| {
        seen.fetch_max(ctx.attempt, Ordering::SeqCst);
        async move {
            if ctx.attempt < 3 {
                return Err(Failure::transient("not-yet", "try again"));
            }
            ctx.emit(0, invocation.value);
            Ok(Bytes::new())
        }
    });
    let text = "
pipeline: sim
sources: { in: { topic: in } }
operators: { op: { module: op, input: in, handler: take, retry: { first: 30s } } }
sinks: { out: { topic: out, input: op.out } }
";
    let mut world = World::new(1, setup(text, vec![("op", Arc::new(module))], TOPICS));
    feed(&mut world, "in", &events(&["a"], 1));
    world.settle(Duration::from_secs(10));
    assert_eq!(attempts.load(Ordering::SeqCst), 1);
    world.crash();
    world.settle(Duration::from_secs(40));
    assert_eq!(attempts.load(Ordering::SeqCst), 2, "the second attempt, not a first one again");
    world.crash();
    world.settle(Duration::from_secs(120));
    assert_eq!(world.values("out"), ["e0"]);
    assert_clean(&world);
}

/// P2: a send that its target does not hold in the same epoch is in the outbox.
///
/// Fails without: `outbox.add` in `send_all`.
#[test]
fn send_across_a_barrier_survives() {
    let sender = Module::new().output("out").handler("take", |ctx, invocation| async move {
        ctx.send("bank", "add", "bank", invocation.value.clone(), None);
        ctx.emit(0, invocation.value);
        Ok(Bytes::new())
    });
    let sender = Arc::new(sender);
    let mut across = 0;
    for seed in 0..120 {
        let modules = vec![("caller", sender.clone()), ("bank", bank(&Gate::closed()))];
        let mut world = World::new(seed, setup(CALLS, modules, TOPICS));
        feed(&mut world, "in", &events(&["a", "b"], 8));
        let epoch = world.rng.random_range(1..4);
        run_to_epoch(&mut world, epoch);
        across += usize::from(world.leftovers().iter().any(|left| left == "outbox of caller"));
        world.crash();
        world.settle(Duration::from_secs(5));
        assert_eq!(world.counter("bank", "bank", "count"), 8, "seed {seed}");
        assert_eq!(sorted(&world, "out").len(), 8, "seed {seed}");
        assert_clean(&world);
    }
    assert!(across > 5, "a barrier came between in {across} runs only");
}

/// P1: an epoch ends when its delta is large, also one of state alone, while sources
/// are far behind and it could wait.
///
/// Fails without: `add_bytes` of what a station's delta has grown by.
#[test]
fn a_large_delta_of_state_ends_its_epoch() {
    const STATE: &str = "
pipeline: sim
sources: { in: { topic: in } }
operators: { count: { module: count, input: in } }
sinks: { out: { discard: true, input: count.out } }
";
    let mut setup = setup(STATE, vec![("count", count())], TOPICS);
    setup.tuning.epoch_behind = Duration::from_secs(3_600);
    setup.tuning.epoch_max = Duration::from_secs(3_600);
    setup.tuning.epoch_bytes = 4_096;
    let mut world = World::new(1, setup);
    let keys: Vec<String> = (0..1_000).map(|i| format!("k{i}")).collect();
    let records: Vec<(&str, String)> = keys.iter().map(|key| (key.as_str(), key.clone())).collect();
    feed(&mut world, "in", &records);
    world.run_until("state is committed", |world| !world.state("count").is_empty());
    let committed = world.state("count").len();
    assert!(committed < 500, "{committed} keys in the first commit");
    world.settle(Duration::from_secs(10));
    assert_eq!(world.state("count").len(), 1_000);
    assert_clean(&world);
}

/// P3: what waits for a busy key is spilled beyond the bound of memory, and neither
/// stops the sources nor other keys; it runs in its order when its time comes, also
/// after a crash.
///
/// Fails without: `could_begin` in `can_take`; or with: `spill` of what no commit has.
#[test]
fn stuck_key_stops_no_other_however_much_waits_behind_it() {
    let gate = Gate::closed();
    let caller = Module::new().cell("values", CellKind::List).output("out").handler(
        "take",
        |ctx, invocation| async move {
            let stuck = &invocation.key[..] == b"stuck";
            let (handler, key) = if stuck { ("wait", "shut") } else { ("add", "bank") };
            let reply = ctx.call("bank", handler, key, invocation.value).await?;
            ctx.push(0, reply.clone());
            ctx.emit(0, reply);
            Ok(Bytes::new())
        },
    );
    let modules = vec![("caller", Arc::new(caller)), ("bank", bank(&gate))];
    let mut setup = setup(CALLS, modules, TOPICS);
    setup.tuning.waiting_bytes = 2_000;
    let mut world = World::new(1, setup);
    feed(&mut world, "in", &events(&["stuck", "b", "stuck"], 300));
    world.settle(Duration::from_secs(10));
    assert_eq!(sorted(&world, "out").len(), 100, "all of the key that is free");
    let counts = audit::counts(&world, &"caller".parse().expect("a name"));
    assert_eq!((counts.counts.taken, counts.waiting), (300, 200));
    gate.open();
    world.crash();
    world.settle(Duration::from_secs(60));
    assert_eq!(sorted(&world, "out").len(), 300);
    let stuck: Vec<String> = (0..300).filter(|i| i % 3 != 1).map(|i| format!("e{i}")).collect();
    assert_eq!(world.entries("caller", "stuck", "values"), stuck);
    assert_clean(&world);
}

/// P3: a send to an operator at which its quota waits fails as transient at its
/// sender, which is tried again; barriers and commits go on, nothing is lost.
///
/// Sources stop, and requests are refused.
///
/// Fails without: `is_over` in `resolve_send` or in `request`; `stops` in `may_take`.
#[test]
fn send_to_an_operator_over_its_quota_is_tried_again() {
    let gate = Gate::closed();
    let attempts = Arc::new(AtomicU32::new(0));
    let seen = attempts.clone();
    let sender = Module::new().output("out").handler("take", move |ctx, invocation| {
        seen.fetch_max(ctx.attempt, Ordering::SeqCst);
        async move {
            ctx.send("bank", "wait", "bank", invocation.value.clone(), None);
            ctx.emit(0, invocation.value);
            Ok(Bytes::new())
        }
    });
    let modules = vec![("caller", Arc::new(sender)), ("bank", bank(&gate))];
    // Few at a time: the others are taken in already when the quota is used up.
    let mut setup = setup(SMALL, modules, TOPICS);
    setup.tuning.waiting_quota = 600;
    let mut world = World::new(1, setup);
    feed(&mut world, "in", &events(&["a", "b"], 300));
    world.settle(Duration::from_secs(1));
    assert!(attempts.load(Ordering::SeqCst) > 1, "no send was refused");
    let committed = world.values("out").len();
    assert!((1..300).contains(&committed), "{committed} senders ended");
    let taken = audit::counts(&world, &"caller".parse().expect("a name")).counts.taken;
    assert!(taken < 300, "the source did not stop");
    assert!(!world.request("r1", CALL, ("bank", "add"), "x", "v"), "no request was refused");
    gate.open();
    world.crash();
    world.settle(Duration::from_secs(120));
    assert_eq!(world.counter("bank", "bank", "count"), 300);
    assert_eq!(sorted(&world, "out").len(), 300);
    assert_clean(&world);
}

/// P2: ids and answers of requests are in the delta, also of those that began and
/// ended in one epoch.
///
/// Fails without: the answer of a call that began and ended in this epoch in
/// `on_barrier`.
#[test]
fn call_begun_and_ended_in_one_epoch_is_known_afterwards() {
    let mut known = 0;
    for seed in 0..150 {
        let modules = vec![("caller", caller("add")), ("bank", bank(&Gate::closed()))];
        let mut world = World::new(seed, setup(CALLS, modules, TOPICS));
        feed(&mut world, "in", &events(&["a", "b", "c"], 6));
        let epoch = world.rng.random_range(1..5);
        run_to_epoch(&mut world, epoch);
        known += usize::from(world.leftovers().iter().any(|left| left == "answers of bank"));
        world.crash();
        world.settle(Duration::from_secs(5));
        assert_eq!(world.counter("bank", "bank", "count"), 6, "seed {seed}");
        assert_eq!(sorted(&world, "out").len(), 6, "seed {seed}");
        assert_clean(&world);
    }
    assert!(known > 5, "the answer was ahead of its caller in {known} runs only");
}

/// P1: the coordinator gives the barrier to operators that are only called.
///
/// Fails without: `is_root` of tasks that have no stream input.
#[test]
fn call_only_operator_commits() {
    let modules = vec![("caller", caller("add")), ("bank", bank(&Gate::closed()))];
    let mut world = World::new(1, setup(CALLS, modules, TOPICS));
    assert!(world.request("r1", CALL, ("bank", "add"), "x", "v"));
    world.run_until("the answer", |world| world.response("r1").is_some());
    assert!(matches!(world.response("r1"), Some(Response::Reply { value, .. }) if value == "v"));
    assert_eq!(world.counter("bank", "x", "count"), 1, "an answer leaves after its commit");
    world.crash();
    assert_eq!(world.counter("bank", "x", "count"), 1);
}

const SMALL: &str = "
pipeline: sim
sources: { in: { topic: in } }
operators:
  caller: { module: caller, input: in, handler: take, parallelism: 2, concurrency: 2 }
  bank: { module: bank }
sinks: { out: { topic: out, input: caller.out } }
";

/// P3: a task at its limit goes on reading, so that barriers come through.
///
/// Fails with: reading nothing while as many invocations run as the limit allows.
#[test]
fn limit_reached_at_a_barrier_does_not_deadlock() {
    let gate = Gate::closed();
    let mut world = World::new(
        1,
        setup(SMALL, vec![("caller", caller("wait")), ("bank", bank(&gate))], TOPICS),
    );
    let keys: Vec<String> = (0..60).map(|i| format!("k{i}")).collect();
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    feed(&mut world, "in", &events(&keys, 120));
    world.settle(Duration::from_secs(10));
    let counts = audit::counts(&world, &"caller".parse().expect("a name"));
    assert_eq!(counts.counts.taken, 120, "all of it is committed as waiting");
    assert_eq!(counts.waiting, 120);
    gate.open();
    world.crash();
    world.settle(Duration::from_secs(10));
    assert_eq!(sorted(&world, "out").len(), 120);
    assert_eq!(world.counter("bank", "bank", "count"), 120);
    assert_clean(&world);
}

/// P3: a call runs on the slot of its chain. Two operators whose slots are all taken
/// by events, each of which calls the other, get on.
///
/// Fails with: `is_chained` false for an item that was begun by a call.
#[test]
fn two_operators_full_of_each_other() {
    let side = |other: &'static str| {
        Module::new()
            .cell("count", CellKind::Counter)
            .output("out")
            .handler("take", move |ctx, invocation| async move {
                let reply = ctx.call(other, "add", "x", invocation.value).await?;
                ctx.emit(0, reply);
                Ok(Bytes::new())
            })
            .handler("add", |ctx, invocation| async move {
                ctx.add(0, 1);
                Ok(invocation.value)
            })
    };
    let text = "
pipeline: sim
sources: { in: { topic: in }, in2: { topic: in2 } }
operators:
  left: { module: left, input: in, handler: take, concurrency: 1 }
  right: { module: right, input: in2, handler: take, concurrency: 1 }
sinks: { out: { topic: out, input: left.out }, out2: { topic: out2, input: right.out } }
";
    for seed in 0..20 {
        let modules = vec![("left", Arc::new(side("right"))), ("right", Arc::new(side("left")))];
        let topics = &[("in", 1), ("in2", 1), ("out", 1), ("out2", 1)];
        let mut world = World::new(seed, setup(text, modules, topics));
        let records = events(&["a", "b", "c"], 12);
        feed(&mut world, "in", &records);
        feed(&mut world, "in2", &records);
        world.settle(Duration::from_secs(10));
        assert_eq!(
            (world.values("out").len(), world.values("out2").len()),
            (12, 12),
            "seed {seed}"
        );
        assert_eq!(world.counter("left", "x", "count") + world.counter("right", "x", "count"), 24);
        assert_clean(&world);
    }
}

/// Events that call under colliding keys, a crash right after a commit: afterwards
/// every event has one effect on both sides. Gives how often a call was open or
/// answered ahead of its caller in that commit.
fn crash_after_a_commit(seeds: std::ops::Range<u64>, what: &str) -> usize {
    let mut interesting = 0;
    for seed in seeds {
        let modules = vec![("caller", caller("add")), ("bank", bank(&Gate::closed()))];
        let mut world = World::new(seed, setup(SMALL, modules, TOPICS));
        feed(&mut world, "in", &events(&["a", "b", "c", "d"], 16));
        let epoch = world.rng.random_range(1..8);
        run_to_epoch(&mut world, epoch);
        interesting += usize::from(world.leftovers().iter().any(|left| left == what));
        world.crash();
        world.settle(Duration::from_secs(5));
        assert_eq!(world.counter("bank", "bank", "count"), 16, "seed {seed}");
        let mut at_bank = world.entries("bank", "bank", "values");
        at_bank.sort();
        assert_eq!(at_bank, sorted(&world, "out"), "seed {seed}");
        assert_clean(&world);
    }
    interesting
}

/// P4: a reply from a later epoch waits until its receiver has passed that barrier:
/// else the caller commits the end of a call whose effect at the callee is lost.
///
/// Fails without: `stamped.epoch > self.epoch` in `take_message`.
#[test]
fn reply_from_a_later_epoch() {
    let open = crash_after_a_commit(1000..1200, "journals of caller");
    assert!(open > 5, "a call was open over a barrier in {open} runs only");
}

/// P4: a request from an earlier epoch is taken at once. If that epoch is the last
/// that was committed, the caller asks again; if the callee's is, it knows the id.
///
/// Fails without: asking again in a re-run for calls that a row has as open.
#[test]
fn request_from_an_earlier_epoch() {
    let known = crash_after_a_commit(2000..2200, "answers of bank");
    assert!(known > 5, "a callee was ahead in {known} runs only");
}

/// P5: answers leave after the commit that holds them. Whoever has an answer finds
/// its effect after a crash; whoever has none asks again, with one effect.
///
/// Fails with: answering in `on_message` of ingress.
#[test]
fn crash_between_request_and_commit_sends_nothing_twice() {
    let mut unanswered = 0;
    for seed in 0..150 {
        let modules = vec![("caller", caller("add")), ("bank", bank(&Gate::closed()))];
        let mut world = World::new(seed, setup(CALLS, modules, TOPICS));
        let ids: Vec<String> = (0..6).map(|i| format!("r{i}")).collect();
        for (i, id) in ids.iter().enumerate() {
            let kind = if i % 2 == 0 { CALL } else { IngressKind::Send { delay: None } };
            assert!(world.request(id, kind, ("bank", "add"), "x", id));
        }
        let steps = world.rng.random_range(5..120);
        world.steps(steps);
        let first: Vec<Option<Response>> = ids.iter().map(|id| world.response(id)).collect();
        world.crash();
        let answered = first.iter().filter(|response| response.is_some()).count();
        for (id, response) in ids.iter().zip(&first) {
            if matches!(response, Some(Response::Reply { .. })) {
                assert!(
                    world.entries("bank", "x", "values").contains(id),
                    "seed {seed}: {id} was answered"
                );
            }
        }
        unanswered += usize::from(answered < ids.len());
        for (i, id) in ids.iter().enumerate() {
            let kind = if i % 2 == 0 { CALL } else { IngressKind::Send { delay: None } };
            assert!(world.request(id, kind, ("bank", "add"), "x", id));
        }
        world.settle(Duration::from_secs(5));
        for (id, response) in ids.iter().zip(first) {
            assert!(world.response(id).is_some(), "seed {seed}: {id}");
            if response.is_some() {
                assert_eq!(
                    world.response(id),
                    response,
                    "seed {seed}: a repeat gets the first answer"
                );
            }
        }
        let mut values = world.entries("bank", "x", "values");
        values.sort();
        assert_eq!(values, ids, "seed {seed}");
        assert_clean(&world);
    }
    assert!(unanswered > 20);
}
