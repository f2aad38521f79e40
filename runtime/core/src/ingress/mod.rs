//! Calls and sends from outside: one machine per pipeline.
//!
//! An outsider is answered after the commit that holds what the answer speaks of
//! (rule P5). A request with an idempotency key is kept for 24 hours, so that a
//! repeat gets the first answer, or waits for it; without one it is kept until it is
//! answered. A send is kept until its target holds it, over restarts too. A call
//! without an idempotency key ends with the process: its asker is gone then.

mod request;
mod restore;
mod types;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    time::Duration,
};

use rustc_hash::FxHashMap;

use self::request::{Request, State};
pub use self::types::{
    Idempotency, IngressAction, IngressConfig, IngressKind, IngressRequest, RequestStatus, Response,
};
use crate::{
    clock::Now,
    ids::{CallId, Epoch, EventTime, InvocationId},
    message::{Address, AskKind, Message, Outcome, Stamped, Standing},
    rows::{Change, Table, Writer},
    unit::{DEADLINE, names::Names},
};

/// How long an answer is kept for repeats.
const KEPT: i64 = 24 * 60 * 60 * 1_000;

/// How often the wall clock is looked at.
const LOOK: Duration = Duration::from_secs(1);

/// Calls and sends from outside.
pub struct Ingress {
    config: IngressConfig,
    names: Names,
    epoch: Epoch,
    committed: Epoch,
    sequence: u32,
    now: Now,
    out: Vec<IngressAction>,
    requests: FxHashMap<InvocationId, Request>,
    by_key: HashMap<String, InvocationId>,
    tickets: FxHashMap<u64, InvocationId>,
    /// Askers who wait to hear from its target how far a send is.
    lookers: FxHashMap<InvocationId, Vec<u64>>,
    /// Answers that wait for the commit of an epoch.
    held: BTreeMap<Epoch, Vec<(u64, Response)>>,
    forgets: BTreeMap<CallId, (Epoch, Address)>,
    kept: Vec<Stamped>,
    deadlines: BTreeSet<(Duration, InvocationId)>,
    expiries: BTreeSet<(EventTime, InvocationId)>,
    looked: Duration,
    dirty: Vec<InvocationId>,
    removed: Vec<InvocationId>,
}

impl Ingress {
    /// One without requests, in the running epoch: the last committed one + 1.
    #[must_use]
    pub fn new(config: IngressConfig, epoch: Epoch) -> Self {
        Self {
            names: Names::new(config.nodes.clone(), config.targets.clone()),
            config,
            epoch,
            committed: Epoch(epoch.0.saturating_sub(1)),
            sequence: 0,
            now: Now { monotonic: Duration::ZERO, wall: EventTime(0) },
            out: Vec::new(),
            requests: FxHashMap::default(),
            by_key: HashMap::new(),
            tickets: FxHashMap::default(),
            lookers: FxHashMap::default(),
            held: BTreeMap::new(),
            forgets: BTreeMap::new(),
            kept: Vec::new(),
            deadlines: BTreeSet::new(),
            expiries: BTreeSet::new(),
            looked: Duration::ZERO,
            dirty: Vec::new(),
            removed: Vec::new(),
        }
    }

    /// Asks again what was asked. Once, after [`Ingress::restore`].
    pub fn start(&mut self, now: Now) -> Vec<IngressAction> {
        self.now = now;
        let mut open: Vec<_> = self
            .requests
            .iter()
            .filter(|(_, request)| request.is_open())
            .map(|(id, _)| *id)
            .collect();
        open.sort_unstable();
        open.into_iter().for_each(|id| self.ask(id));
        self.finish()
    }

