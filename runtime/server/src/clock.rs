//! The clocks of the machine.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use weir_core::{
    clock::{Clock, Now},
    ids::EventTime,
};

/// Reads the clocks of the machine: the only place where this program does.
pub(crate) struct SystemClock {
    start: Instant,
}

impl SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the clock that everything else asks")]
    pub(crate) fn new() -> Self {
        Self { start: Instant::now() }
    }
}

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the clock that everything else asks")]
    fn now(&self) -> Now {
        let wall = match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
            Err(before) => i64::try_from(before.duration().as_millis()).map_or(i64::MIN, |ms| -ms),
        };
        Now { monotonic: self.start.elapsed(), wall: EventTime(wall) }
    }
}
