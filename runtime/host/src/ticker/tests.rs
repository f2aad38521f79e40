use std::time::{Duration, Instant};

use super::Ticker;

/// Waits until the condition holds; fails after a while.
#[expect(clippy::disallowed_methods, reason = "so that a defect does not hang the test")]
fn wait(condition: impl Fn() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < Duration::from_secs(10), "it never came");
        std::thread::yield_now();
    }
}

#[test]
fn the_ticker_rests_when_nothing_runs_and_wakes_when_something_does() {
    let ticker = Ticker::start(Vec::new()).unwrap();
    for _ in 0..3 {
        wait(|| ticker.rests());
        let running = ticker.running();
        wait(|| !ticker.rests());
        drop(running);
    }
}