    /// A request from outside. What cannot be is answered at once.
    pub fn on_request(&mut self, now: Now, request: IngressRequest) -> Vec<IngressAction> {
        self.now = now;
        let ticket = request.ticket;
        if let Some(idempotency) = &request.idempotency
            && let Some(known) = self.by_key.get(&idempotency.key).copied()
        {
            let same =
                self.requests.get(&known).is_some_and(|first| first.is_repeated_by(idempotency));
            match same {
                true => self.wait_for(ticket, known),
                false => self.respond(ticket, Response::Conflict),
            }
            return self.finish();
        }
        let resolved = self.names.resolve(
            &request.operator,
            &request.handler,
            request.key.as_ref(),
            &request.value,
        );
        match resolved {
            Ok(made) => {
                let id = InvocationId::new(
                    self.config.incarnation,
                    self.epoch,
                    self.config.task,
                    self.sequence,
                );
                self.sequence = self.sequence.wrapping_add(1);
                let (kind, deadline) = match request.kind {
                    IngressKind::Call { deadline } => (AskKind::Call, deadline.unwrap_or(DEADLINE)),
                    IngressKind::Send { delay } => {
                        (AskKind::Send { not_before: self.delayed(delay) }, DEADLINE)
                    }
                };
                if let Some(idempotency) = &request.idempotency {
                    self.by_key.insert(idempotency.key.clone(), id);
                }
                let request = Request::new(
                    made,
                    kind,
                    now.wall,
                    request.value,
                    deadline,
                    request.idempotency,
                );
                if request.has_row() {
                    self.dirty.push(id);
                }
                self.requests.insert(id, request);
                self.ask(id);
                self.wait_for(ticket, id);
            }
            Err(failure) if failure.code == "no-key" => self.respond(ticket, Response::NoKey),
            Err(failure) => self.respond(ticket, Response::Unknown { message: failure.message }),
        }
        self.finish()
    }

    /// A message of a unit. One of a later epoch is kept until ingress is there (rule
    /// P4).
    pub fn on_message(&mut self, now: Now, message: Stamped) -> Vec<IngressAction> {
        self.now = now;
        self.take(message);
        self.finish()
    }

    /// Time has passed: deadlines, and answers that are kept no longer.
    pub fn on_time(&mut self, now: Now) -> Vec<IngressAction> {
        self.now = now;
        self.looked = now.monotonic;
        while let Some((due, id)) =
            self.deadlines.first().copied().filter(|(due, _)| *due <= now.monotonic)
        {
            self.deadlines.remove(&(due, id));
            self.give_up(id, "deadline");
        }
        while let Some((at, id)) = self.expiries.first().copied().filter(|(at, _)| *at <= now.wall)
        {
            self.expiries.remove(&(at, id));
            self.drop_request(id);
        }
        self.finish()
    }

    /// When [`Ingress::on_time`] wants to be called next, on the monotonic clock.
    #[must_use]
    pub fn next_time(&self, now: Now) -> Option<Duration> {
        let look = self.looked.max(now.monotonic.saturating_sub(LOOK)) + LOOK;
        let expiry = self.expiries.first().map(|(at, _)| {
            let rest = u64::try_from(at.0.saturating_sub(now.wall.0)).unwrap_or(0);
            // Long before the time nothing is looked at: a day has no use for it.
            if rest > 60_000 { now.monotonic + Duration::from_secs(60) } else { look }
        });
        let deadline = self.deadlines.first().map(|(due, _)| *due);
        [expiry, deadline].into_iter().flatten().min()
    }

    /// The epoch ends: hands over its delta and goes on in `next`, with the messages
    /// that were kept for it.
    pub fn on_barrier(&mut self, now: Now, next: Epoch) -> (Vec<Change>, Vec<IngressAction>) {
        self.now = now;
        let mut changes = Vec::new();
        let key = |id| Writer::new(Table::Requests).invocation(id).done();
        for id in self.removed.drain(..) {
            changes.push(Change { key: key(id), value: None });
        }
        for id in std::mem::take(&mut self.dirty) {
            if let Some(request) = self.requests.get_mut(&id).filter(|request| request.has_row()) {
                request.stored = true;
                changes.push(Change { key: key(id), value: Some(request.row(&self.names)) });
            }
        }
        self.epoch = next;
        self.sequence = 0;
        let (due, kept): (Vec<_>, _) =
            std::mem::take(&mut self.kept).into_iter().partition(|stamped| stamped.epoch <= next);
        self.kept = kept;
        due.into_iter().for_each(|stamped| self.take(stamped));
        (changes, self.finish())
    }

