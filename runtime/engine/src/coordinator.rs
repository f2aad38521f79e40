//! Ends epochs (rule P1): sends barriers, gathers the deltas, submits one commit,
//! and tells everybody when it is durable. Also carries the pipeline from one
//! status to the next.
//!
//! | phase | until | then |
//! |---|---|---|
//! | running | a barrier is due | aligning |
//! | aligning | every task has handed over | storing |
//! | storing | the store answers: durable | running, or the end after the last one |
//! | | the disk is full | refused |
//! | | anything else | failed |
//! | refused | the pause is over | storing |
//!
//! While a commit is refused the sources are stopped and nothing is lost: the delta
//! is kept as it is.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use weir_core::{
    clock::Now,
    epoch::{Due, Pace},
    ids::{Epoch, InvocationId},
    rows::Change,
};
use weir_store::{Append, Commit, DomainName, StoreError};

use crate::{
    actor::{Actor, Next, Signal},
    domain::{Amended, Health, Status, Watcher},
    error::EngineError,
    mailbox::Mailbox,
    network::Network,
    shared::Shared,
};

/// How often it is looked whether everything has been worked off.
const DRAIN_LOOK: Duration = Duration::from_millis(5);

/// What the coordinator is told.
pub(crate) enum Event {
    /// A task hands over.
    Delta { rows: Vec<Change>, appends: Vec<Append> },
    /// The store answers.
    Stored(Result<Epoch, StoreError>),
    /// A person commands.
    Command(Command),
    /// Rows that no task holds in memory.
    Amend(Vec<Change>, Amended),
    /// A dead letter to be discarded by the shards of an operator.
    Discard { lines: Vec<Mailbox<Control>>, node: u16, dead_letter: InvocationId, done: Amended },
    /// A shard has looked for it. Its epoch, if that has something to commit now.
    Discarded { ticket: u64, epoch: Option<Epoch> },
    /// An event asks to stop the pipeline, or an actor was lost.
    Failed(String),
    /// A task is done.
    Gone,
}

/// What a person commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Pause,
    Resume,
    Stop,
}

/// What a task is told.
pub(crate) enum Control {
    /// Hand over; this epoch begins. Only to tasks without stream input.
    Barrier(Epoch),
    /// This epoch is durable.
    Committed(Epoch),
    /// Discard a dead letter, answer with [`Event::Discarded`].
    Discard { node: u16, dead_letter: InvocationId, ticket: u64 },
    /// Count one event too many.
    #[cfg(feature = "faults")]
    Miscount { node: u16 },
    /// Be done.
    Shutdown,
}

/// How the coordinator reaches a task.
pub(crate) struct Line {
    pub(crate) control: Mailbox<Control>,
    /// Has it no stream input? Then its barrier comes from here.
    pub(crate) is_root: bool,
}

/// Health and who watches it.
#[derive(Default)]
pub(crate) struct Board {
    state: Mutex<(Option<Health>, Vec<Watcher>)>,
}

/// The actor.
pub(crate) struct Coordinator {
    name: String,
    signal: Arc<Signal>,
    domain: DomainName,
    shared: Arc<Shared>,
    network: Arc<Network>,
    events: Mailbox<Event>,
    lines: Vec<Line>,
    board: Arc<Board>,
    /// In which the tasks are, or will be after the barrier that is under way.
    running: Epoch,
    phase: Phase,
    due: Due,
    began: Duration,
    health: Health,
    ending: Option<Ending>,
    amended: Vec<Change>,
    waiting: Vec<Waiting>,
    tickets: u64,
    gone: usize,
}

enum Phase {
    Running,
    Aligning { missing: usize, commit: Commit },
    Storing { commit: Arc<Commit> },
    Refused { commit: Arc<Commit>, again: Duration },
    Leaving,
    Done,
}

/// A stop under way.
struct Ending {
    deadline: Duration,
    last: bool,
}

