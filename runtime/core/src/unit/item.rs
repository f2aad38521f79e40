//! What a unit has taken in and not ended: an event, a call or a send.

use std::time::Duration;

use bytes::Bytes;

use super::{journal::Journal, outbox::Outgoing};
use crate::{
    batch::Origin,
    failure::{Failure, Trap},
    guest::{Cause, Emission, Invocation},
    ids::{CallId, Epoch, EventTime, InvocationId, KeyGroup},
    message::{Address, AskKind},
    state::{Overlay, Slot},
};

/// An event, a call or a send, from when it is taken in until it ends.
#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) id: InvocationId,
    /// Place in the order of arrival: of one key, the lowest is first.
    pub(crate) order: u64,
    pub(crate) entry: Entry,
    pub(crate) cause: Cause,
    /// Of the key, if it has one.
    pub(crate) slot: Option<Slot>,
    pub(crate) group: KeyGroup,
    /// What it takes in memory with its content, about.
    pub(crate) bytes: usize,
    /// `None`: it was spilled, and is in its row.
    pub(crate) content: Option<Box<Content>>,
    pub(crate) ask: Option<Box<Asked>>,
    /// Failed attempts so far.
    pub(crate) failed: u32,
    pub(crate) phase: Phase,
    pub(crate) journal: Option<Box<Journal>>,
    pub(crate) run: Option<Box<Run>>,
    /// Does it count against the concurrency limit now?
    pub(crate) has_slot: bool,
    pub(crate) stored: Stored,
}

/// What came with it: needed when it runs, and when its row is written.
#[derive(Debug)]
pub(crate) struct Content {
    pub(crate) key: Option<Bytes>,
    pub(crate) value: Bytes,
    pub(crate) timestamp: EventTime,
    pub(crate) headers: Vec<(String, Bytes)>,
    pub(crate) origin: Option<Origin>,
}

/// By what it goes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    Handler(u32),
    Port(u8),
}

/// Who asked for it.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) id: CallId,
    pub(crate) from: Address,
    pub(crate) kind: AskKind,
    pub(crate) chain: Vec<InvocationId>,
    /// Of a send: its sender knows that we have it.
    pub(crate) forgotten: bool,
}

/// How far it is.
#[derive(Debug)]
pub(crate) enum Phase {
    /// A send whose time has not come.
    Delayed,
    /// Behind another of its key.
    Queued,
    /// First of its key; waits for room.
    Ready,
    /// First of its key, or about to be; waits for its next attempt.
    Retrying { due: Duration, at: EventTime, pause: Duration },
    /// In the guest.
    Running,
    /// The guest is done with it; calls that were open are being decided.
    Ending(End),
}

/// How an attempt ended.
#[derive(Debug)]
pub(crate) enum End {
    Replied(Box<Replied>),
    Failed(Box<(Failure, Option<Trap>)>),
    /// By its caller, with the code of the failure.
    Cancelled(String),
    /// The re-run was not the same run.
    Mismatch(String),
}

/// What a handler gave away, with everything resolved.
#[derive(Debug)]
pub(crate) struct Replied {
    pub(crate) value: Bytes,
    pub(crate) emissions: Vec<Emission>,
    pub(crate) sends: Vec<Outgoing>,
}

/// An attempt in the guest.
#[derive(Debug, Default)]
pub(crate) struct Run {
    /// Calls that the guest has asked for in this run.
    pub(crate) asked: u32,
    /// Outcomes that it was handed in this run.
    pub(crate) handed: u32,
    pub(crate) overlay: Overlay,
    /// Blocks of randomness that it drew.
    pub(crate) draws: u64,
    pub(crate) now: EventTime,
    /// The first stretch of execution that it took part in.
    pub(crate) since: u64,
    /// The stretch after which it was last handed an outcome: one at a time.
    pub(crate) moved: Option<u64>,
    /// Is it in the list of those to whom something can be handed?
    pub(crate) listed: bool,
}

/// What the rows know.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stored {
    /// Is there a waiting row, or in a delta on its way?
    pub(crate) row: bool,
    /// And a journal row?
    pub(crate) journal: bool,
    /// Did the former change since?
    pub(crate) dirty: bool,
    /// And the latter?
    pub(crate) journal_dirty: bool,
    /// The epoch whose commit has the newest of both rows.
    pub(crate) epoch: Epoch,
    /// Is it in the list of those that can be spilled?
    pub(crate) listed: bool,
}

impl Item {
    /// Has something of it happened that a caller should know of?
    pub(crate) fn begun(&self) -> bool {
        self.failed > 0
            || self.run.is_some()
            || self.journal.as_ref().is_some_and(|journal| journal.has_calls())
            || matches!(self.phase, Phase::Ending(_))
    }

    /// Was it begun by a call of an invocation of this pipeline? It runs on that
    /// chain's slot.
    pub(crate) fn is_chained(&self) -> bool {
        self.ask.as_ref().is_some_and(|ask| !ask.chain.is_empty())
    }

    /// The call whose outcome its caller awaits.
    pub(crate) fn call(&self) -> Option<&Asked> {
        self.ask.as_deref().filter(|ask| ask.kind == AskKind::Call)
    }

    /// What the guest is given.
    pub(crate) fn invocation(&self) -> Option<Invocation> {
        let content = self.content.as_ref()?;
        Some(Invocation {
            id: self.id,
            handler: match self.entry {
                Entry::Handler(handler) => handler,
                Entry::Port(_) => 0,
            },
            cause: self.cause,
            attempt: self.failed + 1,
            key: content.key.clone().unwrap_or_default(),
            value: content.value.clone(),
            timestamp: content.timestamp,
            headers: content.headers.clone(),
        })
    }

    /// Could it do without its content and its journal for now, since durable rows
    /// have them? A journal with open calls must be there when they are answered.
    pub(crate) fn can_spill(&self, committed: Epoch) -> bool {
        let waits = match self.phase {
            Phase::Delayed | Phase::Queued | Phase::Ready | Phase::Retrying { .. } => true,
            Phase::Running | Phase::Ending(_) => false,
        };
        let Stored { row, dirty, journal_dirty, epoch, .. } = self.stored;
        waits
            && row
            && !dirty
            && !journal_dirty
            && epoch <= committed
            && self.run.is_none()
            && self.journal.as_ref().is_none_or(|journal| journal.open().next().is_none())
    }

    /// Is there nothing to know of it, while it is spilled, but its place in the queue of
    /// its key?
    pub(crate) fn is_known_by_its_queue(&self) -> bool {
        matches!(self.phase, Phase::Queued)
            && self.slot.is_some()
            && self.ask.is_none()
            && self.journal.is_none()
            && !self.stored.journal
    }
}

impl Content {
    /// What an item takes in memory with this content, about.
    pub(crate) fn bytes(&self) -> usize {
        let headers: usize =
            self.headers.iter().map(|(name, value)| name.len() + value.len()).sum();
        self.key.as_ref().map_or(0, Bytes::len)
            + self.value.len()
            + headers
            + size_of::<Self>()
            + size_of::<Item>()
    }
}
