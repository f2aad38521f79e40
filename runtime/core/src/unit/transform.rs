//! Batches of the `transform` face (rule P13).
//!
//! A batch runs whole. What fails is narrowed down: events that the guest names are
//! taken out and the rest runs again; a failure of the whole, or a trap, halves the
//! batch until the bad event stands alone. A bad event joins the waiting list, and
//! later ones of its key behind it; other keys go on. As long as no key has anything
//! waiting, no event is looked at here.

use std::{collections::VecDeque, sync::Arc};

use super::{
    Action, Unit,
    item::{Entry, Phase},
    outbox::Outgoing,
    select,
};
use crate::{
    batch::{Batch, Event, NO_TIMESTAMP},
    clock::Now,
    failure::{Failure, Trap},
    guest::Output,
    ids::InvocationId,
    plan::MissingKey,
    state::BatchState,
};

/// How many waiting events run in one batch, each of another key.
const TOGETHER: usize = 256;

/// Batches that are to run, and the one that does.
#[derive(Debug, Default)]
pub(crate) struct Transform {
    work: VecDeque<Work>,
    pub(super) current: Option<Work>,
    pub(super) state: BatchState,
}

/// Events that are to run as one batch.
#[derive(Clone, Debug)]
pub(crate) struct Work {
    pub(super) batch: Arc<Batch>,
    port: u8,
    /// Where the events stand in the order of arrival.
    who: Who,
}

#[derive(Clone, Debug)]
enum Who {
    /// They come from a stream: so many places from here.
    Fresh(u64),
    /// The same, after some were taken out.
    Picked(Vec<u64>),
    /// They come from the waiting list, each the first of its key.
    Waiting(Vec<InvocationId>),
}

impl Transform {
    /// Does a batch wait for an instance?
    pub(super) fn is_stuck(&self) -> bool {
        self.current.is_some()
    }

    /// Events in batches that have not run.
    pub(super) fn pending(&self) -> usize {
        let fresh = |work: &Work| match work.who {
            Who::Waiting(_) => 0,
            _ => work.batch.len(),
        };
        self.work.iter().map(fresh).sum::<usize>() + self.current.as_ref().map_or(0, fresh)
    }
}

impl Work {
    /// The events that `pick` names, in order.
    fn pick(&self, pick: &[usize]) -> Self {
        let who = match &self.who {
            Who::Fresh(first) => {
                Who::Picked(pick.iter().map(|event| first + *event as u64).collect())
            }
            Who::Picked(orders) => Who::Picked(pick.iter().map(|event| orders[*event]).collect()),
            Who::Waiting(ids) => Who::Waiting(pick.iter().map(|event| ids[*event]).collect()),
        };
        Self { batch: Arc::new(select::picked(&self.batch, pick)), port: self.port, who }
    }
}

impl Unit {
    /// Takes a batch for an input port.
    pub(super) fn take_batch(&mut self, port: u8, mut batch: Arc<Batch>) {
        let has_ports = !batch.ports.is_empty();
        if (port != 0 || has_ports) && !(has_ports && batch.ports.iter().all(|p| *p == port)) {
            let events = batch.len();
            Arc::make_mut(&mut batch).ports =
                if port == 0 { Vec::new() } else { vec![port; events] };
        }
        if self.config.keyed
            && self.config.missing_key == MissingKey::Skip
            && !batch.keyless.is_empty()
        {
            self.counts.filtered += batch.keyless.len() as u64;
            batch = Arc::new(select::keyed(&batch));
            if batch.is_empty() {
                return;
            }
        }
        let first = self.next_orders(batch.len() as u64);
        self.transform.work.push_back(Work { batch, port, who: Who::Fresh(first) });
    }

    /// Takes the answer to [`Action::Process`]. The outer error is a trap; a fresh
    /// instance is there before the actions are carried out.
    pub fn on_processed(
        &mut self,
        now: Now,
        result: Result<Result<Output, Failure>, Trap>,
    ) -> Vec<Action> {
        self.now = now;
        let Some(work) = self.transform.current.take() else { return self.finish() };
        match result {
            Ok(Ok(output)) => self.processed(work, output),
            Ok(Err(failure)) => self.narrow(work, failure, None),
            Err(trap) => {
                self.figures.traps += 1;
                let failure = Failure::transient(&trap.kind.to_string(), trap.message.clone());
                self.narrow(work, failure, Some(trap));
            }
        }
        self.finish()
    }

