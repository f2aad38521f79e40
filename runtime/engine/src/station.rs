//! One shard of one operator: its [`Unit`], which decides, and its guest, which
//! works. Carries out what the unit wants done.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::Ordering},
    time::Duration,
};

use weir_core::{
    batch::Batch,
    clock::{Clock, Now},
    failure::{Trap, TrapKind},
    guest::{Effects, Guest, GuestFactory},
    ids::{Epoch, InvocationId},
    message::{AskKind, Message, Stamped},
    rows::Change,
    unit::{Action, LogLine, Unit, Waiting},
};

use crate::{
    figures::{Figures, ShardFigures, add},
    network::Network,
    router::Outlet,
    shared::Shared,
    tuning::Tuning,
};

/// The longest pause before an instance is tried again.
const INSTANCE_RETRY_MAX: Duration = Duration::from_secs(30);

/// Runs of the guest in one step of the task.
const RUNS_PER_STEP: usize = 16;

/// What a step left to tell.
#[derive(Default)]
pub(crate) struct Settled {
    /// Is there something to commit?
    pub(crate) dirty: bool,
    /// How it holds the sources, if that has changed.
    pub(crate) holds: Option<bool>,
    /// By how many bytes the delta of this epoch has grown, about.
    pub(crate) grown: usize,
}

/// One shard of one operator.
pub(crate) struct Station {
    pub(crate) node: u16,
    pub(crate) shard: u16,
    pub(crate) outlets: Vec<Outlet>,
    name: String,
    unit: Arc<Mutex<Unit>>,
    waiting: Arc<Waiting>,
    factory: Arc<dyn GuestFactory>,
    instance: Instance,
    /// What is to be done, in order; waits if the guest is away.
    todo: VecDeque<Action>,
    /// Actions for a guest that is away.
    parked: VecDeque<Action>,
    /// Do no roots begin, because outputs have no room?
    held: bool,
    /// Has the guest something that it did not run yet?
    unrun: bool,
    /// Did the unit hear something since it was told last that the guest waits?
    news: bool,
    /// Events given away by handlers, not routed yet.
    out: Batch,
    /// Batches to be routed, in order.
    ready: VecDeque<Arc<Batch>>,
    /// Has the unit changed since its figures were taken?
    touched: bool,
    halted: Option<String>,
    holds: bool,
    /// Bytes of this epoch's delta that were told.
    delta: usize,
    holds_all: bool,
    sent_to: bool,
    counted: Counted,
    network: Arc<Network>,
    figures: Arc<Figures>,
}

/// The guest, or when to try again to make one.
struct Instance {
    guest: Option<Box<dyn Guest>>,
    retry_at: Duration,
    pause: Duration,
    first_pause: Duration,
}

/// Totals of the unit when the pipeline was loaded: figures begin at zero.
#[derive(Default)]
struct Counted {
    taken: u64,
    dead_lettered: u64,
}

impl Station {
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn new(
        name: String,
        node: u16,
        shard: u16,
        unit: Unit,
        waiting: Arc<Waiting>,
        factory: Arc<dyn GuestFactory>,
        outlets: Vec<Outlet>,
        network: Arc<Network>,
        figures: Arc<Figures>,
        tuning: &Tuning,
    ) -> Self {
        let counts = unit.figures().counts;
        Self {
            node,
            shard,
            outlets,
            name,
            unit: Arc::new(Mutex::new(unit)),
            waiting,
            factory,
            instance: Instance {
                guest: None,
                retry_at: Duration::ZERO,
                pause: tuning.instance_retry,
                first_pause: tuning.instance_retry,
            },
            todo: VecDeque::new(),
            parked: VecDeque::new(),
            held: false,
            unrun: false,
            news: false,
            out: Batch::default(),
            ready: VecDeque::new(),
            touched: true,
            halted: None,
            holds: false,
            delta: 0,
            holds_all: false,
            sent_to: false,
            counted: Counted { taken: counts.taken, dead_lettered: counts.dead_lettered },
            network,
            figures,
        }
    }

    /// Makes the first instance, re-runs what waited, sends the outbox again.
    pub(crate) fn start(&mut self, now: Now) {
        self.instantiate(now);
        let actions = self.lock().start(now);
        self.enqueue(actions);
    }

