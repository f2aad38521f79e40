//! All decisions about invocations of one shard of one operator.
//!
//! A [`Unit`] is told what happens and says what is to be done. It has the keyed
//! state, the waiting list (everything taken in and not ended), the journals, the
//! outbox and the answers; at each barrier it hands over what changed. It knows no
//! guest, no channel and no clock.
//!
//! | file | decides |
//! |---|---|
//! | `intake` | events become items; one without a key is a dead letter |
//! | `items`, `spill` | the waiting list, and what of it is in memory |
//! | `queues` | one at a time per key, in order of arrival |
//! | `running` | what begins when, and what the guest reports |
//! | `conclude` | what becomes of an invocation that ended, well or not |
//! | `journal` | what a re-run is fed with, and whether it is the same run |
//! | `calls` | calls that this unit's invocations make, and its sends |
//! | `callee` | calls and sends that others make here |
//! | `transform`, `select` | batches, and how they are split around a bad event |
//! | `trap` | who did it, and what becomes of its neighbours |
//! | `barrier`, `restore` | rows |
//! | `effects` | what guests may do while they run |
//!
//! The task that owns a unit carries out its actions in order, then lets the guest
//! run, reports what it did by [`Unit::on_guest`], then [`Unit::on_quiescent`], and
//! so on until there is nothing more to begin or to answer.

mod action;
mod answers;
mod barrier;
mod callee;
mod calls;
mod conclude;
mod config;
mod counts;
mod effects;
mod intake;
mod item;
mod items;
pub(crate) mod journal;
pub(crate) mod names;
mod outbox;
mod queues;
mod quota;
mod restore;
mod running;
mod select;
mod spill;
#[cfg(test)]
mod tests;
mod times;
mod transform;
mod trap;

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use rustc_hash::FxHashMap;

pub use self::{
    action::Action,
    config::{CHAIN_MAX, DEADLINE, Target, UnitConfig},
    counts::{Counts, UnitFigures},
    effects::LogLine,
    quota::Waiting,
    spill::CommittedRows,
};
use self::{
    answers::Answers, items::Items, names::Names, outbox::Outbox, queues::Queues, times::Times,
    transform::Transform, trap::Suspicion,
};
use crate::{
    batch::Batch,
    clock::Now,
    dead_letter::DeadLetter,
    ids::{CallId, Epoch, EventTime, InvocationId, KeyGroup},
    message::{Address, Message, Stamped},
    plan::Runs,
    rows::{self, Change, CountsRow, JournalRow},
    state::{Cells, Keys, Slot},
};

/// How many sends that were held back come at once: their contents may have been
/// spilled, and not all of them may find room.
const DUE_AT_ONCE: usize = 256;

/// One shard of one operator.
pub struct Unit {
    config: UnitConfig,
    rows: Arc<dyn CommittedRows>,
    names: Names,
    /// The first key group of the shard: things without a key belong to it.
    group: KeyGroup,
    epoch: Epoch,
    /// Ids given in this epoch.
    sequence: u32,
    /// The next place in the order of arrival; 0 is before all.
    order: u64,
    now: Now,
    out: Vec<Action>,

    keys: Keys,
    cells: Cells,
    queues: Queues,
    items: Items,
    /// First of their keys, and waiting for room.
    ready: VecDeque<InvocationId>,
    /// The same, of those that run on their chain's slot.
    ready_calls: VecDeque<InvocationId>,
    /// Those to whom an outcome can be handed.
    deliverable: VecDeque<InvocationId>,
    /// Invocations that hold a slot.
    roots: usize,
    /// Are no roots to begin, because outputs have no room?
    held: bool,
    /// Counts how often the guest ran until it waited.
    stretch: u64,
    /// Is a run being reported?
    reporting: bool,
    suspicion: Suspicion,
    transform: Transform,
    times: Times,

    /// Calls and sends of others that have not ended here.
    asks: FxHashMap<CallId, InvocationId>,
    answers: Answers,
    outbox: Outbox,
    /// Answers that a commit of this epoch will hold: then the callee may forget.
    forgets: BTreeMap<CallId, (Epoch, Address)>,
    /// Messages of later epochs (rule P4).
    kept: Vec<Stamped>,

    /// Keys that a dead letter blocks.
    blocked: FxHashMap<InvocationId, Slot>,
    blocked_changes: Vec<(Slot, Option<InvocationId>)>,
    letters: Vec<(DeadLetter, Option<JournalRow>)>,
    discarded: Vec<InvocationId>,
    /// Rows that a restore found to be of no more use.
    repairs: Vec<Change>,

