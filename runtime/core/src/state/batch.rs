//! State of the keys of a batch in progress.
//!
//! Buffers are kept from batch to batch, so that nothing is allocated per event.

use rustc_hash::FxHashMap;

use super::{
    cells::Cells,
    keys::{Keys, Slot},
    overlay::MapOverlay,
};
use crate::{
    batch::Batch,
    guest::{Loaded, Packed},
};

/// The place of an event without a key.
const NO_PLACE: u32 = u32::MAX;

/// Which keys a batch has, and what it wrote to them. A *place* is the index of a
/// key among the distinct keys of the batch.
#[derive(Debug, Default)]
pub(crate) struct BatchState {
    number: u32,
    met: bool,
    places: Vec<u32>,
    slots: Vec<Slot>,
    written: Vec<Written>,
    arena: Vec<u8>,
    maps: FxHashMap<(u32, u32), MapOverlay>,
}

/// Writes to one cell.
#[derive(Debug, Default)]
struct Written {
    by_place: Vec<Option<Write>>,
    touched: Vec<u32>,
}

/// A write: the bytes in the arena, or nothing for a removal.
#[derive(Clone, Copy, Debug)]
struct Write(Option<(u32, u32)>);

impl BatchState {
    /// A batch begins.
    pub(crate) fn begin(&mut self, cells: usize) {
        self.number = self.number.wrapping_add(1).max(1);
        self.met = false;
        self.written.resize_with(cells, Written::default);
    }

    /// The place of an event's key.
    pub(crate) fn place(&mut self, keys: &mut Keys, batch: &Batch, event: u32) -> Option<u32> {
        self.meet(keys, batch);
        self.places.get(event as usize).copied().filter(|place| *place != NO_PLACE)
    }

    /// Loads a cell without entries for every key.
    pub(crate) fn load(
        &mut self,
        keys: &mut Keys,
        cells: &Cells,
        batch: &Batch,
        cell: u32,
    ) -> Loaded {
        self.meet(keys, batch);
        let mut packed = Packed {
            values: Vec::with_capacity(self.slots.len() * 8),
            ends: Vec::with_capacity(self.slots.len()),
        };
        for place in 0..self.slots.len() as u32 {
            if let Some(value) = self.get(cells, cell, place) {
                packed.values.extend_from_slice(value);
            }
            packed.ends.push(packed.values.len() as u32);
        }
        Loaded { slots: self.places.clone(), cells: packed }
    }

    /// How many distinct keys the batch has, as far as they are known.
    pub(crate) fn distinct(&self) -> usize {
        if self.met { self.slots.len() } else { 0 }
    }

    /// The value of a cell without entries.
    pub(crate) fn get<'a>(&'a self, cells: &'a Cells, cell: u32, place: u32) -> Option<&'a [u8]> {
        match self
            .written
            .get(cell as usize)
            .and_then(|w| w.by_place.get(place as usize).copied().flatten())
        {
            Some(Write(write)) => write.map(|(from, to)| &self.arena[from as usize..to as usize]),
            None => cells.get(cell, self.slots[place as usize]),
        }
    }

    /// Writes to a cell without entries.
    pub(crate) fn put(&mut self, cell: u32, place: u32, value: Option<&[u8]>) {
        let write = value.map(|value| {
            let from = self.arena.len() as u32;
            self.arena.extend_from_slice(value);
            (from, self.arena.len() as u32)
        });
        let Some(written) = self.written.get_mut(cell as usize) else { return };
        if written.by_place.len() < self.slots.len() {
            written.by_place.resize(self.slots.len(), None);
        }
        let held = &mut written.by_place[place as usize];
        if held.is_none() {
            written.touched.push(place);
        }
        *held = Some(Write(write));
    }

    /// What was written to a cell with entries.
    pub(crate) fn map(&self, cell: u32, place: u32) -> Option<&MapOverlay> {
        self.maps.get(&(place, cell))
    }

    /// The same, to write.
    pub(crate) fn map_mut(&mut self, cell: u32, place: u32) -> &mut MapOverlay {
        self.maps.entry((place, cell)).or_default()
    }

    /// The key's slot.
    pub(crate) fn slot(&self, place: u32) -> Slot {
        self.slots[place as usize]
    }

    /// The batch ended: its writes count.
    pub(crate) fn merge(&mut self, cells: &mut Cells, keys: &mut Keys) {
        for (cell, written) in self.written.iter().enumerate() {
            for place in &written.touched {
                if let Some(Write(write)) = written.by_place[*place as usize] {
                    let value = write.map(|(from, to)| &self.arena[from as usize..to as usize]);
                    cells.set(keys, cell as u32, self.slots[*place as usize], value);
                }
            }
        }
        for ((place, cell), map) in self.maps.drain() {
            map.apply(cells, keys, cell, self.slots[place as usize]);
        }
        self.drop_writes(keys);
    }

    /// The batch failed: its writes never were. Also ends it.
    pub(crate) fn drop_writes(&mut self, keys: &mut Keys) {
        for written in &mut self.written {
            for place in written.touched.drain(..) {
                written.by_place[place as usize] = None;
            }
        }
        self.maps.clear();
        self.arena.clear();
        if self.met {
            for slot in self.slots.drain(..) {
                keys.sweep(slot);
            }
            self.places.clear();
            self.met = false;
        }
    }

    /// Finds the distinct keys, once, when the guest first asks for state.
    fn meet(&mut self, keys: &mut Keys, batch: &Batch) {
        if self.met {
            return;
        }
        self.met = true;
        self.places.reserve(batch.len());
        let mut keyless = batch.keyless.iter().copied().peekable();
        for event in 0..batch.len() {
            if keyless.next_if_eq(&(event as u32)).is_some() {
                self.places.push(NO_PLACE);
                continue;
            }
            let next = self.slots.len() as u32;
            let (slot, place) =
                keys.meet(self.number, next, batch.hash(event), batch.key_bytes(event));
            if place == next {
                self.slots.push(slot);
            }
            self.places.push(place);
        }
    }
}
