//! What becomes of an invocation that ended, well or not.

use super::{
    Action, Unit,
    item::{Content, End, Item, Phase, Replied},
};
use crate::{
    batch::{Batch, Event},
    dead_letter::{DeadLetter, SourcePosition},
    failure::{Failure, FailureKind, Trap},
    ids::{EventTime, InvocationId},
    message::{AskKind, CallFailure, Message, Outcome},
    plan::Exhausted,
    retry,
};

impl Unit {
    /// All calls of an ended attempt are decided.
    pub(super) fn conclude(&mut self, id: InvocationId) {
        let Some(item) = self.items.get_mut(id) else { return };
        let Phase::Ending(end) = std::mem::replace(&mut item.phase, Phase::Queued) else { return };
        if std::mem::take(&mut item.has_slot) {
            self.roots -= 1;
        }
        match end {
            End::Replied(replied) => self.replied(id, *replied),
            End::Failed(failed) => self.attempt_failed(id, failed.0, failed.1),
            End::Cancelled(code) => self.rolled_back(id, &code, true),
            End::Mismatch(message) => {
                self.bury(id, Failure::terminal("mismatch", message), None, true)
            }
        }
    }

    /// An attempt failed and leaves nothing of its own: another one, or the end.
    pub(super) fn attempt_failed(
        &mut self,
        id: InvocationId,
        failure: Failure,
        trap: Option<Trap>,
    ) {
        let policy = self.config.retry;
        let (seed, now) = (self.config.seed, self.now);
        let Some(item) = self.items.get_mut(id) else { return };
        self.figures.failures += 1;
        item.failed += 1;
        if failure.kind == FailureKind::Terminal || !retry::goes_on(&policy, item.failed) {
            return self.give_up(id, failure, trap);
        }
        if let Some(journal) = &mut item.journal {
            journal.drop_refusals();
        }
        let pause = retry::pause(&policy, item.failed, seed ^ id.0 as u64);
        let due = now.monotonic.saturating_add(pause);
        let at = EventTime(
            now.wall.0.saturating_add(i64::try_from(pause.as_millis()).unwrap_or(i64::MAX)),
        );
        self.items.set_phase(id, Phase::Retrying { due, at, pause });
        self.items.touch(id);
        self.items.touch_journal(id);
        self.times.retry(due, id);
    }

    /// It will not be tried again (contract 3.3). The failure of a call is its
    /// caller's.
    fn give_up(&mut self, id: InvocationId, failure: Failure, trap: Option<Trap>) {
        let Some(item) = self.items.get(id) else { return };
        if item.call().is_some() || self.config.retry.then == Exhausted::DeadLetter {
            return self.bury(id, failure, trap, self.config.retry.block_key);
        }
        if self.config.retry.then == Exhausted::Skip {
            self.counts.skipped += 1;
            return self.leave(id, None);
        }
        let reason = format!(
            "operator `{}` gave up on {id} in `{}` after {} attempts, and its policy is halt: {failure}",
            self.config.id,
            self.entry_name(item.entry),
            item.failed
        );
        // It stays first of its key and in the waiting list, for when it is resumed.
        let pause = self.config.retry.max;
        self.items.set_phase(
            id,
            Phase::Retrying { due: std::time::Duration::MAX, at: self.now.wall, pause },
        );
        self.out.push(Action::Halt { reason });
    }

    /// The end of an event as a dead letter; of a call, as a failure of its caller.
    pub(super) fn bury(
        &mut self,
        id: InvocationId,
        failure: Failure,
        trap: Option<Trap>,
        block: bool,
    ) {
        let Some(item) = self.items.get(id) else { return };
        let Some(content) = &item.content else { return };
        let done = self.done(item);
        if item.call().is_some() {
            let failure = match failure.kind {
                FailureKind::Terminal => failure,
                FailureKind::Transient => {
                    Failure::terminal("exhausted", self.exhausted(item, &failure))
                }
            };
            self.counts.ended += 1;
            return self.leave(id, Some(Err(CallFailure { failure, began: true, done })));
        }
        let blocks_key = block && item.slot.is_some();
        let letter = DeadLetter {
            id,
            operator: self.config.id.clone(),
            module: self.config.module.clone(),
            digest: self.config.digest.clone(),
            handler: self.entry_name(item.entry).into(),
            cause: item.cause,
            key: content.key.clone(),
            value: content.value.clone(),
            timestamp: content.timestamp,
            headers: content.headers.clone(),
            position: content.origin.map(|origin| SourcePosition {
                source: self.names.node(origin.source).into(),
                topic: self
                    .config
                    .topics
                    .get(usize::from(origin.source))
                    .cloned()
                    .unwrap_or_default(),
                partition: origin.partition,
                offset: origin.offset,
            }),
            attempts: item.failed,
            failure,
            trap,
            done,
            blocks_key,
            at: self.now.wall,
        };
        let journal = item.journal.as_ref().filter(|journal| journal.has_calls());
        let journal = journal.map(|journal| self.journal_row(journal));
        let (slot, order) = (item.slot, item.order);
        self.letters.push((letter, journal));
        self.counts.dead_lettered += 1;
        if let Some(slot) = slot.filter(|_| blocks_key) {
            self.queues.block(&mut self.keys, slot, id, order);
            self.blocked.insert(id, slot);
            self.note_blocked(slot, Some(id));
        }
        self.leave(id, None);
    }

