//! What the tests of the whole system share: a real `weir` process and a client
//! for it. The tests themselves are in `tests/`, the benches in `src/bin`.

#![expect(clippy::disallowed_methods, reason = "tests wait on conditions with deadlines")]

pub mod client;
pub mod example;
pub mod guests;
pub mod process;
pub mod wait;
