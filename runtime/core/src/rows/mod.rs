//! Every row of a pipeline's commit domain: keys and values.
//!
//! `key.rs` has the layouts with a diagram, `value.rs` what stands behind them.
//! Decoders never panic, whatever the bytes: they give a [`RowError`].

mod edge;
mod key;
mod owner;
mod position;
#[cfg(test)]
mod tests;
mod value;

use bytes::Bytes;

pub use self::{
    edge::*,
    owner::{owner_of, unblock},
    position::*,
};

pub(crate) use self::{
    key::{Reader, Table, Writer},
    value::*,
};
use crate::{
    dead_letter::DeadLetter,
    ids::{EventTime, InvocationId, KeyGroup, NodeId, Shard},
    unit::Counts,
};

/// A changed row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Its key.
    pub key: Vec<u8>,
    /// Its new value; `None` removes it.
    pub value: Option<Bytes>,
}

/// Rows from `from` on, before `to`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    /// Inclusive.
    pub from: Vec<u8>,
    /// Exclusive; `None`: to the end.
    pub to: Option<Vec<u8>>,
}

/// A row that cannot be read: written by something else, or damaged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a row of the table `{table}` cannot be read: {problem}")]
pub struct RowError {
    /// Which table.
    pub table: &'static str,
    /// What is wrong.
    pub problem: String,
}

/// A cell's value, or one entry of it, as stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellRow {
    /// The key that it belongs to.
    pub key: Vec<u8>,
    /// Name of the cell.
    pub cell: String,
    /// The entry's key; empty for a cell without entries.
    pub entry: Bytes,
    /// Version of the value's schema.
    pub schema: u32,
    /// The value.
    pub value: Bytes,
}

/// The audit of one shard, or of what one left behind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct CountsRow {
    /// What was counted.
    pub counts: Counts,
    /// What was measured at the barrier.
    pub waiting: u64,
}

/// The key groups of a shard.
#[must_use]
pub fn groups_of(shard: Shard, shards: u16) -> std::ops::Range<u8> {
    let mut of_shard = (0..KeyGroup::COUNT).filter(|g| KeyGroup(*g).shard(shards.max(1)) == shard);
    match of_shard.next() {
        Some(first) => first..first + 1 + of_shard.count() as u8,
        None => 0..0,
    }
}

/// What [`crate::unit::Unit::restore`] needs: all rows of an operator in these key
/// groups, see [`groups_of`].
#[must_use]
pub fn unit_ranges(id: &NodeId, groups: std::ops::Range<u8>) -> Vec<Range> {
    let edge = |table, group| Writer::new(table).node(id).group(KeyGroup(group)).done();
    Table::OF_UNIT
        .into_iter()
        .map(|table| Range { from: edge(table, groups.start), to: Some(edge(table, groups.end)) })
        .collect()
}

/// All rows of an operator, or of a source: those of [`unit_ranges`] over all key
/// groups, positions, and dead letters. What edges count is in [`edges`], at both ends.
#[must_use]
pub fn operator_ranges(id: &NodeId) -> Vec<Range> {
    let mut ranges = unit_ranges(id, 0..KeyGroup::COUNT);
    ranges.extend([positions_of(id), dead_letters_of(id)]);
    ranges
}

/// What [`crate::ingress::Ingress::restore`] needs.
#[must_use]
pub fn ingress_range() -> Range {
    under(Writer::new(Table::Requests).done())
}

/// The stored cells of one key of an operator.
#[must_use]
pub fn cells_of_key(id: &NodeId, key: &[u8]) -> Range {
    let group = KeyGroup::of(key);
    under(Writer::new(Table::Cells).node(id).group(group).key(key).done())
}

/// The stored cells of the keys of one group that begin with `prefix`, in order of
/// the keys' bytes. Over all groups: those of the whole operator.
#[must_use]
pub fn cells_of_group(id: &NodeId, group: KeyGroup, prefix: &[u8]) -> Range {
    under(Writer::new(Table::Cells).node(id).group(group).key_prefix(prefix).done())
}

/// Cuts a range of [`cells_of_group`] so that it begins behind a key: for paging.
#[must_use]
pub fn after_key(mut range: Range, id: &NodeId, key: &[u8]) -> Range {
    let behind = under(Writer::new(Table::Cells).node(id).group(KeyGroup::of(key)).key(key).done());
    if let Some(behind) = behind.to
        && behind > range.from
    {
        range.from = behind;
    }
    range
}

/// Reads a row of the table of cells.
///
/// # Errors
/// If it is not one.
pub fn cell(row: &[u8], value: &Bytes) -> Result<CellRow, RowError> {
    let parts = || {
        let mut reader = Reader::new(row, Table::Cells)?;
        reader.name()?;
        reader.group()?;
        Some((reader.key()?, reader.name()?.to_owned(), Bytes::copy_from_slice(reader.rest())))
    };
    let (key, cell, entry) = parts().ok_or_else(|| bad_key(Table::Cells))?;
    let (schema, value) = decode_cell(value)?;
    Ok(CellRow { key, cell, entry, schema, value })
}

/// All dead letters of an operator, oldest first.
#[must_use]
pub fn dead_letters_of(id: &NodeId) -> Range {
    under(Writer::new(Table::Dead).node(id).done())
}

/// All dead letters of a pipeline, by operator.
#[must_use]
pub fn dead_letters() -> Range {
    under(Writer::new(Table::Dead).done())
}

/// The row of one dead letter.
#[must_use]
pub fn dead_letter_key(id: &NodeId, letter: InvocationId) -> Vec<u8> {
    Writer::new(Table::Dead).node(id).invocation(letter).done()
}

/// Reads a dead letter.
///
/// # Errors
/// If it is none.
pub fn dead_letter(value: &[u8]) -> Result<DeadLetter, RowError> {
    let (letter, _): (DeadLetter, Option<JournalRow>) = decode(Table::Dead, value)?;
    Ok(letter)
}

/// All counts of an operator: add them up.
#[must_use]
pub fn counts_of(id: &NodeId) -> Range {
    under(Writer::new(Table::Counts).node(id).done())
}

/// Reads counts.
///
/// # Errors
/// If it is none.
pub fn counts(value: &[u8]) -> Result<CountsRow, RowError> {
    decode(Table::Counts, value)
}

/// The rows that begin with these bytes.
fn under(from: Vec<u8>) -> Range {
    let mut to = from.clone();
    while to.last() == Some(&0xff) {
        to.pop();
    }
    match to.last_mut() {
        Some(last) => *last += 1,
        None => return Range { from, to: None },
    }
    Range { from, to: Some(to) }
}

pub(crate) fn bad_key(table: Table) -> RowError {
    RowError { table: table.name(), problem: "its key does not have the table's layout".into() }
}

/// What remains of a pause at the start of a process: until `at` by the wall clock,
/// but never more than all of it (rule P17).
pub(crate) fn rest_of_pause(retry: RetryRow, wall: EventTime) -> std::time::Duration {
    let rest = u64::try_from(retry.at.0.saturating_sub(wall.0)).unwrap_or(0);
    std::time::Duration::from_millis(rest.min(retry.pause_ms))
}
