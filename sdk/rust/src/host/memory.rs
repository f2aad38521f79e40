//! A host in memory, for unit tests: the imports as functions of a [`Memory`] that
//! is installed in this thread while an operator runs. [`crate::testing`] drives it.

use std::{cell::RefCell, collections::BTreeMap, fmt, rc::Rc};

use crate::{
    Failure, Request, Result,
    describe::CellKind,
    log::Level,
    scope::{Entry, Scan},
};

use super::{CONFIG, Loaded};

thread_local! {
    static ACTIVE: RefCell<Option<Memory>> = const { RefCell::new(None) };
}

/// An answer to a call that an operator makes.
pub(crate) type Answer = Rc<RefCell<dyn FnMut(&Request) -> Result<Vec<u8>>>>;

/// All that a host in memory knows.
#[derive(Default)]
pub(crate) struct Memory {
    /// `config:` as JSON text.
    pub(crate) config: String,
    /// What `now` gives.
    pub(crate) now: i64,
    /// How many random bytes were given.
    pub(crate) random: u64,
    /// Kinds of the cells, by index.
    pub(crate) cells: Vec<CellKind>,
    /// Is a read-only handler running?
    pub(crate) read_only: bool,
    /// State by key and cell.
    pub(crate) state: BTreeMap<(Vec<u8>, u32), Content>,
    /// Answers by operator and handler.
    pub(crate) answers: BTreeMap<(String, String), Answer>,
    /// Calls that were made.
    pub(crate) calls: Vec<Request>,
    /// Lines that were written.
    pub(crate) logs: Vec<(Level, String)>,
    /// Keys of the batch in progress, by event.
    pub(crate) batch: Vec<Option<Vec<u8>>>,
}

/// The content of one cell of one key.
#[derive(Clone, Debug, Default)]
pub(crate) struct Content {
    pub(crate) value: Option<Vec<u8>>,
    pub(crate) entries: BTreeMap<Vec<u8>, Vec<u8>>,
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").field("state", &self.state).finish_non_exhaustive()
    }
}

impl Memory {
    /// Installs this host while `run` runs. A host that is already installed, as
    /// when an answer is given by another operator, comes back afterwards.
    pub(crate) fn during<R>(&mut self, run: impl FnOnce() -> R) -> R {
        let outer = ACTIVE.replace(Some(std::mem::take(self)));
        let config = CONFIG.take();
        let result = run();
        CONFIG.set(config);
        *self = ACTIVE.replace(outer).unwrap_or_default();
        result
    }

    fn check(&self, cell: u32, entries: bool) {
        let kind = self.cells.get(cell as usize);
        assert!(
            kind.is_some_and(|kind| matches!(kind, CellKind::Map | CellKind::List) == entries),
            "cell {cell} is used as what it is not: {kind:?}",
        );
    }

    fn content(&mut self, key: &[u8], cell: u32, write: bool) -> &mut Content {
        assert!(!(write && self.read_only), "a read-only handler wrote state");
        self.state.entry((key.into(), cell)).or_default()
    }
}

/// The handle of an invocation: only its key matters here.
#[derive(Debug)]
pub(crate) struct Invocation {
    pub(crate) key: Vec<u8>,
}

fn active<R>(f: impl FnOnce(&mut Memory) -> R) -> R {
    ACTIVE.with_borrow_mut(|active| {
        f(active.as_mut().expect("an operator runs natively only inside weir_sdk::testing"))
    })
}

/// Nothing to prepare: the test runner reports panics.
pub(crate) fn begin() {}

pub(crate) fn config_text() -> String {
    active(|host| if host.config.is_empty() { "null".into() } else { host.config.clone() })
}

pub(crate) fn now(_: &Invocation) -> i64 {
    active(|host| host.now)
}

pub(crate) fn fill_random(_: &Invocation, buffer: &mut [u8]) {
    active(|host| {
        for byte in buffer {
            host.random += 1;
            // SplitMix64: plain, and the same in every test run.
            let mut z = host.random.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            *byte = (z ^ (z >> 31)) as u8;
        }
    });
}

pub(crate) fn log(_: Option<&Invocation>, level: Level, message: &str) {
    ACTIVE.with_borrow_mut(|active| {
        if let Some(host) = active {
            host.logs.push((level, message.into()));
        }
    });
}

pub(crate) fn get(invocation: &Invocation, cell: u32) -> Option<Vec<u8>> {
    active(|host| {
        host.check(cell, false);
        host.content(&invocation.key, cell, false).value.clone()
    })
}

pub(crate) fn put(invocation: &Invocation, cell: u32, value: &[u8]) {
    active(|host| {
        host.check(cell, false);
        host.content(&invocation.key, cell, true).value = Some(value.into());
    });
}

