//! Traps with many invocations in flight (rule P14).
//!
//! The instance is lost, and with it every attempt in it. If the culprit is known,
//! its attempt has failed and all others run again from their journals. If not, they
//! are run again one at a time: while a suspect repeats what it did, up to the point
//! where it needs something new, nobody else moves. One that gets there is cleared
//! and waits; one that traps is the culprit. If all are cleared, it was something
//! that they did together (memory, for one), and fewer run at once until some have
//! ended.

use std::collections::VecDeque;

use super::{
    Action, Unit,
    item::{End, Phase},
};
use crate::{
    clock::Now,
    failure::{Failure, Trap},
    ids::InvocationId,
};

/// How many must end before twice as many may run at once again.
const CALM: usize = 16;

/// Who may have trapped.
#[derive(Debug, Default)]
pub(crate) struct Suspicion {
    /// The one that repeats alone.
    alone: Option<InvocationId>,
    /// Those that are to.
    rest: VecDeque<InvocationId>,
    /// How many roots may run at once, if fewer than are configured.
    ceiling: Option<usize>,
    calm: usize,
}

impl Suspicion {
    /// Is a suspect repeating? Nothing else begins.
    pub(super) fn is_busy(&self) -> bool {
        self.alone.is_some()
    }

    /// Must this one not move now?
    pub(super) fn holds_back(&self, id: InvocationId) -> bool {
        self.alone.is_some_and(|alone| alone != id)
    }

    /// How many roots may run at once.
    pub(super) fn ceiling(&self, configured: usize) -> usize {
        self.ceiling.map_or(configured, |ceiling| ceiling.min(configured))
    }

    /// An invocation ended: confidence grows.
    pub(super) fn somebody_ended(&mut self) {
        if let Some(ceiling) = self.ceiling {
            self.calm += 1;
            if self.calm >= CALM {
                self.calm = 0;
                self.ceiling = ceiling.checked_mul(2).filter(|twice| *twice < 1 << 20);
            }
        }
    }
}

impl Unit {
    /// `Guest::run` trapped: the instance is lost. The task has a fresh one before it
    /// carries out the actions.
    pub fn on_trap(&mut self, now: Now, trap: Trap) -> Vec<Action> {
        self.now = now;
        self.reporting = false;
        self.figures.traps += 1;
        let mut in_flight = self.items.in_guest();
        let known = trap.culprit.filter(|id| in_flight.contains(id));
        let alone = self.suspicion.alone.take();
        let culprit = known.or(alone).or(match in_flight[..] {
            [only] => Some(only),
            _ => None,
        });
        match culprit {
            Some(culprit) => {
                in_flight.retain(|id| *id != culprit);
                self.suspicion.rest.retain(|id| *id != culprit);
                if self.suspicion.rest.is_empty() {
                    in_flight.iter().for_each(|id| self.begin(*id));
                } else {
                    // Those that were cleared repeat behind the others.
                    let cleared =
                        in_flight.into_iter().filter(|id| !self.suspicion.rest.contains(id));
                    let cleared: Vec<_> = cleared.collect();
                    self.suspicion.rest.extend(cleared);
                    self.next_suspect();
                }
                let failure = Failure::transient(&trap.kind.to_string(), trap.message.clone());
                self.end_attempt(culprit, End::Failed(Box::new((failure, Some(trap)))));
            }
            None if in_flight.is_empty() => {}
            None => {
                let ceiling = self
                    .suspicion
                    .ceiling(self.config.concurrency.max(1))
                    .min(in_flight.len().max(2));
                self.suspicion.ceiling = Some((ceiling / 2).max(1));
                self.suspicion.calm = 0;
                self.suspicion.rest = in_flight.into();
                self.next_suspect();
            }
        }
        self.finish()
    }

    /// The suspect has repeated all that it did, or has ended: the next one.
    pub(super) fn clear_suspect(&mut self) {
        let Some(alone) = self.suspicion.alone else { return };
        let is_through =
            self.items.get(alone).and_then(|item| item.run.as_ref()).is_none_or(|run| {
                let has_run = run.since <= self.stretch;
                has_run && !run.listed
            });
        if is_through {
            self.suspicion.alone = None;
            self.next_suspect();
        }
    }

    /// A suspect whose attempt is over, for whatever reason, holds up nobody.
    pub(super) fn excuse_ended_suspect(&mut self) {
        if let Some(alone) = self.suspicion.alone
            && !self.items.get(alone).is_some_and(|item| matches!(item.phase, Phase::Running))
        {
            self.suspicion.alone = None;
            self.next_suspect();
        }
    }

    fn next_suspect(&mut self) {
        while let Some(id) = self.suspicion.rest.pop_front() {
            if self.items.get(id).is_some_and(|item| matches!(item.phase, Phase::Running)) {
                self.suspicion.alone = Some(id);
                return self.begin(id);
            }
        }
    }
}