    /// Runs what is next.
    pub(super) fn advance(&mut self) {
        while self.transform.current.is_none() {
            let Some(work) = self.transform.work.pop_front().or_else(|| self.waiting_work()) else {
                return;
            };
            let Some(work) = self.sift(work) else { continue };
            self.transform.state.begin(self.config.description.cells.len());
            self.out.push(Action::Process(work.batch.clone()));
            self.transform.current = Some(work);
        }
    }

    /// Events of the waiting list that can run, each of another key.
    fn waiting_work(&mut self) -> Option<Work> {
        let mut ids = Vec::new();
        let mut batch = Batch::default();
        let mut port = 0;
        while ids.len() < TOGETHER {
            let Some(id) = self.ready.front().copied() else { break };
            let Some(item) = self.items.get(id).filter(|item| matches!(item.phase, Phase::Ready))
            else {
                self.ready.pop_front();
                continue;
            };
            let Entry::Port(of) = item.entry else {
                self.ready.pop_front();
                continue;
            };
            // One that has failed runs alone, so that it pulls no other down with it.
            if !ids.is_empty() && (of != port || item.failed > 0) {
                break;
            }
            port = of;
            let alone = item.failed > 0;
            if item.slot.is_some_and(|slot| self.queues.first(slot) != Some(id)) {
                self.ready.pop_front();
                self.items.set_phase(id, Phase::Queued);
                continue;
            }
            if !self.fetch(id) {
                break;
            }
            self.ready.pop_front();
            let Some(content) = self.items.get(id).and_then(|item| item.content.as_ref()) else {
                continue;
            };
            batch.push(Event {
                timestamp: content.timestamp.0,
                key: content.key.as_deref(),
                value: &content.value,
                port,
                origin: content.origin,
            });
            for (name, value) in &content.headers {
                batch.push_header(name, value);
            }
            ids.push(id);
            if alone {
                break;
            }
        }
        (!ids.is_empty()).then(|| Work { batch: Arc::new(batch), port, who: Who::Waiting(ids) })
    }

    /// Takes out what cannot run now: events behind others of their key, and those
    /// without a key where they need one, or without a readable time.
    fn sift(&mut self, work: Work) -> Option<Work> {
        let lacks_keys = self.config.keyed && !work.batch.keyless.is_empty();
        let lacks = lacks_keys || work.batch.timestamps.contains(&NO_TIMESTAMP);
        if matches!(work.who, Who::Waiting(_)) || (self.queues.is_empty() && !lacks) {
            return Some(work);
        }
        let mut pick = Vec::with_capacity(work.batch.len());
        for event in 0..work.batch.len() {
            if self.must_wait(&work, event) {
                self.wait(&work, event);
            } else {
                pick.push(event);
            }
        }
        match pick.len() {
            0 => None,
            n if n == work.batch.len() => Some(work),
            _ => Some(work.pick(&pick)),
        }
    }

    fn must_wait(&self, work: &Work, event: usize) -> bool {
        let order = match &work.who {
            Who::Fresh(first) => first + event as u64,
            Who::Picked(orders) => orders[event],
            Who::Waiting(_) => return false,
        };
        match work.batch.key(event) {
            _ if work.batch.timestamps[event] == NO_TIMESTAMP => true,
            Some(key) => {
                let slot = self.keys.find(work.batch.hash(event), key);
                slot.is_some_and(|slot| self.queues.defers(slot, order))
            }
            None => self.config.keyed,
        }
    }

    /// A barrier comes while a batch waits for an instance: barriers wait for no guest,
    /// so its events, and those behind it, join the waiting list. The task has dropped
    /// the [`Action::Process`].
    pub(super) fn park(&mut self) {
        let Some(current) = self.transform.current.take() else { return };
        self.transform.state.drop_writes(&mut self.keys);
        let behind = std::mem::take(&mut self.transform.work);
        for work in std::iter::once(current).chain(behind) {
            if let Who::Waiting(ids) = work.who {
                ids.into_iter().rev().for_each(|id| self.ready.push_front(id));
            } else {
                (0..work.batch.len()).for_each(|event| self.wait(&work, event));
            }
        }
    }

    /// An event joins the waiting list, without having been tried.
    fn wait(&mut self, work: &Work, event: usize) {
        let order = match &work.who {
            Who::Fresh(first) => first + event as u64,
            Who::Picked(orders) => orders[event],
            Who::Waiting(_) => return,
        };
        let id = self.event_item(Entry::Port(work.port), &work.batch, event, order);
        self.enqueue_event(id);
    }

