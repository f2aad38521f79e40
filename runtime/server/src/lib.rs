//! The `weir` binary as a library: HTTP API, command line, embedded web UI.
//!
//! [`serve`] joins what the other crates give: WebAssembly by `weir-host`, pipelines
//! by `weir-engine`, the data directory by `weir-store`. Types of the HTTP API are
//! in [`wire`] and nowhere else.

pub mod build;
pub mod cli;
pub mod http;
pub mod wire;

mod clock;
mod guests;
mod serve;

pub use self::serve::serve;
