//! What goes over edges, counted at both ends (rule P21).
//!
//! An edge's name tells its ends, so that the counts at the far end can be found
//! when one end goes.

use bytes::Bytes;

use super::{Range, RowError, Table, Writer, bad_key, decode, encode, key::Reader, under};
use crate::ids::{KeyGroup, NodeId};

/// The name of an edge, the same at both ends and over revisions.
#[must_use]
pub fn edge_label(from: &NodeId, port: &str, to: &NodeId) -> String {
    format!("{from}.{port} -> {to}")
}

/// All rows of every edge of a pipeline, from whichever end: see [`is_of_edge_at`].
#[must_use]
pub fn edges() -> [Range; 3] {
    [Table::EdgeTaken, Table::EdgeSent, Table::EdgeQueued].map(|t| under(Writer::new(t).done()))
}

/// Is a row of [`edges`] of an edge that begins or ends at this node?
///
/// # Errors
/// If it is no such row.
pub fn is_of_edge_at(row: &[u8], id: &NodeId) -> Result<bool, RowError> {
    let (_, label) = edge_name(row)?;
    let ends = label.split_once('.').zip(label.rsplit_once(" -> "));
    Ok(ends.is_some_and(|((from, _), (_, to))| from == id.as_str() || to == id.as_str()))
}

/// How many events an operator has taken from each of its input edges, per shard:
/// add up what has the same edge.
#[must_use]
pub fn edges_taken_of(id: &NodeId) -> Range {
    under(Writer::new(Table::EdgeTaken).node(id).done())
}

/// How many events a node has sent into each of its output edges, per shard: add up
/// what has the same edge.
#[must_use]
pub fn edges_sent_of(id: &NodeId) -> Range {
    under(Writer::new(Table::EdgeSent).node(id).done())
}

/// The row of what a shard of a node has sent into an edge; `group` is the first
/// of the shard.
#[must_use]
pub fn edge_sent_key(id: &NodeId, group: KeyGroup, edge: &str) -> Vec<u8> {
    Writer::new(Table::EdgeSent).node(id).group(group).rest(edge.as_bytes()).done()
}

/// Reads the edge's name from a row of [`edges_taken_of`] or [`edges_sent_of`].
///
/// # Errors
/// If it is none.
pub fn edge_name(row: &[u8]) -> Result<(KeyGroup, String), RowError> {
    let table = Table::of(row)
        .filter(|t| [Table::EdgeTaken, Table::EdgeSent, Table::EdgeQueued].contains(t));
    let table = table.ok_or_else(|| bad_key(Table::EdgeTaken))?;
    let parts = || {
        let mut reader = Reader::new(row, table)?;
        reader.name()?;
        Some((reader.group()?, String::from_utf8(reader.rest().to_vec()).ok()?))
    };
    parts().ok_or_else(|| bad_key(table))
}

/// Writes a plain number: what an edge counts.
#[must_use]
pub fn encode_number(number: u64) -> Bytes {
    encode(&number)
}

/// Reads a plain number.
///
/// # Errors
/// If it is none.
pub fn number(value: &[u8]) -> Result<u64, RowError> {
    decode(Table::EdgeTaken, value)
}

/// The row of what a consumer has taken from an edge; `group` is the first of its
/// shard.
#[must_use]
pub fn edge_taken_key(id: &NodeId, group: KeyGroup, edge: &str) -> Vec<u8> {
    Writer::new(Table::EdgeTaken).node(id).group(group).rest(edge.as_bytes()).done()
}

/// The row of what was in the queues of an edge into a shard when the epoch ended:
/// measured, nothing if the barriers were aligned. No row: nothing.
#[must_use]
pub fn edge_queued_key(id: &NodeId, group: KeyGroup, edge: &str) -> Vec<u8> {
    Writer::new(Table::EdgeQueued).node(id).group(group).rest(edge.as_bytes()).done()
}

/// What was queued before a consumer, per shard: add up what has the same edge.
#[must_use]
pub fn edges_queued_of(id: &NodeId) -> Range {
    under(Writer::new(Table::EdgeQueued).node(id).done())
}
