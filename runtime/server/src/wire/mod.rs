//! The shapes of the HTTP API.
//!
//! They are for outsiders only: disk types live in the store, types of the pipeline
//! file in `weir_core::spec`, and `From` stands between them.

pub mod audit;
pub mod dead_letter;
pub mod invocation;
pub mod live;
pub mod module;
pub mod payload;
pub mod pipeline;
pub mod record;
pub mod state;
pub mod topic;
