//! How much waits at an operator, over all its shards, and how much may (rule P3).

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What waits at an operator against its hard quota: shared by its shards, which
/// count, by all who send to it, who ask, and by the sources, which stop.
///
/// It is a bound of space, not a figure of the audit: shards on other threads may be
/// a moment ahead or behind.
#[derive(Debug)]
pub struct Waiting {
    bytes: AtomicU64,
    quota: u64,
    /// Has a source stopped because of it?
    awaited: AtomicBool,
}

impl Waiting {
    /// Nothing waits; `quota` in bytes of what waits takes with keys, values and headers.
    #[must_use]
    pub fn new(quota: u64) -> Self {
        Self { bytes: AtomicU64::new(0), quota, awaited: AtomicBool::new(false) }
    }

    /// Is the quota used up? Then a send to the operator fails as transient, and a
    /// request is refused.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.bytes.load(Ordering::SeqCst) >= self.quota
    }

    /// Must a source stop? One that does is to be woken, see [`Waiting::resumes`].
    #[must_use]
    pub fn stops(&self) -> bool {
        if !self.is_over() {
            return false;
        }
        self.awaited.store(true, Ordering::SeqCst);
        // What fell below before the line above did not see that somebody waits.
        self.is_over()
    }

    /// Has it fallen below the quota since a source stopped? Once true, false again:
    /// whoever asks wakes the sources. Each shard asks after it has changed.
    #[must_use]
    pub fn resumes(&self) -> bool {
        self.awaited.load(Ordering::SeqCst)
            && !self.is_over()
            && self.awaited.swap(false, Ordering::SeqCst)
    }

    /// What waits at one shard has changed.
    pub(super) fn change(&self, before: u64, after: u64) {
        if after >= before {
            self.bytes.fetch_add(after - before, Ordering::SeqCst);
        } else {
            self.bytes.fetch_sub(before - after, Ordering::SeqCst);
        }
    }
}
