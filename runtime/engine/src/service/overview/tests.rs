use super::*;

const fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

#[test]
fn busy_is_the_share_of_the_time_since_the_last_sample() {
    let mut busy = BusyShare::default();
    assert_eq!(busy.share(seconds(10), &[seconds(3), seconds(0)], &[1, 2]), [0.0, 0.0]);
    assert_eq!(busy.share(seconds(12), &[seconds(4), seconds(4)], &[1, 2]), [0.5, 1.0]);
}

#[test]
fn two_askers_in_one_moment_see_the_same_share() {
    let mut busy = BusyShare::default();
    busy.share(seconds(10), &[seconds(0)], &[1]);
    busy.share(seconds(12), &[seconds(1)], &[1]);
    assert_eq!(busy.share(seconds(12) + Duration::from_millis(100), &[seconds(1)], &[1]), [0.5]);
}

#[test]
fn what_goes_to_two_consumers_is_given_away_once() {
    let mut base = Base::default();
    for (port, to, n) in [("out", "a", 5), ("out", "b", 5), ("rejected", "c", 2)] {
        base.sent.insert(("order".into(), port.into(), to.into()), n);
    }
    assert_eq!(base.given("order"), 7);
    assert_eq!(base.received("b"), 5);
}
