//! Random runs: work and faults in an order that a seed decides, then an exact check.
//!
//! `WEIR_SIM_SEED=n` runs one seed, `WEIR_SIM_SEEDS=n` so many. A seed that fails is
//! printed.

use std::{
    collections::{BTreeMap, BTreeSet},
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use rand::{Rng, SeedableRng, rngs::StdRng};
use weir_core::{
    description::CellKind,
    ingress::{IngressKind, Response},
};
use weir_engine::{domain::Status, tuning::Tuning};
use weir_sim::{
    chaos::Rates,
    script::{Module, first},
    world::{Setup, World},
};

use crate::common::{assert_clean, count, tuning};

/// About half a minute on one core.
const SEEDS_DEFAULT: u64 = 1_000;
const KEYS: [&str; 5] = ["a", "b", "c", "d", "e"];

const TEXT: &str = "
pipeline: sim
sources: { in: { topic: in } }
operators:
  split: { module: split, input: in, handler: take, parallelism: SHARDS, concurrency: ROOM, retry: RETRY }
  bank: { module: bank, parallelism: SHARDS, concurrency: ROOM, retry: RETRY }
  log: { module: log, retry: RETRY }
  count: { module: count, input: split.out, parallelism: SHARDS, retry: RETRY }
sinks:
  out: { topic: out, input: count.out }
  copy: { topic: copy, input: in }
";

/// Takes an event: calls the bank, some twice or in a race, sends to the log, some
/// with a delay, appends to a list, emits.
fn split() -> Arc<Module> {
    let module = Module::new().cell("values", CellKind::List).output("out").handler(
        "take",
        |ctx, invocation| async move {
            let value = invocation.value.clone();
            let n = value.last().copied().unwrap_or(0) % 4;
            let reply = ctx.call("bank", "add", KEYS[usize::from(n)], value.clone()).await?;
            assert_eq!(reply, value, "a call gets its own answer");
            if n == 1 {
                ctx.call("bank", "touch", "touched", value.clone()).await?;
            }
            if n == 2 {
                let one = ctx.start("bank", "touch", "left", value.clone(), None);
                let two = ctx.start("bank", "touch", "right", value.clone(), None);
                let (winner, reply) = first(one, two).await;
                reply?;
                ctx.call(
                    "bank",
                    "touch",
                    if winner == 0 { "left won" } else { "right won" },
                    value.clone(),
                )
                .await?;
            }
            ctx.push(0, value.clone());
            ctx.send("log", "note", "log", value.clone(), (n == 3).then_some(30));
            ctx.emit(0, value);
            Ok(Bytes::new())
        },
    );
    Arc::new(module)
}

fn bank() -> Arc<Module> {
    let module = Module::new()
        .cell("values", CellKind::List)
        .cell("touched", CellKind::Counter)
        .handler("add", |ctx, invocation| async move {
            ctx.push(0, invocation.value.clone());
            Ok(invocation.value)
        })
        .handler("touch", |ctx, invocation| async move {
            ctx.add(1, 1);
            Ok(invocation.value)
        });
    Arc::new(module)
}

fn log() -> Arc<Module> {
    let module = Module::new().cell("values", CellKind::List).handler(
        "note",
        |ctx, invocation| async move {
            ctx.push(0, invocation.value.clone());
            Ok(Bytes::new())
        },
    );
    Arc::new(module)
}

/// What goes on outside: clients that repeat until they are answered, and a reader.
#[derive(Default)]
struct Outside {
    ingested: Vec<(String, &'static str)>,
    requested: Vec<String>,
    seen: Vec<Vec<(String, String)>>,
}

impl Outside {
    fn act(&mut self, world: &mut World) {
        for _ in 0..world.rng.random_range(0..12) {
            let key = KEYS[world.rng.random_range(0..KEYS.len())];
            self.ingested.push((format!("i{}", self.ingested.len()), key));
        }
        for _ in 0..world.rng.random_range(0..3) {
            self.requested.push(format!("r{}", self.requested.len()));
        }
        self.repeat(world);
    }

    /// Everybody without an answer asks (again).
    fn repeat(&self, world: &World) {
        for (id, key) in self.ingested.iter().filter(|(id, _)| !world.is_ingested(id)) {
            world.ingest("in", id, key, id);
        }
        for id in self.requested.iter().filter(|id| world.response(id).is_none()) {
            // Refused while the pipeline is paused: asked again later.
            world.request(id, kind(id), ("bank", "add"), "outside", id);
        }
    }

    /// What was read once stays as it is.
    fn read(&mut self, world: &World) {
        let records = world.records("out");
        for (partition, seen) in self.seen.iter().enumerate() {
            assert!(
                records[partition].starts_with(seen),
                "a record that was read has changed or gone"
            );
        }
        self.seen = records;
    }

    fn check(&self, world: &World) {
        let mut by_key: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (key, value) in world.records("in").into_iter().flatten() {
            by_key.entry(key).or_default().push(value);
        }
        let all: BTreeSet<&String> = by_key.values().flatten().collect();
        assert_eq!(
            by_key.values().map(Vec::len).sum::<usize>(),
            self.ingested.len(),
            "each is ingested once"
        );
        assert_eq!(all, self.ingested.iter().map(|(id, _)| id).collect(), "and none is lost");

        let mut out: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (key, value) in world.records("out").into_iter().flatten() {
            out.entry(key).or_default().push(value);
        }
        for (key, values) in &by_key {
            assert_eq!(
                &world.entries("split", key, "values"),
                values,
                "key {key}: each once, in order"
            );
            let counted: Vec<String> =
                values.iter().enumerate().map(|(i, v)| format!("{v}#{}", i + 1)).collect();
            assert_eq!(out.get(key), Some(&counted), "key {key}: outputs, each once, in order");
        }
        assert_eq!(out.len(), by_key.len());
        assert_eq!(world.values("copy").len(), self.ingested.len());

        let ids = || self.ingested.iter().map(|(id, _)| id.clone());
        let mut at_bank: Vec<String> =
            KEYS.iter().flat_map(|key| world.entries("bank", key, "values")).collect();
        at_bank.sort();
        assert_eq!(at_bank, sorted(ids()), "calls have one effect each");
        let touches = |key: &str| world.counter("bank", key, "touched");
        let n = |rest: u8| {
            ids().filter(|id| id.bytes().last().is_some_and(|b| b % 4 == rest)).count() as i64
        };
        assert_eq!(touches("touched"), n(1));
        assert_eq!((touches("left won") + touches("right won")), n(2));
        assert_eq!(
            sorted(world.entries("log", "log", "values").into_iter()),
            sorted(ids()),
            "sends too"
        );

        let outside = sorted(world.entries("bank", "outside", "values").into_iter());
        assert_eq!(
            outside,
            sorted(self.requested.iter().cloned()),
            "requests have one effect each"
        );
        for id in &self.requested {
            match (kind(id), world.response(id)) {
                (IngressKind::Call { .. }, Some(Response::Reply { value, .. })) => {
                    assert_eq!(value, id.as_bytes())
                }
                (IngressKind::Send { .. }, Some(Response::Accepted { .. })) => {}
                (_, response) => panic!("{id}: {response:?}"),
            }
        }
        assert_clean(world);
    }
}

fn kind(id: &str) -> IngressKind {
    if id.len().is_multiple_of(2) {
        IngressKind::Call { deadline: None }
    } else {
        IngressKind::Send { delay: None }
    }
}

fn sorted(values: impl Iterator<Item = String>) -> Vec<String> {
    let mut values: Vec<String> = values.collect();
    values.sort();
    values
}

fn rates(world: &mut World) -> Rates {
    Rates {
        trap: world.rng.random_range(0..25),
        blind: world.rng.random_range(0..700),
        fail: world.rng.random_range(0..60),
        instance: world.rng.random_range(0..200),
    }
}

/// Is the machine to be started again?
fn is_down(world: &World) -> bool {
    world.disk.is_crashed()
        || world.store().stopped().is_some()
        || matches!(world.handle().health().status, Status::Failed(_) | Status::Stopped)
}

/// Comes up again as another revision may: with other parallelism.
fn crash(world: &mut World) {
    let revised = text(&mut world.rng);
    world.setup().text = revised;
    world.crash();
}

fn fault(world: &mut World) {
    match world.rng.random_range(0..12) {
        0 => crash(world),
        1 => {
            let at = world.disk.operations() + world.rng.random_range(0..40);
            world.disk.crash_at(at);
        }
        2 => {
            let n = world.rng.random_range(0..6);
            world.disk.fail_sync(n);
        }
        3 => {
            let room = world.rng.random_range(0..3_000);
            world.disk.set_capacity(Some(world.disk.used() + room));
        }
        4 => {
            let by = world.rng.random_range(-1_200_000..1_200_000);
            world.clock.jump(by);
        }
        5 => world.handle().stop(),
        6 => world.handle().pause(),
        7 => {
            let rates = rates(world);
            world.chaos.set(rates);
        }
        8 => {
            let by = world.rng.random_range(0..2_000);
            world.clock.advance(Duration::from_millis(by));
        }
        _ => {}
    }
}

fn run(seed: u64) {
    let mut world = World::new(seed, setup(seed));
    let mut outside = Outside::default();
    let rates = rates(&mut world);
    world.chaos.set(rates);
    for _ in 0..world.rng.random_range(3..14) {
        outside.act(&mut world);
        let steps = world.rng.random_range(0..500);
        world.steps(steps);
        fault(&mut world);
        let steps = world.rng.random_range(0..200);
        world.steps(steps);
        world.disk.set_capacity(None);
        if is_down(&world) {
            crash(&mut world);
        }
        world.handle().resume();
        outside.read(&world);
    }
    world.chaos.set(Rates::default());
    // Sends that are held back until an instant get there, however the clock was set.
    world.clock.jump(6 * 3_600_000);
    for _ in 0..4 {
        if is_down(&world) {
            crash(&mut world);
        }
        outside.repeat(&world);
        world.settle(Duration::from_secs(120));
    }
    outside.read(&world);
    for operator in ["split", "bank", "log", "count"] {
        assert_eq!(world.dead_letters(operator), [], "nothing is given up");
    }
    outside.check(&world);
}

fn text(random: &mut StdRng) -> String {
    let mut text = TEXT.replace("RETRY", "{ attempts: 100000, first: 2ms, max: 20ms }");
    for (name, most) in [("SHARDS", 4), ("ROOM", 6)] {
        while let Some(at) = text.find(name) {
            text.replace_range(at..at + name.len(), &random.random_range(1..=most).to_string());
        }
    }
    text
}

fn setup(seed: u64) -> Setup {
    Setup {
        text: text(&mut StdRng::seed_from_u64(seed)),
        modules: vec![("split", split()), ("bank", bank()), ("log", log()), ("count", count())],
        topics: vec![("in", 3), ("out", 2), ("copy", 1)],
        tuning: Tuning {
            messages_per_step: 1 + (seed % 7) as usize,
            batches_per_step: 1 + (seed % 3) as usize,
            batch_records: 1 + (seed % 11) as usize,
            queue_records: 1 + (seed % 13) as usize,
            waiting_bytes: if seed.is_multiple_of(4) { 60 } else { 1 << 20 },
            waiting_quota: if seed.is_multiple_of(6) { 2_000 } else { 1 << 20 },
            ..tuning()
        },
        rates: Rates::default(),
    }
}

/// Every input ends once, whatever happens meanwhile: state, outputs, calls, sends
/// and answers are as if nothing had.
#[test]
fn whatever_happens_every_effect_is_there_once() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seeds = match number("WEIR_SIM_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("WEIR_SIM_SEEDS").unwrap_or(SEEDS_DEFAULT),
    };
    for seed in seeds {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| run(seed))) {
            eprintln!("this failed with WEIR_SIM_SEED={seed}");
            resume_unwind(panic);
        }
    }
}
