//! What a module says of itself: the `descriptor` interface, as data.

use serde::{Deserialize, Serialize};

/// The answer of `descriptor.describe`, kept with the module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Description {
    /// One or two sentences for people.
    pub doc: String,
    /// Name and version of the SDK; empty if none.
    pub sdk: String,
    /// Source language.
    pub language: String,
    /// Entries of the `handler` face, by index.
    pub handlers: Vec<Handler>,
    /// Inputs of the `transform` face, by index.
    pub inputs: Vec<Port>,
    /// Outputs of every face, by index.
    pub outputs: Vec<Port>,
    /// State cells, by index.
    pub cells: Vec<Cell>,
    /// JSON Schema of the configuration, as JSON text.
    pub config_schema: Option<String>,
    /// Hosts that it wants to reach.
    pub wanted_hosts: Vec<String>,
    /// The faces that the component exports; found by the host, not said by the
    /// guest.
    pub faces: Vec<Face>,
}

/// A group of exports that the host knows how to drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Face {
    /// Batches, synchronous.
    Transform,
    /// Invocations, asynchronous.
    Handler,
    /// Invocations, synchronous. Not run yet.
    BlockingHandler,
    /// Due timers. Not run yet.
    Timer,
    /// Compensation. Not run yet.
    OnFailure,
    /// Cells of an older schema. Not run yet.
    Migrate,
    /// Window aggregates. Not run yet.
    Aggregate,
}

/// A named entry: takes an event or a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handler {
    /// Unique in the module.
    pub name: String,
    /// For people.
    pub doc: String,
    /// May a stream be its input?
    pub takes_events: bool,
    /// May it be called or sent to?
    pub takes_calls: bool,
    /// Does it write no state?
    pub read_only: bool,
    /// JSON Schema of what it takes, as JSON text.
    pub input_schema: Option<String>,
    /// JSON Schema of its reply, as JSON text.
    pub output_schema: Option<String>,
}

/// A named input or output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Port {
    /// Unique among the inputs, or the outputs, of the module.
    pub name: String,
    /// For people.
    pub doc: String,
    /// JSON Schema of the values, as JSON text.
    pub schema: Option<String>,
}

/// A named part of a key's state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// Unique in the module; ties the cell to stored state.
    pub name: String,
    /// Its shape.
    pub kind: CellKind,
    /// Version of the values' schema.
    pub version: u32,
    /// Milliseconds after which an entry that was not written is gone.
    pub ttl_ms: Option<u64>,
    /// JSON Schema of the values, as JSON text.
    pub schema: Option<String>,
}

/// The shape of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CellKind {
    /// One value.
    Value,
    /// Entries by key, in order of the keys' bytes.
    Map,
    /// A map whose keys are positions, u64 big-endian.
    List,
    /// A value of 8 bytes: an i64, big-endian; absent means 0.
    Counter,
}

impl CellKind {
    /// Has it entries by key?
    #[must_use]
    pub fn has_entries(self) -> bool {
        matches!(self, Self::Map | Self::List)
    }
}

impl Description {
    /// The index of a handler.
    #[must_use]
    pub fn handler(&self, name: &str) -> Option<u32> {
        self.handlers.iter().position(|h| h.name == name).map(|i| i as u32)
    }

    /// Does the module have this face?
    #[must_use]
    pub fn has(&self, face: Face) -> bool {
        self.faces.contains(&face)
    }
}
