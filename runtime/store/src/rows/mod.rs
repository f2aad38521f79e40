//! Rows: an overlay of what is durable but not settled, over a view.
//!
//! A commit goes into the overlay of its domain. Settling freezes all overlays at one
//! journal position, writes what is frozen to the view in the background, and drops
//! it. A reader looks at the overlay, what is frozen, the view, in this order. Many
//! commits to one key so become one write to the view.

mod overlay;
mod page;
mod sled_view;
#[cfg(test)]
mod tests;
pub(crate) mod view;

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{AtomicU64, Ordering},
    },
};

use bytes::Bytes;
use weir_core::ids::Epoch;

pub use self::page::{Page, Scanned};
use self::{
    overlay::{Frozen, Overlay},
    page::Filling,
};
pub(crate) use self::{
    sled_view::SledView,
    view::{MemoryView, View},
};
use crate::{Change, DomainName, StoreError};

/// The rows of all domains.
pub(crate) struct RowStore {
    view: Arc<dyn View>,
    domains: RwLock<HashMap<DomainName, Arc<Domain>>>,
    /// Journal position up to which commits are in the overlay. Held while a group is
    /// applied, and while maps are frozen.
    applied: Mutex<u64>,
    /// What waits to be settled, in bytes.
    bytes: AtomicU64,
    settling: Mutex<Option<u64>>,
}

#[derive(Default)]
struct Domain {
    epoch: AtomicU64,
    overlay: RwLock<Overlay>,
}

impl RowStore {
    /// Rows over a view that is settled up to a position.
    pub(crate) fn new(view: Arc<dyn View>, position: u64) -> Self {
        Self {
            view,
            domains: RwLock::default(),
            applied: Mutex::new(position),
            bytes: AtomicU64::new(0),
            settling: Mutex::new(None),
        }
    }

    /// Makes a group of commits visible, which ends at this journal position.
    pub(crate) fn apply(
        &self,
        position: u64,
        commits: impl Iterator<Item = (DomainName, Epoch, Vec<Change>)>,
    ) {
        let mut applied = self.applied.lock().unwrap_or_else(PoisonError::into_inner);
        for (name, epoch, rows) in commits {
            let domain = self.domain_or_new(&name);
            let (mut added, mut removed) = (0, 0);
            let mut overlay = domain.write();
            for Change { key, value } in rows {
                let (more, fewer) = overlay.put(key, value);
                added += more;
                removed += fewer;
            }
            domain.epoch.store(epoch.0, Ordering::Release);
            drop(overlay);
            self.bytes.fetch_add(added, Ordering::Relaxed);
            self.bytes.fetch_sub(removed, Ordering::Relaxed);
        }
        *applied = position;
    }

    /// Sets the last epoch of a domain, at open.
    pub(crate) fn set_epoch(&self, domain: &DomainName, epoch: u64) {
        self.domain_or_new(domain).epoch.store(epoch, Ordering::Release);
    }

    /// The last epoch of a domain.
    pub(crate) fn epoch(&self, domain: &DomainName) -> Epoch {
        Epoch(self.domain(domain).map_or(0, |domain| domain.epoch.load(Ordering::Acquire)))
    }

    /// Journal position up to which commits are visible.
    pub(crate) fn position(&self) -> u64 {
        *self.applied.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What waits to be settled, in bytes.
    pub(crate) fn unsettled_bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// A row.
    pub(crate) fn get(&self, domain: &DomainName, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        let known = self.domain(domain);
        if let Some(value) = known.and_then(|known| known.read().get(key).cloned()) {
            return Ok(value);
        }
        self.view.get(domain, key)
    }

    /// The first page of rows with `from <= key < to`, ascending.
    pub(crate) fn scan(
        &self,
        domain: &DomainName,
        from: &[u8],
        to: Option<&[u8]>,
        page: Page,
    ) -> Result<Scanned, StoreError> {
        let mut filling = Filling::new(page);
        if to.is_some_and(|to| to <= from) {
            return Ok(filling.done());
        }
        let Some(known) = self.domain(domain) else {
            self.view.scan(domain, from, to, &mut |key, value| filling.take(key, value))?;
            return Ok(filling.done());
        };
        // Held to the end, so that what is frozen can not be dropped half way.
        let held = known.sorted();
        let mut overlay = held.range(from, to).peekable();
        let mut room = true;
        self.view.scan(domain, from, to, &mut |key, value| {
            while let Some((newer, change)) = overlay.next_if(|(newer, _)| newer.as_slice() < key) {
                room = change.as_ref().is_none_or(|value| filling.take(newer, value.clone()));
                if !room {
                    return false;
                }
            }
            room = match overlay.next_if(|(newer, _)| newer.as_slice() == key) {
                Some((_, None)) => true,
                Some((newer, Some(value))) => filling.take(newer, value.clone()),
                None => filling.take(key, value),
            };
            room
        })?;
        while room && let Some((key, change)) = overlay.next() {
            room = change.as_ref().is_none_or(|value| filling.take(key, value.clone()));
        }
        Ok(filling.done())
    }

    /// Moves all that is in the overlay now into the view and answers the journal
    /// position that it has reached. Commits and reads go on meanwhile.
    pub(crate) fn settle(&self) -> Result<u64, StoreError> {
        let mut settling = self.settling.lock().unwrap_or_else(PoisonError::into_inner);
        let position = match *settling {
            // The last try failed: what is frozen goes first.
            Some(position) => position,
            None => self.freeze(),
        };
        *settling = Some(position);
        let domains: Vec<(DomainName, Arc<Domain>)> = {
            let domains = self.domains.read().unwrap_or_else(PoisonError::into_inner);
            domains.iter().map(|(name, domain)| (name.clone(), domain.clone())).collect()
        };
        let frozen: Vec<(DomainName, Arc<Frozen>)> =
            domains.iter().map(|(name, domain)| (name.clone(), domain.read().frozen())).collect();
        let mut rows = frozen.iter().flat_map(|(name, frozen)| {
            frozen.rows().iter().map(move |(key, value)| (name, key.as_slice(), value.as_ref()))
        });
        self.view.settle(&mut rows, position)?;
        for (_, domain) in &domains {
            // The memory is given back when no lock is held any more.
            let _gone = domain.write().drop_frozen();
        }
        *settling = None;
        Ok(position)
    }

    fn freeze(&self) -> u64 {
        let applied = self.applied.lock().unwrap_or_else(PoisonError::into_inner);
        for domain in self.domains.read().unwrap_or_else(PoisonError::into_inner).values() {
            domain.write().freeze();
        }
        self.bytes.store(0, Ordering::Relaxed);
        *applied
    }

    fn domain(&self, name: &DomainName) -> Option<Arc<Domain>> {
        self.domains.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    fn domain_or_new(&self, name: &DomainName) -> Arc<Domain> {
        if let Some(domain) = self.domain(name) {
            return domain;
        }
        self.domains
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .entry(name.clone())
            .or_default()
            .clone()
    }
}

impl Domain {
    fn read(&self) -> RwLockReadGuard<'_, Overlay> {
        self.overlay.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Overlay> {
        self.overlay.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The overlay, ready for scans.
    fn sorted(&self) -> RwLockReadGuard<'_, Overlay> {
        let held = self.read();
        if held.is_sorted() {
            return held;
        }
        drop(held);
        let mut held = self.write();
        held.sort();
        RwLockWriteGuard::downgrade(held)
    }
}
