//! A unit from its rows.

use bytes::Bytes;

use super::{
    Unit,
    item::{Asked, Entry, Item, Phase, Stored},
};
use crate::{
    clock::Now,
    ids::{InvocationId, KeyGroup, hash_key},
    message::AskKind,
    rows::{
        self, AnswerRow, BlockedRow, Change, CountsRow, EntryRow, OutboxRow, Reader, RowError,
        Table, WaitingRow, bad_key, decode,
    },
    state::Slot,
};

impl Unit {
    /// Takes a row of its key groups, one of those that [`rows::unit_ranges`] names, in
    /// that order. What waits beyond the bound of memory stays in its row. Cells that the
    /// module does not declare are left as they are.
    ///
    /// # Errors
    /// If the row cannot be read, or names what this plan does not have. The unit is of
    /// no more use then.
    pub fn restore(&mut self, now: Now, key: &[u8], value: &Bytes) -> Result<(), RowError> {
        self.now = now;
        match Table::of(key).unwrap_or(Table::Requests) {
            Table::Cells => self.restore_cell(key, value)?,
            Table::Waiting => {
                self.restore_item(key, value)?;
                self.items.spill(self.epoch, self.config.waiting_bytes);
            }
            Table::Journals => self.restore_journal(key, value)?,
            Table::Outbox => self.restore_send(key, value)?,
            Table::Answers => self.restore_answer(key, value)?,
            Table::Blocked => self.restore_blocked(key, value)?,
            Table::Counts => self.restore_counts(key, value)?,
            Table::EdgeTaken => self.restore_edge(key, value)?,
            table => return Err(bad_key(table)),
        }
        Ok(())
    }

    /// All rows have been taken: what waits takes its place.
    pub(super) fn place_all(&mut self) {
        let mut waiting: Vec<_> = self.items.iter().map(|item| (item.order, item.id)).collect();
        waiting.sort_unstable();
        self.order = waiting.last().map_or(1, |(order, _)| order.saturating_add(1));
        for (order, id) in waiting {
            self.place(order, id);
        }
        self.items.placed();
    }

    /// Where a restored item waits.
    fn place(&mut self, order: u64, id: InvocationId) {
        let Some(item) = self.items.get(id) else { return };
        match (&item.phase, item.slot) {
            (Phase::Delayed, _) => {
                if let Some(until) = Self::held_until(item) {
                    self.times.delay(until, id);
                }
            }
            (phase, slot) => {
                if let Phase::Retrying { due, .. } = phase {
                    self.times.retry(*due, id);
                }
                match slot {
                    Some(slot) => self.queues.join(&mut self.keys, slot, order, id),
                    None if matches!(phase, Phase::Queued) => self.enqueue(id),
                    None => {}
                }
            }
        }
    }

    fn restore_cell(&mut self, key: &[u8], value: &Bytes) -> Result<(), RowError> {
        let row = rows::cell(key, value)?;
        let cells = &self.config.description.cells;
        let Some(cell) = cells.iter().position(|cell| cell.name == row.cell) else { return Ok(()) };
        if !cells[cell].kind.has_entries() && !row.entry.is_empty() {
            return Err(bad_key(Table::Cells));
        }
        let slot = self.keys.intern(hash_key(&row.key), &row.key);
        self.cells.restore(&mut self.keys, cell as u32, slot, row.entry, row.value);
        Ok(())
    }

    fn restore_item(&mut self, key: &[u8], value: &[u8]) -> Result<(), RowError> {
        let (group, id) = in_group(key, Table::Waiting, |reader| reader.invocation())?;
        let row: WaitingRow = decode(Table::Waiting, value)?;
        let slot = row.key.as_ref().map(|key| {
            let slot = self.keys.intern(hash_key(key), key);
            self.keys.pin(slot);
            slot
        });
        let item = self.item(id, group, slot, row)?;
        if let Some(ask) = &item.ask {
            self.asks.insert(ask.id, id);
        }
        self.items.restore(item);
        Ok(())
    }

