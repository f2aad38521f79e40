//! The keys that a unit knows: those with state, and those that something waits for.

use hashbrown::HashTable;

use super::small::Small;

/// Names a key while it is pinned.
pub(crate) type Slot = u32;

/// All keys. A key without pins is forgotten with [`Keys::sweep`].
#[derive(Debug, Default)]
pub(crate) struct Keys {
    table: HashTable<Slot>,
    entries: Vec<Entry>,
    free: Vec<Slot>,
}

#[derive(Debug)]
struct Entry {
    hash: u64,
    key: Small,
    /// Values, changes not yet handed over, and queues that need the key.
    pins: u32,
    /// The batch that met it last, and its place among that batch's keys.
    batch: u32,
    place: u32,
}

impl Keys {
    /// The slot of a key, if it is known.
    #[inline]
    pub(crate) fn find(&self, hash: u64, key: &[u8]) -> Option<Slot> {
        self.table.find(hash, |slot| self.is(*slot, hash, key)).copied()
    }

    /// The slot of a key, made if need be.
    pub(crate) fn intern(&mut self, hash: u64, key: &[u8]) -> Slot {
        if let Some(slot) = self.find(hash, key) {
            return slot;
        }
        let entry = Entry { hash, key: Small::new(key), pins: 0, batch: 0, place: 0 };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.entries[slot as usize] = entry;
                slot
            }
            None => {
                self.entries.push(entry);
                (self.entries.len() - 1) as Slot
            }
        };
        let entries = &self.entries;
        self.table.insert_unique(hash, slot, |other| entries[*other as usize].hash);
        slot
    }

    /// The slot of a key for a batch, and its place if the batch has met it.
    pub(crate) fn meet(&mut self, batch: u32, next: u32, hash: u64, key: &[u8]) -> (Slot, u32) {
        let slot = self.intern(hash, key);
        let entry = &mut self.entries[slot as usize];
        if entry.batch != batch {
            entry.batch = batch;
            entry.place = next;
        }
        (slot, entry.place)
    }

    /// Something needs the key.
    pub(crate) fn pin(&mut self, slot: Slot) {
        self.entries[slot as usize].pins += 1;
    }

    /// It does no longer.
    pub(crate) fn unpin(&mut self, slot: Slot) {
        let entry = &mut self.entries[slot as usize];
        entry.pins = entry.pins.saturating_sub(1);
        self.sweep(slot);
    }

    /// Forgets the key if nothing needs it.
    pub(crate) fn sweep(&mut self, slot: Slot) {
        let entry = &self.entries[slot as usize];
        if entry.pins == 0
            && let Ok(found) = self.table.find_entry(entry.hash, |other| *other == slot)
        {
            found.remove();
            self.free.push(slot);
        }
    }

    /// The key's bytes.
    pub(crate) fn key(&self, slot: Slot) -> &[u8] {
        self.entries[slot as usize].key.as_slice()
    }

    /// The key's hash.
    pub(crate) fn hash(&self, slot: Slot) -> u64 {
        self.entries[slot as usize].hash
    }

    /// How many keys there are.
    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    fn is(&self, slot: Slot, hash: u64, key: &[u8]) -> bool {
        let entry = &self.entries[slot as usize];
        entry.hash == hash && entry.key.as_slice() == key
    }
}
