//! Types and decisions of Weir.
//!
//! Everything here is plain data and pure state machines: events and time come
//! in as arguments, actions come out as values. There is no clock, no I/O, no
//! async runtime, no WebAssembly and no database in this crate, which is what
//! lets the simulation drive all of it.

pub mod batch;
pub mod clock;
pub mod dead_letter;
pub mod description;
pub mod epoch;
pub mod failure;
pub mod graph;
pub mod guest;
pub mod ids;
pub mod ingress;
pub mod message;
pub mod plan;
pub mod pointer;
pub mod retry;
pub mod rows;
pub mod spec;
mod state;
pub mod timestamp;
pub mod unit;
