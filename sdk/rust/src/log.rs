//! Log lines, kept by Weir per operator.

use crate::{handler::with_current, host};

/// How much a line matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// For the author of the operator.
    Debug,
    /// Worth knowing.
    Info,
    /// Odd, but it goes on.
    Warn,
    /// It did not work.
    Error,
}

/// Writes a line, for the invocation in hand if there is one. At most 8 KiB of it
/// are kept. The macros [`debug!`](crate::debug), [`info!`](crate::info),
/// [`warn!`](crate::warn) and [`error!`](crate::error) call it.
pub fn write(level: Level, message: &str) {
    with_current(|invocation| host::log(invocation, level, message));
}

/// Writes a line for the operator's author, formatted as by [`format!`].
#[macro_export]
macro_rules! debug {
    ($($arg:tt)+) => { $crate::log::write($crate::log::Level::Debug, &::std::format!($($arg)+)) };
}

/// Writes a line that is worth knowing, formatted as by [`format!`].
#[macro_export]
macro_rules! info {
    ($($arg:tt)+) => { $crate::log::write($crate::log::Level::Info, &::std::format!($($arg)+)) };
}

/// Writes a line about something odd, formatted as by [`format!`].
#[macro_export]
macro_rules! warn {
    ($($arg:tt)+) => { $crate::log::write($crate::log::Level::Warn, &::std::format!($($arg)+)) };
}

/// Writes a line about something that did not work, formatted as by [`format!`].
#[macro_export]
macro_rules! error {
    ($($arg:tt)+) => { $crate::log::write($crate::log::Level::Error, &::std::format!($($arg)+)) };
}
