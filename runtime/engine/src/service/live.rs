//! Figures of all pipelines once a second, only while somebody listens.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::sync::broadcast;
use weir_core::ids::EventTime;

use super::{Engine, Lifecycle, Overview, lock};

/// From one sample to the next.
const EVERY: Duration = Duration::from_secs(1);
/// Samples that a slow listener may be behind before it loses the oldest.
const BEHIND: usize = 4;

/// One sample.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures {
    /// When.
    pub at: EventTime,
    /// Every pipeline.
    pub pipelines: Vec<Overview>,
}

/// What a listener gets.
pub struct LiveFeed {
    /// The sample of this moment.
    pub now: Arc<Figures>,
    /// Samples to come.
    pub figures: broadcast::Receiver<Arc<Figures>>,
    /// Events that the listener missed.
    pub missed: Vec<Arc<Lifecycle>>,
    /// Events to come.
    pub events: broadcast::Receiver<Arc<Lifecycle>>,
}

/// The sampler, while it runs.
#[derive(Default)]
pub(super) struct Live {
    sender: Mutex<Option<broadcast::Sender<Arc<Figures>>>>,
}

impl Engine {
    /// Listens from now on; with the id of the last event that was seen, also to
    /// those since.
    pub fn listen(self: &Arc<Self>, last_event: Option<u64>) -> LiveFeed {
        let (missed, events) = self.events.listen(last_event);
        let mut sender = lock(&self.live.sender);
        let figures = match &*sender {
            Some(sender) => sender.subscribe(),
            None => {
                let (new, receiver) = broadcast::channel(BEHIND);
                *sender = Some(new.clone());
                self.in_background(sample(Arc::downgrade(self), new));
                receiver
            }
        };
        drop(sender);
        LiveFeed { now: Arc::new(self.sample()), figures, missed, events }
    }

    fn sample(&self) -> Figures {
        Figures { at: self.clock.now().wall, pipelines: self.overviews() }
    }

    /// Ends the sampler if nobody listens.
    fn nobody_listens(&self) -> bool {
        let mut sender = lock(&self.live.sender);
        let nobody = sender.as_ref().is_none_or(|sender| sender.receiver_count() == 0);
        if nobody {
            *sender = None;
        }
        nobody
    }
}

async fn sample(engine: std::sync::Weak<Engine>, sender: broadcast::Sender<Arc<Figures>>) {
    let mut ticks = tokio::time::interval(EVERY);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    ticks.tick().await;
    loop {
        ticks.tick().await;
        let Some(engine) = engine.upgrade() else { return };
        if engine.nobody_listens() {
            return;
        }
        let _ = sender.send(Arc::new(engine.sample()));
    }
}
