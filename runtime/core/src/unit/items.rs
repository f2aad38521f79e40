//! The waiting list: everything taken in and not ended.
//!
//! What waits and is in a durable row gives away its content when the list takes more
//! memory than it may, the newest first, and gets it back when it is about to run (rule
//! P3). Of an event behind another of its key nothing stays but its place in the queue.
//! Calls, sends and times are known without the rows.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    item::{Content, Item, Phase, Stored},
    journal::Journal,
};
use crate::ids::{Epoch, InvocationId, KeyGroup};

/// Stale entries in the list of what can be spilled that are not worth a sweep.
const STALE: usize = 1_024;

/// Everything taken in and not ended, and what of it a barrier must hand over.
#[derive(Debug, Default)]
pub(crate) struct Items {
    by_id: FxHashMap<InvocationId, Box<Item>>,
    /// How many are in the queue of their key and nowhere else.
    away: usize,
    placed: bool,
    bytes: usize,
    /// Of those whose content is here.
    resident: usize,
    /// Of those that the next barrier hands over.
    delta: usize,
    running: FxHashSet<InvocationId>,
    /// Changed since the last barrier.
    pub(super) dirty: Vec<InvocationId>,
    /// Ended since the last barrier, and in the rows.
    pub(super) removed: Vec<(KeyGroup, InvocationId, Stored)>,
    /// Those that a row has, about in the order of their arrival. Some may have ended.
    spillable: Vec<InvocationId>,
}

impl Items {
    pub(crate) fn len(&self) -> usize {
        self.by_id.len() + self.away
    }

    /// What all take, wherever they are.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Of [`Items::bytes`], what is in rows only.
    pub(crate) fn spilled(&self) -> usize {
        self.bytes - self.resident
    }

    /// About how many bytes there are to hand over.
    pub(crate) fn delta(&self) -> usize {
        self.delta
    }

    /// Those that changed since the last barrier; they are handed over now.
    pub(crate) fn take_dirty(&mut self) -> Vec<InvocationId> {
        self.delta = 0;
        std::mem::take(&mut self.dirty)
    }

    /// How many are in the guest.
    pub(crate) fn running(&self) -> usize {
        self.running.len()
    }

    pub(crate) fn get(&self, id: InvocationId) -> Option<&Item> {
        self.by_id.get(&id).map(|item| &**item)
    }

    pub(crate) fn get_mut(&mut self, id: InvocationId) -> Option<&mut Item> {
        self.by_id.get_mut(&id).map(|item| &mut **item)
    }

    /// Those in the guest, in order of arrival.
    pub(crate) fn in_guest(&self) -> Vec<InvocationId> {
        let running = self.running.iter().filter_map(|id| self.by_id.get(id));
        let mut ids: Vec<_> = running.map(|item| (item.order, item.id)).collect();
        ids.sort_unstable();
        ids.into_iter().map(|(_, id)| id).collect()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Item> {
        self.by_id.values().map(|item| &**item)
    }

    /// One that is not in the rows yet.
    pub(crate) fn add(&mut self, mut item: Item) {
        item.stored.dirty = true;
        self.dirty.push(item.id);
        self.delta += item.bytes;
        self.insert(item);
    }

    /// One that is.
    pub(crate) fn restore(&mut self, item: Item) {
        let id = item.id;
        self.insert(item);
        self.list(id);
    }

    fn insert(&mut self, item: Item) {
        self.bytes += item.bytes;
        self.resident += item.bytes;
        self.by_id.insert(item.id, Box::new(item));
    }

    /// It has ended.
    pub(crate) fn remove(&mut self, id: InvocationId) -> Option<Item> {
        let item = *self.by_id.remove(&id)?;
        self.running.remove(&id);
        self.bytes -= item.bytes;
        if item.content.is_some() {
            self.resident -= item.bytes;
        }
        if item.stored.dirty {
            self.delta = self.delta.saturating_sub(item.bytes);
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
            self.delta += item.bytes;
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

    /// Its rows are handed over, as this says.
    pub(crate) fn handed(&mut self, id: InvocationId, stored: Stored) {
        if let Some(item) = self.by_id.get_mut(&id) {
            item.stored = stored;
            self.list(id);
        }
    }

    /// Moves it to another phase.
    pub(crate) fn set_phase(&mut self, id: InvocationId, phase: Phase) {
        if let Some(item) = self.by_id.get_mut(&id) {
            match phase {
                Phase::Running => self.running.insert(id),
                _ => self.running.remove(&id),
            };
            item.phase = phase;
        }
    }

    /// Gives away contents, of which this commit has the rows, until no more than so
    /// many bytes are left in memory or nothing more can be given away.
    pub(crate) fn spill(&mut self, committed: Epoch, bound: usize) {
        let mut kept = Vec::new();
        while self.resident > bound
            && let Some(id) = self.spillable.pop()
        {
            let Some(item) = self.by_id.get_mut(&id) else { continue };
            if item.content.is_some() && !item.can_spill(committed) {
                kept.push(id);
                continue;
            }
            item.stored.listed = false;
            if item.content.take().is_some() {
                item.journal = None;
                self.resident -= item.bytes;
            }
            if self.placed && item.is_known_by_its_queue() {
                self.by_id.remove(&id);
                self.away += 1;
            }
        }
        self.spillable.extend(kept.into_iter().rev());
    }

    /// After a restore, all have their place in a queue: those of which nothing else is to
    /// be known may go.
    pub(crate) fn placed(&mut self) {
        self.placed = true;
        let before = self.by_id.len();
        self.by_id.retain(|_, item| item.content.is_some() || !item.is_known_by_its_queue());
        self.away += before - self.by_id.len();
    }

    /// One that went is the first of its queue now.
    pub(crate) fn take_back(&mut self, item: Item) {
        let id = item.id;
        self.away = self.away.saturating_sub(1);
        self.resident += item.bytes;
        self.by_id.insert(id, Box::new(item));
        self.list(id);
    }

    /// One that was spilled has its content again, and its journal if there is one.
    pub(crate) fn refill(&mut self, id: InvocationId, content: Content, journal: Option<Journal>) {
        if let Some(item) = self.by_id.get_mut(&id)
            && item.content.is_none()
        {
            item.content = Some(Box::new(content));
            if item.journal.is_none() {
                item.journal = journal.map(Box::new);
            }
            self.resident += item.bytes;
            self.list(id);
        }
    }

    fn list(&mut self, id: InvocationId) {
        if self.spillable.len() > 2 * self.by_id.len() + STALE {
            self.spillable.retain(|id| self.by_id.contains_key(id));
        }
        if let Some(item) = self.by_id.get_mut(&id)
            && !std::mem::replace(&mut item.stored.listed, true)
        {
            self.spillable.push(id);
        }
    }
}
