//! What begins when, and what the guest reports of it.

use super::{
    Action, Unit,
    item::{End, Entry, Item, Phase, Replied, Run},
    journal::Journal,
};
use crate::{
    clock::Now,
    failure::{Failure, FailureKind},
    guest::{GuestEvent, Reply},
    ids::InvocationId,
    plan::Runs,
    retry,
};

impl Unit {
    /// Takes what `Guest::run` reported.
    pub fn on_guest(&mut self, now: Now, event: GuestEvent) -> Vec<Action> {
        self.now = now;
        self.reporting = true;
        match event {
            GuestEvent::Called { invocation, call, request } => {
                self.called(invocation, call, request)
            }
            GuestEvent::Ended { invocation, result } => self.ended(invocation, result),
        }
        self.finish()
    }

    /// `Guest::run` returned, and all that it reported was given to
    /// [`Unit::on_guest`]: the guest waits, so the next outcome of each invocation may
    /// be handed over (rule P6).
    pub fn on_quiescent(&mut self, now: Now) -> Vec<Action> {
        self.now = now;
        self.reporting = true;
        self.clear_suspect();
        for _ in 0..self.deliverable.len() {
            let Some(id) = self.deliverable.pop_front() else { break };
            self.hand(id);
        }
        let actions = self.finish();
        self.stretch += 1;
        self.reporting = false;
        actions
    }

    /// Begins what there is room for. What runs on its chain's slot needs none (rule
    /// P3).
    pub(super) fn pump(&mut self) {
        if self.config.runs == Runs::Transform {
            return self.advance();
        }
        while !self.suspicion.is_busy() {
            let chained = self.ready_calls.pop_front();
            let Some(id) =
                chained.or_else(|| if self.has_room() { self.ready.pop_front() } else { None })
            else {
                break;
            };
            if self.items.get(id).is_some_and(|item| matches!(item.phase, Phase::Ready)) {
                if !self.fetch(id) {
                    return self.ready.push_front(id);
                }
                self.begin(id);
            }
        }
    }

    /// Is there a slot for one more root?
    pub(super) fn has_room(&self) -> bool {
        !self.held && self.roots < self.suspicion.ceiling(self.config.concurrency.max(1))
    }

    /// Begins an attempt, or the same attempt again in a fresh instance.
    pub(super) fn begin(&mut self, id: InvocationId) {
        let (seed, wall) = (self.config.seed, self.now.wall);
        // What begins after a run was reported has not run when that run is over.
        let since = self.stretch + u64::from(self.reporting);
        let Some(item) = self.items.get_mut(id) else { return };
        let Some(invocation) = item.invocation() else { return };
        let journal = item.journal.get_or_insert_with(|| Box::new(Journal::new(seed, id, wall)));
        let mut run = Run { now: journal.began, since, ..Run::default() };
        if !journal.outcomes.is_empty() {
            run.listed = true;
            self.deliverable.push_back(id);
        }
        item.run = Some(Box::new(run));
        if !item.is_chained() && !item.has_slot {
            item.has_slot = true;
            self.roots += 1;
        }
        self.items.set_phase(id, Phase::Running);
        self.out.push(Action::Begin(invocation));
    }

    /// The pause before the next attempt is over.
    pub(super) fn retry(&mut self, id: InvocationId) {
        let Some(item) = self.items.get(id) else { return };
        let slot = item.slot;
        self.items.set_phase(id, Phase::Queued);
        match slot {
            Some(slot) => self.wake(slot),
            None => self.enqueue(id),
        }
    }

    /// Can an outcome be handed to it? Then it is listed for the next time that the
    /// guest waits.
    pub(super) fn list(&mut self, id: InvocationId) {
        if let Some(run) = self.items.get_mut(id).and_then(|item| item.run.as_mut())
            && !run.listed
        {
            run.listed = true;
            self.deliverable.push_back(id);
        }
    }

