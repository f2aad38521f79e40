//! What is due when (rule P17): retries and deadlines by the monotonic clock, sends
//! that are held back by the wall clock, which is looked at each second.

use std::{collections::BTreeSet, time::Duration};

use crate::{
    clock::Now,
    ids::{EventTime, InvocationId},
};

/// How often the wall clock is looked at.
const LOOK: Duration = Duration::from_secs(1);

/// Everything that waits for time.
#[derive(Debug, Default)]
pub(crate) struct Times {
    retries: BTreeSet<(Duration, InvocationId)>,
    deadlines: BTreeSet<(Duration, InvocationId, u32)>,
    delayed: BTreeSet<(EventTime, InvocationId)>,
    /// When the wall clock was looked at last.
    looked: Duration,
}

impl Times {
    pub(crate) fn retry(&mut self, due: Duration, id: InvocationId) {
        self.retries.insert((due, id));
    }

    pub(crate) fn no_retry(&mut self, due: Duration, id: InvocationId) {
        self.retries.remove(&(due, id));
    }

    pub(crate) fn deadline(&mut self, due: Duration, id: InvocationId, call: u32) {
        self.deadlines.insert((due, id, call));
    }

    pub(crate) fn no_deadline(&mut self, due: Duration, id: InvocationId, call: u32) {
        self.deadlines.remove(&(due, id, call));
    }

    pub(crate) fn delay(&mut self, until: EventTime, id: InvocationId) {
        self.delayed.insert((until, id));
    }

    pub(crate) fn no_delay(&mut self, until: EventTime, id: InvocationId) {
        self.delayed.remove(&(until, id));
    }

    pub(crate) fn retrying(&self) -> usize {
        self.retries.len()
    }

    pub(crate) fn delayed(&self) -> usize {
        self.delayed.len()
    }

    /// A retry that is due.
    pub(crate) fn due_retry(&mut self, now: Now) -> Option<InvocationId> {
        let first = *self.retries.first().filter(|(due, _)| *due <= now.monotonic)?;
        self.retries.remove(&first);
        Some(first.1)
    }

    /// A deadline that has passed.
    pub(crate) fn due_deadline(&mut self, now: Now) -> Option<(InvocationId, u32)> {
        let first = *self.deadlines.first().filter(|(due, ..)| *due <= now.monotonic)?;
        self.deadlines.remove(&first);
        Some((first.1, first.2))
    }

    /// A delayed send whose time has come.
    pub(crate) fn due_delayed(&mut self, now: Now) -> Option<InvocationId> {
        self.looked = now.monotonic;
        let first = *self.delayed.first().filter(|(at, _)| *at <= now.wall)?;
        self.delayed.remove(&first);
        Some(first.1)
    }

    /// When something may be due next.
    pub(crate) fn next(&self, now: Now) -> Option<Duration> {
        let retry = self.retries.first().map(|(due, _)| *due);
        let deadline = self.deadlines.first().map(|(due, ..)| *due);
        let delayed = self.delayed.first().map(|(at, _)| {
            let rest =
                Duration::from_millis(u64::try_from(at.0.saturating_sub(now.wall.0)).unwrap_or(0));
            let look = self.looked.max(now.monotonic.saturating_sub(LOOK)) + LOOK;
            (now.monotonic + rest).min(look)
        });
        [retry, deadline, delayed].into_iter().flatten().min()
    }
}
