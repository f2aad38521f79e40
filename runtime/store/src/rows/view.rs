//! Where settled rows live.

use std::{
    collections::BTreeMap,
    ops::Bound,
    sync::{Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;

use crate::{DomainName, StoreError};

/// A row to settle; without a value it is removed.
pub(crate) type Settled<'a> = (&'a DomainName, &'a [u8], Option<&'a Bytes>);

/// What a scan does with each row; false ends it.
pub(crate) type Visit<'a> = dyn FnMut(&[u8], Bytes) -> bool + 'a;

/// A materialized view of the journal up to a position. It may be behind, never
/// ahead in a way that the overlay does not hide, and it can always be thrown away.
pub(crate) trait View: Send + Sync {
    /// The journal position up to which all rows are in it; `None` if it must be
    /// filled from a snapshot.
    fn position(&self) -> Option<u64>;

    fn get(&self, domain: &DomainName, key: &[u8]) -> Result<Option<Bytes>, StoreError>;

    /// Visits rows with `from <= key < to`, ascending.
    fn scan(
        &self,
        domain: &DomainName,
        from: &[u8],
        to: Option<&[u8]>,
        visit: &mut Visit<'_>,
    ) -> Result<(), StoreError>;

    /// Takes rows in and then remembers the position. Broken off by a crash, it is
    /// done again from the old position.
    fn settle(
        &self,
        rows: &mut dyn Iterator<Item = Settled<'_>>,
        position: u64,
    ) -> Result<(), StoreError>;

    /// Empties it.
    fn clear(&self) -> Result<(), StoreError>;
}

/// Rows in memory: for the simulation. It begins empty at each open.
#[derive(Default)]
pub(crate) struct MemoryView(Mutex<Memory>);

#[derive(Default)]
struct Memory {
    rows: BTreeMap<DomainName, BTreeMap<Vec<u8>, Bytes>>,
    position: Option<u64>,
}

impl MemoryView {
    fn lock(&self) -> MutexGuard<'_, Memory> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl View for MemoryView {
    fn position(&self) -> Option<u64> {
        self.lock().position
    }

    fn get(&self, domain: &DomainName, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        let memory = self.lock();
        Ok(memory.rows.get(domain).and_then(|rows| rows.get(key)).cloned())
    }

    fn scan(
        &self,
        domain: &DomainName,
        from: &[u8],
        to: Option<&[u8]>,
        visit: &mut Visit<'_>,
    ) -> Result<(), StoreError> {
        if to.is_some_and(|to| to <= from) {
            return Ok(());
        }
        let memory = self.lock();
        let range = (Bound::Included(from), to.map_or(Bound::Unbounded, Bound::Excluded));
        for (key, value) in
            memory.rows.get(domain).into_iter().flat_map(|rows| rows.range::<[u8], _>(range))
        {
            if !visit(key, value.clone()) {
                break;
            }
        }
        Ok(())
    }

    fn settle(
        &self,
        settled: &mut dyn Iterator<Item = Settled<'_>>,
        position: u64,
    ) -> Result<(), StoreError> {
        let mut memory = self.lock();
        for (domain, key, value) in settled {
            if !memory.rows.contains_key(domain) {
                memory.rows.insert(domain.clone(), BTreeMap::new());
            }
            let Some(of_domain) = memory.rows.get_mut(domain) else { continue };
            match value {
                Some(value) => of_domain.insert(key.into(), value.clone()),
                None => of_domain.remove(key),
            };
        }
        memory.position = Some(position);
        Ok(())
    }

    fn clear(&self) -> Result<(), StoreError> {
        *self.lock() = Memory::default();
        Ok(())
    }
}
