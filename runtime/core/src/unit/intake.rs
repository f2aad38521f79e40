//! Events become items, one by one, and join the queues of their keys.

use bytes::Bytes;

use super::{
    Unit,
    item::{Content, Entry, Item, Phase, Stored},
};
use crate::{
    batch::{Batch, NO_TIMESTAMP},
    failure::Failure,
    guest::Cause,
    ids::{EventTime, InvocationId},
    plan::MissingKey,
};

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
        let content = Content {
            key: seen.key.map(Bytes::copy_from_slice),
            value: Bytes::copy_from_slice(seen.value),
            timestamp: EventTime(seen.timestamp),
            headers: headers
                .map(|header| (header.name.clone(), Bytes::copy_from_slice(&header.value)))
                .collect(),
            origin: seen.origin,
        };
        let item = Item {
            id,
            order,
            entry,
            cause: Cause::Event,
            slot,
            group: self.group_of(slot),
            bytes: content.bytes(),
            content: Some(Box::new(content)),
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
        if item.content.as_ref().is_some_and(|content| content.timestamp.0 == NO_TIMESTAMP) {
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
        if self.queues.is_blocked(slot) {
            return;
        }
        let Some(first) = self.queues.first(slot) else { return };
        let is_queued = match self.items.get(first) {
            Some(item) => matches!(item.phase, Phase::Queued),
            // It was spilled, and only the queue knew of it.
            None => self.take_back(first, slot),
        };
        if is_queued {
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