    /// A call or send that its caller wants no more.
    pub(super) fn rolled_back(&mut self, id: InvocationId, code: &str, began: bool) {
        let Some(item) = self.items.get(id) else { return };
        let done = self.done(item);
        let what = if began { "was rolled back" } else { "had not begun, and never will" };
        let message = match code {
            "deadline" => format!("its deadline has passed; it {what}"),
            _ => format!("it was cancelled; it {what}"),
        };
        self.counts.ended += 1;
        self.leave(
            id,
            Some(Err(CallFailure { failure: Failure::terminal(code, message), began, done })),
        );
    }

    /// A handler returned ok: all of it counts, now.
    fn replied(&mut self, id: InvocationId, replied: Replied) {
        let Some(item) = self.items.get_mut(id) else { return };
        if let (Some(run), Some(slot)) = (item.run.take(), item.slot) {
            run.overlay.apply(&mut self.cells, &mut self.keys, slot);
        }
        let emitted =
            item.content.as_ref().map(|content| emitted(content, &replied)).unwrap_or_default();
        let group = item.group;
        let calls = item.journal.as_ref().map_or(0, |journal| journal.calls.len() as u32);
        if !emitted.is_empty() {
            self.out.push(Action::Emit(emitted));
        }
        // Numbers of sends go on behind those of the calls.
        self.send_all(id, calls, group, replied.sends);
        self.counts.ended += 1;
        self.leave(id, Some(Ok(replied.value)));
    }

    /// Leaves the waiting list: whoever asked is told, and its key goes to the next.
    pub(super) fn leave(&mut self, id: InvocationId, outcome: Option<Outcome>) {
        let Some(item) = self.items.remove(id) else { return };
        if item.has_slot {
            self.roots -= 1;
        }
        if let Some(ask) = item.ask {
            self.asks.remove(&ask.id);
            // A send has an outcome only if it was cancelled.
            let outcome = outcome.filter(|outcome| ask.kind == AskKind::Call || outcome.is_err());
            if let Some(outcome) = outcome.clone() {
                let from = self.address(item.group);
                self.post(ask.from, Message::Outcome { id: ask.id, from, outcome });
            }
            if !ask.forgotten {
                self.answers.add(item.group, ask.id, ask.from, outcome);
            }
        }
        if let Some(slot) = item.slot {
            self.queues.leave(&mut self.keys, slot, id);
            self.wake(slot);
            self.keys.unpin(slot);
        }
        self.suspicion.somebody_ended();
    }

    fn done(&self, item: &Item) -> Vec<String> {
        item.journal
            .as_ref()
            .map(|journal| journal.done(|made| self.names.shown(made)))
            .unwrap_or_default()
    }

    fn exhausted(&self, item: &Item, last: &Failure) -> String {
        let (operator, handler) = (&self.config.id, self.entry_name(item.entry));
        format!("`{operator}.{handler}` failed {} times; the last time: {last}", item.failed)
    }
}

/// The events that a handler gave away, as a batch.
fn emitted(content: &Content, replied: &Replied) -> Batch {
    let mut batch = Batch::default();
    for emission in &replied.emissions {
        batch.push(Event {
            timestamp: emission.timestamp.unwrap_or(content.timestamp).0,
            key: emission.key.as_deref().or(content.key.as_deref()),
            value: &emission.value,
            port: emission.port,
            origin: content.origin,
        });
        for (name, value) in &emission.headers {
            batch.push_header(name, value);
        }
    }
    batch
}