/// Somebody who waits for a commit.
struct Waiting {
    ticket: u64,
    /// Shards that have not answered.
    open: usize,
    epoch: Epoch,
    done: Amended,
}

impl Coordinator {
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn new(
        name: String,
        domain: DomainName,
        shared: Arc<Shared>,
        network: Arc<Network>,
        events: Mailbox<Event>,
        signal: Arc<Signal>,
        lines: Vec<Line>,
        board: Arc<Board>,
        running: Epoch,
        status: Status,
    ) -> Self {
        let tuning = &shared.tuning;
        let pace = Pace {
            min: tuning.epoch_min,
            max: tuning.epoch_max,
            behind: tuning.epoch_behind,
            bytes: tuning.epoch_bytes,
        };
        let health = Health { status, notice: None };
        board.show(&health);
        let coordinator = Self {
            name,
            signal,
            domain,
            shared,
            network,
            events,
            lines,
            board,
            running,
            phase: Phase::Running,
            due: Due::new(pace),
            began: Duration::ZERO,
            health,
            ending: None,
            amended: Vec::new(),
            waiting: Vec::new(),
            tickets: 0,
            gone: 0,
        };
        coordinator.set_intake();
        coordinator
    }

    fn on_event(&mut self, now: Now, event: Event) {
        match event {
            Event::Delta { rows, appends } => self.on_delta(rows, appends),
            Event::Stored(outcome) => self.on_stored(now, outcome),
            Event::Command(command) => self.on_command(now, command),
            Event::Amend(changes, done) => {
                self.amended.extend(changes);
                self.shared.touch(self.running);
                self.waiting.push(Waiting { ticket: 0, open: 0, epoch: self.running, done });
            }
            Event::Discard { lines, node, dead_letter, done } => {
                self.tickets += 1;
                let ticket = self.tickets;
                self.waiting.push(Waiting { ticket, open: lines.len(), epoch: Epoch(0), done });
                lines
                    .iter()
                    .for_each(|line| line.post(Control::Discard { node, dead_letter, ticket }));
            }
            Event::Discarded { ticket, epoch } => {
                if let Some(waiting) =
                    self.waiting.iter_mut().find(|w| w.ticket == ticket && w.open > 0)
                {
                    waiting.open -= 1;
                    waiting.epoch = waiting.epoch.max(epoch.unwrap_or_default());
                }
                self.answer_waiting();
            }
            Event::Failed(reason) => self.fail(reason),
            Event::Gone => {
                self.gone += 1;
                if matches!(self.phase, Phase::Leaving) && self.gone == self.lines.len() {
                    self.phase = Phase::Done;
                    self.set_health(Status::Stopped, None);
                }
            }
        }
    }

    fn on_command(&mut self, now: Now, command: Command) {
        match (command, &self.health.status) {
            (Command::Pause, Status::Running) => {
                self.set_health(Status::Paused, self.health.notice.clone())
            }
            (Command::Resume, Status::Paused) => {
                self.set_health(Status::Running, self.health.notice.clone())
            }
            (Command::Stop, Status::Running | Status::Paused) => {
                self.set_health(Status::Stopping, self.health.notice.clone());
                self.shared.drain();
                self.ending = Some(Ending {
                    deadline: now.monotonic + self.shared.tuning.drain,
                    last: false,
                });
            }
            _ => {}
        }
        self.set_intake();
    }

    /// Sends the barrier that ends the running epoch.
    fn barrier(&mut self, now: Now) {
        let ending = self.running;
        self.running = ending.next();
        self.due.on_barrier();
        self.began = now.monotonic;
        let commit = Commit {
            domain: self.domain.clone(),
            epoch: ending,
            rows: std::mem::take(&mut self.amended),
            appends: Vec::new(),
        };
        self.phase = Phase::Aligning { missing: self.lines.len(), commit };
        for line in self.lines.iter().filter(|line| line.is_root) {
            line.control.post(Control::Barrier(self.running));
        }
    }

