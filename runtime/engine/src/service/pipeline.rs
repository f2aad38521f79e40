//! One deployed pipeline: what is wanted of it, what runs of it.
//!
//! | phase | domain | status |
//! |---|---|---|
//! | down | none | `stopped` |
//! | starting | being built | what is wanted, with a reason |
//! | up | its own | `running`, `paused`, `failed` or `finished`, as it says |
//! | failed | none | `failed`, with a reason |

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::sync::watch;
use weir_core::{
    clock::Now,
    ids::{Epoch, PipelineName},
    plan::{ModulePin, Plan},
};

use super::{
    Error, lock,
    overview::{Base, BusyShare},
    record::{Kept, Wanted},
};
use crate::{
    domain::{DomainHandle, Status},
    figures::Snapshot,
    shell::Crew,
};

/// What a pipeline is doing, as people see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PipelineStatus {
    /// It takes in what comes.
    Running,
    /// It takes nothing in and keeps everything.
    Paused,
    /// It is not loaded.
    Stopped,
    /// Its sources have ended and everything has been worked off.
    Finished,
    /// It cannot go on by itself.
    Failed,
}

impl PipelineStatus {
    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Stopped => "stopped",
            Self::Finished => "finished",
            Self::Failed => "failed",
        }
    }
}

/// A pipeline of the engine.
pub(super) struct Pipeline {
    pub(super) name: PipelineName,
    /// Held by whoever changes the pipeline: one change at a time.
    pub(super) change: Arc<tokio::sync::Mutex<()>>,
    /// What the domain that is up said last of its status.
    pub(super) said: watch::Sender<Option<Status>>,
    view: Mutex<View>,
}

struct View {
    deployed: Option<Revision>,
    phase: Phase,
    base: Base,
    busy: BusyShare,
    /// The last audit: of which commit, and whether it was balanced.
    audited: Option<(Epoch, bool)>,
}

/// The revision that is deployed.
#[derive(Clone)]
pub(super) struct Revision {
    pub(super) number: u32,
    pub(super) file: Arc<str>,
    pub(super) pins: Arc<[ModulePin]>,
    /// `None`: the stored file can no longer be read.
    pub(super) plan: Option<Arc<Plan>>,
    pub(super) kept: Kept,
}

enum Phase {
    Down,
    Starting,
    Up { handle: DomainHandle, crew: Option<Crew> },
    Failed(String),
}

impl Pipeline {
    pub(super) fn new(name: PipelineName) -> Self {
        let view = View {
            deployed: None,
            phase: Phase::Down,
            base: Base::default(),
            busy: BusyShare::default(),
            audited: None,
        };
        Self {
            name,
            change: Arc::default(),
            said: watch::Sender::new(None),
            view: Mutex::new(view),
        }
    }

    pub(super) fn revision(&self) -> Option<Revision> {
        lock(&self.view).deployed.clone()
    }

    /// The revision of a pipeline that is deployed.
    ///
    /// # Errors
    /// [`Error::NotFound`] if it is not.
    pub(super) fn deployed(&self) -> Result<Revision, Error> {
        self.revision().ok_or_else(|| Error::not_found("pipeline", &self.name))
    }

    pub(super) fn plan(&self) -> Option<Arc<Plan>> {
        lock(&self.view).deployed.as_ref()?.plan.clone()
    }

    /// The handle of what runs, if something does.
    pub(super) fn handle(&self) -> Option<DomainHandle> {
        match &lock(&self.view).phase {
            Phase::Up { handle, .. } => Some(handle.clone()),
            _ => None,
        }
    }

    /// What the last audit said.
    pub(super) fn balanced(&self) -> Option<bool> {
        lock(&self.view).audited.map(|(_, balanced)| balanced)
    }

    /// The commit that was audited last.
    pub(super) fn audited(&self) -> Option<Epoch> {
        lock(&self.view).audited.map(|(epoch, _)| epoch)
    }

    /// Keeps what an audit said, and gives back what the one before did.
    pub(super) fn set_audited(&self, epoch: Epoch, balanced: bool) -> Option<bool> {
        lock(&self.view).audited.replace((epoch, balanced)).map(|(_, balanced)| balanced)
    }

    pub(super) fn incarnation(&self) -> Option<u32> {
        Some(lock(&self.view).deployed.as_ref()?.kept.incarnation)
    }

