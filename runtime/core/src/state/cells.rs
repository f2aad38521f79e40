//! The values of all cells, and what changed since the last barrier.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use rustc_hash::FxHashMap;

use super::{
    keys::{Keys, Slot},
    small::Small,
};
use crate::description::Cell;

/// About what a row takes beside its value and its entry's key.
const ROW_BYTES: usize = 48;

/// A column per cell of the description.
#[derive(Debug)]
pub(crate) struct Cells {
    columns: Vec<Column>,
    /// About how many bytes changed since the last barrier.
    delta: usize,
}

#[derive(Debug)]
enum Column {
    Single(Single),
    Entries(Entries),
}

/// A cell without entries: by slot.
#[derive(Debug, Default)]
struct Single {
    held: Vec<Held>,
    dirty: Vec<Slot>,
}

#[derive(Clone, Debug, Default)]
struct Held {
    value: Option<Small>,
    dirty: bool,
}

/// A cell with entries: by slot, in order of the entries' keys.
#[derive(Debug, Default)]
struct Entries {
    maps: FxHashMap<Slot, BTreeMap<Bytes, Bytes>>,
    dirty: FxHashMap<Slot, BTreeSet<Bytes>>,
}

/// A change that a barrier hands over.
pub(crate) struct Changed<'a> {
    /// Index of the cell.
    pub(crate) cell: usize,
    /// The key.
    pub(crate) slot: Slot,
    /// The entry's key, of a cell that has entries.
    pub(crate) entry: Option<&'a [u8]>,
    /// The value now.
    pub(crate) value: Option<&'a [u8]>,
}

impl Cells {
    /// Empty columns.
    pub(crate) fn new(cells: &[Cell]) -> Self {
        let column = |cell: &Cell| match cell.kind.has_entries() {
            true => Column::Entries(Entries::default()),
            false => Column::Single(Single::default()),
        };
        Self { columns: cells.iter().map(column).collect(), delta: 0 }
    }

    /// The value of a cell without entries.
    pub(crate) fn get(&self, cell: u32, slot: Slot) -> Option<&[u8]> {
        match self.columns.get(cell as usize) {
            Some(Column::Single(single)) => {
                single.held.get(slot as usize)?.value.as_ref().map(Small::as_slice)
            }
            _ => None,
        }
    }

    /// Puts or removes the value of a cell without entries.
    pub(crate) fn set(&mut self, keys: &mut Keys, cell: u32, slot: Slot, value: Option<&[u8]>) {
        if let Some(Column::Single(single)) = self.columns.get_mut(cell as usize) {
            // Marked first: a removal must not be the last thing that needs the key.
            if single.mark(keys, slot) {
                self.delta += ROW_BYTES + value.map_or(0, <[u8]>::len);
            }
            single.set(keys, slot, value);
        }
    }

    /// As [`Cells::set`] and [`Cells::map_set`], of a value that a row holds
    /// already.
    pub(crate) fn restore(
        &mut self,
        keys: &mut Keys,
        cell: u32,
        slot: Slot,
        entry: Bytes,
        value: Bytes,
    ) {
        match self.columns.get_mut(cell as usize) {
            Some(Column::Single(single)) => single.set(keys, slot, Some(&value)),
            Some(Column::Entries(entries)) => entries.set(keys, slot, entry, Some(value)),
            None => {}
        }
    }

    /// The entries of a key, if there are any.
    pub(crate) fn map(&self, cell: u32, slot: Slot) -> Option<&BTreeMap<Bytes, Bytes>> {
        match self.columns.get(cell as usize) {
            Some(Column::Entries(entries)) => entries.maps.get(&slot),
            _ => None,
        }
    }

    /// Puts or removes an entry.
    pub(crate) fn map_set(
        &mut self,
        keys: &mut Keys,
        cell: u32,
        slot: Slot,
        entry: Bytes,
        value: Option<Bytes>,
    ) {
        if let Some(Column::Entries(entries)) = self.columns.get_mut(cell as usize) {
            if entries.mark(keys, slot, entry.clone()) {
                self.delta += ROW_BYTES + entry.len() + value.as_ref().map_or(0, Bytes::len);
            }
            entries.set(keys, slot, entry, value);
        }
    }

