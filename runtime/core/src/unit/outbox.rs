//! Sends on their way: each is asked for again until its target holds it, and its
//! row is kept until then (rules P2, P4).

use std::collections::BTreeMap;

use bytes::Bytes;

use super::journal::Made;
use crate::{
    ids::{CallId, EventTime, KeyGroup},
    message::{Address, Ask, AskKind},
    rows::{Change, MadeRow, OutboxRow, Writer},
};

/// A send that is not yet given a number.
#[derive(Clone, Debug)]
pub(crate) struct Outgoing {
    pub(crate) to: Made,
    pub(crate) value: Bytes,
    pub(crate) timestamp: EventTime,
    pub(crate) not_before: Option<EventTime>,
}

/// Sends whose target has not said `Taken`.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    sends: BTreeMap<CallId, Pending>,
    dirty: Vec<CallId>,
    removed: Vec<(KeyGroup, CallId)>,
}

#[derive(Debug)]
struct Pending {
    group: KeyGroup,
    send: Outgoing,
    stored: bool,
}

/// What became of the row of a send that was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dropped {
    /// There never was a row.
    NoRow,
    /// It goes with the next delta.
    Row,
    /// The send is not known.
    Unknown,
}

impl Outbox {
    pub(crate) fn len(&self) -> usize {
        self.sends.len()
    }

    pub(crate) fn is_dirty(&self) -> bool {
        !self.dirty.is_empty() || !self.removed.is_empty()
    }

    /// A send of this epoch.
    pub(crate) fn add(&mut self, group: KeyGroup, id: CallId, send: Outgoing) {
        self.dirty.push(id);
        self.sends.insert(id, Pending { group, send, stored: false });
    }

    /// A send that a row holds.
    pub(crate) fn restore(&mut self, group: KeyGroup, id: CallId, send: Outgoing) {
        self.sends.insert(id, Pending { group, send, stored: true });
    }

    /// Its target holds it.
    pub(crate) fn taken(&mut self, id: CallId) -> Dropped {
        match self.sends.remove(&id) {
            Some(Pending { stored: false, .. }) => Dropped::NoRow,
            Some(Pending { group, .. }) => {
                self.removed.push((group, id));
                Dropped::Row
            }
            None => Dropped::Unknown,
        }
    }

    /// All of them as messages, in order.
    pub(crate) fn asks(&self, node: u16) -> Vec<(Address, Ask)> {
        self.sends
            .iter()
            .map(|(id, pending)| (pending.send.to.to, pending.send.ask(*id, node, pending.group)))
            .collect()
    }

    /// What changed since the last barrier.
    pub(crate) fn take_changes(
        &mut self,
        writer: impl Fn() -> Writer,
        made: impl Fn(&Made) -> MadeRow,
        to: &mut Vec<Change>,
    ) {
        for (group, id) in self.removed.drain(..) {
            to.push(Change { key: writer().group(group).call(id).done(), value: None });
        }
        for id in self.dirty.drain(..) {
            if let Some(pending) = self.sends.get_mut(&id) {
                pending.stored = true;
                let row = OutboxRow {
                    to: made(&pending.send.to),
                    value: pending.send.value.clone(),
                    timestamp: pending.send.timestamp,
                    not_before: pending.send.not_before,
                };
                let key = writer().group(pending.group).call(id).done();
                to.push(Change { key, value: Some(crate::rows::encode(&row)) });
            }
        }
    }
}

impl Outgoing {
    /// As a message.
    pub(crate) fn ask(&self, id: CallId, node: u16, group: KeyGroup) -> Ask {
        Ask {
            id,
            from: Address { node, group },
            kind: AskKind::Send { not_before: self.not_before },
            handler: self.to.handler,
            key: self.to.key.clone(),
            value: self.value.clone(),
            timestamp: self.timestamp,
            chain: Vec::new(),
        }
    }
}
