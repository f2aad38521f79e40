//! What callers see of topics.

use weir_core::{
    batch::Batch,
    ids::{Offset, TopicName},
};

/// Settings of a topic.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct TopicConfig {
    /// How many partitions, from 1 to [`TopicConfig::PARTITIONS_MAX`]. Fixed for
    /// ever.
    pub partitions: u32,
}

impl TopicConfig {
    /// The most partitions that a topic may have.
    pub const PARTITIONS_MAX: u32 = 1024;
}

impl Default for TopicConfig {
    /// Four partitions.
    fn default() -> Self {
        Self { partitions: 4 }
    }
}

/// A topic as of the last commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicInfo {
    /// Its name.
    pub name: TopicName,
    /// Never given twice in a data directory: a topic that is deleted and created
    /// again is another topic.
    pub id: u64,
    /// Its settings.
    pub config: TopicConfig,
    /// Takes it no more records?
    pub closed: bool,
    /// Its partitions, by number.
    pub partitions: Vec<PartitionInfo>,
}

/// A partition as of the last commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartitionInfo {
    /// The first record that is kept.
    pub first: Offset,
    /// The offset that the next record will get.
    pub next: Offset,
    /// Bytes on disk.
    pub bytes: u64,
}

/// Records of one partition, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    /// The records; without ports, hashes and origins. Record `i` has offset
    /// `first + i`.
    pub batch: Batch,
    /// Offset of the first record: where the read began, unless older records are
    /// gone.
    pub first: Offset,
    /// Where to go on.
    pub next: Offset,
    /// The offset after the last committed record.
    pub end: Offset,
}
