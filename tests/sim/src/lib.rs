//! The seeded simulation: the shipped task loop, stepped from one thread over a disk
//! in memory, a clock that stands still, and scripted guests.
//!
//! Which actor steps next, when time moves, when the disk syncs and when it loses
//! what was not synced: the seed decides it, so that a run that fails can be run
//! again. [`world::World`] is the machine, [`script`] writes guests.

pub mod audit;
pub mod chaos;
pub mod clock;
pub mod script;
pub mod world;
