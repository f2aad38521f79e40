//! A task: one shard of a source, an operator or a sink, and of everything that is
//! fused to it. A tree of nodes, worked through from its root in one go.
//!
//! Each step: what the coordinator says, messages, due times, then data as credit
//! and alignment allow. A task always reads its streams unless its own outputs
//! wait for credit (rule P3): what cannot start goes to the waiting list of its
//! unit, which spills. Beyond its quota the sources stop.

use std::sync::{Arc, atomic::Ordering};

use weir_core::{batch::Batch, clock::Now, epoch::Alignment, ids::Epoch, message::Stamped};

use crate::{
    actor::{Actor, Next, Signal},
    channel::{Channel, Item},
    coordinator::{Control, Event},
    figures::add,
    ledger::Ledger,
    mailbox::Mailbox,
    router::{Outlet, To},
    shared::Shared,
    sink::SinkShard,
    source::SourceShard,
    station::Station,
};

/// A stream queue into a task.
pub(crate) struct Input {
    pub(crate) channel: Arc<Channel>,
    pub(crate) edge: u16,
    pub(crate) into: Place,
}

/// Which node of the task takes the events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// An operator, by its index in the task.
    Station(usize),
    /// A sink, by its index in the task.
    Sink(usize),
}

/// A source at the root of a task.
pub(crate) struct Root {
    pub(crate) source: SourceShard,
    pub(crate) outlets: Vec<Outlet>,
    /// Unsubscribes from the topic when it is dropped.
    pub(crate) _watch: weir_store::Watch,
}

/// The actor.
pub(crate) struct Task {
    pub(crate) name: String,
    pub(crate) signal: Arc<Signal>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) control: Mailbox<Control>,
    pub(crate) inbox: Mailbox<Stamped>,
    pub(crate) coordinator: Mailbox<Event>,
    pub(crate) epoch: Epoch,
    pub(crate) root: Option<Root>,
    pub(crate) inputs: Vec<Input>,
    pub(crate) alignment: Option<Alignment>,
    /// In topological order.
    pub(crate) stations: Vec<Station>,
    pub(crate) sinks: Vec<SinkShard>,
    pub(crate) ledger: Ledger,
    /// By edge: what its consumer takes it with.
    pub(crate) entries: Arc<[u32]>,
    pub(crate) turn: usize,
    pub(crate) started: bool,
    pub(crate) messages: Vec<Stamped>,
    pub(crate) done: bool,
}

impl Task {
    fn start(&mut self, now: Now) {
        self.started = true;
        for station in &mut self.stations {
            station.start(now);
        }
    }

    /// Events for a node of this task.
    fn deliver(&mut self, now: Now, into: Place, edge: u16, batch: Arc<Batch>) {
        match into {
            Place::Station(i) => {
                let entry = self.entries.get(usize::from(edge)).copied().unwrap_or(0);
                if let Some(station) = self.stations.get_mut(i) {
                    station.on_batch(now, entry, edge, batch);
                }
            }
            Place::Sink(i) => {
                if let Some(sink) = self.sinks.get_mut(i) {
                    if let Some(figures) = self.shared.figures.shard(sink.node, sink.shard) {
                        add(&figures.records_in, batch.len() as u64);
                    }
                    let bytes = sink.take(edge, batch);
                    self.shared.add_bytes(self.epoch, bytes);
                }
            }
        }
    }

    /// Offers a batch to all outlets of a node.
    fn offer(&mut self, now: Now, outlets: &mut [Outlet], batch: Arc<Batch>) {
        let Some((last, others)) = outlets.split_last_mut() else { return };
        for outlet in others {
            self.offer_one(now, outlet, batch.clone());
        }
        self.offer_one(now, last, batch);
    }

    fn offer_one(&mut self, now: Now, outlet: &mut Outlet, batch: Arc<Batch>) {
        if let Some(batch) = outlet.offer(batch) {
            match outlet.to {
                To::Station(i) => self.deliver(now, Place::Station(i), outlet.edge, batch),
                To::Sink(i) => self.deliver(now, Place::Sink(i), outlet.edge, batch),
                To::Lanes(_) => {}
            }
        }
    }