    counts: Counts,
    /// As the rows have it.
    counts_row: CountsRow,
    /// By edge index: taken, and what the row has.
    edges: Vec<(u64, u64)>,
    /// Figures that are counted, not measured.
    figures: UnitFigures,
    logs: Vec<LogLine>,
    /// What waits here, in bytes, as the operator's quota counts it.
    waiting_told: u64,
}

impl Unit {
    /// A unit without state, in the running epoch: the last committed one + 1. It reads
    /// back from `rows` what it put out of memory.
    #[must_use]
    pub fn new(config: UnitConfig, epoch: Epoch, rows: Arc<dyn CommittedRows>) -> Self {
        Self {
            rows,
            names: Names::new(config.nodes.clone(), config.targets.clone()),
            group: KeyGroup(rows::groups_of(config.shard, config.shards).start),
            epoch,
            sequence: 0,
            order: 1,
            now: Now { monotonic: Duration::ZERO, wall: EventTime(0) },
            out: Vec::new(),
            keys: Keys::default(),
            cells: Cells::new(&config.description.cells),
            queues: Queues::default(),
            items: Items::default(),
            ready: VecDeque::new(),
            ready_calls: VecDeque::new(),
            deliverable: VecDeque::new(),
            roots: 0,
            held: false,
            stretch: 0,
            reporting: false,
            suspicion: Suspicion::default(),
            transform: Transform::default(),
            times: Times::default(),
            asks: FxHashMap::default(),
            answers: Answers::default(),
            outbox: Outbox::default(),
            forgets: BTreeMap::new(),
            kept: Vec::new(),
            blocked: FxHashMap::default(),
            blocked_changes: Vec::new(),
            letters: Vec::new(),
            discarded: Vec::new(),
            repairs: Vec::new(),
            counts: Counts::default(),
            counts_row: CountsRow::default(),
            edges: vec![(0, 0); config.edges.len()],
            figures: UnitFigures::default(),
            logs: Vec::new(),
            waiting_told: 0,
            config,
        }
    }

    /// Re-runs what waited, asks again what was asked, tells again what was answered.
    /// Once, after the last [`Unit::restore`], before anything else.
    pub fn start(&mut self, now: Now) -> Vec<Action> {
        self.now = now;
        self.place_all();
        self.ask_again();
        self.tell_again();
        for slot in self.queues.slots_in_order() {
            self.wake(slot);
        }
        self.finish()
    }

    /// Takes events of a stream. `entry` is the index of a handler, or of an input
    /// port of a transform; `edge` the index of the stream in the running plan. All
    /// events are taken, whatever [`Unit::can_take`] says.
    pub fn on_batch(&mut self, now: Now, entry: u32, edge: u16, batch: Arc<Batch>) -> Vec<Action> {
        self.now = now;
        self.counts.taken += batch.len() as u64;
        if let Some((taken, _)) = self.edges.get_mut(usize::from(edge)) {
            *taken += batch.len() as u64;
        }
        match self.config.runs {
            Runs::Handlers => self.take_events(entry, &batch),
            Runs::Transform => self.take_batch(entry as u8, batch),
        }
        self.finish()
    }

    /// Takes a message of another unit or of ingress. One of a later epoch is kept
    /// until this unit has got there (rule P4).
    pub fn on_message(&mut self, now: Now, message: Stamped) -> Vec<Action> {
        self.now = now;
        self.take_message(message);
        self.finish()
    }

    /// Time has passed: retries, deadlines, sends that were held back.
    pub fn on_time(&mut self, now: Now) -> Vec<Action> {
        self.now = now;
        while let Some(id) = self.times.due_retry(now) {
            self.retry(id);
        }
        while let Some((id, call)) = self.times.due_deadline(now) {
            self.cancel_call(id, call, "deadline");
        }
        for _ in 0..DUE_AT_ONCE {
            let Some(id) = self.times.due_delayed(now) else { break };
            self.delay_is_over(id);
        }
        self.finish()
    }

    /// When [`Unit::on_time`] wants to be called next, on the monotonic clock.
    #[must_use]
    pub fn next_time(&self, now: Now) -> Option<Duration> {
        self.times.next(now)
    }

    /// This epoch is durable: what its answers came from may be forgotten (rule P9).
    pub fn on_committed(&mut self, now: Now, epoch: Epoch) -> Vec<Action> {
        self.now = now;
        let held: Vec<_> = self
            .forgets
            .iter()
            .filter(|(_, (of, _))| *of <= epoch)
            .map(|(id, (_, to))| (*id, *to))
            .collect();
        for (id, to) in held {
            self.forgets.remove(&id);
            self.post(to, Message::Forget { id });
        }
        self.items.spill(epoch, self.config.waiting_bytes);
        self.finish()
    }

