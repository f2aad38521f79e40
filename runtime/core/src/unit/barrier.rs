//! What a unit hands over at its barrier: rows for all that changed since the last
//! (rule P2).

use super::{
    Action, Unit,
    item::{Content, Entry, Item, Phase},
    journal::{Journal, Made},
};
use crate::{
    clock::Now,
    ids::{Epoch, InvocationId, KeyGroup},
    message::AskKind,
    rows::{
        self, AskRow, BlockedRow, CallRow, Change, CountsRow, EntryRow, JournalRow, OriginRow,
        OutcomeRow, RetryRow, Table, WaitingRow, Writer,
    },
};

impl Unit {
    /// The epoch ends: hands over its delta and goes on in `next`, with the messages
    /// that were kept for it. An [`Action::Process`] that has not been answered is
    /// withdrawn: its events wait.
    pub fn on_barrier(&mut self, now: Now, next: Epoch) -> (Vec<Change>, Vec<Action>) {
        self.now = now;
        self.park();
        let mut changes = std::mem::take(&mut self.repairs);
        self.cell_changes(&mut changes);
        self.item_changes(&mut changes);
        let (id, names) = (&self.config.id, &self.names);
        let outbox = || Writer::new(Table::Outbox).node(id);
        self.outbox.take_changes(outbox, |made| names.made_row(made), &mut changes);
        let answers = || Writer::new(Table::Answers).node(id);
        self.answers.take_changes(answers, |address| names.place(address), &mut changes);
        self.letter_changes(&mut changes);
        self.count_changes(&mut changes);

        self.epoch = next;
        self.sequence = 0;
        let (due, kept) =
            std::mem::take(&mut self.kept).into_iter().partition(|stamped| stamped.epoch <= next);
        self.kept = kept;
        let due: Vec<_> = due;
        for stamped in due {
            self.take_message(stamped);
        }
        (changes, self.finish())
    }

    /// Has it anything that the next barrier would hand over?
    #[must_use]
    pub fn is_dirty(&self) -> bool {
        self.cells.is_dirty()
            || !self.items.dirty.is_empty()
            || !self.items.removed.is_empty()
            || self.outbox.is_dirty()
            || self.answers.is_dirty()
            || !self.blocked_changes.is_empty()
            || !self.letters.is_empty()
            || !self.discarded.is_empty()
            || !self.repairs.is_empty()
            || self.counts_row != self.counts_now()
    }

    /// About how many bytes the next barrier would hand over.
    #[must_use]
    pub fn delta_bytes(&self) -> usize {
        self.cells.delta() + self.items.delta() + self.answers.delta()
    }

    fn cell_changes(&mut self, to: &mut Vec<Change>) {
        let (id, cells) = (&self.config.id, &self.config.description.cells);
        self.cells.take_changes(&mut self.keys, |keys, changed| {
            let cell = &cells[changed.cell];
            let group = KeyGroup::of_hash(keys.hash(changed.slot));
            let (of, entry) = (keys.key(changed.slot), changed.entry.unwrap_or_default());
            let room = id.as_str().len() + of.len() + cell.name.len() + entry.len() + 6;
            let key = Writer::with_room(Table::Cells, room).node(id).group(group).key(of);
            let key = key.name(&cell.name).rest(entry).done();
            to.push(Change {
                key,
                value: changed.value.map(|value| rows::encode_cell(cell.version, value)),
            });
        });
    }

    fn item_changes(&mut self, to: &mut Vec<Change>) {
        for (group, id, stored) in std::mem::take(&mut self.items.removed) {
            if stored.row {
                to.push(Change { key: self.item_key(Table::Waiting, group, id), value: None });
            }
            if stored.journal {
                to.push(Change { key: self.item_key(Table::Journals, group, id), value: None });
            }
        }
        for id in self.items.take_dirty() {
            let Some(item) = self.items.get(id) else { continue };
            let mut stored = item.stored;
            if let Some(content) = item.content.as_ref().filter(|_| stored.dirty) {
                let value = rows::encode(&self.waiting_row(item, content));
                to.push(Change {
                    key: self.item_key(Table::Waiting, item.group, id),
                    value: Some(value),
                });
                stored.row = true;
            }
            if let Some(journal) =
                item.journal.as_ref().filter(|journal| stored.journal_dirty && journal.has_calls())
            {
                let value = rows::encode(&self.journal_row(journal));
                to.push(Change {
                    key: self.item_key(Table::Journals, item.group, id),
                    value: Some(value),
                });
                stored.journal = true;
            }
            stored.dirty = false;
            stored.journal_dirty = false;
            stored.epoch = self.epoch;
            self.items.handed(id, stored);
        }
    }

