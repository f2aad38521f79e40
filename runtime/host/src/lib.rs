//! Runs WebAssembly components for Weir.
//!
//! The only crate that names wasmtime. [`Host::check`] says of a module's bytes
//! whether Weir can run them, and if not, why and what to do. [`Host::load`]
//! compiles them, or finds what was compiled before. A [`Module`] gives factories
//! of instances, which the engine drives through [`weir_core::guest::Guest`].
//!
//! A guest is never trusted. What it gives is checked before it is believed, what
//! it uses is limited (memory, tables, time, output, log), and whatever it does
//! ends as a [`weir_core::failure::Trap`] of its own instance, not of the process.
//!
//! There is no async runtime here: an instance is run by the thread that asks for
//! it, until the guest waits for something that only the engine can give.

mod artifact;
mod bindings;
mod columns;
mod componentize;
mod convert;
mod cpu_time;
mod data;
mod describe;
mod engine;
mod error;
mod event_loop;
mod handler;
mod host;
mod imports;
mod instance;
mod invocations;
mod limits;
mod module;
mod output;
mod program;
mod report;
#[cfg(test)]
mod testing;
mod ticker;
mod transform;
mod trap;
mod wasm;
mod world;

pub use error::HostError;
pub use host::{Host, Options};
pub use limits::Limits;
pub use module::{Module, OperatorSettings};
pub use report::{
    CellInfo, HandlerInfo, ImportInfo, ImportStatus, PortInfo, Ports, Problem, Report,
};
