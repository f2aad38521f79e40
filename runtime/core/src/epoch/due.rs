//! When a barrier is due.

use std::time::Duration;

/// The bounds of an epoch's length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// The shortest time from one commit to the next barrier.
    pub min: Duration,
    /// The longest time from the first thing to commit to the barrier.
    pub max: Duration,
    /// In place of `min` while sources are behind.
    pub behind: Duration,
    /// Bytes to commit after which the barrier is due at once.
    pub bytes: usize,
}

/// Watches what there is to commit in the running epoch.
#[derive(Clone, Debug)]
pub struct Due {
    pace: Pace,
    committed: Option<Duration>,
    since: Option<Duration>,
}

impl Due {
    /// Nothing to commit yet, and no commit so far.
    #[must_use]
    pub fn new(pace: Pace) -> Self {
        Self { pace, committed: None, since: None }
    }

    /// There is something to commit.
    pub fn on_change(&mut self, now: Duration) {
        self.since.get_or_insert(now);
    }

    /// The barrier went out: what comes now belongs to the next epoch.
    pub fn on_barrier(&mut self) {
        self.since = None;
    }

    /// The commit is durable.
    pub fn on_committed(&mut self, now: Duration) {
        self.committed = Some(now);
    }

    /// When the barrier is due, given the bytes to commit and whether sources are
    /// behind; `None` without anything to commit. Not to be asked while a commit is
    /// under way: an epoch ends at the earliest when the last one is durable.
    #[must_use]
    pub fn at(&self, bytes: usize, behind: bool) -> Option<Duration> {
        let since = self.since?;
        let earliest = match self.committed {
            Some(committed) => committed + self.pace.min,
            None => since,
        };
        if bytes >= self.pace.bytes {
            return Some(earliest.min(since + self.pace.max));
        }
        let wanted = if behind { earliest.max(since + self.pace.behind) } else { earliest };
        Some(wanted.min(since + self.pace.max).max(earliest))
    }
}
