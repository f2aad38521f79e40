//! Writes that do not count yet.

use std::{collections::BTreeMap, ops::Bound};

use bytes::Bytes;

use super::{
    cells::Cells,
    keys::{Keys, Slot},
};
use crate::guest::Scan;

/// The most entries that one scan gives.
const SCAN_MAX: usize = 1_024;

/// What one invocation wrote to its key.
#[derive(Debug, Default)]
pub(crate) struct Overlay {
    singles: Vec<(u32, Option<Bytes>)>,
    maps: Vec<(u32, MapOverlay)>,
}

/// What was written to one cell that has entries.
#[derive(Debug, Default)]
pub(crate) struct MapOverlay {
    /// All entries from before are gone.
    cleared: bool,
    entries: BTreeMap<Bytes, Option<Bytes>>,
}

impl Overlay {
    /// What was written to a cell without entries: `None` if nothing was.
    pub(crate) fn get(&self, cell: u32) -> Option<&Option<Bytes>> {
        self.singles.iter().find(|(of, _)| *of == cell).map(|(_, value)| value)
    }

    /// Writes to a cell without entries.
    pub(crate) fn put(&mut self, cell: u32, value: Option<Bytes>) {
        match self.singles.iter_mut().find(|(of, _)| *of == cell) {
            Some((_, old)) => *old = value,
            None => self.singles.push((cell, value)),
        }
    }

    /// What was written to a cell with entries.
    pub(crate) fn map(&self, cell: u32) -> Option<&MapOverlay> {
        self.maps.iter().find(|(of, _)| *of == cell).map(|(_, map)| map)
    }

    /// The same, to write.
    pub(crate) fn map_mut(&mut self, cell: u32) -> &mut MapOverlay {
        let at = match self.maps.iter().position(|(of, _)| *of == cell) {
            Some(at) => at,
            None => {
                self.maps.push((cell, MapOverlay::default()));
                self.maps.len() - 1
            }
        };
        &mut self.maps[at].1
    }

    /// Makes the writes count.
    pub(crate) fn apply(self, cells: &mut Cells, keys: &mut Keys, slot: Slot) {
        for (cell, value) in self.singles {
            cells.set(keys, cell, slot, value.as_deref());
        }
        for (cell, map) in self.maps {
            map.apply(cells, keys, cell, slot);
        }
    }
}

impl MapOverlay {
    /// What was written to an entry: `None` if nothing was.
    pub(crate) fn get(&self, entry: &[u8]) -> Option<Option<Bytes>> {
        match self.entries.get(entry) {
            Some(written) => Some(written.clone()),
            None => self.cleared.then_some(None),
        }
    }

    /// Writes an entry.
    pub(crate) fn put(&mut self, entry: Bytes, value: Option<Bytes>) {
        self.entries.insert(entry, value);
    }

    /// Removes all entries.
    pub(crate) fn clear(&mut self) {
        self.cleared = true;
        self.entries.clear();
    }

    /// Makes the writes count.
    pub(crate) fn apply(self, cells: &mut Cells, keys: &mut Keys, cell: u32, slot: Slot) {
        if self.cleared {
            cells.map_clear(keys, cell, slot);
        }
        for (entry, value) in self.entries {
            cells.map_set(keys, cell, slot, entry, value);
        }
    }
}

/// The entries that a scan asks for, as they are with the writes on top.
pub(crate) fn scan(
    base: Option<&BTreeMap<Bytes, Bytes>>,
    over: Option<&MapOverlay>,
    scan: &Scan,
) -> Vec<(Bytes, Bytes)> {
    if let (Some(start), Some(end)) = (&scan.start, &scan.end)
        && start >= end
    {
        return Vec::new();
    }
    let start = scan.start.as_deref().map_or(Bound::Unbounded, Bound::Included);
    let end = scan.end.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
    let range = (start, end);
    let limit = (scan.limit as usize).min(SCAN_MAX);
    let base = base.filter(|_| !over.is_some_and(|over| over.cleared));
    let old = base.into_iter().flat_map(|map| map.range::<[u8], _>(range));
    let new = over.into_iter().flat_map(|over| over.entries.range::<[u8], _>(range));
    if scan.backwards {
        merge(old.rev(), new.rev(), limit, |a, b| a > b)
    } else {
        merge(old, new, limit, |a, b| a < b)
    }
}

fn merge<'a>(
    old: impl Iterator<Item = (&'a Bytes, &'a Bytes)>,
    new: impl Iterator<Item = (&'a Bytes, &'a Option<Bytes>)>,
    limit: usize,
    before: impl Fn(&Bytes, &Bytes) -> bool,
) -> Vec<(Bytes, Bytes)> {
    let (mut old, mut new) = (old.peekable(), new.peekable());
    let mut found = Vec::new();
    while found.len() < limit {
        let old_first = match (old.peek(), new.peek()) {
            (None, None) => break,
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (Some((a, _)), Some((b, _))) => before(a, b),
        };
        if old_first {
            found.extend(old.next().map(|(key, value)| (key.clone(), value.clone())));
        } else if let Some((key, written)) = new.next() {
            if old.peek().is_some_and(|(other, _)| *other == key) {
                old.next();
            }
            found.extend(written.clone().map(|value| (key.clone(), value)));
        }
    }
    found
}
