use std::time::Duration;

use super::{Alignment, Credit, Due, Pace};
use crate::ids::Epoch;

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn due() -> Due {
    Due::new(Pace { min: ms(5), max: ms(1000), behind: ms(100), bytes: 100 })
}

#[test]
fn without_anything_to_commit_no_barrier_is_due() {
    let mut due = due();
    assert_eq!(due.at(0, false), None);
    due.on_committed(ms(10));
    assert_eq!(due.at(1000, true), None);
}

#[test]
fn the_first_barrier_is_due_at_once_and_the_next_five_ms_after_the_commit() {
    let mut due = due();
    due.on_change(ms(10));
    assert_eq!(due.at(0, false), Some(ms(10)));
    due.on_barrier();
    due.on_change(ms(11));
    due.on_committed(ms(20));
    assert_eq!(due.at(0, false), Some(ms(25)));
    assert_eq!(due.at(1000, false), Some(ms(25)));
}

#[test]
fn while_sources_are_behind_an_epoch_is_longer_unless_it_is_large() {
    let mut due = due();
    due.on_committed(ms(20));
    due.on_change(ms(30));
    assert_eq!(due.at(99, true), Some(ms(130)));
    assert_eq!(due.at(100, true), Some(ms(25)));
}

#[test]
fn no_epoch_is_longer_than_the_longest_after_its_first_change() {
    let mut due = Due::new(Pace { min: ms(5), max: ms(50), behind: ms(100), bytes: 100 });
    due.on_committed(ms(0));
    due.on_change(ms(10));
    assert_eq!(due.at(0, true), Some(ms(60)));
}

#[test]
fn an_input_that_gave_its_barrier_waits_for_the_others() {
    let mut alignment = Alignment::new(3);
    assert!(!alignment.is_aligning());
    assert_eq!(alignment.on_barrier(1, Epoch(2)), None);
    assert!(alignment.may_take(0) && !alignment.may_take(1) && alignment.may_take(2));
    assert!(alignment.is_aligning());
    assert_eq!(alignment.on_barrier(0, Epoch(2)), None);
    assert_eq!(alignment.on_barrier(2, Epoch(2)), Some(Epoch(2)));
    assert!((0..3).all(|input| alignment.may_take(input)));
    assert!(!alignment.is_aligning());
    assert_eq!(alignment.on_barrier(2, Epoch(3)), None);
}

#[test]
fn every_batch_fits_an_empty_queue_and_the_producer_is_woken_once() {
    let mut credit = Credit::new(10, 1000);
    assert!(credit.has_room());
    credit.put(20, 5000);
    assert!(!credit.has_room());
    credit.put(1, 1);
    assert!(!credit.take(1, 1));
    assert!(credit.take(20, 5000));
    assert!(!credit.take(0, 0));
    assert_eq!(credit.records(), 0);
}
