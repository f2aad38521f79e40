use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use weir_core::clock::{Clock, Now};

use super::drive;
use crate::actor::{Actor, Next, Signal};

struct Real(std::time::Instant);

#[expect(clippy::disallowed_methods, reason = "the clock of a test")]
fn real() -> Arc<dyn Clock> {
    Arc::new(Real(std::time::Instant::now()))
}

impl Clock for Real {
    fn now(&self) -> Now {
        Now { monotonic: self.0.elapsed(), wall: weir_core::ids::EventTime(0) }
    }
}

/// Raised so often, done after it.
struct Counter {
    signal: Arc<Signal>,
    steps: Arc<AtomicU32>,
    script: Vec<Next>,
}

impl Actor for Counter {
    fn name(&self) -> &str {
        "counter"
    }

    fn signal(&self) -> &Arc<Signal> {
        &self.signal
    }

    fn step(&mut self, now: Now) -> Next {
        self.steps.fetch_add(1, Ordering::SeqCst);
        match self.script.remove(0) {
            Next::At(after) => Next::At(now.monotonic + after),
            next => next,
        }
    }
}

#[tokio::test]
async fn an_actor_is_stepped_again_at_its_time_and_when_it_is_woken() {
    let signal = Signal::new();
    let steps = Arc::new(AtomicU32::new(0));
    let script = vec![Next::Again, Next::At(Duration::from_millis(2)), Next::Idle, Next::Done];
    let actor = Counter { signal: signal.clone(), steps: steps.clone(), script };
    let driven = tokio::spawn(drive(Box::new(actor), real()));
    while steps.load(Ordering::SeqCst) < 3 {
        tokio::task::yield_now().await;
    }
    signal.raise();
    driven.await.unwrap();
    assert_eq!(steps.load(Ordering::SeqCst), 4);
}

#[tokio::test]
async fn a_signal_raised_before_the_actor_is_driven_is_not_lost() {
    let signal = Signal::new();
    signal.raise();
    let steps = Arc::new(AtomicU32::new(0));
    let script = vec![Next::Idle, Next::Done];
    let actor = Counter { signal: signal.clone(), steps: steps.clone(), script };
    drive(Box::new(actor), real()).await;
    assert_eq!(steps.load(Ordering::SeqCst), 2);
}
