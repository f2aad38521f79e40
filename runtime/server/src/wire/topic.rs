//! Topics.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use weir_store::TopicInfo;

/// Settings of a new topic.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewTopic {
    /// How many partitions, 1 to 1,024, fixed for ever. Default 4.
    pub partitions: Option<u32>,
}

/// A topic.
#[derive(Debug, Serialize, ToSchema)]
pub struct Topic {
    /// Its name.
    pub name: String,
    /// How many partitions it has.
    pub partitions: u32,
    /// Records that are kept.
    pub records: u64,
    /// Bytes on disk.
    pub bytes: u64,
    /// Takes it no more records?
    pub closed: bool,
}

/// A topic with its partitions.
#[derive(Debug, Serialize, ToSchema)]
pub struct TopicDetail {
    /// The topic.
    #[serde(flatten)]
    pub topic: Topic,
    /// By number.
    pub offsets: Vec<Offsets>,
    /// Pipelines that read or write it.
    pub used_by: Vec<String>,
}

/// What a partition holds.
#[derive(Debug, Serialize, ToSchema)]
pub struct Offsets {
    /// Its number.
    pub partition: u32,
    /// The first record that is kept.
    pub first: u64,
    /// The offset that the next record gets.
    pub next: u64,
}

/// A page of topics.
#[derive(Debug, Serialize, ToSchema)]
pub struct TopicList {
    /// By name.
    pub topics: Vec<Topic>,
    /// Give it as `after` for the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

impl From<&TopicInfo> for Topic {
    fn from(info: &TopicInfo) -> Self {
        Self {
            name: info.name.to_string(),
            partitions: info.config.partitions,
            records: info.partitions.iter().map(|p| p.next.0.saturating_sub(p.first.0)).sum(),
            bytes: info.partitions.iter().map(|p| p.bytes).sum(),
            closed: info.closed,
        }
    }
}

impl TopicDetail {
    /// Of a topic and who uses it.
    #[must_use]
    pub fn new(info: &TopicInfo, used_by: Vec<String>) -> Self {
        let offsets = (0..).zip(&info.partitions);
        Self {
            topic: info.into(),
            offsets: offsets
                .map(|(partition, p)| Offsets { partition, first: p.first.0, next: p.next.0 })
                .collect(),
            used_by,
        }
    }
}
