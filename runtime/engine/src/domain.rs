//! A commit domain: the actors of one running pipeline, and the handle to them.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use weir_core::{
    clock::Clock,
    guest::GuestFactory,
    ids::{Epoch, InvocationId, NodeId, PipelineName},
    ingress::{IngressRequest, Response},
    plan::{NodeKind, Plan},
    rows::Change,
    unit::Waiting,
};
use weir_store::Store;

pub use crate::build::build;
use crate::{
    coordinator::{self, Board, Control, Event},
    error::EngineError,
    figures::{Figures, Snapshot},
    ingress::Command,
    mailbox::Mailbox,
    tuning::Tuning,
};

/// All that it takes to run a pipeline.
pub struct DomainConfig {
    /// The pipeline; its domain in the store is `pipeline/<name>`.
    pub name: PipelineName,
    /// What to run.
    pub plan: Arc<Plan>,
    /// New whenever the pipeline is created or restored (rule P9).
    pub incarnation: u32,
    /// A factory per operator of the plan.
    pub guests: HashMap<NodeId, Arc<dyn GuestFactory>>,
    /// Where it is committed. All topics of the plan exist there.
    pub store: Arc<Store>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Decides the jitter of retries and the random bytes of guests. Drawn from the
    /// operating system in the shipped binary, given by the simulation.
    pub seed: u64,
    /// Sizes and times.
    pub tuning: Tuning,
    /// Begin paused?
    pub paused: bool,
}

/// What a pipeline is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// It takes in what comes.
    Running,
    /// It takes nothing in and keeps everything. What was taken in goes on.
    Paused,
    /// It works off what runs and makes its last commit.
    Stopping,
    /// Its last commit is durable and its actors are done.
    Stopped,
    /// It stopped for this reason. Its last commit holds; it goes on from there when
    /// it is loaded again.
    Failed(String),
}

/// The status, and what hinders at present.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// What it is doing.
    pub status: Status,
    /// Why it does not get on, if it does not: a full disk, for example. Sources
    /// rest meanwhile.
    pub notice: Option<String>,
}

/// Is told every change of health, in order. Must be quick and must not ask the
/// handle.
pub type Watcher = Box<dyn Fn(&Health) + Send + Sync>;

/// Gets the response to a request, after the commit that holds it (rule P5). Dropped
/// without being called if the pipeline stops before; the request is then kept if it
/// was committed, and a repeat with its idempotency key finds it.
pub type Respond = Box<dyn FnOnce(Response) + Send>;

/// Gets the durable epoch that holds an amendment.
pub type Amended = Box<dyn FnOnce(Result<Epoch, EngineError>) + Send>;

/// Tells a running pipeline what to do. Clones speak to the same one.
#[derive(Clone)]
pub struct DomainHandle {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) plan: Arc<Plan>,
    /// By node: what waits there.
    pub(crate) waiting: Vec<Arc<Waiting>>,
    pub(crate) figures: Arc<Figures>,
    pub(crate) board: Arc<Board>,
    pub(crate) events: Mailbox<Event>,
    pub(crate) commands: Mailbox<Command>,
    /// Of all tasks.
    pub(crate) lines: Vec<Mailbox<Control>>,
    /// By node, then by shard.
    pub(crate) controls: Vec<Vec<Mailbox<Control>>>,
    pub(crate) tickets: AtomicU64,
}

impl DomainHandle {
    /// Takes nothing more in; what was taken in goes on.
    pub fn pause(&self) {
        self.command(coordinator::Command::Pause);
    }

    /// Takes in again after a pause.
    pub fn resume(&self) {
        self.command(coordinator::Command::Resume);
    }

    /// Works off what runs for a while, makes a last commit, then all actors are done
    /// and the status is [`Status::Stopped`].
    pub fn stop(&self) {
        self.command(coordinator::Command::Stop);
    }

    /// Stops without a commit, as if the process had died: for whoever steps the
    /// actors, if one is lost, be it the coordinator.
    pub fn fail(&self, reason: String) {
        self.inner.board.fail(&reason);
        self.inner.lines.iter().for_each(|line| line.post(Control::Shutdown));
        self.inner.events.post(Event::Failed(reason));
    }

    /// The health now.
    #[must_use]
    pub fn health(&self) -> Health {
        self.inner.board.health()
    }