    fn hand(&mut self, id: InvocationId) {
        let Some(Item { phase: Phase::Running, run: Some(run), journal: Some(journal), .. }) =
            self.items.get_mut(id)
        else {
            return;
        };
        if run.since > self.stretch || self.suspicion.holds_back(id) {
            return self.deliverable.push_back(id);
        }
        if !run.listed || run.moved == Some(self.stretch) {
            return;
        }
        run.listed = false;
        let Some(next) = journal.outcomes.get(run.handed as usize) else { return };
        if next.call >= run.asked {
            let message = format!(
                "an earlier run had asked for call {} by now; this one waits without it",
                next.call
            );
            return self.mismatch(id, message);
        }
        let (call, outcome) = (next.call, next.outcome.clone());
        run.now = run.now.max(next.at);
        run.handed += 1;
        run.moved = Some(self.stretch);
        run.listed = (run.handed as usize) < journal.outcomes.len();
        if run.listed {
            self.deliverable.push_back(id);
        }
        let news = run.handed > journal.handed;
        journal.handed = journal.handed.max(run.handed);
        if news {
            self.items.touch_journal(id);
        }
        let outcome = outcome.map_err(|failure| failure.failure);
        self.out.push(Action::Answer { invocation: id, call, outcome });
    }

    fn ended(&mut self, id: InvocationId, result: Result<Reply, Failure>) {
        let Some(Item { phase: Phase::Running, run: Some(run), journal: Some(journal), .. }) =
            self.items.get(id)
        else {
            return;
        };
        let end = match result {
            Err(failure) => End::Failed(Box::new((failure, None))),
            Ok(_) if run.handed < journal.handed => End::Mismatch(format!(
                "it ended after {} outcomes of calls; an earlier run had been handed {}",
                run.handed, journal.handed
            )),
            Ok(_)
                if journal
                    .calls
                    .iter()
                    .skip(run.asked as usize)
                    .any(|call| call.print.is_some()) =>
            {
                End::Mismatch(format!(
                    "it ended after {} calls; an earlier run had asked for more",
                    run.asked
                ))
            }
            Ok(reply) => match self.resolve_sends(reply.sends) {
                Ok(sends) => End::Replied(Box::new(Replied {
                    value: reply.value,
                    emissions: reply.emissions,
                    sends,
                })),
                Err(failure) => End::Failed(Box::new((failure, None))),
            },
        };
        self.end_attempt(id, end);
    }

    /// The re-run is not the same run.
    pub(super) fn mismatch(&mut self, id: InvocationId, message: String) {
        self.out.push(Action::Cancel(id));
        self.end_attempt(id, End::Mismatch(message));
    }

    /// An attempt is over. If it is the last, calls that are still open are cancelled,
    /// and decided at their callees before anything comes of the end (rule P8).
    pub(super) fn end_attempt(&mut self, id: InvocationId, end: End) {
        let Some(item) = self.items.get_mut(id) else { return };
        if !matches!(end, End::Replied(_)) {
            item.run = None;
        }
        // What is tried again keeps its journal, and with it the calls that are under
        // way: its re-run attaches to them.
        let goes_on = matches!(&end, End::Failed(failed) if failed.0.kind == FailureKind::Transient)
            && retry::goes_on(&self.config.retry, item.failed + 1);
        let open: Vec<u32> = match &item.journal {
            Some(journal) if !goes_on => journal.open().collect(),
            _ => Vec::new(),
        };
        self.items.set_phase(id, Phase::Ending(end));
        for call in &open {
            self.figures.calls_cancelled += 1;
            self.cancel_call(id, *call, "cancelled");
        }
        if open.is_empty() {
            self.conclude(id);
        }
    }

    /// The handler of an item, or the port; for people.
    pub(super) fn entry_name(&self, entry: Entry) -> &str {
        let description = &self.config.description;
        match entry {
            Entry::Handler(index) => {
                description.handlers.get(index as usize).map_or("", |handler| &handler.name)
            }
            Entry::Port(index) => {
                description.inputs.get(usize::from(index)).map_or("", |port| &port.name)
            }
        }
    }
}
