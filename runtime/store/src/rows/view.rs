//! Where settled rows live.

use std::{
    collections::BTreeMap,
    ops::Bound,
    sync::{Mutex, PoisonError},
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
    fn scan(&self, domain: &DomainName, from: &[u8], to: Option<&[u8]>, visit: &mut Visit<'_>) -> Result<(), StoreError>;

    /// Takes rows in and then remembers the position. Broken off by a crash, it is
    /// done again from the old position.
    fn settle(&self, rows: &mut dyn Iterator<Item = Settled<'_>>, position: u64) -> Result<(), StoreError>;

    /// Empties it.
    fn clear(&self) -> Result<(), StoreError>;
}

/// Rows in memory: for the simulation. It begins empty at each open.
#[derive(Default)]
pub(crate) struct MemoryView {
    rows: Mutex<(BTreeMap<DomainName, BTreeMap<Vec<u8>, Bytes>>, Option<u64>)>,
}

impl View for MemoryView {
    fn position(&self) -> Option<u64> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner).1
    }

    fn get(&self, domain: &DomainName, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        let rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(rows.0.get(domain).and_then(|rows| rows.get(key)).cloned())
    }

    fn scan(&self, domain: &DomainName, from: &[u8], to: Option<&[u8]>, visit: &mut Visit<'_>) -> Result<(), StoreError> {
        if to.is_some_and(|to| to <= from) {
            return Ok(());
        }
        let rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        let range = (Bound::Included(from), to.map_or(Bound::Unbounded, Bound::Excluded));
        for (key, value) in rows.0.get(domain).into_iter().flat_map(|rows| rows.range::<[u8], _>(range)) {
            if !visit(key, value.clone()) {
                break;
            }
        }
        Ok(())
    }

    fn settle(&self, settled: &mut dyn Iterator<Item = Settled<'_>>, position: u64) -> Result<(), StoreError> {
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        for (domain, key, value) in settled {
            if !rows.0.contains_key(domain) {
                rows.0.insert(domain.clone(), BTreeMap::new());
            }
            let Some(of_domain) = rows.0.get_mut(domain) else { continue };
            match value {
                Some(value) => of_domain.insert(key.into(), value.clone()),
                None => of_domain.remove(key),
            };
        }
        rows.1 = Some(position);
        Ok(())
    }

    fn clear(&self) -> Result<(), StoreError> {
        *self.rows.lock().unwrap_or_else(PoisonError::into_inner) = Default::default();
        Ok(())
    }
}