    /// What a row says.
    ///
    /// # Errors
    /// If it names what this plan does not have.
    pub(super) fn item(
        &self,
        id: InvocationId,
        group: KeyGroup,
        slot: Option<Slot>,
        row: WaitingRow,
    ) -> Result<Item, RowError> {
        let error = |problem: String| RowError { table: Table::Waiting.name(), problem };
        let description = &self.config.description;
        let entry = match &row.entry {
            EntryRow::Handler(name) => description.handler(name).map(Entry::Handler),
            EntryRow::Port(name) => description
                .inputs
                .iter()
                .position(|port| port.name == *name)
                .map(|port| Entry::Port(port as u8)),
        };
        let entry = entry.ok_or_else(|| {
            error(format!("{id} waits for {:?}, which the module does not have", row.entry))
        })?;
        let ask = match &row.ask {
            Some(ask) => {
                let from = self.names.address(&ask.from).ok_or_else(|| {
                    error(format!(
                        "{id} was asked for by {:?}, which the plan does not have",
                        ask.from
                    ))
                })?;
                let (kind, chain) = (ask.kind, ask.chain.clone());
                Some(Box::new(Asked { id: ask.id, from, kind, chain, forgotten: false }))
            }
            None => None,
        };
        let held = ask
            .as_ref()
            .is_some_and(|ask| matches!(ask.kind, AskKind::Send { not_before: Some(_) }));
        let phase = match row.retry {
            Some(retry) => Phase::Retrying {
                due: self.now.monotonic + rows::rest_of_pause(retry, self.now.wall),
                at: retry.at,
                pause: std::time::Duration::from_millis(retry.pause_ms),
            },
            None if held => Phase::Delayed,
            None => Phase::Queued,
        };
        let (order, cause, failed) = (row.order, row.cause, row.failed);
        let content = self.content(row);
        Ok(Item {
            id,
            order,
            entry,
            cause,
            slot,
            group,
            bytes: content.bytes(),
            content: Some(Box::new(content)),
            ask,
            failed,
            phase,
            journal: None,
            run: None,
            has_slot: false,
            stored: Stored { row: true, ..Stored::default() },
        })
    }

    fn restore_journal(&mut self, key: &[u8], value: &[u8]) -> Result<(), RowError> {
        let (_, id) = in_group(key, Table::Journals, |reader| reader.invocation())?;
        let journal = self.journal(value)?;
        let Some(item) = self.items.get_mut(id) else {
            let problem = format!("{id} does not wait");
            return Err(RowError { table: Table::Journals.name(), problem });
        };
        item.stored.journal = true;
        if item.content.is_some() || journal.open().next().is_some() {
            item.journal = Some(Box::new(journal));
        }
        Ok(())
    }

    fn restore_send(&mut self, key: &[u8], value: &[u8]) -> Result<(), RowError> {
        let (group, id) = in_group(key, Table::Outbox, |reader| reader.call())?;
        let row: OutboxRow = decode(Table::Outbox, value)?;
        let to = self.names.made(Table::Outbox, &row.to)?;
        let send = super::outbox::Outgoing {
            to,
            value: row.value,
            timestamp: row.timestamp,
            not_before: row.not_before,
        };
        self.outbox.restore(group, id, send);
        Ok(())
    }

    fn restore_answer(&mut self, key: &[u8], value: &[u8]) -> Result<(), RowError> {
        let (group, id) = in_group(key, Table::Answers, |reader| reader.call())?;
        let row: AnswerRow = decode(Table::Answers, value)?;
        match self.names.address(&row.from) {
            Some(from) => self.answers.restore(group, id, from, row.outcome),
            // Whoever asked is gone with its operator: nobody will ask again.
            None => self.repairs.push(Change { key: key.to_vec(), value: None }),
        }
        Ok(())
    }

    fn restore_blocked(&mut self, key: &[u8], value: &[u8]) -> Result<(), RowError> {
        let (_, key) = in_group(key, Table::Blocked, |reader| reader.key())?;
        let row: BlockedRow = decode(Table::Blocked, value)?;
        let slot = self.keys.intern(hash_key(&key), &key);
        self.queues.block(&mut self.keys, slot, row.by, 0);
        self.blocked.insert(row.by, slot);
        Ok(())
    }

    /// Counts of this shard, or of one that no longer is: those are taken over.
    fn restore_counts(&mut self, key: &[u8], value: &[u8]) -> Result<(), RowError> {
        let (group, ()) = in_group(key, Table::Counts, |_| Some(()))?;
        let row: CountsRow = rows::counts(value)?;
        self.counts.add(&row.counts);
        if group == self.group {
            self.counts_row = row;
        } else {
            self.repairs.push(Change { key: key.to_vec(), value: None });
        }
        Ok(())
    }

    fn restore_edge(&mut self, key: &[u8], value: &[u8]) -> Result<(), RowError> {
        let (group, name) = rows::edge_name(key)?;
        let taken = rows::number(value)?;
        // An edge that this plan does not have keeps its count.
        let Some(edge) = self.config.edges.iter().position(|edge| *edge == name) else {
            return Ok(());
        };
        self.edges[edge].0 += taken;
        if group == self.group {
            self.edges[edge].1 = taken;
        } else {
            self.repairs.push(Change { key: key.to_vec(), value: None });
        }
        Ok(())
    }
}

/// Reads a key of a table that is ordered by operator and group.
fn in_group<T>(
    key: &[u8],
    table: Table,
    read: impl FnOnce(&mut Reader<'_>) -> Option<T>,
) -> Result<(KeyGroup, T), RowError> {
    let parts = || {
        let mut reader = Reader::new(key, table)?;
        reader.name()?;
        let group = reader.group()?;
        let rest = read(&mut reader)?;
        reader.end()?;
        Some((group, rest))
    };
    parts().ok_or_else(|| bad_key(table))
}
