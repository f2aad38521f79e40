//! The journal of an invocation: one for all of its attempts (rule P6).
//!
//! Outcomes are recorded in the order of their arrival, and handed to the guest in
//! that order, one at a time, each when the guest waits again. A re-run is fed from
//! the journal the same way, so that there is one path for both.

use std::time::Duration;

use bytes::Bytes;

use crate::{
    guest::Request,
    ids::{Epoch, EventTime, InvocationId},
    message::{Address, CallFailure, Outcome},
};

/// What an invocation got from outside itself.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    /// Its randomness is derived from this.
    pub(crate) seed: u64,
    /// Its time before the first outcome.
    pub(crate) began: EventTime,
    pub(crate) calls: Vec<Call>,
    pub(crate) outcomes: Vec<Recorded>,
    /// The most outcomes that the guest of any attempt was handed.
    pub(crate) handed: u32,
}

/// A call that the guest asked for, by its number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Call {
    /// Refusals that retries dropped.
    pub(crate) r: u32,
    /// Of the request; `None` after such a refusal.
    pub(crate) print: Option<u64>,
    /// Where it went; `None` if it was refused on the spot.
    pub(crate) made: Option<Made>,
    /// Is its outcome recorded?
    pub(crate) decided: bool,
    /// When this process asked.
    pub(crate) asked: Option<Epoch>,
    /// Was it open in a commit from before this process? Then no answer of this epoch
    /// may be forgotten before the next commit.
    pub(crate) restored: bool,
    pub(crate) deadline: Option<Duration>,
    pub(crate) cancelled: bool,
}

/// Where a call or send goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Made {
    pub(crate) to: Address,
    pub(crate) handler: u32,
    pub(crate) key: Bytes,
}

/// An outcome, and the time that came with it.
#[derive(Clone, Debug)]
pub(crate) struct Recorded {
    pub(crate) call: u32,
    pub(crate) at: EventTime,
    pub(crate) outcome: Outcome,
}

/// What is to be done about a call that a guest asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Its outcome is recorded.
    Recorded,
    /// It is on its way already.
    Attached,
    /// Ask the callee, with this r.
    Ask { r: u32 },
    /// It is not the call that was asked for before.
    Mismatch(String),
}

impl Journal {
    /// An empty one.
    pub(crate) fn new(seed: u64, of: InvocationId, began: EventTime) -> Self {
        let seed = xxhash_rust::xxh3::xxh3_64_with_seed(&of.0.to_le_bytes(), seed);
        Self { seed, began, ..Self::default() }
    }

    /// Is there anything that a re-run must be fed with?
    pub(crate) fn has_calls(&self) -> bool {
        !self.calls.is_empty()
    }

    /// The guest asks for call `n`.
    pub(crate) fn step(&mut self, n: u32, request: &Request) -> Step {
        let print = fingerprint(request);
        if n as usize == self.calls.len() {
            self.calls.push(Call { print: Some(print), ..Call::default() });
            return Step::Ask { r: 0 };
        }
        let Some(call) = self.calls.get_mut(n as usize) else {
            return Step::Mismatch(format!(
                "it asked for call {n} before call {}",
                self.calls.len()
            ));
        };
        match call.print {
            None => {
                call.print = Some(print);
                Step::Ask { r: call.r }
            }
            Some(before) if before != print => Step::Mismatch(format!(
                "call {n} was another one in an earlier run; now it asks `{}.{}`",
                request.operator, request.handler
            )),
            Some(_) if call.decided => Step::Recorded,
            Some(_) if call.asked.is_some() => Step::Attached,
            Some(_) => Step::Ask { r: call.r },
        }
    }

    /// Records how call `n` ended. False if it is not open.
    pub(crate) fn decide(&mut self, n: u32, at: EventTime, outcome: Outcome) -> bool {
        match self.calls.get_mut(n as usize) {
            Some(call) if call.is_open() => {
                call.decided = true;
                call.deadline = None;
                self.outcomes.push(Recorded { call: n, at, outcome });
                true
            }
            _ => false,
        }
    }

    /// Numbers of the calls without an outcome.
    pub(crate) fn open(&self) -> impl Iterator<Item = u32> {
        self.calls.iter().enumerate().filter(|(_, call)| call.is_open()).map(|(n, _)| n as u32)
    }

    /// Before a retry: drops trailing refusals in which the callee never began. They
    /// may be asked for anew, under a new id.
    pub(crate) fn drop_refusals(&mut self) {
        while let Some(Recorded { call, outcome: Err(CallFailure { began: false, .. }), .. }) =
            self.outcomes.last()
        {
            let r = self.calls.get(*call as usize).map_or(0, |call| call.r);
            if let Some(call) = self.calls.get_mut(*call as usize) {
                *call = Call { r: r + 1, ..Call::default() };
            }
            self.outcomes.pop();
        }
        self.handed = self.handed.min(self.outcomes.len() as u32);
    }

    /// Calls that stay done whatever becomes of the invocation, in the order of
    /// their outcomes.
    pub(crate) fn done(&self, name: impl Fn(&Made) -> String) -> Vec<String> {
        let mut done = Vec::new();
        for recorded in &self.outcomes {
            match &recorded.outcome {
                Ok(_) => {
                    let made =
                        self.calls.get(recorded.call as usize).and_then(|call| call.made.as_ref());
                    done.extend(made.map(&name));
                }
                Err(failure) => done.extend(failure.done.iter().cloned()),
            }
        }
        done
    }

    /// Bytes that were drawn after `draws` blocks of 8, which it moves on.
    pub(crate) fn random(&self, draws: &mut u64, length: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(length + 7);
        while bytes.len() < length {
            let block = xxhash_rust::xxh3::xxh3_64_with_seed(&draws.to_le_bytes(), self.seed);
            bytes.extend_from_slice(&block.to_le_bytes());
            *draws += 1;
        }
        bytes.truncate(length);
        bytes
    }
}

impl Call {
    /// Has it no outcome yet?
    pub(crate) fn is_open(&self) -> bool {
        self.print.is_some() && !self.decided
    }
}

/// Of everything in a request that must be the same on a re-run.
fn fingerprint(request: &Request) -> u64 {
    let mut hash = xxhash_rust::xxh3::Xxh3::new();
    let mut part = |bytes: &[u8]| {
        hash.update(&(bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    part(request.operator.as_bytes());
    part(request.handler.as_bytes());
    part(&request.value);
    match &request.key {
        Some(key) => part(key),
        None => part(&[0; 1]),
    }
    part(&[u8::from(request.key.is_some())]);
    hash.digest()
}
