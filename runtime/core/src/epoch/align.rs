//! Aligning the inputs of a task to a barrier.

use crate::ids::Epoch;

/// Which inputs have given the barrier of the epoch that is to begin.
#[derive(Clone, Debug)]
pub struct Alignment {
    given: Vec<bool>,
    missing: usize,
    next: Option<Epoch>,
}

impl Alignment {
    /// Of a task with so many inputs; at least one.
    #[must_use]
    pub fn new(inputs: usize) -> Self {
        Self { given: vec![false; inputs], missing: inputs, next: None }
    }

    /// May data be taken from this input? Not between its barrier and the last one:
    /// that belongs to the next epoch.
    #[must_use]
    pub fn may_take(&self, input: usize) -> bool {
        !self.given[input]
    }

    /// Is a barrier under way?
    #[must_use]
    pub fn is_aligning(&self) -> bool {
        self.next.is_some()
    }

    /// An input gave its barrier, after which `next` begins. Gives `next` when all
    /// have: the task hands over and takes from all of them again.
    ///
    /// # Panics
    /// If an input gives a second barrier before the others gave the first, or one
    /// of another epoch: the coordinator never does that.
    pub fn on_barrier(&mut self, input: usize, next: Epoch) -> Option<Epoch> {
        assert!(!self.given[input], "input {input} gave two barriers");
        assert!(self.next.is_none_or(|aligned| aligned == next), "barriers of two epochs");
        self.given[input] = true;
        self.next = Some(next);
        self.missing -= 1;
        if self.missing > 0 {
            return None;
        }
        self.given.fill(false);
        self.missing = self.given.len();
        self.next.take()
    }
}