    /// Removes all entries of a key.
    pub(crate) fn map_clear(&mut self, keys: &mut Keys, cell: u32, slot: Slot) {
        if let Some(Column::Entries(entries)) = self.columns.get_mut(cell as usize)
            && let Some(map) = entries.maps.remove(&slot)
        {
            for entry in map.into_keys() {
                let bytes = ROW_BYTES + entry.len();
                if entries.mark(keys, slot, entry) {
                    self.delta += bytes;
                }
            }
            keys.unpin(slot);
        }
    }

    /// About how many bytes there are to hand over. A row that is written again counts
    /// once, as it was first.
    pub(crate) fn delta(&self) -> usize {
        self.delta
    }

    /// Is there something to hand over?
    pub(crate) fn is_dirty(&self) -> bool {
        self.columns.iter().any(|column| match column {
            Column::Single(single) => !single.dirty.is_empty(),
            Column::Entries(entries) => !entries.dirty.is_empty(),
        })
    }

    /// Hands over what changed and begins anew. Order: by cell; by nothing in it.
    pub(crate) fn take_changes(
        &mut self,
        keys: &mut Keys,
        mut give: impl FnMut(&Keys, Changed<'_>),
    ) {
        self.delta = 0;
        for (cell, column) in self.columns.iter_mut().enumerate() {
            match column {
                Column::Single(single) => {
                    for slot in std::mem::take(&mut single.dirty) {
                        let held = &mut single.held[slot as usize];
                        held.dirty = false;
                        let value = held.value.as_ref().map(Small::as_slice);
                        give(keys, Changed { cell, slot, entry: None, value });
                        keys.unpin(slot);
                    }
                }
                Column::Entries(entries) => {
                    for (slot, dirty) in std::mem::take(&mut entries.dirty) {
                        let map = entries.maps.get(&slot);
                        for entry in &dirty {
                            let value = map.and_then(|map| map.get(entry)).map(|value| &value[..]);
                            give(keys, Changed { cell, slot, entry: Some(entry), value });
                        }
                        keys.unpin(slot);
                    }
                }
            }
        }
    }
}

impl Single {
    fn held(&mut self, slot: Slot) -> &mut Held {
        if slot as usize >= self.held.len() {
            self.held.resize(slot as usize + 1, Held::default());
        }
        &mut self.held[slot as usize]
    }

    fn set(&mut self, keys: &mut Keys, slot: Slot, value: Option<&[u8]>) {
        let held = &mut self.held(slot).value;
        match (held.as_mut(), value) {
            (Some(old), Some(new)) => old.set(new),
            (None, Some(new)) => {
                *held = Some(Small::new(new));
                keys.pin(slot);
            }
            (Some(_), None) => {
                *held = None;
                keys.unpin(slot);
            }
            (None, None) => {}
        }
    }

    /// Marks a value as changed; false if it was already.
    fn mark(&mut self, keys: &mut Keys, slot: Slot) -> bool {
        let held = self.held(slot);
        let first = !std::mem::replace(&mut held.dirty, true);
        if first {
            self.dirty.push(slot);
            keys.pin(slot);
        }
        first
    }
}

impl Entries {
    fn set(&mut self, keys: &mut Keys, slot: Slot, entry: Bytes, value: Option<Bytes>) {
        match value {
            Some(value) => {
                let map = self.maps.entry(slot).or_insert_with(|| {
                    keys.pin(slot);
                    BTreeMap::new()
                });
                map.insert(entry, value);
            }
            None => {
                if let Some(map) = self.maps.get_mut(&slot) {
                    map.remove(&entry);
                    if map.is_empty() {
                        self.maps.remove(&slot);
                        keys.unpin(slot);
                    }
                }
            }
        }
    }

    /// Marks an entry as changed; false if it was already.
    fn mark(&mut self, keys: &mut Keys, slot: Slot, entry: Bytes) -> bool {
        let dirty = self.dirty.entry(slot).or_insert_with(|| {
            keys.pin(slot);
            BTreeSet::new()
        });
        dirty.insert(entry)
    }
}
