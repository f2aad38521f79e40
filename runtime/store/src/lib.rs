//! What survives a crash: journal, rows, topics, snapshots, registry.
//!
//! The journal is the truth. A [`Commit`] becomes one checksummed record, synced
//! together with all others that wait ([`Store::step`]); then its rows are visible
//! in the overlay and its records in the topics. Rows are settled into sled in the
//! background; sled, and the end of each topic file, can be rebuilt from a snapshot
//! and the journal behind it.
//!
//! ```text
//! DIR/format              version of everything below
//! DIR/lock                who has it open
//! DIR/journal/N.log       commit records
//! DIR/snapshots/P.snap    all rows as of journal position P
//! DIR/topics/NAME.ID/P/   segment files of partition P
//! DIR/modules/HEX.wasm    bytes of modules
//! DIR/state/              sled
//! ```
//!
//! Keys and values are opaque here. There is no async runtime in this crate: one
//! thread steps, callers get their answers by callback.

mod codec;
mod commit;
pub mod disk;
mod error;
mod group;
pub mod ingest;
mod journal;
mod lock;
mod meta;
mod options;
mod queue;
mod recover;
pub mod registry;
mod rows;
mod snapshot;
mod store;
mod threads;
pub mod topics;

pub use commit::{Append, Change, Commit, DomainName, Done, InvalidDomain, Receipt};
pub use disk::{Disk, RealDisk, SimDisk};
pub use error::StoreError;
pub use ingest::{Dedupe, DedupeId, Ingest, IngestDone, Ingested, NewRecord, NewRecords};
pub use options::{Options, ViewKind};
pub use registry::{Answer, ModuleEntry, PipelineEntry, Registry, Revision, Stored};
pub use rows::{Page, Scanned};
pub use store::{Rows, Store, TopicDone};
pub use threads::Threads;
pub use topics::{PartitionInfo, Read, TopicConfig, TopicInfo, Watch};