    /// This epoch is durable: answers that waited for it are given.
    pub fn on_committed(&mut self, now: Now, epoch: Epoch) -> Vec<IngressAction> {
        self.now = now;
        self.committed = self.committed.max(epoch);
        let later = self.held.split_off(&epoch.next());
        for (ticket, response) in std::mem::replace(&mut self.held, later).into_values().flatten() {
            self.out.push(IngressAction::Respond { ticket, response });
        }
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
        self.finish()
    }

    /// The asker will wait for the end of a call made earlier, or for a send to be
    /// held.
    pub fn attach(
        &mut self,
        now: Now,
        ticket: u64,
        invocation: InvocationId,
    ) -> Vec<IngressAction> {
        self.now = now;
        match self.requests.contains_key(&invocation) {
            true => self.wait_for(ticket, invocation),
            false => self.unknown(ticket, invocation),
        }
        self.finish()
    }

    /// The asker has gone: it is answered no more; its request goes on.
    pub fn detach(&mut self, ticket: u64) {
        if let Some(request) =
            self.tickets.remove(&ticket).and_then(|id| self.requests.get_mut(&id))
        {
            request.waiters.retain(|waiter| *waiter != ticket);
        }
        for held in self.held.values_mut() {
            held.retain(|(waiter, _)| *waiter != ticket);
        }
        self.lookers.retain(|_, lookers| {
            lookers.retain(|looker| *looker != ticket);
            !lookers.is_empty()
        });
    }

    /// Gives up a request that has no outcome yet: what has not begun never will, what
    /// runs is rolled back, what has ended stays (rule P8). So too a send that its
    /// target holds, for as long as it is known here. The asker is told once it is
    /// decided and durable; how, [`Ingress::look`] tells.
    pub fn cancel(
        &mut self,
        now: Now,
        ticket: u64,
        invocation: InvocationId,
    ) -> Vec<IngressAction> {
        self.now = now;
        match self.requests.get_mut(&invocation) {
            Some(request) if request.is_open() || request.is_taken() => {
                request.waiters.push(ticket);
                self.tickets.insert(ticket, invocation);
                self.give_up(invocation, "cancelled");
            }
            Some(_) => self.tell(ticket, invocation),
            None => self.unknown(ticket, invocation),
        }
        self.finish()
    }

    /// How far is a request? Of a send its target is asked. That something has ended
    /// is told once it is durable.
    pub fn look(&mut self, now: Now, ticket: u64, invocation: InvocationId) -> Vec<IngressAction> {
        self.now = now;
        let Some(request) = self.requests.get(&invocation) else {
            self.unknown(ticket, invocation);
            return self.finish();
        };
        match (&request.state, request.kind) {
            (State::Asked, _) => self.respond_standing(ticket, invocation, RequestStatus::Pending),
            (State::Answered { outcome: None, .. }, _) => {
                let (to, from) = (request.made.to, Address::ingress());
                self.lookers.entry(invocation).or_default().push(ticket);
                self.post(to, Message::Look { id: request::call_id(invocation), from });
            }
            (State::Answered { outcome: Some(outcome), epoch, .. }, kind) => {
                let status = match (outcome, kind) {
                    (Ok(_), _) => RequestStatus::Replied,
                    (Err(_), AskKind::Call) => RequestStatus::Failed,
                    (Err(_), AskKind::Send { .. }) => RequestStatus::Cancelled,
                };
                let epoch = *epoch;
                self.hold(epoch, ticket, Response::Standing { invocation, status });
            }
        }
        self.finish()
    }

    /// Has it anything that the next barrier would hand over, or answers that wait for
    /// one?
    #[must_use]
    pub fn is_dirty(&self) -> bool {
        !self.dirty.is_empty() || !self.removed.is_empty() || self.held.contains_key(&self.epoch)
    }