    /// Lets all operators work and gives on what they gave away, from the root to
    /// the leaves. Says whether there is more to do.
    fn work(&mut self, now: Now) -> bool {
        let mut more = false;
        let held = self.is_blocked() || self.shared.is_draining();
        self.stations.iter_mut().for_each(|station| station.hold_roots(now, held));
        let clock = self.shared.clock.clone();
        for i in 0..self.stations.len() {
            more |= self.stations[i].work(now, &*clock);
            self.route(now, i);
        }
        more
    }

    fn route(&mut self, now: Now, i: usize) {
        let mut outlets = std::mem::take(&mut self.stations[i].outlets);
        while let Some(batch) = self.stations[i].take_output() {
            self.offer(now, &mut outlets, batch);
        }
        self.stations[i].outlets = outlets;
    }

    /// Reads from the source. Says whether there may be more.
    fn read_source(&mut self, now: Now) -> bool {
        let Some(mut root) = self.root.take() else { return false };
        let mut more = false;
        let tuning = &self.shared.tuning;
        let (batches, records, bytes) =
            (tuning.batches_per_step, tuning.batch_records, tuning.batch_bytes);
        for n in 0..=batches {
            if root.outlets.iter().any(Outlet::is_blocked)
                || self.is_blocked()
                || !self.shared.may_take(root.source.node, self.epoch)
            {
                break;
            }
            if n == batches {
                more = true;
                break;
            }
            let begun = self.shared.clock.now().monotonic;
            let read = root.source.read(&self.shared.store, records, bytes);
            let figures = self.shared.figures.shard(root.source.node, root.source.shard);
            if let Some(figures) = figures {
                figures.behind.store(root.source.behind(), Ordering::Relaxed);
            }
            match read {
                Ok(Some(batch)) => {
                    if let Some(figures) = figures {
                        add(&figures.records_in, batch.len() as u64);
                        add(&figures.records_out, batch.len() as u64);
                    }
                    self.offer(now, &mut root.outlets, Arc::new(batch));
                    if let Some(figures) =
                        self.shared.figures.shard(root.source.node, root.source.shard)
                    {
                        let spent = self.shared.clock.now().monotonic.saturating_sub(begun);
                        add(&figures.busy_nanos, spent.as_nanos() as u64);
                    }
                    self.work(now);
                }
                Ok(None) => break,
                Err(error) => {
                    self.coordinator.post(Event::Failed(format!(
                        "`{}` cannot read its topic: {error}",
                        self.name
                    )));
                    break;
                }
            }
        }
        self.root = Some(root);
        more
    }

    /// Takes data and barriers from the queues. Says whether there may be more.
    fn read_inputs(&mut self, now: Now) -> bool {
        let n = self.inputs.len();
        let mut empty = 0;
        let mut batches = 0;
        while empty < n {
            let i = self.turn % n;
            self.turn = self.turn.wrapping_add(1);
            if self.alignment.as_ref().is_some_and(|alignment| !alignment.may_take(i)) {
                empty += 1;
                continue;
            }
            let blocked = self.is_blocked();
            if batches >= self.shared.tuning.batches_per_step {
                return true;
            }
            match self.inputs[i].channel.pop(blocked) {
                None => empty += 1,
                Some(Item::Batch(batch)) => {
                    empty = 0;
                    batches += 1;
                    let (into, edge) = (self.inputs[i].into, self.inputs[i].edge);
                    self.deliver(now, into, edge, batch);
                    self.work(now);
                }
                Some(Item::Barrier(next)) => {
                    empty = 0;
                    let aligned =
                        self.alignment.as_mut().and_then(|alignment| alignment.on_barrier(i, next));
                    if let Some(next) = aligned {
                        self.barrier(now, next);
                    }
                }
            }
        }
        false
    }

