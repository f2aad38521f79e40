//! Modules and pipelines that several scenarios use.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use weir_core::{
    batch::Event,
    description::CellKind,
    guest::{Output, Packed},
};
use weir_engine::tuning::Tuning;
use weir_sim::{
    audit,
    chaos::Rates,
    script::{Module, number},
    world::{Setup, World},
};

/// Counts events per key; emits `value#count`.
pub(crate) fn count() -> Arc<Module> {
    let module =
        Module::new().cell("count", CellKind::Counter).output("out").transform(|effects, batch| {
            let loaded = effects.load(0).expect("the counter");
            let mut counts: Vec<i64> = (0..loaded.cells.ends.len())
                .map(|i| {
                    let from = if i == 0 { 0 } else { loaded.cells.ends[i - 1] as usize };
                    number(Some(&loaded.cells.values[from..loaded.cells.ends[i] as usize]))
                })
                .collect();
            let mut output = Output::default();
            for i in 0..batch.len() {
                let slot = loaded.slots[i] as usize;
                counts[slot] += 1;
                let value = format!("{}#{}", String::from_utf8_lossy(batch.value(i)), counts[slot]);
                let event =
                    Event { value: value.as_bytes(), port: 0, origin: None, ..batch.event(i) };
                output.batch.push(event);
                output.causes.push(i as u32);
            }
            let mut cells = Packed::default();
            for count in &counts {
                cells.values.extend_from_slice(&count.to_be_bytes());
                cells.ends.push(cells.values.len() as u32);
            }
            let slots: Vec<u32> = (0..counts.len() as u32).collect();
            effects.store(0, &slots, &cells).expect("the counter");
            Ok(Ok(output))
        });
    Arc::new(module)
}

/// Small batches and queues, so that little data goes a long way.
pub(crate) fn tuning() -> Tuning {
    Tuning {
        batch_records: 8,
        batch_bytes: 4096,
        queue_records: 16,
        queue_bytes: 8192,
        messages_per_step: 3,
        batches_per_step: 2,
        epoch_behind: Duration::from_millis(20),
        instance_retry: Duration::from_millis(10),
        full_retry: Duration::from_millis(20),
        ..Tuning::default()
    }
}

/// A setup without faults.
pub(crate) fn setup(
    text: &str,
    modules: Vec<(&'static str, Arc<Module>)>,
    topics: &[(&'static str, u32)],
) -> Setup {
    Setup {
        text: text.into(),
        modules,
        topics: topics.to_vec(),
        tuning: tuning(),
        rates: Rates::default(),
    }
}

/// Appends numbered records, `value` by number, and waits until they are durable.
pub(crate) fn feed(world: &mut World, topic: &str, records: &[(&str, String)]) {
    for (key, value) in records {
        world.ingest(topic, &format!("{topic}/{value}"), key, value);
    }
    let ids: Vec<String> = records.iter().map(|(_, value)| format!("{topic}/{value}")).collect();
    world.run_until("records are durable", |world| ids.iter().all(|id| world.is_ingested(id)));
}

/// Something that handlers wait for; open at first.
#[derive(Clone)]
pub(crate) struct Gate(Arc<AtomicBool>);

impl Gate {
    /// A closed one.
    pub(crate) fn closed() -> Self {
        Self(Arc::new(AtomicBool::new(false)))
    }

    /// Whoever comes from now on does not wait. Those that wait do so for ever, until
    /// they are run again.
    pub(crate) fn open(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    pub(crate) fn is_open(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

/// Handlers that others call. `add` counts the value under its key and replies it;
/// `wait` does the same, but hangs while the gate is closed.
pub(crate) fn bank(gate: &Gate) -> Arc<Module> {
    let gate = gate.clone();
    let module = Module::new()
        .cell("count", CellKind::Counter)
        .cell("values", CellKind::List)
        .handler("add", |ctx, invocation| async move {
            ctx.add(0, 1);
            ctx.push(1, invocation.value.clone());
            Ok(invocation.value)
        })
        .handler("wait", move |ctx, invocation| {
            let is_open = gate.is_open();
            async move {
                if !is_open {
                    return ctx.hang().await;
                }
                ctx.add(0, 1);
                ctx.push(1, invocation.value.clone());
                Ok(invocation.value)
            }
        });
    Arc::new(module)
}

/// Puts the value of each event into a list of its key, after calling
/// `bank.<handler>` under the key `bank`; emits what the call replied.
pub(crate) fn caller(handler: &'static str) -> Arc<Module> {
    let module = Module::new().cell("values", CellKind::List).output("out").handler(
        "take",
        move |ctx, invocation| async move {
            let reply = ctx.call("bank", handler, "bank", invocation.value.clone()).await?;
            ctx.push(0, invocation.value.clone());
            ctx.emit(0, reply);
            Ok(Bytes::new())
        },
    );
    Arc::new(module)
}

/// `in` -> `caller` -> `out`, and `bank`, which is only called.
pub(crate) const CALLS: &str = "
pipeline: sim
sources: { in: { topic: in } }
operators:
  caller: { module: caller, input: in, handler: take }
  bank: { module: bank }
sinks: { out: { topic: out, input: caller.out } }
";

pub(crate) const TOPICS: &[(&str, u32)] = &[("in", 1), ("out", 1)];

/// Values `e0`, `e1`, .. under keys that take turns.
pub(crate) fn events<'a>(keys: &[&'a str], n: usize) -> Vec<(&'a str, String)> {
    (0..n).map(|i| (keys[i % keys.len()], format!("e{i}"))).collect()
}

/// The values of a topic, sorted.
pub(crate) fn sorted(world: &World, topic: &str) -> Vec<String> {
    let mut values = world.values(topic);
    values.sort();
    values
}

/// Does everything add up, and is nothing left over?
pub(crate) fn assert_clean(world: &World) {
    assert_eq!(audit::faults(world), Vec::<String>::new());
    assert_eq!(world.leftovers(), Vec::<String>::new());
}

/// Steps until so many epochs are durable.
pub(crate) fn run_to_epoch(world: &mut World, epoch: u64) -> bool {
    while world.epoch().0 < epoch {
        if !world.step() && !world.wait(Duration::from_secs(60)) {
            return false;
        }
    }
    true
}
