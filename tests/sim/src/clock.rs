//! Time that moves when the simulation says so.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use weir_core::{
    clock::{Clock, Now},
    ids::EventTime,
};

/// Both clocks, standing still.
pub struct SimClock(Mutex<Now>);

impl Default for SimClock {
    fn default() -> Self {
        Self(Mutex::new(Now {
            monotonic: Duration::from_secs(1),
            wall: EventTime(1_700_000_000_000),
        }))
    }
}

impl SimClock {
    /// Moves both clocks on.
    pub fn advance(&self, by: Duration) {
        let mut now = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        now.monotonic += by;
        now.wall.0 += by.as_millis() as i64;
    }

    /// Moves both on to a monotonic time, if that is not past.
    pub fn advance_to(&self, monotonic: Duration) {
        self.advance(monotonic.saturating_sub(self.now().monotonic));
    }

    /// Sets the wall clock forward or back.
    pub fn jump(&self, millis: i64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).wall.0 += millis;
    }
}

impl Clock for SimClock {
    fn now(&self) -> Now {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