pub(crate) fn remove(invocation: &Invocation, cell: u32) {
    active(|host| *host.content(&invocation.key, cell, true) = Content::default());
}

pub(crate) fn map_get(invocation: &Invocation, cell: u32, key: &[u8]) -> Option<Vec<u8>> {
    active(|host| {
        host.check(cell, true);
        host.content(&invocation.key, cell, false).entries.get(key).cloned()
    })
}

pub(crate) fn map_put(invocation: &Invocation, cell: u32, key: &[u8], value: &[u8]) {
    active(|host| {
        host.check(cell, true);
        host.content(&invocation.key, cell, true).entries.insert(key.into(), value.into());
    });
}

pub(crate) fn map_remove(invocation: &Invocation, cell: u32, key: &[u8]) {
    active(|host| {
        host.check(cell, true);
        host.content(&invocation.key, cell, true).entries.remove(key);
    });
}

pub(crate) fn map_scan(invocation: &Invocation, cell: u32, scan: &Scan) -> Vec<Entry> {
    const LIMIT_MAX: usize = 1024;
    active(|host| {
        host.check(cell, true);
        let entries = &host.content(&invocation.key, cell, false).entries;
        let inside = entries
            .iter()
            .filter(|(key, _)| scan.start.as_ref().is_none_or(|start| *key >= start))
            .filter(|(key, _)| scan.end.as_ref().is_none_or(|end| *key < end))
            .map(|(key, value)| (key.clone(), value.clone()));
        let limit = LIMIT_MAX.min(scan.limit as usize);
        if scan.backwards {
            inside.rev().take(limit).collect()
        } else {
            inside.take(limit).collect()
        }
    })
}

pub(crate) async fn call(_: &Invocation, request: Request) -> Result<Vec<u8>> {
    let name = (request.operator.clone(), request.handler.clone());
    let answer = active(|host| {
        host.calls.push(request.clone());
        host.answers.get(&name).cloned()
    });
    // Called with no host borrowed, since another operator may give the answer.
    match answer {
        Some(answer) => (answer.borrow_mut())(&request),
        None => Err(Failure::terminal(
            "unknown-operator",
            format!("no answer is set for {}.{}", name.0, name.1),
        )),
    }
}

pub(crate) fn load(cell: u32) -> Loaded {
    active(|host| {
        host.check(cell, false);
        let (mut slots, mut values, mut ends) = (Vec::new(), Vec::new(), Vec::new());
        let mut known: BTreeMap<Vec<u8>, u32> = BTreeMap::new();
        for key in host.batch.clone() {
            let Some(key) = key else {
                slots.push(u32::MAX);
                continue;
            };
            let slot = *known.entry(key.clone()).or_insert_with(|| {
                values.extend(host.content(&key, cell, false).value.iter().flatten());
                ends.push(values.len() as u32);
                ends.len() as u32 - 1
            });
            slots.push(slot);
        }
        Loaded { slots, values, ends }
    })
}

pub(crate) fn store(cell: u32, slots: Vec<u32>, values: Vec<u8>, ends: Vec<u32>) {
    let loaded = load(cell).slots;
    let mut start = 0;
    for (slot, end) in slots.into_iter().zip(ends) {
        let event = loaded.iter().position(|of| *of == slot).expect("a slot that was loaded");
        let value = &values[start..end as usize];
        start = end as usize;
        let invocation = of_event(event as u32);
        if value.is_empty() { remove(&invocation, cell) } else { put(&invocation, cell, value) }
    }
}

/// The key of an event of the batch in progress.
fn of_event(event: u32) -> Invocation {
    let key = active(|host| host.batch[event as usize].clone()).expect("an event with a key");
    Invocation { key }
}

pub(crate) fn batch_remove(event: u32, cell: u32) {
    remove(&of_event(event), cell);
}

pub(crate) fn batch_map_get(event: u32, cell: u32, key: &[u8]) -> Option<Vec<u8>> {
    map_get(&of_event(event), cell, key)
}

pub(crate) fn batch_map_put(event: u32, cell: u32, key: &[u8], value: &[u8]) {
    map_put(&of_event(event), cell, key, value);
}

pub(crate) fn batch_map_remove(event: u32, cell: u32, key: &[u8]) {
    map_remove(&of_event(event), cell, key);
}

pub(crate) fn batch_map_scan(event: u32, cell: u32, scan: &Scan) -> Vec<Entry> {
    map_scan(&of_event(event), cell, scan)
}

/// Native programs export nothing.
#[doc(hidden)]
#[macro_export]
macro_rules! __export_transform {
    ($name:ident) => {};
}

/// Native programs export nothing.
#[doc(hidden)]
#[macro_export]
macro_rules! __export_handlers {
    ($name:ident) => {};
}