    /// A person discards a dead letter: its row goes with the next delta, and its key
    /// is released if it was blocked by it. A letter that this unit does not know of
    /// blocks nothing; its row goes all the same.
    pub fn on_discard(&mut self, now: Now, letter: InvocationId) -> Vec<Action> {
        self.now = now;
        self.letters.retain(|(other, _)| other.id != letter);
        self.discarded.push(letter);
        if let Some(slot) = self.blocked.remove(&letter) {
            // The change is noted first: it pins the key until the barrier.
            self.note_blocked(slot, None);
            self.queues.release(&mut self.keys, slot, letter);
            self.wake(slot);
        }
        self.finish()
    }

    /// The outputs of the task have no room, or have it again: roots do not begin
    /// meanwhile. Those that were begun by a call do: a caller waits for them, perhaps
    /// the very one that would make room.
    pub fn hold(&mut self, now: Now, held: bool) -> Vec<Action> {
        self.now = now;
        self.held = held;
        self.finish()
    }

    /// Should the sources before it read on? Not if more waits than the bound of memory
    /// and nothing that they read could begin now, since the guest is `busy`, say: it
    /// would be written and read again for nothing. What waits for a key or for time
    /// holds nobody up (rule P3). Barriers and messages go on anyway.
    #[must_use]
    pub fn can_take(&self, busy: bool) -> bool {
        self.items.bytes() < self.config.waiting_bytes || (!busy && self.could_begin())
    }

    /// Would something that comes now, of a free key, begin at once?
    fn could_begin(&self) -> bool {
        match self.config.runs {
            Runs::Handlers => self.ready.is_empty() && self.has_room(),
            Runs::Transform => !self.transform.is_stuck(),
        }
    }

    /// What it can say of itself.
    #[must_use]
    pub fn figures(&self) -> UnitFigures {
        UnitFigures {
            counts: self.counts,
            waiting: self.waiting(),
            waiting_bytes: self.items.bytes(),
            spilled_bytes: self.items.spilled(),
            running: self.items.running(),
            retrying: self.times.retrying(),
            delayed: self.times.delayed(),
            outbox: self.outbox.len(),
            blocked: self.blocked.len(),
            keys: self.keys.len(),
            ..self.figures
        }
    }

    /// A planted defect (rule P21): the audit must show it.
    #[cfg(any(test, feature = "faults"))]
    pub fn plant_miscount(&mut self) {
        self.counts.taken += 1;
    }

    /// Begins what there is room for, and gives the actions away.
    fn finish(&mut self) -> Vec<Action> {
        self.excuse_ended_suspect();
        self.pump();
        self.tell_waiting();
        std::mem::take(&mut self.out)
    }

    /// Counts what waits here for the quota of the operator.
    fn tell_waiting(&mut self) {
        let now = self.items.bytes() as u64;
        if now != self.waiting_told {
            self.config.waiting.change(self.waiting_told, now);
            self.waiting_told = now;
        }
    }

    /// Events, calls and sends taken in and not ended: measured.
    fn waiting(&self) -> usize {
        self.items.len() + self.transform.pending()
    }

    fn take_message(&mut self, stamped: Stamped) {
        if stamped.epoch > self.epoch {
            self.kept.push(stamped);
            return;
        }
        match stamped.message {
            Message::Ask(ask) => self.asked(ask),
            Message::Cancel { id, taken, code, from } => {
                self.cancelled(stamped.to.group, id, taken, code, from)
            }
            Message::Look { id, from } => self.looked_at(id, from),
            // Nobody here asks for it.
            Message::Standing { .. } => {}
            Message::Forget { id } => self.forget(id),
            Message::Outcome { id, from, outcome } => self.outcome(id, from, outcome),
            Message::Taken { id, from } => self.taken(id, from),
        }
    }

    fn post(&mut self, to: Address, message: Message) {
        self.out.push(Action::Post(Stamped { epoch: self.epoch, to, message }));
    }

    fn fresh_id(&mut self) -> InvocationId {
        let id =
            InvocationId::new(self.config.incarnation, self.epoch, self.config.task, self.sequence);
        self.sequence = self.sequence.wrapping_add(1);
        id
    }

    /// The group of a key, or that of things without one.
    fn group_of(&self, slot: Option<Slot>) -> KeyGroup {
        slot.map_or(self.group, |slot| KeyGroup::of_hash(self.keys.hash(slot)))
    }

    fn note_blocked(&mut self, slot: Slot, by: Option<InvocationId>) {
        self.keys.pin(slot);
        self.blocked_changes.push((slot, by));
    }
}
