//! Figures of the audit (rule P21): each is counted where it happens.

use serde::{Deserialize, Serialize};

/// Events, calls and sends of one operator, since the pipeline was made:
/// `taken = ended + filtered + skipped + dead_lettered + late + shed + waiting`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Events, calls and sends taken in.
    pub taken: u64,
    /// Invocations that ended: ok, or as a failed or cancelled call, whose failure
    /// is its caller's.
    pub ended: u64,
    /// Events that the operator dropped by its purpose.
    pub filtered: u64,
    /// Events dropped after their last attempt, by the policy `skip`.
    pub skipped: u64,
    /// Events that became dead letters.
    pub dead_lettered: u64,
    /// Events that came too late for every window.
    pub late: u64,
    /// Events that a policy of overload dropped.
    pub shed: u64,
}

impl Counts {
    /// Is everything that was taken accounted for, with so much waiting?
    #[must_use]
    pub fn balanced(&self, waiting: u64) -> bool {
        let done =
            [self.ended, self.filtered, self.skipped, self.dead_lettered, self.late, self.shed];
        done.iter().try_fold(waiting, |sum, n| sum.checked_add(*n)) == Some(self.taken)
    }

    /// Adds those of another shard, or of an earlier one.
    pub fn add(&mut self, other: &Self) {
        self.taken += other.taken;
        self.ended += other.ended;
        self.filtered += other.filtered;
        self.skipped += other.skipped;
        self.dead_lettered += other.dead_lettered;
        self.late += other.late;
        self.shed += other.shed;
    }
}

/// What a unit can say of itself at any moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct UnitFigures {
    /// For the audit.
    pub counts: Counts,
    /// Events, calls and sends taken in and not ended: measured.
    pub waiting: usize,
    /// What they take in memory with keys, values and headers, in bytes, about.
    pub waiting_bytes: usize,
    /// Of these bytes, what is not in memory now.
    pub spilled_bytes: usize,
    /// Invocations in the guest.
    pub running: usize,
    /// Invocations that wait for their next attempt.
    pub retrying: usize,
    /// Sends held back until their time.
    pub delayed: usize,
    /// Sends that no commit holds at their target yet.
    pub outbox: usize,
    /// Keys that a dead letter blocks.
    pub blocked: usize,
    /// Keys in memory: with state, or with something that waits for them.
    pub keys: usize,
    /// Failed attempts since the unit was made.
    pub failures: u64,
    /// Traps since the unit was made.
    pub traps: u64,
    /// Calls that were still open when their handler returned, since the unit was
    /// made.
    pub calls_cancelled: u64,
}
