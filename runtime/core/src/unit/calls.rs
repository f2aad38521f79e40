//! Calls that invocations of this unit make, and their sends.

use std::time::Duration;

use super::{
    CHAIN_MAX, Unit,
    item::{Item, Phase},
    journal::{Made, Step},
    outbox::{Dropped, Outgoing},
};
use crate::{
    failure::Failure,
    guest::Request,
    ids::{CallId, EventTime, InvocationId, KeyGroup},
    message::{Address, Ask, AskKind, CallFailure, Message, Outcome},
};

impl Unit {
    /// A guest asks for a call.
    pub(super) fn called(&mut self, id: InvocationId, n: u32, request: Request) {
        let Some(Item { phase: Phase::Running, run: Some(run), journal: Some(journal), .. }) =
            self.items.get_mut(id)
        else {
            return;
        };
        if n != run.asked {
            let message = format!("call {n} came where call {} was expected", run.asked);
            return self.mismatch(id, message);
        }
        run.asked += 1;
        let now = run.now;
        match journal.step(n, &request) {
            Step::Recorded | Step::Attached => {}
            Step::Mismatch(message) => self.mismatch(id, message),
            Step::Ask { r } => match self.may_call(id, &request) {
                Ok(made) => self.ask(id, CallId { caller: id, n, r }, made, request, now),
                Err(failure) => {
                    self.decide(
                        id,
                        n,
                        Err(CallFailure { failure, began: false, done: Vec::new() }),
                    );
                }
            },
        }
    }

    fn may_call(&self, id: InvocationId, request: &Request) -> Result<Made, Failure> {
        let depth =
            self.items.get(id).and_then(|item| item.ask.as_ref()).map_or(0, |ask| ask.chain.len())
                + 2;
        if depth > CHAIN_MAX {
            let message = format!(
                "the chain of calls would be {depth} deep; at most {CHAIN_MAX} are allowed"
            );
            return Err(Failure::terminal("too-deep", message));
        }
        self.names.resolve(
            &request.operator,
            &request.handler,
            request.key.as_ref(),
            &request.value,
        )
    }

    fn ask(
        &mut self,
        id: InvocationId,
        call: CallId,
        made: Made,
        request: Request,
        now: EventTime,
    ) {
        let (epoch, monotonic) = (self.epoch, self.now.monotonic);
        let deadline = request.after_ms.map_or(self.config.deadline, Duration::from_millis);
        let due = monotonic.saturating_add(deadline);
        let Some(item) = self.items.get_mut(id) else { return };
        let Some(record) =
            item.journal.as_mut().and_then(|journal| journal.calls.get_mut(call.n as usize))
        else {
            return;
        };
        // One that a row knows of was first asked for in an epoch that is committed.
        let is_new = record.made.is_none();
        record.made = Some(made.clone());
        record.asked = Some(epoch);
        record.restored = !is_new;
        record.deadline = Some(due);
        record.cancelled = false;
        let mut chain = item.ask.as_ref().map(|ask| ask.chain.clone()).unwrap_or_default();
        chain.push(id);
        let from = Address { node: self.config.node, group: item.group };
        self.times.deadline(due, id, call.n);
        self.items.touch_journal(id);
        let ask = Ask {
            id: call,
            from,
            kind: AskKind::Call,
            handler: made.handler,
            key: made.key,
            value: request.value,
            timestamp: now,
            chain,
        };
        self.post(made.to, Message::Ask(ask));
    }

    /// Wants no more of a call that is open; its callee decides.
    pub(super) fn cancel_call(&mut self, id: InvocationId, n: u32, code: &str) {
        let Some(item) = self.items.get_mut(id) else { return };
        let from = Address { node: self.config.node, group: item.group };
        let Some(call) =
            item.journal.as_mut().and_then(|journal| journal.calls.get_mut(n as usize))
        else {
            return;
        };
        if !call.is_open() || call.cancelled {
            return;
        }
        call.cancelled = true;
        if let Some(due) = call.deadline.take() {
            self.times.no_deadline(due, id, n);
        }
        let call_id = CallId { caller: id, n, r: call.r };
        match &call.made {
            Some(made) => {
                let to = made.to;
                self.post(
                    to,
                    Message::Cancel { id: call_id, taken: false, code: code.into(), from },
                );
            }
            None => {
                let failure = Failure::terminal(code, "it was never asked for");
                self.decide(id, n, Err(CallFailure { failure, began: false, done: Vec::new() }));
            }
        }
    }

