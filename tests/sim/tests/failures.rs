//! Rules P12 to P14: failures, batches, traps.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use weir_core::{
    batch::Event,
    description::CellKind,
    failure::{Failure, TrapKind},
    guest::Output,
};
use weir_engine::domain::Status;
use weir_sim::{
    chaos::Rates,
    script::{Module, trap},
    world::World,
};

use crate::common::{CALLS, Gate, TOPICS, assert_clean, bank, count, events, feed, setup};

const FILTER: &str = "
pipeline: sim
sources: { in: { topic: in } }
operators: { op: { module: op, input: in, retry: { attempts: 3, first: 1s } } }
sinks: { out: { topic: out, input: op.out } }
";

/// Passes events on; those that `bad` names are reported as failed.
fn pass(bad: impl Fn(&str) -> Option<Failure> + Send + Sync + 'static) -> Arc<Module> {
    let module = Module::new().output("out").transform(move |_, batch| {
        let mut output = Output::default();
        for i in 0..batch.len() {
            let value = String::from_utf8_lossy(batch.value(i)).into_owned();
            match bad(&value) {
                Some(failure) => output.failures.push((i as u32, failure)),
                None => {
                    output.batch.push(Event { port: 0, origin: None, ..batch.event(i) });
                    output.causes.push(i as u32);
                }
            }
        }
        Ok(Ok(output))
    });
    Arc::new(module)
}

fn of_key(world: &World, key: &str) -> Vec<String> {
    world
        .records("out")
        .into_iter()
        .flatten()
        .filter(|(k, _)| k == key)
        .map(|(_, value)| value)
        .collect()
}

/// P13: one event of a batch fails and is tried again later: later events of its key
/// wait for it, other keys go on, and nothing of the failed run counts.
///
/// Fails without: `must_wait` in `sift`.
#[test]
fn failure_in_mid_batch_keeps_key_order() {
    let tries = Arc::new(AtomicU32::new(0));
    let counter = tries.clone();
    let module = pass(move |value| {
        (value == "e3" && counter.fetch_add(1, Ordering::SeqCst) < 2)
            .then(|| Failure::transient("not-yet", "try again"))
    });
    let mut world = World::new(1, setup(FILTER, vec![("op", module)], TOPICS));
    feed(&mut world, "in", &events(&["a", "b", "c"], 9));
    world.settle(Duration::from_millis(500));
    assert_eq!(of_key(&world, "a"), ["e0"], "what is behind the failed event of its key waits");
    assert_eq!(of_key(&world, "b"), ["e1", "e4", "e7"]);
    feed(&mut world, "in", &[("a", "late".into())]);
    world.settle(Duration::from_secs(20));
    assert_eq!(of_key(&world, "a"), ["e0", "e3", "e6", "late"]);
    assert_eq!(of_key(&world, "c"), ["e2", "e5", "e8"]);
    assert_clean(&world);
}

/// P13: a batch that traps runs again in halves, until the bad event stands alone;
/// it alone has failed.
///
/// Fails with: failing all events of a batch that trapped.
#[test]
fn trap_in_a_batch_costs_one_event_only() {
    let module = Module::new().output("out").transform(|_, batch| {
        if (0..batch.len()).any(|i| batch.value(i) == b"e3") {
            return Err(trap(TrapKind::Trap, "bad event", None));
        }
        let mut output = Output { batch: batch.clone(), ..Output::default() };
        output.batch.ports.clear();
        output.batch.origins.clear();
        output.causes = (0..batch.len() as u32).collect();
        Ok(Ok(output))
    });
    let text = FILTER.replace("attempts: 3", "attempts: 1");
    let mut world = World::new(1, setup(&text, vec![("op", Arc::new(module))], TOPICS));
    feed(&mut world, "in", &events(&["a", "b", "c"], 9));
    world.settle(Duration::from_secs(20));
    assert_eq!(of_key(&world, "a"), ["e0", "e6"]);
    assert_eq!(world.values("out").len(), 8);
    let letters = world.dead_letters("op");
    assert_eq!(letters.len(), 1);
    assert_eq!(letters[0].value, "e3");
    assert_eq!(letters[0].attempts, 1);
    assert_clean(&world);
}

