//! Calls and sends that others make here. What becomes of one is decided here and
//! nowhere else (rule P8).

use bytes::Bytes;

use super::{
    Unit,
    item::{Asked, Content, End, Entry, Item, Phase, Stored},
};
use crate::{
    failure::Failure,
    guest::Cause,
    ids::{CallId, EventTime, InvocationId, KeyGroup, hash_key},
    message::{Address, Ask, AskKind, CallFailure, Message, Standing},
    plan::Runs,
};

impl Unit {
    /// Somebody asks, perhaps not for the first time.
    pub(super) fn asked(&mut self, ask: Ask) {
        if self.answers.get(ask.id).is_some() {
            return self.tell(ask.id);
        }
        if let Some(id) = self.asks.get(&ask.id).copied() {
            return self.attach(id, &ask);
        }
        if let Err(failure) = self.may_begin(&ask) {
            let from = self.address(KeyGroup::of(&ask.key));
            let outcome = Err(CallFailure { failure, began: false, done: Vec::new() });
            return self.post(ask.from, Message::Outcome { id: ask.id, from, outcome });
        }
        self.counts.taken += 1;
        let id = self.take_ask(ask);
        match self.items.get(id).map(|item| &item.phase) {
            Some(Phase::Delayed) => {}
            _ => self.enqueue(id),
        }
    }

    /// The caller wants no more of a call or send.
    pub(super) fn cancelled(
        &mut self,
        at: KeyGroup,
        call: CallId,
        taken: bool,
        code: String,
        from: Address,
    ) {
        if let Some(answer) = self.answers.get(call) {
            return match answer.outcome {
                Some(_) => self.tell(call),
                None => self.has_ended(at, call, from),
            };
        }
        let Some(id) = self.asks.get(&call).copied() else {
            return match taken {
                true => self.has_ended(at, call, from),
                // It never will begin.
                false => self.entomb(at, call, &code, from),
            };
        };
        if !self.fetch(id) {
            return;
        }
        let Some(item) = self.items.get(id) else { return };
        match &item.phase {
            // What ended well is not undone; the outcome of a call is on its way.
            Phase::Ending(End::Replied(_)) if item.call().is_some() => {}
            Phase::Ending(End::Replied(_)) => self.has_ended(at, call, from),
            Phase::Ending(_) => self.items.set_phase(id, Phase::Ending(End::Cancelled(code))),
            Phase::Running => {
                self.out.push(super::Action::Cancel(id));
                self.end_attempt(id, End::Cancelled(code));
            }
            Phase::Retrying { due, .. } => {
                let due = *due;
                self.times.no_retry(due, id);
                self.end_attempt(id, End::Cancelled(code));
            }
            Phase::Delayed | Phase::Queued | Phase::Ready if item.begun() => {
                self.end_attempt(id, End::Cancelled(code))
            }
            Phase::Delayed | Phase::Queued | Phase::Ready => {
                if let Some(until) = Self::held_until(item) {
                    self.times.no_delay(until, id);
                }
                self.rolled_back(id, &code, false);
            }
        }
    }

    /// How far is a send that was taken here?
    pub(super) fn looked_at(&mut self, call: CallId, from: Address) {
        let held = self.asks.get(&call).and_then(|id| self.items.get(*id));
        let standing = held.map_or(Standing::Ended, |item| match item.phase {
            Phase::Delayed => Standing::Delayed,
            Phase::Queued | Phase::Ready => Standing::Waiting,
            Phase::Running | Phase::Ending(_) => Standing::Running,
            Phase::Retrying { .. } => Standing::Retrying,
        });
        self.post(from, Message::Standing { id: call, standing });
    }

    /// A commit holds the outcome where the call came from.
    pub(super) fn forget(&mut self, call: CallId) {
        self.answers.forget(call);
        if let Some(item) = self.asks.get(&call).copied().and_then(|id| self.items.get_mut(id))
            && let Some(ask) = item.ask.as_mut()
            && ask.kind != AskKind::Call
        {
            ask.forgotten = true;
        }
    }

    /// The time of a send that was held back has come: it arrives now.
    pub(super) fn delay_is_over(&mut self, id: InvocationId) {
        if !self.fetch(id) {
            return;
        }
        let order = self.next_orders(1);
        let Some(item) = self.items.get_mut(id) else { return };
        item.order = order;
        if let Some(AskKind::Send { not_before }) = item.ask.as_mut().map(|ask| &mut ask.kind) {
            *not_before = None;
        }
        self.items.set_phase(id, Phase::Queued);
        self.items.touch(id);
        self.enqueue(id);
    }

    /// After a start: all that callers may not know. One that needs it no more says so
    /// by [`Message::Forget`].
    pub(super) fn tell_again(&mut self) {
        let mut answered: Vec<CallId> = self.answers.iter().map(|(id, _)| id).collect();
        answered.sort_unstable();
        for id in answered {
            self.tell(id);
        }
        let mut held: Vec<_> =
            self.items.iter().filter_map(|item| Some((item.ask.as_ref()?, item.group))).collect();
        held.retain(|(ask, _)| ask.kind != AskKind::Call);
        held.sort_unstable_by_key(|(ask, _)| ask.id);
        let held: Vec<_> = held.into_iter().map(|(ask, group)| (ask.id, ask.from, group)).collect();
        for (id, to, group) in held {
            let from = self.address(group);
            self.post(to, Message::Taken { id, from });
        }
    }