    fn on_delta(&mut self, rows: Vec<Change>, appends: Vec<Append>) {
        let Phase::Aligning { missing, commit } = &mut self.phase else { return };
        if commit.rows.is_empty() {
            commit.rows = rows;
        } else {
            commit.rows.extend(rows);
        }
        commit.appends.extend(appends);
        *missing -= 1;
        if *missing == 0
            && let Phase::Aligning { commit, .. } =
                std::mem::replace(&mut self.phase, Phase::Running)
        {
            self.shared.clear_bytes(commit.epoch);
            self.submit(Arc::new(commit));
        }
    }

    fn submit(&mut self, commit: Arc<Commit>) {
        self.phase = Phase::Storing { commit: commit.clone() };
        let events = self.events.clone();
        self.shared.store.submit(
            (*commit).clone(),
            Box::new(move |outcome| {
                events.post(Event::Stored(outcome.map(|receipt| receipt.epoch)))
            }),
        );
    }

    fn on_stored(&mut self, now: Now, outcome: Result<Epoch, StoreError>) {
        let Phase::Storing { commit } = &self.phase else { return };
        let commit = commit.clone();
        match outcome {
            Ok(epoch) => {
                self.phase = Phase::Running;
                self.due.on_committed(now.monotonic);
                self.shared.figures.committed(epoch, now.monotonic.saturating_sub(self.began));
                for line in &self.lines {
                    line.control.post(Control::Committed(epoch));
                }
                if self.health.notice.is_some() {
                    tracing::info!(pipeline = %self.domain, "the store takes commits again");
                    self.set_health(self.health.status.clone(), None);
                }
                self.set_intake();
                self.answer_waiting();
                if self.ending.as_ref().is_some_and(|ending| ending.last) {
                    self.leave();
                }
            }
            Err(StoreError::Full) => {
                self.phase =
                    Phase::Refused { commit, again: now.monotonic + self.shared.tuning.full_retry };
                self.set_health(self.health.status.clone(), Some(StoreError::Full.to_string()));
                self.set_intake();
            }
            Err(error) => self.fail(format!("the store refused a commit: {error}")),
        }
    }

    /// Everything is committed: tells the tasks to be done.
    fn leave(&mut self) {
        self.phase = Phase::Leaving;
        self.refuse_waiting();
        self.shutdown();
    }

    fn fail(&mut self, reason: String) {
        if matches!(self.phase, Phase::Done) {
            return;
        }
        tracing::error!(pipeline = %self.domain, "failed: {reason}");
        self.phase = Phase::Done;
        self.health = Health { status: Status::Failed(reason.clone()), notice: None };
        self.board.fail(&reason);
        self.set_intake();
        self.refuse_waiting();
        self.shutdown();
    }

    fn shutdown(&self) {
        self.lines.iter().for_each(|line| line.control.post(Control::Shutdown));
    }

    /// Calls back those whose commit is durable.
    fn answer_waiting(&mut self) {
        let durable = Epoch(self.durable());
        let (ready, waiting) = std::mem::take(&mut self.waiting)
            .into_iter()
            .partition(|waiting| waiting.open == 0 && waiting.epoch <= durable);
        self.waiting = waiting;
        let ready: Vec<Waiting> = ready;
        ready.into_iter().for_each(|waiting| (waiting.done)(Ok(durable)));
    }

    fn refuse_waiting(&mut self) {
        for waiting in self.waiting.drain(..) {
            (waiting.done)(Err(EngineError::NotRunning));
        }
    }

    fn durable(&self) -> u64 {
        match &self.phase {
            Phase::Running | Phase::Leaving | Phase::Done => self.running.0 - 1,
            Phase::Aligning { .. } | Phase::Storing { .. } | Phase::Refused { .. } => {
                self.running.0.saturating_sub(2)
            }
        }
    }

