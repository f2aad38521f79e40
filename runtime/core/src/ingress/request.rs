//! One call or send from outside.

use std::time::Duration;

use bytes::Bytes;

use super::Idempotency;
use crate::{
    ids::{CallId, Epoch, EventTime, InvocationId},
    message::{Address, Ask, AskKind, Outcome},
    rows::{self, RequestRow, RequestStateRow},
    unit::{journal::Made, names::Names},
};

/// A call or send, until it is answered, or for as long as its idempotency key is
/// kept.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) made: Made,
    pub(super) kind: AskKind,
    pub(super) timestamp: EventTime,
    pub(super) value: Bytes,
    pub(super) deadline: Duration,
    pub(super) due: Option<Duration>,
    pub(super) idempotency: Option<Idempotency>,
    pub(super) state: State,
    /// Those who wait for its end.
    pub(super) waiters: Vec<u64>,
    /// Is there a row of it?
    pub(super) stored: bool,
    /// Was its callee asked to give it up?
    pub(super) cancelled: bool,
}

/// How far it is.
#[derive(Debug)]
pub(super) enum State {
    /// Its outcome, or of a send its `Taken`, is not here.
    Asked,
    /// It is, since a time, and durable with the commit of an epoch.
    Answered { outcome: Option<Outcome>, at: EventTime, epoch: Epoch },
}

impl Request {
    pub(super) fn new(
        made: Made,
        kind: AskKind,
        timestamp: EventTime,
        value: Bytes,
        deadline: Duration,
        idempotency: Option<Idempotency>,
    ) -> Self {
        let (state, waiters) = (State::Asked, Vec::new());
        Self {
            made,
            kind,
            timestamp,
            value,
            deadline,
            due: None,
            idempotency,
            state,
            waiters,
            stored: false,
            cancelled: false,
        }
    }

    pub(super) fn is_open(&self) -> bool {
        matches!(self.state, State::Asked)
    }

    /// Is it a send that its target holds?
    pub(super) fn is_taken(&self) -> bool {
        matches!(self.state, State::Answered { outcome: None, .. })
    }

    /// Must it survive the process?
    pub(super) fn has_row(&self) -> bool {
        self.kind != AskKind::Call || self.idempotency.is_some()
    }

    pub(super) fn is_repeated_by(&self, idempotency: &Idempotency) -> bool {
        self.idempotency.as_ref().is_some_and(|first| first.body == idempotency.body)
    }

    /// As a message. Nobody is up its chain: it takes a slot of its own.
    pub(super) fn ask(&self, id: InvocationId) -> (Address, Ask) {
        let ask = Ask {
            id: call_id(id),
            from: Address::ingress(),
            kind: self.kind,
            handler: self.made.handler,
            key: self.made.key.clone(),
            value: self.value.clone(),
            timestamp: self.timestamp,
            chain: Vec::new(),
        };
        (self.made.to, ask)
    }

    pub(super) fn row(&self, names: &Names) -> Bytes {
        rows::encode(&RequestRow {
            to: names.made_row(&self.made),
            kind: self.kind,
            timestamp: self.timestamp,
            deadline_ms: u64::try_from(self.deadline.as_millis()).unwrap_or(u64::MAX),
            idempotency: self
                .idempotency
                .as_ref()
                .map(|idempotency| (idempotency.key.clone(), idempotency.body)),
            state: match &self.state {
                State::Asked => RequestStateRow::Asked { value: self.value.clone() },
                State::Answered { outcome, at, .. } => {
                    RequestStateRow::Answered { outcome: outcome.clone(), at: *at }
                }
            },
        })
    }
}

/// Each request is the one call of its own invocation.
pub(super) fn call_id(id: InvocationId) -> CallId {
    CallId { caller: id, n: 0, r: 0 }
}
