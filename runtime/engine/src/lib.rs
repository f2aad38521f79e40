//! Runs pipelines: tasks, streams between them, epochs and commits.
//!
//! Everything that runs is an [`actor::Actor`], a synchronous state machine. The
//! [`shell`] steps actors on tokio; the seeded simulation steps the same ones from
//! a single thread. [`domain`] puts the actors of one pipeline together and gives
//! the handle to them.
//!
//! User code is known only as [`weir_core::guest::Guest`].

pub mod actor;
pub mod domain;
pub mod error;
pub mod figures;
pub mod service;
pub mod shell;
pub mod tuning;

mod build;
mod channel;
mod coordinator;
mod ingress;
mod ledger;
mod mailbox;
mod network;
mod router;
mod shared;
mod sink;
mod source;
mod station;
mod task;
