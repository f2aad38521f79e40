//! What guests may do while they run.

use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use super::{
    Unit,
    item::{Entry, Item, Phase},
};
use crate::{
    description::CellKind,
    guest::{Effects, Loaded, LogLevel, Misuse, Packed, Scan, Subject},
    ids::{EventTime, InvocationId},
    state::{self, Slot},
};

/// The most bytes of a value.
const VALUE_MAX: usize = 1 << 20;

/// The most bytes of the key of an entry.
const ENTRY_MAX: usize = 1 << 10;

/// The most random bytes of one draw.
const RANDOM_MAX: u32 = 4_096;

/// The most log lines kept until the task takes them.
const LOGS_MAX: usize = 1_024;

/// A log line of a guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// Whose, if that is known.
    pub invocation: Option<InvocationId>,
    /// How much it matters.
    pub level: LogLevel,
    /// What it says.
    pub message: String,
}

/// Whose state, resolved.
enum Of {
    /// A running invocation, with its key's slot.
    Running(InvocationId, Slot),
    /// The place of a key in the batch in progress.
    Place(u32),
    /// A closed invocation.
    Nobody,
}

impl Effects for Mutex<Unit> {
    fn get(&self, of: Subject, cell: u32) -> Result<Option<Bytes>, Misuse> {
        let unit = &mut *lock(self);
        unit.check(cell, false)?;
        Ok(match unit.subject(of)? {
            Of::Running(id, slot) => {
                match unit.items.get(id).and_then(written).and_then(|over| over.get(cell)) {
                    Some(written) => written.clone(),
                    None => unit.cells.get(cell, slot).map(Bytes::copy_from_slice),
                }
            }
            Of::Place(place) => {
                unit.transform.state.get(&unit.cells, cell, place).map(Bytes::copy_from_slice)
            }
            Of::Nobody => None,
        })
    }

    fn put(&self, of: Subject, cell: u32, value: Option<Bytes>) -> Result<(), Misuse> {
        let unit = &mut *lock(self);
        let kind = unit.kind(cell)?;
        unit.check_value(cell, kind, value.as_deref())?;
        if kind.has_entries() && value.is_some() {
            return Err(unit.wrong_kind(cell));
        }
        match unit.subject_to_write(of)? {
            Of::Running(id, _) => {
                if let Some(run) = unit.items.get_mut(id).and_then(|item| item.run.as_mut()) {
                    match kind.has_entries() {
                        true => run.overlay.map_mut(cell).clear(),
                        false => run.overlay.put(cell, value),
                    }
                }
            }
            Of::Place(place) => match kind.has_entries() {
                true => unit.transform.state.map_mut(cell, place).clear(),
                false => unit.transform.state.put(cell, place, value.as_deref()),
            },
            Of::Nobody => {}
        }
        Ok(())
    }

    fn map_get(&self, of: Subject, cell: u32, key: &[u8]) -> Result<Option<Bytes>, Misuse> {
        let unit = &mut *lock(self);
        unit.check(cell, true)?;
        let (over, slot) = match unit.subject(of)? {
            Of::Running(id, slot) => {
                (unit.items.get(id).and_then(written).and_then(|over| over.map(cell)), slot)
            }
            Of::Place(place) => {
                (unit.transform.state.map(cell, place), unit.transform.state.slot(place))
            }
            Of::Nobody => return Ok(None),
        };
        Ok(match over.and_then(|over| over.get(key)) {
            Some(written) => written,
            None => unit.cells.map(cell, slot).and_then(|map| map.get(key)).cloned(),
        })
    }

    fn map_put(
        &self,
        of: Subject,
        cell: u32,
        key: Bytes,
        value: Option<Bytes>,
    ) -> Result<(), Misuse> {
        let unit = &mut *lock(self);
        unit.check(cell, true)?;
        let kind = unit.kind(cell)?;
        unit.check_value(cell, kind, value.as_deref())?;
        if key.len() > ENTRY_MAX {
            return Err(Misuse(format!(
                "a map key is {} bytes; at most {ENTRY_MAX} are allowed",
                key.len()
            )));
        }
        match unit.subject_to_write(of)? {
            Of::Running(id, _) => {
                if let Some(run) = unit.items.get_mut(id).and_then(|item| item.run.as_mut()) {
                    run.overlay.map_mut(cell).put(key, value);
                }
            }
            Of::Place(place) => unit.transform.state.map_mut(cell, place).put(key, value),
            Of::Nobody => {}
        }
        Ok(())
    }

    fn map_scan(&self, of: Subject, cell: u32, scan: Scan) -> Result<Vec<(Bytes, Bytes)>, Misuse> {
        let unit = &mut *lock(self);
        unit.check(cell, true)?;
        let (over, slot) = match unit.subject(of)? {
            Of::Running(id, slot) => {
                (unit.items.get(id).and_then(written).and_then(|over| over.map(cell)), slot)
            }
            Of::Place(place) => {
                (unit.transform.state.map(cell, place), unit.transform.state.slot(place))
            }
            Of::Nobody => return Ok(Vec::new()),
        };
        Ok(state::scan(unit.cells.map(cell, slot), over, &scan))
    }

    fn load(&self, cell: u32) -> Result<Loaded, Misuse> {
        let unit = &mut *lock(self);
        unit.check(cell, false)?;
        let Some(work) = &unit.transform.current else { return Err(no_batch()) };
        Ok(unit.transform.state.load(&mut unit.keys, &unit.cells, &work.batch, cell))
    }

