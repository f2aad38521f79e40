use weir_core::clock::Now;

use super::*;

struct Still;

impl Clock for Still {
    fn now(&self) -> Now {
        Now { monotonic: std::time::Duration::ZERO, wall: EventTime(7) }
    }
}

fn events(n: u64) -> Events {
    let events = Events::new(Arc::new(Still));
    let pipeline: PipelineName = "p".parse().unwrap();
    for i in 1..=n {
        events.tell(&pipeline, "started", format!("event {i}"));
    }
    events
}

fn ids(missed: &[Arc<Lifecycle>]) -> Vec<u64> {
    missed.iter().map(|event| event.id).collect()
}

#[test]
fn a_listener_that_was_away_gets_what_it_missed() {
    let events = events(5);
    assert_eq!(ids(&events.listen(Some(3)).0), [4, 5]);
    assert_eq!(ids(&events.listen(None).0), [0; 0]);
}

#[test]
fn an_id_from_before_a_restart_gets_everything() {
    assert_eq!(ids(&events(2).listen(Some(900)).0), [1, 2]);
}

#[test]
fn only_the_newest_events_are_kept() {
    let events = events(KEPT as u64 + 5);
    let missed = events.listen(Some(0)).0;
    assert_eq!(missed.len(), KEPT);
    assert_eq!(missed[0].id, 6);
}

#[test]
fn events_to_come_follow_without_a_gap() {
    let events = events(1);
    let (missed, mut receiver) = events.listen(Some(0));
    events.tell(&"p".parse().unwrap(), "paused", "x");
    assert_eq!(ids(&missed), [1]);
    assert_eq!(receiver.try_recv().unwrap().id, 2);
}
