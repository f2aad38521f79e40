//! Content that was spilled comes back from the rows (rule P3).

use bytes::Bytes;

use super::{
    Action, Unit,
    item::Content,
    journal::{Call, Journal, Recorded},
};
use crate::{
    batch::Origin,
    ids::InvocationId,
    rows::{JournalRow, RowError, Table, WaitingRow, decode},
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
        let wants_journal = item.stored.journal && item.journal.is_none();
        let read = |table| {
            let row = self.rows.row(&self.item_key(table, item.group, id))?;
            row.ok_or_else(|| format!("its row in the table `{}` is gone", Table::name(table)))
        };
        let rows = || {
            let row = decode(Table::Waiting, &read(Table::Waiting)?).map_err(|e| e.to_string())?;
            let journal = match wants_journal {
                true => Some(self.journal(&read(Table::Journals)?).map_err(|e| e.to_string())?),
                false => None,
            };
            Ok((self.content(row), journal))
        };
        match rows() {
            Ok((content, journal)) => {
                self.items.refill(id, content, journal);
                true
            }
            Err(problem) => {
                let problem: String = problem;
                let reason = format!(
                    "operator `{}` cannot read {id}, which waits, from the store: {problem}",
                    self.config.id
                );
                self.out.push(Action::Halt { reason });
                false
            }
        }
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
