//! Rows: an overlay of what is durable but not settled, over a view.
//!
//! A commit goes into the `active` map of its domain. Settling freezes all active
//! maps at one journal position, writes the frozen ones to the view in the
//! background, and drops them. A reader looks at active, frozen, view, in this
//! order. Many commits to one key so become one write to the view.

mod sled_view;
#[cfg(test)]
mod tests;
pub(crate) mod view;

use std::{
    collections::{BTreeMap, HashMap},
    ops::Bound,
    sync::{
        Arc, Mutex, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
};

use bytes::Bytes;
use weir_core::ids::Epoch;

pub(crate) use self::{
    sled_view::SledView,
    view::{MemoryView, View},
};
use crate::{Change, DomainName, Rows as RowList, StoreError};

/// What a row costs in memory beside its bytes.
const ROW_OVERHEAD: u64 = 96;

type Map = BTreeMap<Vec<u8>, Option<Bytes>>;

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
    maps: RwLock<Maps>,
}

#[derive(Default)]
struct Maps {
    active: Map,
    frozen: Arc<Map>,
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
    pub(crate) fn apply(&self, position: u64, commits: impl Iterator<Item = (DomainName, Epoch, Vec<Change>)>) {
        let mut applied = self.applied.lock().unwrap_or_else(PoisonError::into_inner);
        for (name, epoch, rows) in commits {
            let domain = self.domain_or_new(&name);
            let mut added = 0;
            let mut replaced = 0;
            let mut maps = domain.maps.write().unwrap_or_else(PoisonError::into_inner);
            for Change { key, value } in rows {
                let fixed = ROW_OVERHEAD + key.len() as u64;
                added += fixed + value.as_ref().map_or(0, Bytes::len) as u64;
                if let Some(old) = maps.active.insert(key, value) {
                    replaced += fixed + old.map_or(0, |old| old.len()) as u64;
                }
            }
            domain.epoch.store(epoch.0, Ordering::Release);
            drop(maps);
            self.bytes.fetch_add(added, Ordering::Relaxed);
            self.bytes.fetch_sub(replaced, Ordering::Relaxed);
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
        if let Some(domain) = self.domain(domain) {
            let maps = domain.maps.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(value) = maps.active.get(key).or_else(|| maps.frozen.get(key)) {
                return Ok(value.clone());
            }
        }
        self.view.get(domain, key)
    }

    /// Rows with `from <= key < to`, ascending, at most `limit`.
    pub(crate) fn scan(&self, domain: &DomainName, from: &[u8], to: Option<&[u8]>, limit: usize) -> Result<RowList, StoreError> {
        let mut found = RowList::new();
        if limit == 0 || to.is_some_and(|to| to <= from) {
            return Ok(found);
        }
        let Some(known) = self.domain(domain) else {
            self.view.scan(domain, from, to, &mut |key, value| {
                found.push((key.into(), value));
                found.len() < limit
            })?;
            return Ok(found);
        };
        // Held to the end, so that what is frozen can not go to the view half way.
        let maps = known.maps.read().unwrap_or_else(PoisonError::into_inner);
        let range = (Bound::Included(from), to.map_or(Bound::Unbounded, Bound::Excluded));
        let mut overlay = Merged {
            active: maps.active.range::<[u8], _>(range).peekable(),
            frozen: maps.frozen.range::<[u8], _>(range).peekable(),
        }
        .peekable();
        self.view.scan(domain, from, to, &mut |key, value| {
            while let Some((newer, change)) = overlay.next_if(|(newer, _)| newer.as_slice() < key) {
                found.extend(change.clone().map(|value| (newer.clone(), value)));
                if found.len() >= limit {
                    return false;
                }
            }
            match overlay.next_if(|(newer, _)| newer.as_slice() == key) {
                Some((newer, change)) => found.extend(change.clone().map(|value| (newer.clone(), value))),
                None => found.push((key.into(), value)),
            }
            found.len() < limit
        })?;
        for (key, change) in overlay {
            if found.len() >= limit {
                break;
            }
            found.extend(change.clone().map(|value| (key.clone(), value)));
        }
        Ok(found)
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
        let frozen = |domain: &Domain| domain.maps.read().unwrap_or_else(PoisonError::into_inner).frozen.clone();
        let maps: Vec<(DomainName, Arc<Map>)> =
            domains.iter().map(|(name, domain)| (name.clone(), frozen(domain))).collect();
        let mut rows = maps
            .iter()
            .flat_map(|(name, map)| map.iter().map(move |(key, value)| (name, key.as_slice(), value.as_ref())));
        self.view.settle(&mut rows, position)?;
        for (_, domain) in &domains {
            domain.maps.write().unwrap_or_else(PoisonError::into_inner).frozen = Arc::default();
        }
        *settling = None;
        Ok(position)
    }

    fn freeze(&self) -> u64 {
        let applied = self.applied.lock().unwrap_or_else(PoisonError::into_inner);
        for domain in self.domains.read().unwrap_or_else(PoisonError::into_inner).values() {
            let mut maps = domain.maps.write().unwrap_or_else(PoisonError::into_inner);
            maps.frozen = Arc::new(std::mem::take(&mut maps.active));
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
        self.domains.write().unwrap_or_else(PoisonError::into_inner).entry(name.clone()).or_default().clone()
    }
}

/// Two maps as one, the active one first.
struct Merged<'a> {
    active: std::iter::Peekable<std::collections::btree_map::Range<'a, Vec<u8>, Option<Bytes>>>,
    frozen: std::iter::Peekable<std::collections::btree_map::Range<'a, Vec<u8>, Option<Bytes>>>,
}

impl<'a> Iterator for Merged<'a> {
    type Item = (&'a Vec<u8>, &'a Option<Bytes>);

    fn next(&mut self) -> Option<Self::Item> {
        match (self.active.peek(), self.frozen.peek()) {
            (Some((active, _)), Some((frozen, _))) if active == frozen => {
                self.frozen.next();
                self.active.next()
            }
            (Some((active, _)), Some((frozen, _))) if frozen < active => self.frozen.next(),
            (Some(_), _) => self.active.next(),
            (None, _) => self.frozen.next(),
        }
    }
}