    /// Tells the watcher the health, now and at every change.
    pub fn watch(&self, watcher: Watcher) {
        self.inner.board.watch(watcher);
    }

    /// A call or a send from outside. The request's ticket is given here and
    /// answered.
    ///
    /// # Errors
    /// [`EngineError::NotRunning`] if nothing is taken in at present;
    /// [`EngineError::Overloaded`] if too much waits at the operator.
    pub fn request(
        &self,
        mut request: IngressRequest,
        respond: Respond,
    ) -> Result<u64, EngineError> {
        let health = self.health();
        if health.status != Status::Running || health.notice.is_some() {
            return Err(EngineError::NotRunning);
        }
        if let Some(node) = self.inner.plan.node(&request.operator)
            && self.inner.waiting.get(usize::from(node.index)).is_some_and(|w| w.is_over())
        {
            return Err(EngineError::Overloaded(node.id.clone()));
        }
        let ticket = self.ticket();
        request.ticket = ticket;
        self.inner.commands.post(Command::Request(request, respond));
        Ok(ticket)
    }

    /// Waits for the outcome of an invocation that came in by a request.
    pub fn attach(&self, invocation: InvocationId, respond: Respond) -> u64 {
        let ticket = self.ticket();
        self.inner.commands.post(Command::Attach(ticket, invocation, respond));
        ticket
    }

    /// Whoever has this ticket is answered no more; the request goes on.
    pub fn detach(&self, ticket: u64) {
        self.inner.commands.post(Command::Detach(ticket));
    }

    /// Cancels an invocation that came in by a request, and waits until that is decided
    /// and durable: it may have ended before.
    pub fn cancel(&self, invocation: InvocationId, respond: Respond) -> u64 {
        let ticket = self.ticket();
        self.inner.commands.post(Command::Cancel(ticket, invocation, respond));
        ticket
    }

    /// Asks how far an invocation is that came in by a request.
    pub fn look(&self, invocation: InvocationId, respond: Respond) -> u64 {
        let ticket = self.ticket();
        self.inner.commands.post(Command::Look(ticket, invocation, respond));
        ticket
    }

    /// Discards a dead letter: its row goes, and its key is released if it was
    /// blocked. Discarding what is not there is no error.
    pub fn discard(&self, operator: &NodeId, dead_letter: InvocationId, done: Amended) {
        let node = self.inner.plan.node(operator.as_str());
        let Some(node) = node.filter(|node| matches!(node.kind, NodeKind::Operator(_))) else {
            done(Err(EngineError::NoModule(operator.clone())));
            return;
        };
        if matches!(self.health().status, Status::Stopped | Status::Failed(_)) {
            done(Err(EngineError::NotRunning));
            return;
        }
        let lines = self.inner.controls.get(usize::from(node.index)).cloned().unwrap_or_default();
        self.inner.events.post(Event::Discard { lines, node: node.index, dead_letter, done });
    }

    /// Changes rows that no task holds in memory, with the next commit.
    pub fn amend(&self, changes: Vec<Change>, done: Amended) {
        if matches!(self.health().status, Status::Stopped | Status::Failed(_)) {
            done(Err(EngineError::NotRunning));
            return;
        }
        self.inner.events.post(Event::Amend(changes, done));
    }

    /// Plants a defect: a shard of an operator counts one event too many.
    #[cfg(feature = "faults")]
    pub fn plant_miscount(&self, operator: &NodeId) {
        if let Some(node) = self.inner.plan.node(operator.as_str())
            && let Some(control) =
                self.inner.controls.get(usize::from(node.index)).and_then(|shards| shards.first())
        {
            control.post(Control::Miscount { node: node.index });
        }
    }

    /// The live figures.
    #[must_use]
    pub fn figures(&self) -> Snapshot {
        self.inner.figures.snapshot(&self.inner.plan)
    }

    /// The last durable epoch.
    #[must_use]
    pub fn epoch(&self) -> Epoch {
        self.inner.figures.epoch()
    }

    /// What it runs.
    #[must_use]
    pub fn plan(&self) -> &Arc<Plan> {
        &self.inner.plan
    }

    fn command(&self, command: coordinator::Command) {
        self.inner.events.post(Event::Command(command));
    }

    fn ticket(&self) -> u64 {
        self.inner.tickets.fetch_add(1, Ordering::Relaxed)
    }
}
