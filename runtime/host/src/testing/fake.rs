//! Effects that remember what they were asked.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard},
};

use bytes::Bytes;
use weir_core::{
    guest::{Effects, Loaded, LogLevel, Misuse, Packed, Scan, Subject},
    ids::{EventTime, InvocationId},
};

/// By subject, cell and key of the entry.
type State = BTreeMap<(String, u32, Vec<u8>), Bytes>;

/// State per subject, and a list of everything that was written.
#[derive(Default)]
pub(crate) struct Fake {
    state: Mutex<State>,
    written: Mutex<Vec<String>>,
}

impl Fake {
    /// What was written and logged, one line each.
    pub(crate) fn written(&self) -> Vec<String> {
        std::mem::take(&mut *self.written.lock().unwrap())
    }

    fn note(&self, line: String) {
        self.written.lock().unwrap().push(line);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }
}

fn name(of: Subject) -> String {
    match of {
        Subject::Invocation(id) => format!("invocation {}", id.0),
        Subject::Event(event) => format!("event {event}"),
    }
}

impl Effects for Fake {
    fn get(&self, of: Subject, cell: u32) -> Result<Option<Bytes>, Misuse> {
        Ok(self.state().get(&(name(of), cell, Vec::new())).cloned())
    }

    fn put(&self, of: Subject, cell: u32, value: Option<Bytes>) -> Result<(), Misuse> {
        self.note(format!("{} cell {cell} = {value:?}", name(of)));
        let key = (name(of), cell, Vec::new());
        match value {
            Some(value) => self.state().insert(key, value),
            None => self.state().remove(&key),
        };
        Ok(())
    }

    fn map_get(&self, of: Subject, cell: u32, key: &[u8]) -> Result<Option<Bytes>, Misuse> {
        Ok(self.state().get(&(name(of), cell, key.to_vec())).cloned())
    }

    fn map_put(
        &self,
        of: Subject,
        cell: u32,
        key: Bytes,
        value: Option<Bytes>,
    ) -> Result<(), Misuse> {
        self.note(format!("{} cell {cell} {key:?} = {value:?}", name(of)));
        if let Some(value) = value {
            self.state().insert((name(of), cell, key.to_vec()), value);
        }
        Ok(())
    }

    fn map_scan(&self, _: Subject, _: u32, _: Scan) -> Result<Vec<(Bytes, Bytes)>, Misuse> {
        Err(Misuse("this one cannot scan".into()))
    }

    fn load(&self, cell: u32) -> Result<Loaded, Misuse> {
        self.note(format!("load {cell}"));
        Ok(Loaded {
            slots: vec![0, u32::MAX],
            cells: Packed { values: b"seven".into(), ends: vec![5] },
        })
    }

    fn store(&self, cell: u32, slots: &[u32], cells: &Packed) -> Result<(), Misuse> {
        self.note(format!(
            "store {cell} {slots:?} {:?} {:?}",
            Bytes::from(cells.values.clone()),
            cells.ends
        ));
        Ok(())
    }

    fn now(&self, _: InvocationId) -> EventTime {
        EventTime(42)
    }

    fn random(&self, of: InvocationId, length: u32) -> Vec<u8> {
        vec![of.0 as u8; length as usize]
    }

    fn log(&self, of: Option<InvocationId>, level: LogLevel, message: &str) {
        let of = of.map_or(String::new(), |id| format!(" of {}", id.0));
        self.note(format!("{level:?}{of}: {message}"));
    }
}
