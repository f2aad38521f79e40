//! The cells of a batch in progress: each is loaded once, on first use, and kept
//! typed by slot; what was changed is stored once, at the end.

use std::{any::Any, fmt};

use super::no_key;
use crate::{
    Failure, Result,
    cells::{decode, decode_counter, encode},
    host::{self, Loaded},
    scope::sealed::Stored,
};

/// Caches by cell.
#[derive(Debug, Default)]
pub(super) struct Caches(Vec<Option<Cache>>);

#[derive(Debug)]
enum Cache {
    Counters(Counters),
    Values(Box<dyn AnyValues>),
}

impl Caches {
    #[inline]
    pub(super) fn counters(&mut self, cell: u32) -> Result<&mut Counters> {
        let cache = match self.slot(cell) {
            Some(cache) => cache,
            empty => empty.insert(Cache::Counters(Counters::load(cell)?)),
        };
        match cache {
            Cache::Counters(counters) => Ok(counters),
            Cache::Values(_) => Err(mixed()),
        }
    }

    pub(super) fn values<T: Stored>(&mut self, cell: u32) -> Result<&mut Values<T>> {
        let cache =
            self.slot(cell).get_or_insert_with(|| Cache::Values(Box::new(Values::<T>::load(cell))));
        match cache {
            Cache::Values(values) => values.as_any().downcast_mut().ok_or_else(mixed),
            Cache::Counters(_) => Err(mixed()),
        }
    }

    /// Stores what was changed.
    pub(super) fn store(self) -> Result<()> {
        for (cell, cache) in self.0.into_iter().enumerate() {
            let (slots, values, ends) = match cache {
                None => continue,
                Some(Cache::Counters(counters)) => counters.changed(),
                Some(Cache::Values(values)) => values.changed()?,
            };
            if !slots.is_empty() {
                host::store(cell as u32, slots, values, ends);
            }
        }
        Ok(())
    }

    #[inline]
    fn slot(&mut self, cell: u32) -> &mut Option<Cache> {
        let cell = cell as usize;
        if cell >= self.0.len() {
            self.0.resize_with(cell + 1, || None);
        }
        &mut self.0[cell]
    }
}

/// Slots, values and ends, as `batch-state.store` takes them.
type Changed = (Vec<u32>, Vec<u8>, Vec<u32>);

/// A counter cell for all keys of the batch.
#[derive(Debug)]
pub(super) struct Counters {
    slots: Vec<u32>,
    values: Vec<i64>,
    changed: Vec<bool>,
}

impl Counters {
    fn load(cell: u32) -> Result<Self> {
        let Loaded { slots, values, ends } = host::load(cell);
        let mut start = 0;
        let values = ends
            .iter()
            .map(|end| {
                let bytes = &values[start..*end as usize];
                start = *end as usize;
                decode_counter(bytes)
            })
            .collect::<Result<Vec<_>>>()?;
        Ok(Self { slots, changed: vec![false; values.len()], values })
    }

    #[inline]
    pub(super) fn get(&self, event: usize) -> Result<i64> {
        self.values.get(self.slots[event] as usize).copied().ok_or_else(no_key)
    }

    #[inline]
    pub(super) fn set(&mut self, event: usize, value: i64) -> Result<()> {
        let slot = self.slots[event] as usize;
        *self.values.get_mut(slot).ok_or_else(no_key)? = value;
        self.changed[slot] = true;
        Ok(())
    }

    fn changed(self) -> Changed {
        let slots: Vec<u32> =
            (0..self.values.len() as u32).filter(|slot| self.changed[*slot as usize]).collect();
        let values =
            slots.iter().flat_map(|slot| self.values[*slot as usize].to_be_bytes()).collect();
        let ends = (1..=slots.len() as u32).map(|n| n * 8).collect();
        (slots, values, ends)
    }
}

/// A value cell for all keys of the batch.
pub(super) struct Values<T> {
    slots: Vec<u32>,
    bytes: Vec<u8>,
    ends: Vec<u32>,
    values: Vec<Slot<T>>,
}

enum Slot<T> {
    /// Not decoded yet.
    Stored,
    /// Decoded, as it is stored.
    Read(Option<T>),
    /// To be stored.
    Changed(Option<T>),
}

impl<T: Stored> Values<T> {
    fn load(cell: u32) -> Self {
        let Loaded { slots, values: bytes, ends } = host::load(cell);
        let values = ends.iter().map(|_| Slot::Stored).collect();
        Self { slots, bytes, ends, values }
    }

    pub(super) fn get(&mut self, event: usize) -> Result<Option<T>> {
        let slot = self.read(event)?;
        match &self.values[slot] {
            Slot::Read(value) | Slot::Changed(value) => Ok(value.clone()),
            Slot::Stored => Ok(None),
        }
    }

    /// As [`Values::get`], without a copy; to be set again.
    pub(super) fn take(&mut self, event: usize) -> Result<Option<T>> {
        let slot = self.read(event)?;
        match std::mem::replace(&mut self.values[slot], Slot::Read(None)) {
            Slot::Read(value) | Slot::Changed(value) => Ok(value),
            Slot::Stored => Ok(None),
        }
    }

    pub(super) fn set(&mut self, event: usize, value: Option<T>) -> Result<()> {
        let slot = self.slots[event] as usize;
        *self.values.get_mut(slot).ok_or_else(no_key)? = Slot::Changed(value);
        Ok(())
    }

    /// Decodes the slot of an event if that was not done yet.
    fn read(&mut self, event: usize) -> Result<usize> {
        let slot = self.slots[event] as usize;
        if let Slot::Stored = self.values.get(slot).ok_or_else(no_key)? {
            let start = if slot == 0 { 0 } else { self.ends[slot - 1] as usize };
            let bytes = &self.bytes[start..self.ends[slot] as usize];
            self.values[slot] =
                Slot::Read(if bytes.is_empty() { None } else { Some(decode(bytes)?) });
        }
        Ok(slot)
    }
}

/// [`Values`] of some type.
trait AnyValues {
    fn as_any(&mut self) -> &mut dyn Any;
    fn changed(self: Box<Self>) -> Result<Changed>;
}

impl<T: Stored> AnyValues for Values<T> {
    fn as_any(&mut self) -> &mut dyn Any {
        self
    }

    fn changed(self: Box<Self>) -> Result<Changed> {
        let (mut slots, mut bytes, mut ends) = Changed::default();
        for (slot, value) in self.values.iter().enumerate() {
            if let Slot::Changed(value) = value {
                slots.push(slot as u32);
                if let Some(value) = value {
                    bytes.extend_from_slice(&encode(value)?);
                }
                ends.push(bytes.len() as u32);
            }
        }
        Ok((slots, bytes, ends))
    }
}

impl fmt::Debug for dyn AnyValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Values")
    }
}

fn mixed() -> Failure {
    Failure::terminal("invalid-state", "one cell is used as two types")
}
