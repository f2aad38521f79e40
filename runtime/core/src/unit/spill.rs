//! Content that was spilled comes back from the rows (rule P3).

use bytes::Bytes;

use super::{
    Action, Unit,
    item::Content,
    journal::{Call, Journal, Recorded},
};
use crate::{
    batch::Origin,
    ids::{InvocationId, KeyGroup},
    rows::{JournalRow, RowError, Table, WaitingRow, decode},
    state::Slot,
};

/// The rows of the pipeline as of its last commit, for a unit that put something out of
/// memory.
pub trait CommittedRows: Send + Sync {
    /// The value of a row; `None`: there is none.
    ///
    /// # Errors
    /// Why it cannot be read, for people.
    fn row(&self, key: &[u8]) -> Result<Option<Bytes>, String>;
}

impl Unit {
    /// Brings back what was spilled of it, if it was. False if it is not in the list, or
    /// cannot be read: then the pipeline is to stop, and nothing of it is lost.
    pub(super) fn fetch(&mut self, id: InvocationId) -> bool {
        let Some(item) = self.items.get(id) else { return false };
        if item.content.is_some() {
            return true;
        }
        let group = item.group;
        let wants_journal = item.stored.journal && item.journal.is_none();
        let rows = || {
            let content = self.content(self.waiting_of(group, id)?);
            let journal = match wants_journal {
                true => Some(self.journal(&self.row_of(Table::Journals, group, id)?)?),
                false => None,
            };
            Ok((content, journal))
        };
        match rows() {
            Ok((content, journal)) => {
                self.items.refill(id, content, journal);
                true
            }
            Err(problem) => self.unreadable(id, &problem),
        }
    }

    /// Brings back one that is in the queue of this key and nowhere else. False as for
    /// [`Unit::fetch`].
    pub(super) fn take_back(&mut self, id: InvocationId, slot: Slot) -> bool {
        let group = self.group_of(Some(slot));
        let item =
            self.waiting_of(group, id).and_then(|row| Ok(self.item(id, group, Some(slot), row)?));
        match item {
            Ok(item) => {
                self.items.take_back(item);
                true
            }
            Err(problem) => self.unreadable(id, &problem),
        }
    }

    fn waiting_of(&self, group: KeyGroup, id: InvocationId) -> Result<WaitingRow, Unreadable> {
        Ok(decode(Table::Waiting, &self.row_of(Table::Waiting, group, id)?)?)
    }

    fn row_of(&self, table: Table, group: KeyGroup, id: InvocationId) -> Result<Bytes, Unreadable> {
        let row = self.rows.row(&self.item_key(table, group, id)).map_err(Unreadable)?;
        row.ok_or_else(|| Unreadable(format!("its row in the table `{}` is gone", table.name())))
    }

    fn unreadable(&mut self, id: InvocationId, problem: &Unreadable) -> bool {
        let reason = format!(
            "operator `{}` cannot read {id}, which waits, from the store: {}",
            self.config.id, problem.0
        );
        self.out.push(Action::Halt { reason });
        false
    }

    /// The content that a row holds.
    pub(super) fn content(&self, row: WaitingRow) -> Content {
        Content {
            key: row.key,
            value: row.value,
            timestamp: row.timestamp,
            headers: row.headers,
            origin: row.origin.and_then(|origin| {
                let source = self.names.index(&origin.source)?;
                Some(Origin { source, partition: origin.partition, offset: origin.offset })
            }),
        }
    }

    /// The journal that a row holds.
    ///
    /// # Errors
    /// If the row cannot be read, or names what this plan does not have.
    pub(super) fn journal(&self, row: &[u8]) -> Result<Journal, RowError> {
        let row: JournalRow = decode(Table::Journals, row)?;
        let error = |problem: String| RowError { table: Table::Journals.name(), problem };
        let mut calls = Vec::with_capacity(row.calls.len());
        for call in row.calls {
            let made = call.made.map(|made| self.names.made(Table::Journals, &made)).transpose()?;
            calls.push(Call { r: call.r, print: call.print, made, ..Call::default() });
        }
        for outcome in &row.outcomes {
            let call = calls.get_mut(outcome.call as usize);
            call.ok_or_else(|| error(format!("there is no call {}", outcome.call)))?.decided = true;
        }
        let outcomes: Vec<_> = row
            .outcomes
            .into_iter()
            .map(|row| Recorded { call: row.call, at: row.at, outcome: row.outcome })
            .collect();
        if row.handed as usize > outcomes.len() {
            return Err(error(format!(
                "{} outcomes were handed, of {}",
                row.handed,
                outcomes.len()
            )));
        }
        Ok(Journal { seed: row.seed, began: row.began, calls, outcomes, handed: row.handed })
    }
}

/// Why something cannot be brought back, for people.
struct Unreadable(String);

impl From<RowError> for Unreadable {
    fn from(error: RowError) -> Self {
        Self(error.to_string())
    }
}