/// P14: a trap discards the instance; its neighbours run again from their journals,
/// without another attempt and without another call.
///
/// Fails with: counting an attempt for every invocation that was in the instance.
#[test]
fn trap_with_neighbours_in_flight() {
    for blind in [0, 1000] {
        let gate = Gate::closed();
        let opener = gate.clone();
        let attempts = Arc::new(Mutex::new(Vec::new()));
        let seen = attempts.clone();
        let module = Module::new().output("out").handler("take", move |ctx, invocation| {
            let (opener, seen) = (opener.clone(), seen.clone());
            async move {
                let reply = ctx
                    .call("bank", "add", &format!("{:?}", ctx.key), invocation.value.clone())
                    .await?;
                if ctx.key == "bad" && ctx.attempt == 1 {
                    opener.open();
                    return ctx.trap("by intent").await;
                }
                ctx.call("bank", "add", "second", invocation.value.clone()).await?;
                if !opener.is_open() {
                    // In flight until the bad one has trapped.
                    return ctx.hang().await;
                }
                seen.lock().expect("a lock").push((ctx.key.clone(), ctx.attempt));
                ctx.emit(0, reply);
                Ok(Bytes::new())
            }
        });
        let mut setup =
            setup(CALLS, vec![("caller", Arc::new(module)), ("bank", bank(&gate))], TOPICS);
        setup.rates = Rates { blind, ..Rates::default() };
        let mut world = World::new(1, setup);
        feed(&mut world, "in", &[("a", "e0".into()), ("b", "e1".into()), ("c", "e2".into())]);
        world.settle(Duration::from_secs(1));
        assert_eq!(world.values("out").len(), 0, "all wait");
        feed(&mut world, "in", &[("bad", "e3".into())]);
        world.settle(Duration::from_secs(20));
        assert_eq!(world.values("out").len(), 4);
        for (key, attempt) in attempts.lock().expect("a lock").iter() {
            assert_eq!(*attempt, if key == "bad" { 2 } else { 1 }, "{key:?}");
        }
        assert_eq!(world.counter("bank", "second", "count"), 4);
        assert_clean(&world);
    }
}

/// P12: an event that is given up is kept with all that belongs to it, can be listed
/// and be discarded; its key goes on.
///
/// Fails without: the dead letters in the rows of `on_barrier`.
#[test]
fn dead_letter_is_kept_listed_and_discarded() {
    let module = Module::new().cell("count", CellKind::Counter).output("out").handler(
        "take",
        |ctx, invocation| async move {
            let reply = ctx.call("bank", "add", "bank", invocation.value.clone()).await?;
            ctx.add(0, 1);
            if invocation.value == "e1" {
                return Err(Failure::terminal("no-good", "this will never do"));
            }
            ctx.emit(0, reply);
            Ok(Bytes::new())
        },
    );
    let modules = vec![("caller", Arc::new(module)), ("bank", bank(&Gate::closed()))];
    let mut world = World::new(1, setup(CALLS, modules, TOPICS));
    feed(&mut world, "in", &events(&["a"], 3));
    world.settle(Duration::from_secs(5));
    world.crash();
    assert_eq!(world.values("out"), ["e0", "e2"]);
    assert_eq!(world.counter("caller", "a", "count"), 2, "it left nothing of its own behind");
    let letters = world.dead_letters("caller");
    assert_eq!(letters.len(), 1);
    let letter = &letters[0];
    assert_eq!(
        (&*letter.value, letter.key.as_deref(), letter.attempts),
        (&b"e1"[..], Some(&b"a"[..]), 1)
    );
    assert_eq!(letter.failure.code, "no-good");
    assert_eq!(letter.done.len(), 1, "the call that stays done: {:?}", letter.done);
    let told = Arc::new(AtomicU32::new(0));
    let tell = told.clone();
    let done = Box::new(move |outcome: Result<_, _>| {
        assert!(outcome.is_ok());
        tell.fetch_add(1, Ordering::SeqCst);
    });
    world.handle().discard(&"caller".parse().expect("a name"), letter.id, done);
    world.run_until("it is discarded", |_| told.load(Ordering::SeqCst) == 1);
    world.crash();
    assert!(world.dead_letters("caller").is_empty());
    assert_clean(&world);
}

/// `then: halt` stops the pipeline as failed, at its last commit; loaded again it
/// tries the event again.
#[test]
fn halt_stops_at_the_last_commit() {
    let open = Gate::closed();
    let gate = open.clone();
    let module = pass(move |value| {
        (value == "e1" && !gate.is_open())
            .then(|| Failure::terminal("no-good", "this will never do"))
    });
    let text = FILTER.replace("attempts: 3", "attempts: 3, then: halt");
    let mut world = World::new(1, setup(&text, vec![("op", module)], TOPICS));
    feed(&mut world, "in", &events(&["a"], 3));
    world
        .run_until("it fails", |world| matches!(world.handle().health().status, Status::Failed(_)));
    open.open();
    world.crash();
    world.settle(Duration::from_secs(5));
    assert_eq!(world.values("out"), ["e0", "e1", "e2"]);
    assert_clean(&world);
}