    /// Hands over the epoch that ends and goes on in the next one (rule P2).
    fn barrier(&mut self, now: Now, next: Epoch) {
        self.work(now);
        let mut rows = Vec::new();
        let mut appends = Vec::new();
        for station in &mut self.stations {
            station.give_away();
        }
        (0..self.stations.len()).for_each(|i| self.route(now, i));
        if let Some(root) = &mut self.root {
            root.outlets.iter_mut().for_each(|outlet| outlet.barrier(next));
            self.ledger.positions(&mut root.source, &mut rows);
            self.ledger.sent(&root.outlets, &mut rows);
        }
        let queued =
            self.inputs.iter().map(|input| (input.edge, input.channel.queued_before(next)));
        self.ledger.queued(queued, &mut rows);
        for station in &mut self.stations {
            station.outlets.iter_mut().for_each(|outlet| outlet.barrier(next));
            self.ledger.sent(&station.outlets, &mut rows);
            rows.append(&mut station.on_barrier(now, next));
        }
        for sink in &mut self.sinks {
            self.ledger.taken(sink, &mut rows);
            appends.append(&mut sink.appends());
        }
        self.epoch = next;
        self.coordinator.post(Event::Delta { rows, appends });
    }

    fn on_control(&mut self, now: Now, control: Control) {
        match control {
            Control::Barrier(next) => self.barrier(now, next),
            Control::Committed(epoch) => {
                self.stations.iter_mut().for_each(|station| station.on_committed(now, epoch));
            }
            Control::Discard { node, dead_letter, ticket } => {
                let mut epoch = None;
                if let Some(station) = self.stations.iter_mut().find(|station| station.node == node)
                    && station.on_discard(now, dead_letter)
                {
                    epoch = Some(self.epoch);
                }
                self.coordinator.post(Event::Discarded { ticket, epoch });
            }
            #[cfg(feature = "faults")]
            Control::Miscount { node } => {
                if let Some(station) = self.stations.iter_mut().find(|station| station.node == node)
                {
                    station.plant_miscount();
                }
            }
            Control::Shutdown => {
                self.done = true;
                self.coordinator.post(Event::Gone);
            }
        }
    }

    /// Does an output of any node wait for credit?
    fn is_blocked(&self) -> bool {
        self.stations.iter().any(Station::is_blocked)
    }

    fn flush(&mut self) {
        let root = self.root.iter_mut().flat_map(|root| &mut root.outlets);
        let stations = self.stations.iter_mut().flat_map(|station| &mut station.outlets);
        root.chain(stations).for_each(Outlet::flush);
    }

    /// Brings figures and holds up to date; tells whether there is something to
    /// commit.
    fn settle(&mut self) {
        let mut dirty = self.root.as_ref().is_some_and(|root| root.source.has_changed())
            || self.sinks.iter().any(SinkShard::has_changed);
        for station in &mut self.stations {
            let settled = station.settle(&self.shared);
            dirty |= settled.dirty;
            self.shared.add_bytes(self.epoch, settled.grown);
            if let Some(hold) = settled.holds {
                station.hold(&self.shared, hold);
            }
            if let Some(reason) = station.halted() {
                self.coordinator.post(Event::Failed(reason));
            }
        }
        if dirty {
            self.shared.touch(self.epoch);
        }
    }
}

impl Actor for Task {
    fn name(&self) -> &str {
        &self.name
    }

    fn signal(&self) -> &Arc<Signal> {
        &self.signal
    }

    fn step(&mut self, now: Now) -> Next {
        if !self.started {
            self.start(now);
        }
        while let Some(control) = self.control.pop() {
            self.on_control(now, control);
            if self.done {
                return Next::Done;
            }
        }
        self.flush();
        let mut messages = std::mem::take(&mut self.messages);
        self.inbox.take(self.shared.tuning.messages_per_step, &mut messages);
        for message in messages.drain(..) {
            if let Some(station) =
                self.stations.iter_mut().find(|station| station.node == message.to.node)
            {
                station.on_message(now, message);
            }
        }
        self.messages = messages;
        for station in &mut self.stations {
            station.on_time(now);
        }
        let mut again = self.work(now);
        again |= self.read_inputs(now);
        again |= self.read_source(now);
        again |= self.work(now);
        self.flush();
        self.settle();
        if again || !self.inbox.is_empty() {
            return Next::Again;
        }
        match self.stations.iter().filter_map(|station| station.next_time(now)).min() {
            Some(at) if at <= now.monotonic => Next::Again,
            Some(at) => Next::At(at),
            None => Next::Idle,
        }
    }
}