    fn may_begin(&self, ask: &Ask) -> Result<(), Failure> {
        let handler = self.config.description.handlers.get(ask.handler as usize);
        if self.config.runs != Runs::Handlers || !handler.is_some_and(|handler| handler.takes_calls)
        {
            let message =
                format!("operator `{}` has no such handler that takes calls", self.config.id);
            return Err(Failure::terminal("unknown-handler", message));
        }
        let holder =
            self.keys.find(hash_key(&ask.key), &ask.key).and_then(|slot| self.queues.first(slot));
        if let Some(holder) = holder.filter(|holder| ask.chain.contains(holder)) {
            let chain: Vec<String> = ask.chain.iter().map(ToString::to_string).collect();
            let key = String::from_utf8_lossy(&ask.key).into_owned();
            let message = format!(
                "key `{key}` of operator `{}` is held by {holder}, which waits for this call; the chain: {}",
                self.config.id,
                chain.join(" -> ")
            );
            return Err(Failure::terminal("re-entrant", message));
        }
        Ok(())
    }

    fn take_ask(&mut self, ask: Ask) -> InvocationId {
        let id = self.fresh_id();
        let order = self.next_orders(1);
        let hash = hash_key(&ask.key);
        let slot = self.keys.intern(hash, &ask.key);
        let group = KeyGroup::of_hash(hash);
        let (cause, delay) = match ask.kind {
            AskKind::Call => (Cause::Call, None),
            AskKind::Send { not_before } => (Cause::Send, not_before),
        };
        let delay = delay.filter(|until| *until > self.now.wall);
        self.asks.insert(ask.id, id);
        let phase = match delay {
            Some(until) => {
                self.times.delay(until, id);
                Phase::Delayed
            }
            None => Phase::Queued,
        };
        self.keys.pin(slot);
        let content = Content {
            key: Some(ask.key),
            value: ask.value,
            timestamp: ask.timestamp,
            headers: Vec::new(),
            origin: None,
        };
        let item = Item {
            id,
            order,
            entry: Entry::Handler(ask.handler),
            cause,
            slot: Some(slot),
            group,
            bytes: content.bytes(),
            content: Some(Box::new(content)),
            ask: Some(Box::new(Asked {
                id: ask.id,
                from: ask.from,
                kind: ask.kind,
                chain: ask.chain,
                forgotten: false,
            })),
            failed: 0,
            phase,
            journal: None,
            run: None,
            has_slot: false,
            stored: Stored::default(),
        };
        let taken = (item.cause == Cause::Send).then_some((ask.id, ask.from));
        self.items.add(item);
        if let Some((call, to)) = taken {
            let from = self.address(group);
            self.post(to, Message::Taken { id: call, from });
        }
        id
    }

    /// Asked again for what has not ended: a caller after its recovery.
    fn attach(&mut self, id: InvocationId, ask: &Ask) {
        let Some(item) = self.items.get_mut(id) else { return };
        if let Some(asked) = item.ask.as_mut() {
            asked.from = ask.from;
        }
        let from = Address { node: self.config.node, group: item.group };
        if ask.kind != AskKind::Call {
            self.post(ask.from, Message::Taken { id: ask.id, from });
        }
    }

    /// Tells the recorded answer.
    fn tell(&mut self, call: CallId) {
        let Some(answer) = self.answers.get(call).cloned() else { return };
        let from = self.address(answer.group);
        let message = match answer.outcome {
            Some(outcome) => Message::Outcome { id: call, from, outcome },
            None => Message::Taken { id: call, from },
        };
        self.post(answer.from, message);
    }

    /// A send that is to be cancelled has ended before.
    fn has_ended(&mut self, at: KeyGroup, call: CallId, to: Address) {
        let from = self.address(at);
        self.post(to, Message::Outcome { id: call, from, outcome: Ok(Bytes::new()) });
    }

    /// A tombstone: a call that was cancelled before it came.
    fn entomb(&mut self, at: KeyGroup, call: CallId, code: &str, to: Address) {
        let message = "it was given up before it arrived, and never will begin";
        let failure = CallFailure {
            failure: Failure::terminal(code, message),
            began: false,
            done: Vec::new(),
        };
        self.answers.add(at, call, to, Some(Err(failure.clone())));
        let from = self.address(at);
        self.post(to, Message::Outcome { id: call, from, outcome: Err(failure) });
    }

    /// The wall time until which a send is held back.
    pub(super) fn held_until(item: &Item) -> Option<EventTime> {
        match item.ask.as_ref()?.kind {
            AskKind::Send { not_before } => not_before,
            AskKind::Call => None,
        }
    }
}
