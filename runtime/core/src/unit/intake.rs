//! Items: events taken in one by one, and the list of all that has not ended.

use bytes::Bytes;
use rustc_hash::FxHashMap;

use super::{
    Unit,
    item::{Entry, Item, Phase, Stored},
};
use crate::{
    batch::{Batch, NO_TIMESTAMP},
    failure::Failure,
    guest::Cause,
    ids::{EventTime, InvocationId, KeyGroup},
    plan::MissingKey,
};

/// Everything taken in and not ended, and what of it a barrier must hand over.
#[derive(Debug, Default)]
pub(crate) struct Items {
    by_id: FxHashMap<InvocationId, Item>,
    bytes: usize,
    /// Of those that came since the last barrier and are still here.
    new_bytes: usize,
    running: usize,
    /// Changed since the last barrier.
    pub(super) dirty: Vec<InvocationId>,
    /// Ended since the last barrier, and in the rows.
    pub(super) removed: Vec<(KeyGroup, InvocationId, Stored)>,
}

impl Items {
    pub(crate) fn len(&self) -> usize {
        self.by_id.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// About how many bytes there are to hand over.
    pub(crate) fn delta(&self) -> usize {
        self.new_bytes
    }

    /// Those that changed since the last barrier; they are handed over now.
    pub(crate) fn take_dirty(&mut self) -> Vec<InvocationId> {
        self.new_bytes = 0;
        std::mem::take(&mut self.dirty)
    }

    /// How many are in the guest.
    pub(crate) fn running(&self) -> usize {
        self.running
    }

    pub(crate) fn get(&self, id: InvocationId) -> Option<&Item> {
        self.by_id.get(&id)
    }

    pub(crate) fn get_mut(&mut self, id: InvocationId) -> Option<&mut Item> {
        self.by_id.get_mut(&id)
    }

    /// Those in the guest, in order of arrival.
    pub(crate) fn in_guest(&self) -> Vec<InvocationId> {
        let running = self.by_id.values().filter(|item| matches!(item.phase, Phase::Running));
        let mut ids: Vec<_> = running.map(|item| (item.order, item.id)).collect();
        ids.sort_unstable();
        ids.into_iter().map(|(_, id)| id).collect()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Item> {
        self.by_id.values()
    }

    /// One that is not in the rows yet.
    pub(crate) fn add(&mut self, mut item: Item) {
        item.stored.dirty = true;
        self.dirty.push(item.id);
        self.new_bytes += item.bytes();
        self.restore(item);
    }

    /// One that is.
    pub(crate) fn restore(&mut self, item: Item) {
        self.bytes += item.bytes();
        self.by_id.insert(item.id, item);
    }

    /// It has ended.
    pub(crate) fn remove(&mut self, id: InvocationId) -> Option<Item> {
        let item = self.by_id.remove(&id)?;
        self.bytes = self.bytes.saturating_sub(item.bytes());
        if !item.stored.row {
            self.new_bytes = self.new_bytes.saturating_sub(item.bytes());
        }
        if item.stored.row || item.stored.journal {
            self.removed.push((item.group, id, item.stored));
        }
        Some(item)
    }

    /// Its waiting row is to be written.
    pub(crate) fn touch(&mut self, id: InvocationId) {
        if let Some(item) = self.by_id.get_mut(&id)
            && !item.stored.dirty
        {
            if !item.stored.journal_dirty {
                self.dirty.push(id);
            }
            item.stored.dirty = true;
        }
    }

    /// Its journal row is to be written.
    pub(crate) fn touch_journal(&mut self, id: InvocationId) {
        if let Some(item) = self.by_id.get_mut(&id)
            && !item.stored.journal_dirty
        {
            if !item.stored.dirty {
                self.dirty.push(id);
            }
            item.stored.journal_dirty = true;
        }
    }

    /// Moves it to another phase.
    pub(crate) fn set_phase(&mut self, id: InvocationId, phase: Phase) {
        if let Some(item) = self.by_id.get_mut(&id) {
            self.running -= usize::from(matches!(item.phase, Phase::Running));
            self.running += usize::from(matches!(phase, Phase::Running));
            item.phase = phase;
        }
    }
}

impl Unit {
    /// Takes events for a handler.
    pub(super) fn take_events(&mut self, handler: u32, batch: &Batch) {
        for event in 0..batch.len() {
            let order = self.next_orders(1);
            let id = self.event_item(Entry::Handler(handler), batch, event, order);
            self.enqueue_event(id);
        }
    }

    /// So many places in the order of arrival; gives the first.
    pub(super) fn next_orders(&mut self, count: u64) -> u64 {
        let first = self.order;
        self.order += count;
        first
    }

    /// Makes an item of an event; it joins no queue yet.
    pub(super) fn event_item(
        &mut self,
        entry: Entry,
        batch: &Batch,
        event: usize,
        order: u64,
    ) -> InvocationId {
        let id = self.fresh_id();
        let seen = batch.event(event);
        let slot = seen.key.map(|key| self.keys.intern(batch.hash(event), key));
        if let Some(slot) = slot {
            self.keys.pin(slot);
        }
        let headers = batch.headers_of(event);
        let item = Item {
            id,
            order,
            entry,
            cause: Cause::Event,
            key: seen.key.map(Bytes::copy_from_slice),
            slot,
            group: self.group_of(slot),
            value: Bytes::copy_from_slice(seen.value),
            timestamp: EventTime(seen.timestamp),
            headers: headers
                .map(|header| (header.name.clone(), Bytes::copy_from_slice(&header.value)))
                .collect(),
            origin: seen.origin,
            ask: None,
            failed: 0,
            phase: Phase::Queued,
            journal: None,
            run: None,
            has_slot: false,
            stored: Stored::default(),
        };
        self.items.add(item);
        id
    }

    /// An event joins the queue of its key. Without a key where it needs one, it is a
    /// dead letter, or goes no further; without a readable time it is a dead letter.
    pub(super) fn enqueue_event(&mut self, id: InvocationId) {
        let Some(item) = self.items.get(id) else { return };
        if item.slot.is_none() && (self.config.keyed || matches!(item.entry, Entry::Handler(_))) {
            if self.config.missing_key == MissingKey::Skip {
                self.counts.filtered += 1;
                return self.leave(id, None);
            }
            let message = "the event has no key, and this operator needs one";
            self.bury(id, Failure::terminal("no-key", message), None, false);
            return;
        }
        if item.timestamp.0 == NO_TIMESTAMP {
            let message = "the source could not read the event's time from its value";
            self.bury(id, Failure::terminal("no-timestamp", message), None, false);
            return;
        }
        self.enqueue(id);
    }

    /// Joins the queue of its key, and begins if it is the first and there is room.
    pub(super) fn enqueue(&mut self, id: InvocationId) {
        let Some(item) = self.items.get(id) else { return };
        match item.slot {
            Some(slot) => {
                self.queues.join(&mut self.keys, slot, item.order, id);
                self.wake(slot);
            }
            None => self.make_ready(id),
        }
    }

    /// The first of a key's queue begins, if nothing is in its way.
    pub(super) fn wake(&mut self, slot: crate::state::Slot) {
        if !self.queues.is_blocked(slot)
            && let Some(first) = self.queues.first(slot)
            && self.items.get(first).is_some_and(|item| matches!(item.phase, Phase::Queued))
        {
            self.make_ready(first);
        }
    }

    fn make_ready(&mut self, id: InvocationId) {
        self.items.set_phase(id, Phase::Ready);
        match self.items.get(id).is_some_and(Item::is_chained) {
            true => self.ready_calls.push_back(id),
            false => self.ready.push_back(id),
        }
    }
}
