//! Epochs: when one ends (rule P1), how a task aligns its inputs to the barrier,
//! and the credit of a stream queue.
//!
//! A barrier is due some time after the first thing to commit; every task hands
//! over at its barrier and goes on. What is between two tasks is ordered by the
//! queue: a barrier is behind everything that was sent before it. Credit bounds
//! data and never barriers, so a full queue delays a commit but cannot stop it.

mod align;
mod credit;
mod due;
#[cfg(test)]
mod tests;

pub use self::{
    align::Alignment,
    credit::Credit,
    due::{Due, Pace},
};