    /// Takes events of an edge.
    pub(crate) fn on_batch(&mut self, now: Now, entry: u32, edge: u16, batch: Arc<Batch>) {
        let actions = self.lock().on_batch(now, entry, edge, batch);
        self.enqueue(actions);
    }

    /// Takes a message.
    pub(crate) fn on_message(&mut self, now: Now, message: Stamped) {
        if let Message::Ask(ask) = &message.message
            && matches!(ask.kind, AskKind::Send { .. })
        {
            self.sent_to = true;
        }
        let actions = self.lock().on_message(now, message);
        self.enqueue(actions);
    }

    /// Tells the unit the time, if it wants to know.
    pub(crate) fn on_time(&mut self, now: Now) {
        let actions = {
            let mut unit = self.lock();
            if unit.next_time(now).is_none_or(|at| at > now.monotonic) {
                return;
            }
            unit.on_time(now)
        };
        self.enqueue(actions);
    }

    /// Tells the unit that an epoch is durable.
    pub(crate) fn on_committed(&mut self, now: Now, epoch: Epoch) {
        let actions = self.lock().on_committed(now, epoch);
        self.enqueue(actions);
    }

    /// A person discards a dead letter. Says whether there is something to commit.
    pub(crate) fn on_discard(&mut self, now: Now, dead_letter: InvocationId) -> bool {
        let (actions, dirty) = {
            let mut unit = self.lock();
            (unit.on_discard(now, dead_letter), unit.is_dirty())
        };
        self.enqueue(actions);
        dirty
    }

    /// Gives away, before a barrier, what is emitted behind an action that waits for
    /// a guest: the unit counts it as done in the epoch that ends.
    pub(crate) fn give_away(&mut self) {
        for action in std::mem::take(&mut self.todo) {
            match action {
                Action::Emit(batch) => self.emit(batch),
                action => self.todo.push_back(action),
            }
        }
    }

    /// A planted defect, which the audit must show.
    #[cfg(feature = "faults")]
    pub(crate) fn plant_miscount(&mut self) {
        self.lock().plant_miscount();
    }

    /// Lets no more roots begin while outputs of the task have no room.
    pub(crate) fn hold_roots(&mut self, now: Now, held: bool) {
        if held != self.held {
            self.held = held;
            let actions = self.lock().hold(now, held);
            self.enqueue(actions);
        }
    }

    /// Stops the sources before it, or lets them go on. One that was ever sent to may
    /// be flooded by any source.
    pub(crate) fn hold(&mut self, shared: &Shared, hold: bool) {
        if hold {
            self.holds_all = self.sent_to;
        }
        shared.hold(self.node, self.holds_all, hold);
    }

    /// The delta of the epoch that ends. What the unit wants done in the next epoch
    /// waits for [`Station::work`]; a batch that waits for a guest is part of it.
    pub(crate) fn on_barrier(&mut self, now: Now, next: Epoch) -> Vec<Change> {
        self.todo.retain(|action| !matches!(action, Action::Process(_)));
        let (changes, actions) = self.lock().on_barrier(now, next);
        self.delta = 0;
        self.enqueue(actions);
        changes
    }

    /// Carries out what the unit wants done and lets the guest work, until there is
    /// nothing more to do or enough was done. Says whether there is more.
    pub(crate) fn work(&mut self, now: Now, clock: &dyn Clock) -> bool {
        if self.todo.is_empty() && self.parked.is_empty() && !self.unrun && !self.news {
            return false;
        }
        let from = clock.now().monotonic;
        let more = self.work_through(now);
        if let Some(figures) = self.shard_figures() {
            add(
                &figures.busy_nanos,
                (clock.now().monotonic.saturating_sub(from)).as_nanos() as u64,
            );
        }
        more
    }

    fn work_through(&mut self, now: Now) -> bool {
        self.wake_guest(now);
        for _ in 0..RUNS_PER_STEP {
            if !self.carry_out(now) {
                return false;
            }
            if self.instance.guest.is_none() || !(self.unrun || self.news) {
                return false;
            }
            self.run(now);
        }
        !self.todo.is_empty() || self.unrun || self.news
    }

