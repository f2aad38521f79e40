//! How far sources have read.
//!
//! A position is of one topic, by name and id: a source that is given another topic,
//! or one that was deleted and created again, begins there as it is told to, and goes
//! on where it was when it is given the first one back.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::{Range, RowError, Table, Writer, bad_key, decode, encode, key::Reader, under};
use crate::ids::{NodeId, Offset, Partition, TopicName};

/// How far a shard of a source has read a partition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PositionRow {
    /// The record to be read next.
    pub next: Offset,
    /// Where it began, plus what was gone before it could be read.
    pub start: Offset,
    /// Records read: counted. `start + read = next`.
    pub read: u64,
}

/// A partition of a topic that a source reads, or has read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PositionOf {
    /// The topic.
    pub topic: TopicName,
    /// Its id, never given twice.
    pub id: u64,
    /// The partition.
    pub partition: Partition,
}

/// Writes a position.
#[must_use]
pub fn encode_position(position: PositionRow) -> Bytes {
    encode(&position)
}

/// The row of the position of a source in a partition: a [`PositionRow`].
#[must_use]
pub fn position_key(source: &NodeId, of: &PositionOf) -> Vec<u8> {
    let row = Writer::new(Table::Positions).node(source).topic(&of.topic, of.id);
    row.number(of.partition.0).done()
}

/// All positions of a source.
#[must_use]
pub fn positions_of(source: &NodeId) -> Range {
    under(Writer::new(Table::Positions).node(source).done())
}

/// Reads a position.
///
/// # Errors
/// If it is none.
pub fn position(row: &[u8], value: &[u8]) -> Result<(PositionOf, PositionRow), RowError> {
    let of = || {
        let mut reader = Reader::new(row, Table::Positions)?;
        reader.name()?;
        let (topic, id) = reader.topic()?;
        let partition = Partition(reader.number()?);
        reader.end()?;
        Some(PositionOf { topic, id, partition })
    };
    let of = of().ok_or_else(|| bad_key(Table::Positions))?;
    Ok((of, decode(Table::Positions, value)?))
}
