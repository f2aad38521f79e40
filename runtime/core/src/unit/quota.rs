//! How much waits at an operator, over all its shards, and how much may (rule P3).

use std::sync::atomic::{AtomicU64, Ordering};

/// What waits at an operator against its hard quota: shared by its shards, which
/// count, and by all who send to it, who ask.
///
/// It is a bound of memory, not a figure of the audit: shards on other threads may be
/// a moment ahead or behind.
#[derive(Debug)]
pub struct Waiting {
    bytes: AtomicU64,
    quota: u64,
}

impl Waiting {
    /// Nothing waits; `quota` in bytes of keys, values and headers.
    #[must_use]
    pub fn new(quota: u64) -> Self {
        Self { bytes: AtomicU64::new(0), quota }
    }

    /// Is the quota used up? Then a send to the operator fails as transient.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.bytes.load(Ordering::Relaxed) >= self.quota
    }

    /// What waits at one shard has changed.
    pub(super) fn change(&self, before: u64, after: u64) {
        if after >= before {
            self.bytes.fetch_add(after - before, Ordering::Relaxed);
        } else {
            self.bytes.fetch_sub(before - after, Ordering::Relaxed);
        }
    }
}
