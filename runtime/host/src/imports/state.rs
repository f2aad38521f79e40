//! Keyed state of handlers.

use wasmtime::component::Resource;
use weir_core::guest::{Scan, Subject};

use super::{SCAN_MAX, check_entry_key, check_value};
use crate::{bindings::weir::operator::state, data::Data, invocations::Handle, trap::Fault};

impl Data {
    /// Whose state is read; none if the invocation has ended.
    fn reader(&self, inv: &Resource<Handle>) -> Option<Subject> {
        self.invocations.open(inv).map(|open| Subject::Invocation(open.id))
    }

    /// Whose state is written; none if the invocation has ended.
    fn writer(&self, inv: &Resource<Handle>) -> Result<Option<Subject>, Fault> {
        match self.invocations.open(inv) {
            Some(open) if open.read_only => {
                Err(Fault::misuse("the handler is declared read-only and wrote state"))
            }
            open => Ok(open.map(|open| Subject::Invocation(open.id))),
        }
    }
}

impl state::Host for Data {
    fn get(&mut self, inv: Resource<Handle>, cell: u32) -> wasmtime::Result<Option<Vec<u8>>> {
        self.check_cell(cell, false)?;
        let Some(of) = self.reader(&inv) else { return Ok(None) };
        Ok(self.effects.get(of, cell).map_err(Fault::from)?.map(Vec::from))
    }

    fn put(&mut self, inv: Resource<Handle>, cell: u32, value: Vec<u8>) -> wasmtime::Result<()> {
        self.check_cell(cell, false)?;
        check_value(&value)?;
        let Some(of) = self.writer(&inv)? else { return Ok(()) };
        Ok(self.effects.put(of, cell, Some(value.into())).map_err(Fault::from)?)
    }

    fn remove(&mut self, inv: Resource<Handle>, cell: u32) -> wasmtime::Result<()> {
        self.check_any_cell(cell)?;
        let Some(of) = self.writer(&inv)? else { return Ok(()) };
        Ok(self.effects.put(of, cell, None).map_err(Fault::from)?)
    }

    fn map_get(
        &mut self,
        inv: Resource<Handle>,
        cell: u32,
        key: Vec<u8>,
    ) -> wasmtime::Result<Option<Vec<u8>>> {
        self.check_cell(cell, true)?;
        check_entry_key(&key)?;
        let Some(of) = self.reader(&inv) else { return Ok(None) };
        Ok(self.effects.map_get(of, cell, &key).map_err(Fault::from)?.map(Vec::from))
    }

    fn map_put(
        &mut self,
        inv: Resource<Handle>,
        cell: u32,
        key: Vec<u8>,
        value: Vec<u8>,
    ) -> wasmtime::Result<()> {
        self.check_cell(cell, true)?;
        check_entry_key(&key)?;
        check_value(&value)?;
        let Some(of) = self.writer(&inv)? else { return Ok(()) };
        Ok(self.effects.map_put(of, cell, key.into(), Some(value.into())).map_err(Fault::from)?)
    }

    fn map_remove(
        &mut self,
        inv: Resource<Handle>,
        cell: u32,
        key: Vec<u8>,
    ) -> wasmtime::Result<()> {
        self.check_cell(cell, true)?;
        check_entry_key(&key)?;
        let Some(of) = self.writer(&inv)? else { return Ok(()) };
        Ok(self.effects.map_put(of, cell, key.into(), None).map_err(Fault::from)?)
    }

    fn map_scan(
        &mut self,
        inv: Resource<Handle>,
        cell: u32,
        start: Option<Vec<u8>>,
        end: Option<Vec<u8>>,
        backwards: bool,
        limit: u32,
    ) -> wasmtime::Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let of = self.reader(&inv);
        self.scan(of, cell, start, end, backwards, limit)
    }
}

impl Data {
    pub(super) fn scan(
        &self,
        of: Option<Subject>,
        cell: u32,
        start: Option<Vec<u8>>,
        end: Option<Vec<u8>>,
        backwards: bool,
        limit: u32,
    ) -> wasmtime::Result<Vec<(Vec<u8>, Vec<u8>)>> {
        self.check_cell(cell, true)?;
        start.iter().chain(&end).try_for_each(|key| check_entry_key(key))?;
        let Some(of) = of else { return Ok(Vec::new()) };
        let scan = Scan {
            start: start.map(Into::into),
            end: end.map(Into::into),
            backwards,
            limit: limit.min(SCAN_MAX),
        };
        let entries = self.effects.map_scan(of, cell, scan).map_err(Fault::from)?;
        Ok(entries.into_iter().map(|(key, value)| (key.into(), value.into())).collect())
    }
}
