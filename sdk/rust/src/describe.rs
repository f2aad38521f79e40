//! What a module says of itself: the `descriptor` interface, as data.
//!
//! [`transform!`](crate::transform) and [`handlers!`](crate::handlers) fill it in;
//! only tests look at it.

use std::marker::PhantomData;

use crate::{Ctx, Event, Result, Schema};

/// The answer of `descriptor.describe`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Description {
    /// One or two sentences for people.
    pub doc: String,
    /// Entries of the `handler` face.
    pub handlers: Vec<Handler>,
    /// Inputs of the `transform` face.
    pub inputs: Vec<Port>,
    /// Outputs.
    pub outputs: Vec<Port>,
    /// State cells.
    pub cells: Vec<Cell>,
    /// JSON Schema of the configuration, as JSON text.
    pub config_schema: Option<String>,
}

/// A named entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handler {
    /// Its name, which is that of its function.
    pub name: String,
    /// Its doc comment.
    pub doc: String,
    /// What may begin it.
    pub takes: Takes,
    /// Schema of what it takes.
    pub input_schema: Option<String>,
    /// Schema of its reply.
    pub output_schema: Option<String>,
}

/// A named input or output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// Its name.
    pub name: String,
    /// Its doc comment.
    pub doc: String,
    /// Schema of the values.
    pub schema: Option<String>,
}

/// A state cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Its name.
    pub name: String,
    /// Its shape.
    pub kind: CellKind,
    /// Version and lifetime.
    pub options: CellOptions,
    /// Schema of the values.
    pub schema: Option<String>,
}

/// The shape of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellKind {
    /// One value.
    Value,
    /// Entries by key.
    Map,
    /// Entries by position.
    List,
    /// A number.
    Counter,
}

/// What may begin a handler: written `event`, `call`, `event, call` or `read`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Takes {
    /// An event of a stream.
    pub events: bool,
    /// A call or a send, from an operator or over HTTP.
    pub calls: bool,
    /// It writes no state, so it runs beside an invocation that holds the key.
    pub read_only: bool,
}

impl Takes {
    /// Nothing yet.
    #[must_use]
    pub const fn nothing() -> Self {
        Self { events: false, calls: false, read_only: false }
    }

    /// Events of a stream.
    #[must_use]
    pub const fn event(self) -> Self {
        Self { events: true, ..self }
    }

    /// Calls and sends.
    #[must_use]
    pub const fn call(self) -> Self {
        Self { calls: true, ..self }
    }

    /// Calls that only read state.
    #[must_use]
    pub const fn read(self) -> Self {
        Self { calls: true, read_only: true, ..self }
    }
}

/// Version and lifetime of a cell, written after `=` in its declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellOptions {
    /// Version of the values' schema; 1 by default.
    pub version: u32,
    /// An entry that was not written for so many milliseconds is gone; by default
    /// it stays for ever.
    pub ttl_ms: Option<u64>,
}

impl CellOptions {
    /// Version 1, kept for ever.
    #[must_use]
    pub const fn new() -> Self {
        Self { version: 1, ttl_ms: None }
    }

    /// Another version of the schema.
    #[must_use]
    pub const fn version(self, version: u32) -> Self {
        Self { version, ..self }
    }

    /// Forgets entries that were not written for so long. Weir does not run this yet: it
    /// refuses to deploy a module with such a cell.
    #[must_use]
    pub const fn ttl_ms(self, milliseconds: u64) -> Self {
        Self { ttl_ms: Some(milliseconds), ..self }
    }
}

impl Default for CellOptions {
    fn default() -> Self {
        Self::new()
    }
}

/// The lines of a doc comment as one text.
#[doc(hidden)]
#[must_use]
pub fn doc(lines: &[&str]) -> String {
    lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ").trim().to_string()
}

/// A constant's name as the name of a port or cell.
#[doc(hidden)]
#[must_use]
pub fn name(constant: &str) -> String {
    constant.to_ascii_lowercase()
}

/// The schema of what a transform's function takes.
#[doc(hidden)]
pub fn input_schema<I: Schema, F: Fn(&Event<'_>, I) -> Result<()>>(_: &F) -> Option<String> {
    I::schema()
}

/// The schemas of what a handler takes and replies.
#[doc(hidden)]
pub fn handler_schemas<I, O, F>(_: &F) -> (Option<String>, Option<String>)
where
    I: Schema,
    O: Schema,
    F: AsyncFn(&Ctx, I) -> Result<O>,
{
    (I::schema(), O::schema())
}

/// The schema of a type.
#[doc(hidden)]
#[must_use]
pub fn schema_of<T: Schema>(_: PhantomData<T>) -> Option<String> {
    T::schema()
}