    fn store(&self, cell: u32, slots: &[u32], cells: &Packed) -> Result<(), Misuse> {
        let unit = &mut *lock(self);
        unit.check(cell, false)?;
        let kind = unit.kind(cell)?;
        if unit.transform.current.is_none() {
            return Err(no_batch());
        }
        if slots.len() != cells.ends.len() {
            return Err(Misuse(format!(
                "{} slots were given with {} values",
                slots.len(),
                cells.ends.len()
            )));
        }
        let known = unit.transform.state.distinct();
        let mut from = 0;
        for (slot, end) in slots.iter().zip(&cells.ends) {
            let to = *end as usize;
            let Some(value) = cells.values.get(from..to) else {
                return Err(Misuse(
                    "the ends of the values are not ascending within their bytes".into(),
                ));
            };
            if *slot as usize >= known {
                return Err(Misuse(format!(
                    "slot {slot} is not one that the last load gave; there are {known}"
                )));
            }
            let value = Some(value).filter(|value| !value.is_empty());
            unit.check_value(cell, kind, value)?;
            unit.transform.state.put(cell, *slot, value);
            from = to;
        }
        Ok(())
    }

    fn now(&self, of: InvocationId) -> EventTime {
        let unit = lock(self);
        let run = unit.items.get(of).and_then(|item| item.run.as_ref());
        run.map_or(EventTime(0), |run| run.now)
    }

    fn random(&self, of: InvocationId, length: u32) -> Vec<u8> {
        let mut unit = lock(self);
        let length = length.min(RANDOM_MAX) as usize;
        match unit.items.get_mut(of) {
            Some(Item { run: Some(run), journal: Some(journal), .. }) => {
                journal.random(&mut run.draws, length)
            }
            _ => vec![0; length],
        }
    }

    fn log(&self, of: Option<InvocationId>, level: LogLevel, message: &str) {
        let mut unit = lock(self);
        if unit.logs.len() < LOGS_MAX {
            unit.logs.push(LogLine { invocation: of, level, message: message.into() });
        }
    }
}

impl Unit {
    /// Takes the log lines that guests wrote since the last time, at most 1,024; what
    /// was more is lost.
    pub fn take_logs(&mut self) -> Vec<LogLine> {
        std::mem::take(&mut self.logs)
    }

    fn kind(&self, cell: u32) -> Result<CellKind, Misuse> {
        let cells = &self.config.description.cells;
        let declared = cells.len();
        let cell = cells.get(cell as usize);
        cell.map(|cell| cell.kind)
            .ok_or_else(|| Misuse(format!("there is no such cell; the descriptor has {declared}")))
    }

    /// Is it a cell, with entries or without?
    fn check(&self, cell: u32, has_entries: bool) -> Result<(), Misuse> {
        if self.kind(cell)?.has_entries() == has_entries {
            Ok(())
        } else {
            Err(self.wrong_kind(cell))
        }
    }

    fn wrong_kind(&self, cell: u32) -> Misuse {
        let cell = self.config.description.cells.get(cell as usize);
        Misuse(match cell {
            Some(cell) if cell.kind.has_entries() => {
                format!("cell `{}` has entries: use `map-get`, `map-put` and `map-scan`", cell.name)
            }
            Some(cell) => format!("cell `{}` has no entries: use `get` and `put`", cell.name),
            None => "there is no such cell".into(),
        })
    }

    fn check_value(&self, cell: u32, kind: CellKind, value: Option<&[u8]>) -> Result<(), Misuse> {
        let Some(value) = value else { return Ok(()) };
        let name =
            || self.config.description.cells.get(cell as usize).map_or("", |cell| &cell.name);
        if value.len() > VALUE_MAX {
            return Err(Misuse(format!(
                "a value of cell `{}` is {} bytes; at most {VALUE_MAX} are allowed",
                name(),
                value.len()
            )));
        }
        if kind == CellKind::Counter && value.len() != 8 {
            return Err(Misuse(format!("counter `{}` takes 8 bytes, not {}", name(), value.len())));
        }
        Ok(())
    }

    fn subject(&mut self, of: Subject) -> Result<Of, Misuse> {
        match of {
            Subject::Invocation(id) => Ok(match self.items.get(id) {
                Some(Item { phase: Phase::Running, slot: Some(slot), .. }) => {
                    Of::Running(id, *slot)
                }
                _ => Of::Nobody,
            }),
            Subject::Event(event) => {
                let Some(work) = &self.transform.current else { return Err(no_batch()) };
                if event as usize >= work.batch.len() {
                    return Err(Misuse(format!(
                        "there is no event {event}; the batch has {}",
                        work.batch.len()
                    )));
                }
                let place = self.transform.state.place(&mut self.keys, &work.batch, event);
                place
                    .map(Of::Place)
                    .ok_or_else(|| Misuse(format!("event {event} has no key, and so no state")))
            }
        }
    }

    fn subject_to_write(&mut self, of: Subject) -> Result<Of, Misuse> {
        let of = self.subject(of)?;
        if let Of::Running(id, _) = of
            && let Some(Item { entry: Entry::Handler(handler), .. }) = self.items.get(id)
            && let Some(handler) = self.config.description.handlers.get(*handler as usize)
            && handler.read_only
        {
            return Err(Misuse(format!(
                "handler `{}` is read-only and writes state",
                handler.name
            )));
        }
        Ok(of)
    }
}

fn no_batch() -> Misuse {
    Misuse("there is no batch in progress".into())
}

fn written(item: &Item) -> Option<&state::Overlay> {
    item.run.as_ref().map(|run| &run.overlay)
}

fn lock(unit: &Mutex<Unit>) -> MutexGuard<'_, Unit> {
    unit.lock().unwrap_or_else(PoisonError::into_inner)
}