    /// How many requests have no outcome yet.
    #[must_use]
    pub fn open(&self) -> usize {
        self.requests.values().filter(|request| request.is_open()).count()
    }

    fn finish(&mut self) -> Vec<IngressAction> {
        std::mem::take(&mut self.out)
    }

    fn post(&mut self, to: Address, message: Message) {
        self.out.push(IngressAction::Post(Stamped { epoch: self.epoch, to, message }));
    }

    fn respond(&mut self, ticket: u64, response: Response) {
        self.out.push(IngressAction::Respond { ticket, response });
    }

    fn delayed(&self, delay: Option<Duration>) -> Option<EventTime> {
        let delay = delay.filter(|delay| !delay.is_zero())?;
        let ms = i64::try_from(delay.as_millis()).unwrap_or(i64::MAX);
        Some(EventTime(self.now.wall.0.saturating_add(ms)))
    }

    fn take(&mut self, stamped: Stamped) {
        if stamped.epoch > self.epoch {
            self.kept.push(stamped);
            return;
        }
        match stamped.message {
            Message::Outcome { id, from, outcome } => {
                self.answered(id, from, stamped.epoch, Some(outcome))
            }
            Message::Taken { id, from } => self.answered(id, from, stamped.epoch, None),
            Message::Standing { id, standing } => self.stands(id.caller, standing),
            // Nobody asks ingress for anything.
            Message::Ask(_)
            | Message::Cancel { .. }
            | Message::Look { .. }
            | Message::Forget { .. } => {}
        }
    }

    fn ask(&mut self, id: InvocationId) {
        let due = self.now.monotonic;
        let Some(request) = self.requests.get_mut(&id) else { return };
        if request.kind == AskKind::Call {
            let due = due.saturating_add(request.deadline);
            request.due = Some(due);
            self.deadlines.insert((due, id));
        }
        let (to, ask) = request.ask(id);
        self.post(to, Message::Ask(ask));
    }

    fn give_up(&mut self, id: InvocationId, code: &str) {
        let may_be_given_up = |request: &&mut Request| request.is_open() || request.is_taken();
        let Some(request) = self.requests.get_mut(&id).filter(may_be_given_up) else { return };
        if let Some(due) = request.due.take() {
            self.deadlines.remove(&(due, id));
        }
        request.cancelled = true;
        let (to, taken) = (request.made.to, request.is_taken());
        let cancel = Message::Cancel {
            id: request::call_id(id),
            taken,
            code: code.into(),
            from: Address::ingress(),
        };
        self.post(to, cancel);
    }

    fn answered(&mut self, call: CallId, from: Address, epoch: Epoch, outcome: Option<Outcome>) {
        let id = call.caller;
        let is_taken = self.requests.get(&id).is_some_and(Request::is_taken);
        if is_taken && let Some(outcome) = outcome {
            return self.decided(call, from, outcome);
        }
        let Some(request) = self.requests.get_mut(&id).filter(|request| request.is_open()) else {
            if !self.forgets.contains_key(&call) {
                self.post(from, Message::Forget { id: call });
            }
            return;
        };
        if let Some(due) = request.due.take() {
            self.deadlines.remove(&(due, id));
        }
        // What a row holds is asked for again after a crash, until a commit holds the
        // answer; what has none is not.
        // (A cancel may have overtaken its call, whose tombstone must stay for a while.)
        let (must_wait, is_kept) =
            (request.stored || request.cancelled, request.idempotency.is_some());
        let at = if is_kept { self.epoch } else { epoch };
        // Who cancelled a send in the meantime waits for what comes of that.
        let waiters = match request.cancelled && is_kept && outcome.is_none() {
            true => Vec::new(),
            false => std::mem::take(&mut request.waiters),
        };
        request.state = State::Answered { outcome, at: self.now.wall, epoch: at };
        if must_wait || is_kept {
            self.forgets.insert(call, (self.epoch, from));
        } else {
            self.post(from, Message::Forget { id: call });
        }
        waiters.into_iter().for_each(|ticket| self.tell(ticket, id));
        if is_kept {
            self.dirty.push(id);
            self.expiries.insert((EventTime(self.now.wall.0.saturating_add(KEPT)), id));
        } else {
            self.drop_request(id);
        }
    }

