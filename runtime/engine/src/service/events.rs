//! Lifecycle events: what happened to pipelines, with ids, for those who watch.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::broadcast;
use weir_core::{
    clock::Clock,
    ids::{EventTime, PipelineName},
};

/// How many events are kept for watchers that were away.
const KEPT: usize = 1_000;

/// Something that happened to a pipeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lifecycle {
    /// Ascending; begins anew with the process.
    pub id: u64,
    /// When.
    pub at: EventTime,
    /// To which.
    pub pipeline: PipelineName,
    /// `deployed`, `started`, `paused`, `resumed`, `stopped`, `failed`, `deleted`,
    /// `discarded`, `unbalanced`, ..
    pub what: &'static str,
    /// A sentence for people.
    pub message: String,
}

/// The events of late, and those who listen.
pub(super) struct Events {
    clock: Arc<dyn Clock>,
    kept: Mutex<Kept>,
}

struct Kept {
    next: u64,
    events: VecDeque<Arc<Lifecycle>>,
    listeners: broadcast::Sender<Arc<Lifecycle>>,
}

impl Events {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        let (listeners, _) = broadcast::channel(KEPT);
        Self { clock, kept: Mutex::new(Kept { next: 1, events: VecDeque::new(), listeners }) }
    }

    /// Writes one log line and tells the listeners.
    pub(super) fn tell(
        &self,
        pipeline: &PipelineName,
        what: &'static str,
        message: impl Into<String>,
    ) {
        let message = message.into();
        match what {
            "failed" | "unbalanced" => tracing::error!(%pipeline, what, "{message}"),
            "hindered" => tracing::warn!(%pipeline, what, "{message}"),
            _ => tracing::info!(%pipeline, what, "{message}"),
        }
        let at = self.clock.now().wall;
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let event =
            Arc::new(Lifecycle { id: kept.next, at, pipeline: pipeline.clone(), what, message });
        kept.next += 1;
        if kept.events.len() == KEPT {
            kept.events.pop_front();
        }
        kept.events.push_back(event.clone());
        let _ = kept.listeners.send(event);
    }

    /// The kept events with a higher id than `after` (none without it), and those
    /// to come.
    pub(super) fn listen(
        &self,
        after: Option<u64>,
    ) -> (Vec<Arc<Lifecycle>>, broadcast::Receiver<Arc<Lifecycle>>) {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        // An id from before a restart is higher than all: then everything is new.
        let after = after.map(|id| if id >= kept.next { 0 } else { id });
        let missed = match after {
            Some(after) => kept.events.iter().filter(|event| event.id > after).cloned().collect(),
            None => Vec::new(),
        };
        (missed, kept.listeners.subscribe())
    }
}

#[cfg(test)]
mod tests;