    fn letter_changes(&mut self, to: &mut Vec<Change>) {
        for (letter, journal) in self.letters.drain(..) {
            let key = rows::dead_letter_key(&self.config.id, letter.id);
            to.push(Change { key, value: Some(rows::encode(&(letter, journal))) });
        }
        for letter in self.discarded.drain(..) {
            to.push(Change { key: rows::dead_letter_key(&self.config.id, letter), value: None });
        }
        for (slot, by) in std::mem::take(&mut self.blocked_changes) {
            let group = KeyGroup::of_hash(self.keys.hash(slot));
            let key = Writer::new(Table::Blocked)
                .node(&self.config.id)
                .group(group)
                .key(self.keys.key(slot))
                .done();
            to.push(Change { key, value: by.map(|by| rows::encode(&BlockedRow { by })) });
            self.keys.unpin(slot);
        }
    }

    fn count_changes(&mut self, to: &mut Vec<Change>) {
        let counts = self.counts_now();
        if counts != self.counts_row {
            self.counts_row = counts;
            let key = Writer::new(Table::Counts).node(&self.config.id).group(self.group).done();
            to.push(Change { key, value: Some(rows::encode(&counts)) });
        }
        for (edge, (taken, row)) in self.edges.iter_mut().enumerate() {
            if taken != row {
                *row = *taken;
                let name = self.config.edges[edge].as_bytes();
                let key = Writer::new(Table::EdgeTaken)
                    .node(&self.config.id)
                    .group(self.group)
                    .rest(name)
                    .done();
                to.push(Change { key, value: Some(rows::encode_number(*taken)) });
            }
        }
    }

    fn counts_now(&self) -> CountsRow {
        CountsRow { counts: self.counts, waiting: self.waiting() as u64 }
    }

    pub(super) fn item_key(&self, table: Table, group: KeyGroup, id: InvocationId) -> Vec<u8> {
        Writer::new(table).node(&self.config.id).group(group).invocation(id).done()
    }

    fn waiting_row(&self, item: &Item, content: &Content) -> WaitingRow {
        let name = self.entry_name(item.entry).to_owned();
        WaitingRow {
            order: item.order,
            entry: match item.entry {
                Entry::Handler(_) => EntryRow::Handler(name),
                Entry::Port(_) => EntryRow::Port(name),
            },
            cause: item.cause,
            key: content.key.clone(),
            value: content.value.clone(),
            timestamp: content.timestamp,
            headers: content.headers.clone(),
            origin: content.origin.map(|origin| OriginRow {
                source: self.names.node(origin.source).into(),
                partition: origin.partition,
                offset: origin.offset,
            }),
            failed: item.failed,
            retry: match item.phase {
                Phase::Retrying { at, pause, .. } => Some(RetryRow {
                    at,
                    pause_ms: u64::try_from(pause.as_millis()).unwrap_or(u64::MAX),
                }),
                _ => None,
            },
            ask: item.ask.as_ref().map(|ask| AskRow {
                id: ask.id,
                from: self.names.place(ask.from),
                kind: match ask.kind {
                    AskKind::Call => AskKind::Call,
                    AskKind::Send { .. } => AskKind::Send { not_before: Self::held_until(item) },
                },
                chain: ask.chain.clone(),
            }),
        }
    }

    pub(super) fn journal_row(&self, journal: &Journal) -> JournalRow {
        let made = |made: &Made| self.names.made_row(made);
        JournalRow {
            seed: journal.seed,
            began: journal.began,
            calls: journal
                .calls
                .iter()
                .map(|call| CallRow {
                    r: call.r,
                    print: call.print,
                    made: call.made.as_ref().map(made),
                })
                .collect(),
            outcomes: journal
                .outcomes
                .iter()
                .map(|recorded| OutcomeRow {
                    call: recorded.call,
                    at: recorded.at,
                    outcome: recorded.outcome.clone(),
                })
                .collect(),
            handed: journal.handed,
        }
    }
}