/// An operator whose instance cannot be made holds up neither the others nor the
/// commits, does not spin, and goes on when it can be made.
#[test]
fn an_instance_that_cannot_be_made_is_tried_again_with_pauses() {
    let text = "
pipeline: sim
sources: { in: { topic: in } }
operators: { count: { module: count, input: in, parallelism: 2 } }
sinks: { out: { topic: out, input: count.out }, copy: { topic: copy, input: in } }
";
    let mut setup = setup(text, vec![("count", count())], &[("in", 1), ("out", 1), ("copy", 1)]);
    setup.rates = Rates { instance: 1000, ..Rates::default() };
    let mut world = World::new(1, setup);
    feed(&mut world, "in", &events(&["a", "b", "c"], 9));
    world.settle(Duration::from_secs(60));
    assert_eq!(world.values("copy").len(), 9, "the rest of the pipeline commits");
    let error = world.handle().figures().nodes.iter().find_map(|node| node.error.clone());
    assert!(error.is_some_and(|error| error.contains("no memory")));
    world.chaos.set(Rates::default());
    world.settle(Duration::from_secs(60));
    assert_eq!(world.values("out").len(), 9);
    assert_clean(&world);
}

/// An event whose time cannot be read where the source says is a dead letter
/// `no-timestamp`, and one without the operator's key `no-key`; others go on.
#[test]
fn without_a_time_or_a_key_an_event_is_a_dead_letter() {
    for parallelism in [1, 2] {
        let text = format!(
            "
pipeline: sim
sources: {{ in: {{ topic: in, timestamp: /at }} }}
operators:
  count: {{ module: count, input: in, key: /k, parallelism: {parallelism} }}
  caller: {{ module: caller, input: in, handler: take, key: /k, parallelism: {parallelism} }}
  bank: {{ module: bank }}
sinks: {{ out: {{ topic: out, input: count.out }}, copy: {{ topic: copy, input: in }} }}
"
        );
        let modules = vec![
            ("count", count()),
            ("caller", crate::common::caller("add")),
            ("bank", bank(&Gate::closed())),
        ];
        let mut world = World::new(1, setup(&text, modules, &[("in", 1), ("out", 1), ("copy", 1)]));
        let values = [
            r#"{"at":1000,"k":"a"}"#,
            r#"{"at":"soon","k":"a"}"#,
            r#"{"at":1000}"#,
            r#"{"at":1000,"k":"b"}"#,
        ];
        for (i, value) in values.iter().enumerate() {
            world.ingest("in", &format!("r{i}"), "x", value);
        }
        world.settle(Duration::from_secs(5));
        assert_eq!(world.values("copy").len(), 4, "a sink needs neither");
        assert_eq!(world.values("out").len(), 2);
        for operator in ["count", "caller"] {
            let mut codes: Vec<String> = world
                .dead_letters(operator)
                .into_iter()
                .map(|letter| letter.failure.code)
                .collect();
            codes.sort();
            assert_eq!(codes, ["no-key", "no-timestamp"]);
        }
        assert_clean(&world);
    }
}

/// When a task is lost the pipeline has failed, all other tasks end, and it goes on
/// from its last commit when it is loaded again.
#[test]
fn a_lost_task_fails_the_pipeline_but_loses_nothing() {
    for seed in 0..20 {
        let modules =
            vec![("caller", crate::common::caller("add")), ("bank", bank(&Gate::closed()))];
        let mut world = World::new(seed, setup(CALLS, modules, TOPICS));
        feed(&mut world, "in", &events(&["a", "b", "c"], 9));
        world.steps(10 * seed);
        world.handle().fail("a task was lost".into());
        assert_eq!(world.handle().health().status, Status::Failed("a task was lost".into()));
        world.settle(Duration::from_secs(5));
        assert_eq!(world.actors(), 0, "all have ended");
        world.crash();
        world.settle(Duration::from_secs(5));
        assert_eq!(world.counter("bank", "bank", "count"), 9);
        assert_eq!(world.values("out").len(), 9);
        assert_clean(&world);
    }
}
