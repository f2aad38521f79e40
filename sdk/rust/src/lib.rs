//! Write operators for Weir in Rust.
//!
//! An operator is a WebAssembly component that Weir places in a pipeline. It is of
//! one of two kinds, each declared by one macro:
//!
//! - [`transform!`]: the hot path. One synchronous function per input, run for each
//!   event of a batch. It keeps state by key, gives events on, and may send.
//! - [`handlers!`]: work that waits. Async functions that are run for an event or a
//!   call, one at a time per key; they may call other operators and await the
//!   answer, and thousands wait at once.
//!
//! What a function gives away takes effect only if it returns ok: state, events,
//! sends. An error leaves nothing behind, and is tried again unless it is
//! [`Failure::terminal`].
//!
//! Values are JSON, by serde; their JSON Schema is taken from the types. On
//! anything but WebAssembly an operator runs on a host in memory: see
//! [`testing`].

pub mod cells;
pub mod describe;
mod failure;
mod handler;
mod host;
mod json;
pub mod log;
mod macros;
mod output;
mod payload;
mod request;
mod scope;
#[cfg(not(target_arch = "wasm32"))]
pub mod testing;
#[cfg(test)]
mod tests;
mod transform;

pub use cells::{Counter, List, Map, MapKey, Value};
pub use describe::CellOptions;
pub use failure::{Failure, Kind, Result};
pub use handler::{Cause, Ctx, Handlers, config};
pub use output::Output;
pub use payload::{Decode, Encode, Raw, RawBuf, Schema};
pub use request::{Call, Request, Send};
pub use schemars;
pub use scope::{Meta, Scope};
pub use serde;
pub use serde_json;
pub use transform::{Event, Transform};

#[cfg(target_arch = "wasm32")]
#[doc(hidden)]
pub use host::{bindings, exports};

#[cfg(all(target_arch = "wasm32", feature = "getrandom"))]
mod random;
