//! What can go wrong in the store, named by what the caller can do about it.

use std::{io, path::Path, sync::Arc};

use weir_core::ids::{Epoch, Partition, TopicName};

use crate::commit::DomainName;

/// Why the store refused or failed. Cheap to clone: one cause can end many
/// commits of a group.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// The disk is full. Nothing of the commit is kept; it works again when there
    /// is space.
    #[error("the disk is full: nothing was stored; make space and try again")]
    Full,
    /// Stored bytes that were durable are not what was written.
    #[error("{segment} is damaged at byte {offset}: {problem}")]
    Damaged {
        /// The file, relative to the data directory.
        segment: String,
        /// The byte in that file.
        offset: u64,
        /// What is wrong there.
        problem: String,
    },
    /// The data directory is of another format version.
    #[error(
        "the data directory has format {found}, this program reads format {expected}: \
         use the release that wrote it, or begin with an empty directory"
    )]
    Format {
        /// What the directory says.
        found: String,
        /// What this program reads and writes.
        expected: u32,
    },
    /// Another process has the data directory open.
    #[error("the data directory is in use by {by}: stop that process or name another directory")]
    Locked {
        /// Who holds it, as the lock file says.
        by: String,
    },
    /// There is no topic of this name.
    #[error("there is no topic `{0}`")]
    UnknownTopic(TopicName),
    /// The topic has no such partition.
    #[error("there is no partition `{topic}/{partition}`")]
    UnknownPartition {
        /// The topic.
        topic: TopicName,
        /// The partition.
        partition: Partition,
    },
    /// The topic exists with other settings.
    #[error("topic `{topic}` exists with {partitions} partitions")]
    TopicConflict {
        /// The topic.
        topic: TopicName,
        /// What it has.
        partitions: u32,
    },
    /// The topic was closed: it takes no more records.
    #[error("topic `{0}` is closed and takes no more records")]
    TopicClosed(TopicName),
    /// The commit is not the next one of its domain: somebody else commits there,
    /// or the caller has lost count. It must look at [`crate::Store::last_epoch`].
    #[error("domain `{domain}` expects epoch {expected}, not {found}")]
    Fenced {
        /// The commit domain.
        domain: DomainName,
        /// The epoch that would have been taken.
        expected: Epoch,
        /// The epoch of the commit.
        found: Epoch,
    },
    /// The commit, key or value is larger than can be stored.
    #[error("{what} of {size} bytes is larger than the limit of {limit}")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// Its size in bytes.
        size: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// The key belongs to the store itself.
    #[error("rows of the domain `meta` whose keys begin with `{0}` belong to the store")]
    Reserved(&'static str),
    /// An idempotency key was used before, with another body.
    #[error("this idempotency key was used before with another body")]
    IdempotencyConflict,
    /// The name and version of a module stand for other bytes.
    #[error("module {name}@{version} exists with digest {digest}")]
    ModuleConflict {
        /// Name of the module.
        name: String,
        /// Its version.
        version: String,
        /// What it stands for.
        digest: weir_core::ids::ModuleDigest,
    },
    /// There is no such module or pipeline.
    #[error("there is no {what} `{name}`")]
    Unknown {
        /// Of what kind.
        what: &'static str,
        /// What was asked for.
        name: String,
    },
    /// The store can not go on: what it wrote last may or may not be durable. It
    /// must be opened again.
    #[error("the store has stopped: {reason}; start again to recover")]
    Stopped {
        /// Why.
        reason: String,
    },
    /// The operating system refused.
    #[error("{what}: {error}")]
    Io {
        /// What was tried, with the file.
        what: String,
        /// What the system said.
        #[source]
        error: Arc<io::Error>,
    },
}

impl StoreError {
    /// Wraps an error of the disk: a full one is [`StoreError::Full`].
    pub(crate) fn io(what: &str, path: &Path, error: io::Error) -> Self {
        if is_full(&error) {
            Self::Full
        } else {
            Self::Io { what: format!("{what} {}", path.display()), error: Arc::new(error) }
        }
    }
}

/// Does this error say that there is no space?
pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}