    /// What it is doing and why.
    pub(super) fn status(&self) -> (PipelineStatus, Option<String>) {
        let view = lock(&self.view);
        let wanted =
            view.deployed.as_ref().map_or(Wanted::Stopped, |revision| revision.kept.wanted);
        match &view.phase {
            Phase::Down => (PipelineStatus::Stopped, None),
            Phase::Failed(reason) => (PipelineStatus::Failed, Some(reason.clone())),
            Phase::Starting => {
                let status = if wanted == Wanted::Paused {
                    PipelineStatus::Paused
                } else {
                    PipelineStatus::Running
                };
                (status, Some("it is being loaded".into()))
            }
            Phase::Up { handle, .. } => {
                let health = handle.health();
                match health.status {
                    Status::Running => (PipelineStatus::Running, health.notice),
                    Status::Paused => (PipelineStatus::Paused, health.notice),
                    Status::Stopping => (
                        PipelineStatus::Running,
                        Some(health.notice.unwrap_or_else(|| "it is stopping".into())),
                    ),
                    Status::Stopped => (PipelineStatus::Stopped, health.notice),
                    Status::Failed(reason) => (PipelineStatus::Failed, Some(reason)),
                }
            }
        }
    }

    /// Waits until its domain has got to a status that fits, or has ended.
    pub(super) async fn until(&self, fits: impl Fn(&Status) -> bool) {
        let mut said = self.said.subscribe();
        let there = |said: &Option<Status>| match said {
            None | Some(Status::Stopped | Status::Failed(_)) => true,
            Some(status) => fits(status),
        };
        // It holds the sender itself: it cannot be dropped before.
        let _ = said.wait_for(there).await;
    }

    /// Why it has not recovered, if it has not.
    pub(super) fn unready(&self) -> Option<String> {
        match &lock(&self.view).phase {
            Phase::Starting => Some("it is being loaded".into()),
            Phase::Failed(reason) => Some(reason.clone()),
            Phase::Down | Phase::Up { .. } => None,
        }
    }

    pub(super) fn set_revision(&self, revision: Revision) {
        lock(&self.view).deployed = Some(revision);
    }

    pub(super) fn set_kept(&self, kept: Kept) {
        if let Some(revision) = &mut lock(&self.view).deployed {
            revision.kept = kept;
        }
    }

    pub(super) fn set_starting(&self) {
        self.said.send_replace(None);
        lock(&self.view).phase = Phase::Starting;
    }

    pub(super) fn set_down(&self) {
        self.said.send_replace(None);
        lock(&self.view).phase = Phase::Down;
    }

    pub(super) fn set_failed(&self, reason: impl Into<String>) {
        lock(&self.view).phase = Phase::Failed(reason.into());
    }

    pub(super) fn set_up(&self, handle: DomainHandle, crew: Crew, base: Base) {
        let mut view = lock(&self.view);
        view.phase = Phase::Up { handle, crew: Some(crew) };
        view.base = base;
        view.busy = BusyShare::default();
    }

    /// The base of its counters, for one that is not up.
    pub(super) fn set_base(&self, base: Base) {
        lock(&self.view).base = base;
    }

    /// The tasks of what runs, to be joined after a stop.
    pub(super) fn take_crew(&self) -> Option<Crew> {
        match &mut lock(&self.view).phase {
            Phase::Up { crew, .. } => crew.take(),
            _ => None,
        }
    }

    /// What its counters began with, its figures now, and each node's share of
    /// busy time.
    pub(super) fn figures(&self, now: Now) -> (Base, Option<Snapshot>, Vec<f64>) {
        let handle = self.handle();
        let snapshot = handle.map(|handle| handle.figures());
        let mut view = lock(&self.view);
        let shards: Vec<_> = match &view.deployed {
            Some(Revision { plan: Some(plan), .. }) => {
                plan.nodes.iter().map(|node| node.shards).collect()
            }
            _ => Vec::new(),
        };
        let busy = match &snapshot {
            Some(snapshot) => {
                let busy: Vec<_> = snapshot.nodes.iter().map(|node| node.busy).collect();
                view.busy.share(now.monotonic, &busy, &shards)
            }
            None => Vec::new(),
        };
        (view.base.clone(), snapshot, busy)
    }

    /// Stops what runs, within a bound, for an engine that closes. What is wanted
    /// stays wanted.
    pub(super) async fn close(&self, bound: Duration) {
        let _change = self.change.lock().await;
        let Some(handle) = self.handle() else { return };
        handle.stop();
        if let Some(crew) = self.take_crew()
            && tokio::time::timeout(bound, crew.join()).await.is_err()
        {
            tracing::warn!(pipeline = %self.name, "it did not stop in time and will go on from its last commit");
        }
        self.set_down();
    }
}