    /// When it wants to be stepped again although nothing comes.
    pub(crate) fn next_time(&self, now: Now) -> Option<Duration> {
        let waits_for_guest =
            self.instance.guest.is_none() && !(self.todo.is_empty() && self.parked.is_empty());
        let instance = waits_for_guest.then_some(self.instance.retry_at);
        [self.lock().next_time(now), instance].into_iter().flatten().min()
    }

    /// The next batch to be routed.
    pub(crate) fn take_output(&mut self) -> Option<Arc<Batch>> {
        if let Some(batch) = self.ready.pop_front() {
            return Some(batch);
        }
        (!self.out.is_empty()).then(|| Arc::new(std::mem::take(&mut self.out)))
    }

    /// Does an output wait for credit?
    pub(crate) fn is_blocked(&self) -> bool {
        self.outlets.iter().any(Outlet::is_blocked)
    }

    /// Why the pipeline is to stop, if an event asks for that.
    pub(crate) fn halted(&mut self) -> Option<String> {
        self.halted.take()
    }

    /// Brings its figures up to date.
    pub(crate) fn settle(&mut self, shared: &Shared) -> Settled {
        if !std::mem::take(&mut self.touched) {
            return Settled::default();
        }
        let (figures, can_take, dirty, delta, logs) = {
            let mut unit = self.lock();
            let delta = unit.delta_bytes();
            let can_take = unit.can_take(self.unrun);
            (unit.figures(), can_take, unit.is_dirty(), delta, unit.take_logs())
        };
        self.write_logs(&logs);
        if let Some(shard) = self.shard_figures() {
            let set =
                |gauge: &std::sync::atomic::AtomicU64, n: u64| gauge.store(n, Ordering::Relaxed);
            set(&shard.records_in, figures.counts.taken.saturating_sub(self.counted.taken));
            set(
                &shard.dead_letters,
                figures.counts.dead_lettered.saturating_sub(self.counted.dead_lettered),
            );
            set(&shard.errors, figures.failures);
            set(&shard.waiting, figures.waiting.saturating_sub(figures.running) as u64);
            set(&shard.running, figures.running as u64);
            set(&shard.held, u64::from(self.is_blocked()));
            set(&shard.full, u64::from(!can_take));
        }
        shared.waiting_changed(&self.waiting);
        let holds = !can_take;
        let changed = (holds != self.holds).then_some(holds);
        self.holds = holds;
        let grown = delta.saturating_sub(self.delta);
        self.delta += grown;
        Settled { dirty, holds: changed, grown }
    }

    fn enqueue(&mut self, actions: Vec<Action>) {
        self.touched = true;
        self.news = true;
        self.todo.extend(actions);
    }

    /// Carries out actions in order. False if the guest is away and the next one
    /// needs it.
    fn carry_out(&mut self, now: Now) -> bool {
        while let Some(action) = self.todo.pop_front() {
            match action {
                Action::Post(stamped) => self.network.post(self.node, stamped),
                Action::Emit(batch) => self.emit(batch),
                Action::Halt { reason } => {
                    self.halted.get_or_insert(reason);
                }
                Action::Process(batch) => {
                    if self.instance.guest.is_none() {
                        self.todo.push_front(Action::Process(batch));
                        return false;
                    }
                    self.process(now, &batch);
                }
                action => self.tell_guest(action),
            }
        }
        true
    }

    fn tell_guest(&mut self, action: Action) {
        let Some(guest) = &mut self.instance.guest else {
            self.parked.push_back(action);
            return;
        };
        match action {
            Action::Begin(invocation) => {
                if invocation.attempt > 1
                    && let Some(figures) = self.figures.shard(self.node, self.shard)
                {
                    add(&figures.retries, 1);
                }
                guest.begin(invocation);
            }
            Action::Answer { invocation, call, outcome } => guest.answer(invocation, call, outcome),
            Action::Cancel(invocation) => guest.cancel(invocation),
            Action::Process(_) | Action::Post(_) | Action::Emit(_) | Action::Halt { .. } => return,
        }
        self.unrun = true;
    }

