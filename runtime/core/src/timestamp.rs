//! Reading an event's time out of its value.
//!
//! A string is read as RFC 3339 (with an offset or `Z`), a whole number as time
//! since the Unix epoch, in a unit that its size decides:
//!
//! | size below | unit | reaches |
//! |---|---|---|
//! | 10^11 | seconds | year 5138 |
//! | 10^14 | milliseconds | year 5138 |
//! | 10^17 | microseconds | year 5138 |
//! | more | nanoseconds | year 2262 |
//!
//! So milliseconds before 3 March 1973 would be read as seconds: write such times as
//! RFC 3339. What is finer than a millisecond is rounded down.

#[cfg(test)]
mod tests;

use crate::{
    ids::EventTime,
    pointer::{Absence, Found, JsonPointer},
};

/// Why a value has no readable time at the pointer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoTimestamp {
    /// There is no string and no number.
    #[error("no timestamp: {0}")]
    Absent(Absence),
    /// A string that is not RFC 3339.
    #[error("no timestamp: `{0}` is not an RFC 3339 time such as 2026-01-31T12:00:00Z")]
    Text(String),
    /// A number that is not whole, or a boolean.
    #[error("no timestamp: `{0}` is not a whole number since the Unix epoch")]
    Number(String),
}

/// The event time at a place of a JSON value.
///
/// # Errors
/// If there is none, or none that can be read.
pub fn at(pointer: &JsonPointer, json: &[u8]) -> Result<EventTime, NoTimestamp> {
    match pointer.scan(json) {
        Found::Literal(text) => {
            let text = std::str::from_utf8(text).unwrap_or_default();
            text.parse()
                .map(of_epoch)
                .map_err(|_| NoTimestamp::Number(text.chars().take(40).collect()))
        }
        Found::Text(text) => {
            of_rfc_3339(&text).ok_or_else(|| NoTimestamp::Text(text.chars().take(40).collect()))
        }
        Found::Nothing(absence) => Err(NoTimestamp::Absent(absence)),
    }
}

/// The time that a text means, by the same rules: a whole number or RFC 3339.
#[must_use]
pub fn of_text(text: &str) -> Option<EventTime> {
    text.parse().ok().map(of_epoch).or_else(|| of_rfc_3339(text))
}

fn of_rfc_3339(text: &str) -> Option<EventTime> {
    let time: jiff::Timestamp = text.parse().ok()?;
    i64::try_from(time.as_nanosecond().div_euclid(1_000_000)).ok().map(EventTime)
}

/// The time that a whole number means, by its size.
#[must_use]
pub fn of_epoch(number: i64) -> EventTime {
    EventTime(match number.unsigned_abs() {
        0..100_000_000_000 => number * 1_000,
        100_000_000_000..100_000_000_000_000 => number,
        100_000_000_000_000..100_000_000_000_000_000 => number.div_euclid(1_000),
        _ => number.div_euclid(1_000_000),
    })
}
