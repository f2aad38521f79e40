//! Whose a row is: to find what operators hold that are in no plan any more.

use super::{Change, Reader, Table, Writer};
use crate::{dead_letter::DeadLetter, ids::KeyGroup};

/// The table of a row, and the operator or source that owns it; nothing for rows
/// that belong to no node. Rows of one owner in one table stand together.
#[must_use]
pub fn owner_of(row: &[u8]) -> Option<(&'static str, &str)> {
    let table = Table::of(row).filter(|table| *table != Table::Requests)?;
    Some((table.name(), Reader::new(row, table)?.name()?))
}

/// Releases the key that a dead letter blocks, while the pipeline is not loaded.
#[must_use]
pub fn unblock(letter: &DeadLetter) -> Option<Change> {
    let key = letter.key.as_ref().filter(|_| letter.blocks_key)?;
    let row =
        Writer::new(Table::Blocked).node(&letter.operator).group(KeyGroup::of(key)).key(key).done();
    Some(Change { key: row, value: None })
}
