//! How long a thread has really run.
//!
//! Ticks pass by the clock on the wall, also while a busy machine runs something
//! else. So a guest is stopped by the time that its thread had, where the system
//! tells it.

use std::{fs, time::Duration};

/// CPU time of the calling thread; none if the system does not tell it (it is
/// read from Linux's `/proc`). Takes some microseconds.
pub(crate) fn of_this_thread() -> Option<Duration> {
    parse(&fs::read_to_string("/proc/thread-self/schedstat").ok()?)
}

/// Nanoseconds of running are the first of three numbers.
fn parse(schedstat: &str) -> Option<Duration> {
    schedstat.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{of_this_thread, parse};

    #[test]
    fn it_is_the_first_number() {
        assert_eq!(parse("1500 20 3\n"), Some(Duration::from_nanos(1_500)));
        assert_eq!(parse(""), None);
        assert_eq!(parse("none"), None);
    }

    #[test]
    fn it_grows_while_the_thread_runs() {
        let Some(before) = of_this_thread() else { return };
        while of_this_thread() == Some(before) {}
        assert!(of_this_thread() > Some(before));
    }
}
