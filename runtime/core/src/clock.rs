//! Time comes in from outside: `core` never reads a clock.

use std::time::Duration;

use crate::ids::EventTime;

/// One reading of both clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// Since the process began; never goes back. For delays and deadlines.
    pub monotonic: Duration,
    /// The wall clock. May jump either way. For instants that people set.
    pub wall: EventTime,
}

/// The only source of time in Weir (rule P17). The simulation has its own.
pub trait Clock: Send + Sync {
    /// Reads both clocks.
    fn now(&self) -> Now;
}