    /// A batch ran. If the guest names bad events, none of its effects count.
    fn processed(&mut self, work: Work, output: Output) {
        let mut failures = output.failures;
        let mut sends: Vec<(u32, Outgoing)> = Vec::with_capacity(output.sends.len());
        for (event, send) in output.sends {
            match self.resolve_send(send) {
                Ok(send) => sends.push((event, send)),
                Err(failure) => failures.push((event, failure)),
            }
        }
        if !failures.is_empty() {
            failures.sort_by_key(|(event, _)| *event);
            failures.dedup_by_key(|(event, _)| *event);
            return self.take_out(work, failures);
        }
        self.transform.state.merge(&mut self.cells, &mut self.keys);
        self.counts.ended += work.batch.len() as u64;
        let mut batch = output.batch;
        if !batch.is_empty() {
            if !work.batch.origins.is_empty() {
                let origin = |cause: &u32| {
                    work.batch.origins.get(*cause as usize).copied().unwrap_or_default()
                };
                batch.origins = output.causes.iter().map(origin).collect();
            }
            self.out.push(Action::Emit(batch));
        }
        if !sends.is_empty() {
            self.send_of_batch(&work, sends);
        }
        if let Who::Waiting(ids) = work.who {
            for id in ids {
                self.leave(id, None);
            }
        }
    }

    fn send_of_batch(&mut self, work: &Work, sends: Vec<(u32, Outgoing)>) {
        // The batch counts as a whole, once: one id for all of its sends.
        let caller = self.fresh_id();
        let (mut n, mut sends) = (0, sends.into_iter().peekable());
        while let Some((event, send)) = sends.next() {
            let mut of_event = vec![send];
            while let Some((_, send)) = sends.next_if(|(other, _)| *other == event) {
                of_event.push(send);
            }
            let key = work.batch.key(event as usize);
            let group = key.map_or(self.group, |_| {
                crate::ids::KeyGroup::of_hash(work.batch.hash(event as usize))
            });
            n = self.send_all(caller, n, group, of_event);
        }
    }

    /// Events that the guest named fail; the others run again without them.
    fn take_out(&mut self, work: Work, failures: Vec<(u32, Failure)>) {
        self.transform.state.drop_writes(&mut self.keys);
        let mut bad = failures.into_iter().peekable();
        let mut rest = Vec::with_capacity(work.batch.len());
        for event in 0..work.batch.len() {
            let failure = bad.next_if(|(of, _)| *of as usize == event).map(|(_, failure)| failure);
            match failure {
                // What waits for another of its key was not tried in its place.
                _ if self.must_wait(&work, event) => self.wait(&work, event),
                Some(failure) => self.fail_event(&work, event, failure, None),
                None => rest.push(event),
            }
        }
        if !rest.is_empty() {
            let rest = work.pick(&rest);
            self.transform.work.push_front(rest);
        }
    }

    /// A batch failed as a whole: it runs again in halves.
    fn narrow(&mut self, work: Work, failure: Failure, trap: Option<Trap>) {
        self.transform.state.drop_writes(&mut self.keys);
        if work.batch.len() <= 1 {
            return self.fail_event(&work, 0, failure, trap);
        }
        let all: Vec<usize> = (0..work.batch.len()).collect();
        let (left, right) = all.split_at(all.len() / 2);
        let (left, right) = (work.pick(left), work.pick(right));
        self.transform.work.push_front(right);
        self.transform.work.push_front(left);
    }

    /// One event failed by itself.
    fn fail_event(&mut self, work: &Work, event: usize, failure: Failure, trap: Option<Trap>) {
        let id = match &work.who {
            Who::Waiting(ids) if self.fetch(ids[event]) => ids[event],
            Who::Waiting(_) => return,
            Who::Fresh(_) | Who::Picked(_) => {
                let order = match &work.who {
                    Who::Picked(orders) => orders[event],
                    Who::Fresh(first) => first + event as u64,
                    Who::Waiting(_) => 0,
                };
                let id = self.event_item(Entry::Port(work.port), &work.batch, event, order);
                let slot = self.items.get(id).and_then(|item| item.slot);
                // It is tried already: it takes its place without waking up.
                self.items.set_phase(id, Phase::Ready);
                if let Some(slot) = slot {
                    self.queues.join(&mut self.keys, slot, order, id);
                }
                id
            }
        };
        self.attempt_failed(id, failure, trap);
    }
}