    /// Has everything that was taken in been worked off?
    fn is_drained(&self) -> bool {
        self.network.is_quiet() && self.shared.figures.is_quiet()
    }

    fn set_intake(&self) {
        self.shared.set_open(self.health.status == Status::Running && self.health.notice.is_none());
    }

    fn set_health(&mut self, status: Status, notice: Option<String>) {
        let health = Health { status, notice };
        if health != self.health {
            tracing::debug!(pipeline = %self.domain, status = ?health.status, notice = ?health.notice, "status");
            self.health = health;
            self.board.show(&self.health);
        }
    }

    fn next(&mut self, now: Now) -> Next {
        let again = match &self.phase {
            Phase::Refused { again, .. } => Some(*again),
            _ => None,
        };
        if let Some(again) = again {
            if now.monotonic < again {
                return Next::At(again);
            }
            if let Phase::Refused { commit, .. } =
                std::mem::replace(&mut self.phase, Phase::Running)
            {
                self.submit(commit);
            }
            return Next::Idle;
        }
        match self.phase {
            Phase::Done => Next::Done,
            Phase::Running => self.next_epoch(now),
            _ => Next::Idle,
        }
    }

    /// Sends the barrier if it is due.
    fn next_epoch(&mut self, now: Now) -> Next {
        let dirty = self.shared.is_dirty(self.running);
        if dirty {
            self.due.on_change(now.monotonic);
        }
        let ended = match &self.ending {
            Some(ending) => now.monotonic >= ending.deadline || self.is_drained(),
            None => false,
        };
        if ended && let Some(ending) = &mut self.ending {
            ending.last = true;
            if dirty {
                self.barrier(now);
            } else {
                self.leave();
            }
            return Next::Idle;
        }
        let behind = self.shared.behind() > 4 * self.shared.tuning.batch_records as u64;
        let due = self.due.at(self.shared.bytes(self.running), behind);
        match due {
            Some(at) if at <= now.monotonic => {
                self.barrier(now);
                Next::Idle
            }
            due => {
                let look = self
                    .ending
                    .as_ref()
                    .map(|ending| ending.deadline.min(now.monotonic + DRAIN_LOOK));
                match [due, look].into_iter().flatten().min() {
                    Some(at) => Next::At(at),
                    None => Next::Idle,
                }
            }
        }
    }
}

/// Whoever asks from now on, or has asked and was not heard, gets no answer.
impl Drop for Coordinator {
    fn drop(&mut self) {
        self.events.close();
    }
}

impl Actor for Coordinator {
    fn name(&self) -> &str {
        &self.name
    }

    fn signal(&self) -> &Arc<Signal> {
        &self.signal
    }

    fn step(&mut self, now: Now) -> Next {
        for _ in 0..self.shared.tuning.messages_per_step {
            let Some(event) = self.events.pop() else { break };
            self.on_event(now, event);
        }
        if matches!(self.phase, Phase::Done) {
            return Next::Done;
        }
        let next = self.next(now);
        if self.events.is_empty() { next } else { Next::Again }
    }
}

impl Board {
    /// The health now.
    pub(crate) fn health(&self) -> Health {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.0.clone().unwrap_or(Health { status: Status::Stopped, notice: None })
    }

    /// Tells it to a watcher, now and at every change.
    pub(crate) fn watch(&self, watcher: Watcher) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(health) = &state.0 {
            watcher(health);
        }
        state.1.push(watcher);
    }

    /// The pipeline is lost, unless it has come to an end before.
    pub(crate) fn fail(&self, reason: &str) {
        if !matches!(self.health().status, Status::Stopped | Status::Failed(_)) {
            self.show(&Health { status: Status::Failed(reason.into()), notice: None });
        }
    }

    fn show(&self, health: &Health) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.0 = Some(health.clone());
        state.1.iter().for_each(|watcher| watcher(health));
    }
}
