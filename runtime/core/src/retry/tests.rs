use std::time::Duration;

use super::{goes_on, pause};
use crate::plan::RetryPolicy;

#[test]
fn pauses_double_up_to_the_longest() {
    let policy = RetryPolicy::default();
    let pauses: Vec<_> = (1..14).map(|failed| pause(&policy, failed, 7).as_millis()).collect();
    for (failed, pause) in pauses.iter().enumerate() {
        let full = (50u128 << failed).min(60_000);
        assert!((full * 3 / 4..=full).contains(pause), "{pause} after {} failures", failed + 1);
    }
}

#[test]
fn jitter_differs_by_seed_and_is_the_same_for_one() {
    let policy = RetryPolicy::default();
    assert_eq!(pause(&policy, 3, 1), pause(&policy, 3, 1));
    let all: std::collections::HashSet<_> = (0..50).map(|seed| pause(&policy, 3, seed)).collect();
    assert!(all.len() > 20);
}

#[test]
fn extreme_policies_neither_overflow_nor_stop_the_first_attempt() {
    let policy = RetryPolicy {
        attempts: 0,
        first: Duration::MAX,
        max: Duration::MAX,
        ..RetryPolicy::default()
    };
    assert!(pause(&policy, u32::MAX, 0) > Duration::from_secs(1));
    assert!(!goes_on(&policy, 1));
    assert!(goes_on(&RetryPolicy::default(), 9));
    assert!(!goes_on(&RetryPolicy::default(), 10));
}
