//! Steps actors on tokio: one task per actor, the only place where the engine
//! sleeps.

use std::{future::Future, sync::Arc, time::Duration};

use tokio::{runtime::Handle, sync::Notify, task::JoinSet};
use weir_core::clock::Clock;

use crate::{
    actor::{Actor, Next},
    domain::DomainHandle,
};

/// The tasks that step the actors of a pipeline. To be joined by its owner after
/// [`DomainHandle::stop`]; dropping it aborts them.
pub struct Crew {
    tasks: JoinSet<()>,
}

/// Begins to step actors on a runtime. If one panics, the pipeline fails.
#[must_use]
pub fn spawn(
    actors: Vec<Box<dyn Actor>>,
    domain: &DomainHandle,
    clock: &Arc<dyn Clock>,
    on: &Handle,
) -> Crew {
    let mut tasks = JoinSet::new();
    for actor in actors {
        let name = actor.name().to_owned();
        let domain = domain.clone();
        let task = drive(actor, clock.clone());
        let guarded = async move {
            let guard = Guard { domain, name, done: false };
            task.await;
            guard.finish();
        };
        tasks.spawn_on(guarded, on);
    }
    Crew { tasks }
}

impl Crew {
    /// Waits until every actor is done.
    pub async fn join(mut self) {
        while self.tasks.join_next().await.is_some() {}
    }
}

/// Fails the pipeline if it is dropped before the actor is done.
struct Guard {
    domain: DomainHandle,
    name: String,
    done: bool,
}

impl Guard {
    fn finish(mut self) {
        self.done = true;
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if !self.done {
            self.domain
                .fail(format!("the task `{}` was lost; this is a defect of Weir", self.name));
        }
    }
}

fn drive(mut actor: Box<dyn Actor>, clock: Arc<dyn Clock>) -> impl Future<Output = ()> + Send {
    let notify = Arc::new(Notify::new());
    let hook = notify.clone();
    actor.signal().on_raise(move || hook.notify_one());
    async move {
        loop {
            actor.signal().lower();
            let now = clock.now();
            match actor.step(now) {
                Next::Done => return,
                Next::Again => tokio::task::yield_now().await,
                Next::Idle => notify.notified().await,
                Next::At(time) => {
                    let rest = time.saturating_sub(now.monotonic).max(Duration::from_micros(100));
                    tokio::select! {
                        () = notify.notified() => {}
                        () = tokio::time::sleep(rest) => {}
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
