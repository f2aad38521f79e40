//! Runs an operator in a plain unit test, without WebAssembly: events and calls
//! in; outputs, sends, state and log lines out; the calls that it makes are
//! answered by the test.
//!
//! ```
//! use weir_sdk::{Counter, Event, Result, testing};
//!
//! weir_sdk::transform! {
//!     /// Adds up amounts by key.
//!     Sum;
//!     inputs { amounts: add }
//!     outputs { TOTALS: i64 }
//!     cells { TOTAL: Counter }
//! }
//!
//! fn add(event: &Event<'_>, amount: i64) -> Result<()> {
//!     TOTALS.emit(event, &TOTAL.add(event, amount)?)
//! }
//!
//! # fn main() -> Result<()> {
//! let mut host = testing::transform::<Sum>();
//! host.event("a", &3)?;
//! host.event("a", &4)?;
//! assert_eq!(host.take::<i64>("totals"), [3, 7]);
//! assert_eq!(host.counter("a", "total"), 7);
//! # Ok(())
//! # }
//! ```
//!
//! As on Weir, what fails leaves nothing behind: no state, no outputs, no sends.
//! Retries are left to the test: run it again.

use std::{cell::RefCell, rc::Rc};

use serde::de::DeserializeOwned;

use crate::{
    Encode, Handlers, MapKey, Request, Result, Transform,
    cells::decode_counter,
    describe::Description,
    host::{Content, Memory},
    log::Level,
};

mod handlers;
mod transform;

pub use handlers::HandlersHost;
pub use transform::TransformHost;

/// What both kinds of host have: what went in before, and what came out.
#[derive(Debug)]
pub struct Host {
    memory: Memory,
    description: Description,
    outputs: Vec<Emitted>,
    sends: Vec<Request>,
    invocations: u64,
}

/// An event that was given on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Emitted {
    /// Name of the output port.
    pub port: String,
    /// Its key; `None` if it has none.
    pub key: Option<Vec<u8>>,
    /// Its value.
    pub value: Vec<u8>,
    /// Event time, in milliseconds since the Unix epoch.
    pub timestamp: i64,
    /// Its headers.
    pub headers: Vec<(String, Vec<u8>)>,
}

/// An event to give to an operator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Input {
    /// Name of the input port; empty for the first.
    pub port: String,
    /// Its key; `None` if it has none.
    pub key: Option<Vec<u8>>,
    /// Its value.
    pub value: Vec<u8>,
    /// Event time, in milliseconds since the Unix epoch.
    pub timestamp: i64,
    /// Its headers.
    pub headers: Vec<(String, Vec<u8>)>,
}

impl Input {
    /// An event for the first port, at time 0.
    ///
    /// # Panics
    /// If the value cannot be written as JSON.
    pub fn new(key: impl AsRef<[u8]>, value: &impl Encode) -> Self {
        Self {
            key: Some(key.as_ref().into()),
            value: value.to_bytes().expect("a value that JSON can hold"),
            ..Self::default()
        }
    }
}

/// A host for an operator declared by [`transform!`](crate::transform).
#[must_use]
pub fn transform<O: Transform>() -> TransformHost<O> {
    TransformHost::new()
}

/// A host for an operator declared by [`handlers!`](crate::handlers).
#[must_use]
pub fn handlers<O: Handlers>() -> HandlersHost<O> {
    HandlersHost::new()
}

impl Host {
    fn new(description: Description) -> Self {
        let cells = description.cells.iter().map(|cell| cell.kind).collect();
        Self {
            memory: Memory { cells, ..Memory::default() },
            description,
            outputs: Vec::new(),
            sends: Vec::new(),
            invocations: 0,
        }
    }

    /// What the operator says of itself.
    #[must_use]
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// Sets its configuration.
    ///
    /// # Panics
    /// If it cannot be written as JSON.
    pub fn config(&mut self, config: &impl Encode) {
        let text = config.to_bytes().expect("a configuration that JSON can hold");
        self.memory.config = String::from_utf8(text).expect("JSON is UTF-8");
    }

