//! What the store must know of itself at a journal position: the last epoch of each
//! domain, and the topics with the offsets to give next. A fold over commit
//! records, kept in each snapshot.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use weir_core::ids::TopicName;

use crate::{Change, DomainName};

/// Rows of the domain `meta` with this prefix are topics.
pub(crate) const TOPIC_PREFIX: &str = "topic/";
const TOPIC_VERSION: u8 = 1;

/// The fold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Meta {
    pub(crate) epochs: BTreeMap<DomainName, u64>,
    pub(crate) topics: BTreeMap<TopicName, TopicMeta>,
    /// The id that the next topic gets.
    pub(crate) next_topic: u64,
}

/// A topic.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TopicMeta {
    /// Never given twice, so that a topic created again does not meet old files.
    pub(crate) id: u64,
    pub(crate) closed: bool,
    /// The next offset of each partition.
    pub(crate) next: Vec<u64>,
}

/// A topic's row. The offsets are not in it: they are in the records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TopicRow {
    pub(crate) id: u64,
    pub(crate) partitions: u32,
    pub(crate) closed: bool,
}

/// What a record contradicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Contradiction(pub(crate) &'static str);

impl Meta {
    /// The last epoch of a domain.
    pub(crate) fn epoch(&self, domain: &DomainName) -> u64 {
        self.epochs.get(domain).copied().unwrap_or(0)
    }

    /// Takes the epoch of a record in. False if the record was applied before.
    pub(crate) fn on_epoch(
        &mut self,
        domain: &DomainName,
        epoch: u64,
    ) -> Result<bool, Contradiction> {
        let last = self.epoch(domain);
        if epoch <= last {
            return Ok(false);
        }
        if epoch > last + 1 {
            return Err(Contradiction(
                "the record before it is missing: epochs are not in sequence",
            ));
        }
        self.epochs.insert(domain.clone(), epoch);
        Ok(true)
    }

    /// Takes the rows of a record in. Answers the topics that changed.
    pub(crate) fn on_rows(
        &mut self,
        domain: &DomainName,
        rows: &[Change],
    ) -> Result<BTreeSet<TopicName>, Contradiction> {
        let mut changed = BTreeSet::new();
        if domain.as_str() != "meta" {
            return Ok(changed);
        }
        for row in rows {
            let Some(name) = row.key.strip_prefix(TOPIC_PREFIX.as_bytes()) else { continue };
            let name: Option<TopicName> =
                std::str::from_utf8(name).ok().and_then(|name| name.parse().ok());
            let name = name.ok_or(Contradiction("a topic row has no valid name"))?;
            match &row.value {
                None => {
                    self.topics.remove(&name);
                }
                Some(value) => {
                    let row = TopicRow::decode(value)
                        .ok_or(Contradiction("a topic row can not be read"))?;
                    self.next_topic = self.next_topic.max(row.id + 1);
                    let fresh = TopicMeta {
                        id: row.id,
                        closed: false,
                        next: vec![0; row.partitions as usize],
                    };
                    let topic = self.topics.entry(name.clone()).or_insert_with(|| fresh.clone());
                    if topic.id != row.id {
                        *topic = fresh;
                    }
                    topic.closed = row.closed;
                }
            }
            changed.insert(name);
        }
        Ok(changed)
    }

    /// Takes an append in.
    pub(crate) fn on_append(
        &mut self,
        topic: &TopicName,
        partition: u32,
        first: u64,
        count: u32,
    ) -> Result<(), Contradiction> {
        let topic = self
            .topics
            .get_mut(topic)
            .ok_or(Contradiction("the record appends to a topic that does not exist"))?;
        let next = topic.next.get_mut(partition as usize);
        let next =
            next.ok_or(Contradiction("the record appends to a partition that does not exist"))?;
        if *next != first {
            return Err(Contradiction("the record appends at another offset than the next"));
        }
        *next += u64::from(count);
        Ok(())
    }
}

impl TopicRow {
    /// The key of a topic's row.
    pub(crate) fn key(name: &TopicName) -> Vec<u8> {
        format!("{TOPIC_PREFIX}{name}").into_bytes()
    }

    pub(crate) fn encode(self) -> Vec<u8> {
        postcard::to_extend(&self, vec![TOPIC_VERSION]).unwrap_or_default()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        match bytes.split_first()? {
            (&TOPIC_VERSION, rest) => postcard::from_bytes(rest).ok(),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
