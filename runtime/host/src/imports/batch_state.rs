//! Keyed state of transforms.

use weir_core::guest::{Packed, Subject};

use super::{VALUE_MAX, check_entry_key, check_length, check_value};
use crate::{bindings::weir::operator::batch_state, data::Data, trap::Fault};

impl Data {
    /// The key of an event of the batch in progress.
    fn key_of(&self, event: u32) -> Result<Subject, Fault> {
        let Some(batch) = &self.batch else { return Err(no_batch()) };
        if event as usize >= batch.len() {
            return Err(Fault::misuse(format!(
                "there is no event {event}: the batch has {}",
                batch.len()
            )));
        }
        if batch.key(event as usize).is_none() {
            return Err(Fault::misuse(format!("event {event} has no key, so it has no state")));
        }
        Ok(Subject::Event(event))
    }
}

impl batch_state::Host for Data {
    fn load(&mut self, cell: u32) -> wasmtime::Result<batch_state::Loaded> {
        self.check_cell(cell, false)?;
        if self.batch.is_none() {
            return Err(no_batch().into());
        }
        let loaded = self.effects.load(cell).map_err(Fault::from)?;
        Ok(batch_state::Loaded {
            slots: loaded.slots,
            cells: batch_state::Packed { values: loaded.cells.values, ends: loaded.cells.ends },
        })
    }

    fn store(
        &mut self,
        cell: u32,
        slots: Vec<u32>,
        cells: batch_state::Packed,
    ) -> wasmtime::Result<()> {
        self.check_cell(cell, false)?;
        if self.batch.is_none() {
            return Err(no_batch().into());
        }
        let cells = Packed { values: cells.values, ends: cells.ends };
        check_packed(slots.len(), &cells)?;
        Ok(self.effects.store(cell, &slots, &cells).map_err(Fault::from)?)
    }

    fn get(&mut self, event: u32, cell: u32) -> wasmtime::Result<Option<Vec<u8>>> {
        self.check_cell(cell, false)?;
        let of = self.key_of(event)?;
        Ok(self.effects.get(of, cell).map_err(Fault::from)?.map(Vec::from))
    }

    fn put(&mut self, event: u32, cell: u32, value: Vec<u8>) -> wasmtime::Result<()> {
        self.check_cell(cell, false)?;
        check_value(&value)?;
        let of = self.key_of(event)?;
        Ok(self.effects.put(of, cell, Some(value.into())).map_err(Fault::from)?)
    }

    fn remove(&mut self, event: u32, cell: u32) -> wasmtime::Result<()> {
        self.check_any_cell(cell)?;
        let of = self.key_of(event)?;
        Ok(self.effects.put(of, cell, None).map_err(Fault::from)?)
    }

    fn map_get(
        &mut self,
        event: u32,
        cell: u32,
        key: Vec<u8>,
    ) -> wasmtime::Result<Option<Vec<u8>>> {
        self.check_cell(cell, true)?;
        check_entry_key(&key)?;
        let of = self.key_of(event)?;
        Ok(self.effects.map_get(of, cell, &key).map_err(Fault::from)?.map(Vec::from))
    }

    fn map_put(
        &mut self,
        event: u32,
        cell: u32,
        key: Vec<u8>,
        value: Vec<u8>,
    ) -> wasmtime::Result<()> {
        self.check_cell(cell, true)?;
        check_entry_key(&key)?;
        check_value(&value)?;
        let of = self.key_of(event)?;
        Ok(self.effects.map_put(of, cell, key.into(), Some(value.into())).map_err(Fault::from)?)
    }

    fn map_remove(&mut self, event: u32, cell: u32, key: Vec<u8>) -> wasmtime::Result<()> {
        self.check_cell(cell, true)?;
        check_entry_key(&key)?;
        let of = self.key_of(event)?;
        Ok(self.effects.map_put(of, cell, key.into(), None).map_err(Fault::from)?)
    }

    fn map_scan(
        &mut self,
        event: u32,
        cell: u32,
        start: Option<Vec<u8>>,
        end: Option<Vec<u8>>,
        backwards: bool,
        limit: u32,
    ) -> wasmtime::Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let of = self.key_of(event)?;
        self.scan(Some(of), cell, start, end, backwards, limit)
    }
}

fn no_batch() -> Fault {
    Fault::misuse("batch-state was used while no batch is in progress")
}

/// Do the ends fit the values and the slots?
fn check_packed(slots: usize, cells: &Packed) -> Result<(), Fault> {
    if cells.ends.len() != slots {
        return Err(Fault::misuse(format!("{} values for {slots} slots", cells.ends.len())));
    }
    let mut start = 0;
    for &end in &cells.ends {
        if end < start || end as usize > cells.values.len() {
            return Err(Fault::misuse("the ends of the values do not ascend within their bytes"));
        }
        check_length("a value", (end - start) as usize, VALUE_MAX)?;
        start = end;
    }
    Ok(())
}
