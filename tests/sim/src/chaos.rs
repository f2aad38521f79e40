//! Faults of guests: traps, transient failures, instances that cannot be made.

use std::sync::{Mutex, PoisonError};

use rand::{Rng, SeedableRng, rngs::StdRng};

/// How often something goes wrong, in 1,000 chances.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rates {
    /// A run of a guest traps.
    pub trap: u32,
    /// A trap does not say who did it.
    pub blind: u32,
    /// An attempt fails as transient although it did all its work.
    pub fail: u32,
    /// An instance cannot be made.
    pub instance: u32,
}

/// Decides by its seed.
pub struct Chaos(Mutex<(StdRng, Rates)>);

impl Chaos {
    /// One with these rates.
    #[must_use]
    pub fn new(seed: u64, rates: Rates) -> Self {
        Self(Mutex::new((StdRng::seed_from_u64(seed), rates)))
    }

    /// Changes the rates.
    pub fn set(&self, rates: Rates) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).1 = rates;
    }

    /// Does it happen this time?
    #[must_use]
    pub fn strikes(&self, rate: fn(&Rates) -> u32) -> bool {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let rate = rate(&state.1);
        rate > 0 && state.0.random_range(0..1000) < rate
    }
}
