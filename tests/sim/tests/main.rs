//! The simulation: named scenarios of the protocol's rules, and seeded runs with
//! faults at every step.

mod accounts;
mod calls;
mod clocks;
mod commits;
mod common;
mod failures;
mod first;
mod seeds;