    /// What came of the cancel of a send that its target had taken: it is cancelled, or
    /// has ended before.
    fn decided(&mut self, call: CallId, from: Address, outcome: Outcome) {
        let (id, running) = (call.caller, self.epoch);
        let Some(request) = self.requests.get_mut(&id) else { return };
        let waiters = std::mem::take(&mut request.waiters);
        if let (Err(_), State::Answered { outcome: decided, epoch, .. }) =
            (&outcome, &mut request.state)
        {
            *decided = Some(outcome);
            *epoch = running;
            self.dirty.push(id);
        }
        self.forgets.insert(call, (running, from));
        for ticket in waiters {
            self.tickets.remove(&ticket);
            self.hold(running, ticket, Response::Accepted { invocation: id });
        }
    }

    /// The target of a send says how far it is.
    fn stands(&mut self, invocation: InvocationId, standing: Standing) {
        for ticket in self.lookers.remove(&invocation).unwrap_or_default() {
            let status = RequestStatus::Sent(standing);
            match standing {
                Standing::Ended => {
                    self.hold(self.epoch, ticket, Response::Standing { invocation, status })
                }
                _ => self.respond_standing(ticket, invocation, status),
            }
        }
    }

    fn respond_standing(&mut self, ticket: u64, invocation: InvocationId, status: RequestStatus) {
        self.respond(ticket, Response::Standing { invocation, status });
    }

    fn unknown(&mut self, ticket: u64, invocation: InvocationId) {
        let message = format!("{invocation} is not known: it was answered, or never was");
        self.respond(ticket, Response::Unknown { message });
    }

    /// An asker waits for the end of a request; of a send, for it to be held.
    fn wait_for(&mut self, ticket: u64, id: InvocationId) {
        let Some(request) = self.requests.get_mut(&id) else { return };
        match (&request.state, request.kind) {
            (State::Asked, AskKind::Call) => {
                request.waiters.push(ticket);
                self.tickets.insert(ticket, id);
            }
            // From this commit on either the request's row or its target holds it.
            (State::Asked, AskKind::Send { .. }) => {
                let made = id.epoch();
                self.hold(made.min(self.epoch), ticket, Response::Accepted { invocation: id });
            }
            (State::Answered { .. }, _) => self.tell(ticket, id),
        }
    }

    /// Tells an asker the recorded answer, as soon as it is durable.
    fn tell(&mut self, ticket: u64, id: InvocationId) {
        self.tickets.remove(&ticket);
        let Some(request) = self.requests.get(&id) else { return };
        let State::Answered { outcome, epoch, .. } = &request.state else { return };
        let response = match (outcome, request.kind) {
            (_, AskKind::Send { .. }) | (None, _) => Response::Accepted { invocation: id },
            (Some(Ok(value)), _) => Response::Reply { invocation: id, value: value.clone() },
            (Some(Err(failure)), _) => {
                let (failure, done) = (failure.failure.clone(), failure.done.clone());
                Response::Failed { invocation: id, failure, done }
            }
        };
        let epoch = *epoch;
        self.hold(epoch, ticket, response);
    }

    fn hold(&mut self, epoch: Epoch, ticket: u64, response: Response) {
        if epoch <= self.committed {
            self.respond(ticket, response);
        } else {
            self.held.entry(epoch).or_default().push((ticket, response));
        }
    }

    fn drop_request(&mut self, id: InvocationId) {
        let Some(request) = self.requests.remove(&id) else { return };
        if request.stored {
            self.removed.push(id);
        }
        if let Some(idempotency) = request.idempotency {
            self.by_key.remove(&idempotency.key);
        }
    }
}
