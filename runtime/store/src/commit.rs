//! What a commit is made of, as callers see it.

use std::{fmt, str::FromStr, sync::Arc};

use weir_core::{
    batch::Batch,
    ids::{Epoch, Offset, Partition, PipelineName, TopicName},
};

pub use weir_core::rows::Change;

/// The name of a commit domain: the tasks that commit together and the rows that
/// they own.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct DomainName(Arc<str>);

/// Why a text is no domain name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a valid domain name: use 1 to 100 of the characters a-z, 0-9, `-`, `_` and `/`"
)]
pub struct InvalidDomain(String);

impl DomainName {
    /// The longest name, in bytes.
    pub const LENGTH_MAX: usize = 100;

    /// The domain of a pipeline: `pipeline/NAME`.
    #[must_use]
    pub fn of_pipeline(pipeline: &PipelineName) -> Self {
        Self(format!("pipeline/{pipeline}").into())
    }

    /// The domain of everything that comes in over HTTP.
    #[must_use]
    pub fn ingest() -> Self {
        Self("ingest".into())
    }

    /// The domain of the registry: topics, modules, pipelines.
    #[must_use]
    pub fn meta() -> Self {
        Self("meta".into())
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for DomainName {
    type Err = InvalidDomain;
    fn from_str(text: &str) -> Result<Self, InvalidDomain> {
        let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-_/".contains(&b);
        if (1..=Self::LENGTH_MAX).contains(&text.len()) && text.bytes().all(allowed) {
            Ok(Self(text.into()))
        } else {
            Err(InvalidDomain(text.chars().take(120).collect()))
        }
    }
}

impl TryFrom<String> for DomainName {
    type Error = InvalidDomain;
    fn try_from(text: String) -> Result<Self, InvalidDomain> {
        text.parse()
    }
}

impl From<DomainName> for String {
    fn from(name: DomainName) -> String {
        name.0.to_string()
    }
}

impl fmt::Display for DomainName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for DomainName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

/// Everything that one epoch of a domain changes: all of it becomes durable and
/// visible, or nothing.
#[derive(Clone, Debug)]
pub struct Commit {
    /// Whose commit it is.
    pub domain: DomainName,
    /// [`crate::Store::last_epoch`] + 1, or `Epoch(0)` for "the next one,
    /// whichever it is".
    pub epoch: Epoch,
    /// Changed rows of the domain. Of several changes to one key the last counts.
    pub rows: Vec<Change>,
    /// Records for topics. Appends to the same partition keep their order.
    pub appends: Vec<Append>,
}

/// Records for one partition of a topic.
#[derive(Clone, Debug)]
pub struct Append {
    /// The topic.
    pub topic: TopicName,
    /// The partition.
    pub partition: Partition,
    /// Timestamps, keys, values and headers are stored; ports, hashes and origins
    /// are not.
    pub records: Arc<Batch>,
}

/// The answer to a commit that is durable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// The epoch that the commit got.
    pub epoch: Epoch,
    /// For each append of the commit, in order: topic, partition, offset of the
    /// first record, number of records.
    pub appended: Vec<(TopicName, Partition, Offset, u32)>,
}

/// Called once with the outcome of a commit, on the thread that steps. It must be
/// quick and must not call [`crate::Store::step`] or [`crate::Store::upkeep`].
pub type Done = Box<dyn FnOnce(Result<Receipt, crate::StoreError>) + Send>;