    /// The transform face. What the unit wants next comes before what waited behind
    /// the batch.
    fn process(&mut self, now: Now, batch: &Arc<Batch>) {
        let Some(guest) = &mut self.instance.guest else { return };
        let result = guest.process(batch);
        if let Err(trap) = &result {
            self.lose_instance(now, trap);
        }
        let actions = self.lock().on_processed(now, result);
        self.touched = true;
        for action in actions.into_iter().rev() {
            self.todo.push_front(action);
        }
    }

    /// The handler face: one run until the guest waits. Without anything new for the
    /// guest only the unit is told that it waits: an outcome may have arrived that can
    /// be handed over now.
    fn run(&mut self, now: Now) {
        let Some(guest) = &mut self.instance.guest else { return };
        let unrun = std::mem::take(&mut self.unrun);
        match if unrun { guest.run() } else { Ok(Vec::new()) } {
            Ok(events) => {
                let mut actions = Vec::new();
                {
                    let mut unit = self.lock();
                    for event in events {
                        actions.extend(unit.on_guest(now, event));
                    }
                    actions.extend(unit.on_quiescent(now));
                }
                self.touched = true;
                self.news = false;
                self.todo.extend(actions);
            }
            Err(trap) => {
                // The unit begins all of them again (rule P14).
                let for_guest = |action: &Action| {
                    matches!(action, Action::Begin(_) | Action::Answer { .. } | Action::Cancel(_))
                };
                self.todo.retain(|action| !for_guest(action));
                self.parked.clear();
                self.lose_instance(now, &trap);
                let actions = self.lock().on_trap(now, trap);
                self.enqueue(actions);
            }
        }
    }

    fn emit(&mut self, batch: Batch) {
        if let Some(figures) = self.shard_figures() {
            add(&figures.records_out, batch.len() as u64);
        }
        if batch.len() >= 32 {
            if !self.out.is_empty() {
                self.ready.push_back(Arc::new(std::mem::take(&mut self.out)));
            }
            self.ready.push_back(Arc::new(batch));
        } else {
            (0..batch.len()).for_each(|i| self.out.push_from(&batch, i));
        }
    }

    /// Makes an instance if there is none and its pause is over.
    fn wake_guest(&mut self, now: Now) {
        if self.instance.guest.is_none() && now.monotonic >= self.instance.retry_at {
            self.instantiate(now);
        }
    }

    fn lose_instance(&mut self, now: Now, trap: &Trap) {
        self.instance.guest = None;
        self.unrun = false;
        if let Some(figures) = self.shard_figures() {
            figures.instances.store(0, Ordering::Relaxed);
        }
        tracing::info!(operator = %self.name, kind = %trap.kind, "instance discarded: {}", trap.message);
        self.instantiate(now);
    }

    fn instantiate(&mut self, now: Now) {
        let effects: Arc<dyn Effects> = self.unit.clone();
        match self.factory.instantiate(effects) {
            Ok(guest) => {
                self.instance.guest = Some(guest);
                self.instance.pause = self.instance.first_pause;
                self.figures.set_error(self.node, self.shard, None);
                if let Some(figures) = self.shard_figures() {
                    figures.instances.store(1, Ordering::Relaxed);
                    add(&figures.instantiations, 1);
                }
                let parked = std::mem::take(&mut self.parked);
                parked.into_iter().for_each(|action| self.tell_guest(action));
            }
            Err(trap) => {
                self.instance.retry_at = now.monotonic + self.instance.pause;
                self.instance.pause = (self.instance.pause * 2).min(INSTANCE_RETRY_MAX);
                let what = if trap.kind == TrapKind::Memory {
                    "there is no memory for it"
                } else {
                    "it stopped"
                };
                tracing::warn!(operator = %self.name, "no instance could be made, {what}: {}", trap.message);
                self.figures.set_error(
                    self.node,
                    self.shard,
                    Some(format!("no instance can be made: {}", trap.message)),
                );
            }
        }
    }

    fn write_logs(&self, logs: &[LogLine]) {
        for line in logs {
            tracing::debug!(target: "weir::guest", operator = %self.name, level = ?line.level, invocation = ?line.invocation, "{}", line.message);
        }
    }

    fn shard_figures(&self) -> Option<&ShardFigures> {
        self.figures.shard(self.node, self.shard)
    }

    fn lock(&self) -> MutexGuard<'_, Unit> {
        self.unit.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