    /// Sets what [`Ctx::now`](crate::Ctx::now) gives; 0 before.
    pub fn set_now(&mut self, milliseconds: i64) {
        self.memory.now = milliseconds;
    }

    /// Answers the calls of one handler of another operator. A call without an
    /// answer fails as `unknown-operator`.
    pub fn answer<Reply: Encode>(
        &mut self,
        operator: &str,
        handler: &str,
        mut answer: impl FnMut(&Request) -> Result<Reply> + 'static,
    ) {
        let answer = Rc::new(RefCell::new(move |request: &Request| answer(request)?.to_bytes()));
        self.memory.answers.insert((operator.into(), handler.into()), answer);
    }

    /// The values that were given on to a port since the last time, in order.
    ///
    /// # Panics
    /// If there is no such port, or a value is of another type.
    pub fn take<T: DeserializeOwned>(&mut self, port: &str) -> Vec<T> {
        assert!(
            self.description.outputs.iter().any(|output| output.name == port),
            "no output `{port}`"
        );
        let (taken, rest) =
            std::mem::take(&mut self.outputs).into_iter().partition(|output| output.port == port);
        self.outputs = rest;
        let taken: Vec<Emitted> = taken;
        taken
            .iter()
            .map(|output| serde_json::from_slice(&output.value).expect("a value of that type"))
            .collect()
    }

    /// All events that were given on since the last time, in order.
    pub fn take_outputs(&mut self) -> Vec<Emitted> {
        std::mem::take(&mut self.outputs)
    }

    /// The sends that were made since the last time, in order.
    pub fn take_sends(&mut self) -> Vec<Request> {
        std::mem::take(&mut self.sends)
    }

    /// The calls that were made since the last time, in order, also by invocations
    /// that failed.
    pub fn take_calls(&mut self) -> Vec<Request> {
        std::mem::take(&mut self.memory.calls)
    }

    /// The log lines since the last time, in order.
    pub fn take_logs(&mut self) -> Vec<(Level, String)> {
        std::mem::take(&mut self.memory.logs)
    }

    /// A counter of a key; 0 if it was never changed.
    ///
    /// # Panics
    /// If there is no such cell or it is no counter.
    #[must_use]
    pub fn counter(&self, key: impl AsRef<[u8]>, cell: &str) -> i64 {
        let bytes = self.content(key, cell).and_then(|content| content.value.as_ref());
        bytes.map_or(0, |bytes| decode_counter(bytes).expect("a counter"))
    }

    /// The value of a cell of a key.
    ///
    /// # Panics
    /// If there is no such cell, or its value is of another type.
    #[must_use]
    pub fn value<T: DeserializeOwned>(&self, key: impl AsRef<[u8]>, cell: &str) -> Option<T> {
        let bytes = self.content(key, cell)?.value.as_ref()?;
        Some(serde_json::from_slice(bytes).expect("a value of that type"))
    }

    /// The entries of a map or list cell of a key, in order.
    ///
    /// # Panics
    /// If there is no such cell, or a key or value is of another type.
    #[must_use]
    pub fn entries<K: MapKey, V: DeserializeOwned>(
        &self,
        key: impl AsRef<[u8]>,
        cell: &str,
    ) -> Vec<(K, V)> {
        let entries = self.content(key, cell).into_iter().flat_map(|content| &content.entries);
        entries
            .map(|(key, value)| {
                let key = K::from_bytes(key).expect("a key of that type");
                (key, serde_json::from_slice(value).expect("a value of that type"))
            })
            .collect()
    }

    fn content(&self, key: impl AsRef<[u8]>, cell: &str) -> Option<&Content> {
        let index = self.description.cells.iter().position(|known| known.name == cell);
        let index = index.unwrap_or_else(|| panic!("no cell `{cell}`")) as u32;
        self.memory.state.get(&(key.as_ref().into(), index))
    }

    fn port_name(&self, port: u8) -> String {
        self.description.outputs[port as usize].name.clone()
    }
}
