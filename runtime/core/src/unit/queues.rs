//! Per key, what waits for it: one invocation at a time, in order of arrival.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use crate::{
    ids::InvocationId,
    state::{Keys, Slot},
};

/// Queues of all keys that something waits for or holds, or that are blocked. The
/// first of a queue holds its key.
#[derive(Debug, Default)]
pub(crate) struct Queues {
    by_key: FxHashMap<Slot, Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    /// Ascending by order.
    items: VecDeque<(u64, InvocationId)>,
    /// The dead letter that blocks the key, and its place in the order of arrival.
    blocked: Option<(InvocationId, u64)>,
}

impl Queues {
    /// Does no key have anything in its way?
    pub(crate) fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }

    /// Must something of this place in the order wait for something before it?
    pub(crate) fn defers(&self, slot: Slot, order: u64) -> bool {
        self.by_key.get(&slot).is_some_and(|queue| {
            queue.blocked.is_some_and(|(_, before)| before < order)
                || queue.items.front().is_some_and(|(before, _)| *before < order)
        })
    }

    /// Joins the queue of a key at its place in the order of arrival.
    pub(crate) fn join(&mut self, keys: &mut Keys, slot: Slot, order: u64, id: InvocationId) {
        let queue = self.by_key.entry(slot).or_insert_with(|| {
            keys.pin(slot);
            Queue::default()
        });
        let at =
            queue.items.iter().rposition(|(before, _)| *before <= order).map_or(0, |at| at + 1);
        queue.items.insert(at, (order, id));
    }

    /// Leaves it.
    pub(crate) fn leave(&mut self, keys: &mut Keys, slot: Slot, id: InvocationId) {
        if let Some(queue) = self.by_key.get_mut(&slot) {
            match queue.items.front() {
                Some((_, first)) if *first == id => drop(queue.items.pop_front()),
                _ => queue.items.retain(|(_, other)| *other != id),
            }
            self.sweep(keys, slot);
        }
    }

    /// Who has the key, or would be next if it is not blocked.
    pub(crate) fn first(&self, slot: Slot) -> Option<InvocationId> {
        self.by_key.get(&slot)?.items.front().map(|(_, id)| *id)
    }

    /// Is the key blocked by a dead letter?
    pub(crate) fn is_blocked(&self, slot: Slot) -> bool {
        self.by_key.get(&slot).is_some_and(|queue| queue.blocked.is_some())
    }

    /// Nothing more of this key runs until it is released.
    pub(crate) fn block(&mut self, keys: &mut Keys, slot: Slot, by: InvocationId, order: u64) {
        let queue = self.by_key.entry(slot).or_insert_with(|| {
            keys.pin(slot);
            Queue::default()
        });
        queue.blocked = Some((by, order));
    }

    /// Releases a key, if it is this dead letter that blocks it.
    pub(crate) fn release(&mut self, keys: &mut Keys, slot: Slot, by: InvocationId) {
        if let Some(queue) = self.by_key.get_mut(&slot)
            && queue.blocked.is_some_and(|(blocked, _)| blocked == by)
        {
            queue.blocked = None;
            self.sweep(keys, slot);
        }
    }

    /// All keys in use, by the place of their first in the order of arrival.
    pub(crate) fn slots_in_order(&self) -> Vec<Slot> {
        let first = |queue: &Queue| queue.items.front().map_or(u64::MAX, |(order, _)| *order);
        let mut slots: Vec<_> =
            self.by_key.iter().map(|(slot, queue)| (first(queue), *slot)).collect();
        slots.sort_unstable();
        slots.into_iter().map(|(_, slot)| slot).collect()
    }

    fn sweep(&mut self, keys: &mut Keys, slot: Slot) {
        if self
            .by_key
            .get(&slot)
            .is_some_and(|queue| queue.items.is_empty() && queue.blocked.is_none())
        {
            self.by_key.remove(&slot);
            keys.unpin(slot);
        }
    }
}