    /// A call was decided.
    pub(super) fn outcome(&mut self, call: CallId, from: Address, outcome: Outcome) {
        let asked = self.items.get(call.caller).and_then(|item| {
            let call_of = item.journal.as_ref()?.calls.get(call.n as usize)?;
            let is_new =
                call_of.asked == Some(self.epoch) && !call_of.restored && !call_of.cancelled;
            (call_of.r == call.r && call_of.is_open()).then_some(is_new)
        });
        match asked {
            Some(is_new) => {
                if is_new {
                    // No commit has this call as open: it will not be asked for again.
                    // (A cancel may have overtaken the call: its tombstone must stay.)
                    self.post(from, Message::Forget { id: call });
                } else {
                    self.forgets.insert(call, (self.epoch, from));
                }
                self.decide(call.caller, call.n, outcome);
            }
            // Decided before; what is to be forgotten after a commit waits for it.
            None if self.forgets.contains_key(&call) => {}
            None => self.post(from, Message::Forget { id: call }),
        }
    }

    fn decide(&mut self, id: InvocationId, n: u32, outcome: Outcome) {
        let wall = self.now.wall;
        let Some(item) = self.items.get_mut(id) else { return };
        let Some(journal) = item.journal.as_mut() else { return };
        let deadline = journal.calls.get_mut(n as usize).and_then(|call| call.deadline.take());
        if let Some(due) = deadline {
            self.times.no_deadline(due, id, n);
        }
        if !journal.decide(n, wall, outcome) {
            return;
        }
        let ends = matches!(item.phase, Phase::Ending(_));
        let all_decided = ends && journal.open().next().is_none();
        self.items.touch_journal(id);
        if !ends {
            self.list(id);
        } else if all_decided {
            self.conclude(id);
        }
    }

    /// Finds where sends go; they are not sent yet.
    ///
    /// # Errors
    /// The failure of the first that goes nowhere.
    pub(super) fn resolve_sends(&self, sends: Vec<Request>) -> Result<Vec<Outgoing>, Failure> {
        sends.into_iter().map(|send| self.resolve_send(send)).collect()
    }

    /// Finds where a send goes.
    ///
    /// # Errors
    /// If it goes nowhere; transient if too much waits where it goes (rule P3).
    pub(super) fn resolve_send(&self, send: Request) -> Result<Outgoing, Failure> {
        let to =
            self.names.resolve(&send.operator, &send.handler, send.key.as_ref(), &send.value)?;
        if self.config.targets.get(&send.operator).is_some_and(|to| to.waiting.is_over()) {
            let message =
                format!("too much waits at operator `{}`: its quota is used up", send.operator);
            return Err(Failure::transient("overloaded", message));
        }
        let wall = self.now.wall;
        let later =
            |ms: u64| EventTime(wall.0.saturating_add(i64::try_from(ms).unwrap_or(i64::MAX)));
        Ok(Outgoing {
            to,
            value: send.value,
            timestamp: wall,
            not_before: send.after_ms.filter(|ms| *ms > 0).map(later),
        })
    }

    /// Sends of an invocation that ended ok, or of an event of a batch, numbered from
    /// `n` on. Gives the number after the last.
    pub(super) fn send_all(
        &mut self,
        caller: InvocationId,
        mut n: u32,
        group: KeyGroup,
        sends: Vec<Outgoing>,
    ) -> u32 {
        for send in sends {
            let id = CallId { caller, n, r: 0 };
            let ask = send.ask(id, self.config.node, group);
            let to = send.to.to;
            self.outbox.add(group, id, send);
            self.post(to, Message::Ask(ask));
            n += 1;
        }
        n
    }

    /// The target of a send holds it.
    pub(super) fn taken(&mut self, id: CallId, from: Address) {
        match self.outbox.taken(id) {
            Dropped::Row => drop(self.forgets.insert(id, (self.epoch, from))),
            Dropped::Unknown if self.forgets.contains_key(&id) => {}
            Dropped::NoRow | Dropped::Unknown => self.post(from, Message::Forget { id }),
        }
    }

    /// After a start: sends whose targets may not hold them.
    pub(super) fn ask_again(&mut self) {
        for (to, ask) in self.outbox.asks(self.config.node) {
            self.post(to, Message::Ask(ask));
        }
    }

    /// Where messages to this unit about things of this group go.
    pub(super) fn address(&self, group: KeyGroup) -> Address {
        Address { node: self.config.node, group }
    }
}
