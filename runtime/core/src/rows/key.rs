//! Row keys: order-preserving, big-endian.
//!
//! ```text
//!            +-------+-------------+---------+------------------------------+
//! cells      | 10    | operator 00 | group   | key~ | cell 00 | entry       |
//! waiting    | 20    | operator 00 | group   | invocation (16)              |
//! journals   | 21    | operator 00 | group   | invocation (16)              |
//! outbox     | 22    | operator 00 | group   | invocation (16) | n (4)| r (4) |
//! answers    | 23    | operator 00 | group   | invocation (16) | n (4)| r (4) |
//! blocked    | 24    | operator 00 | group   | key~                         |
//! counts     | 30    | operator 00 | group   |                              |
//! edge taken | 31    | operator 00 | group   | edge                         |
//! edge sent  | 32    | node 00     | group   | edge                         |
//! edge queue | 33    | node 00     | group   | edge                         |
//! positions  | 40    | source 00   |         | topic 00 | id (8) | part. (4)|
//! dead       | 50    | operator 00 |         | invocation (16)              |
//! requests   | 60    |             |         | invocation (16)              |
//!            +-------+-------------+---------+------------------------------+
//! ```
//!
//! The first byte names the table. `key~` is the key with every `00` written as
//! `00 ff`, and `00 00` behind it, so that keys sort by their bytes and none is the
//! beginning of another. `entry` is the key of an entry of a map or list, and empty
//! for a cell without entries. The group of counts is the first of the shard that
//! keeps them: whoever owns that group later goes on with them. Names have no `00`
//! in them.

use crate::ids::{CallId, InvocationId, KeyGroup, NodeId, TopicName};

/// Tables, by their first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Table {
    Cells = 0x10,
    Waiting = 0x20,
    Journals = 0x21,
    Outbox = 0x22,
    Answers = 0x23,
    Blocked = 0x24,
    Counts = 0x30,
    EdgeTaken = 0x31,
    EdgeSent = 0x32,
    EdgeQueued = 0x33,
    Positions = 0x40,
    Dead = 0x50,
    Requests = 0x60,
}

impl Table {
    /// Those that a unit restores.
    pub(crate) const OF_UNIT: [Self; 8] = [
        Self::Cells,
        Self::Waiting,
        Self::Journals,
        Self::Outbox,
        Self::Answers,
        Self::Blocked,
        Self::Counts,
        Self::EdgeTaken,
    ];

    /// The table of a row.
    pub(crate) fn of(row: &[u8]) -> Option<Self> {
        let all = [Self::EdgeSent, Self::EdgeQueued, Self::Positions, Self::Dead, Self::Requests];
        Self::OF_UNIT.into_iter().chain(all).find(|table| row.first() == Some(&(*table as u8)))
    }

    /// For messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Cells => "cells",
            Self::Waiting => "waiting",
            Self::Journals => "journals",
            Self::Outbox => "outbox",
            Self::Answers => "answers",
            Self::Blocked => "blocked",
            Self::Counts => "counts",
            Self::EdgeTaken => "edge taken",
            Self::EdgeSent => "edge sent",
            Self::EdgeQueued => "edge queued",
            Self::Positions => "positions",
            Self::Dead => "dead letters",
            Self::Requests => "requests",
        }
    }
}

/// How long most keys are at most.
const ROOM: usize = 40;

/// Writes a key from left to right.
pub(crate) struct Writer(Vec<u8>);

impl Writer {
    pub(crate) fn new(table: Table) -> Self {
        Self::with_room(table, ROOM)
    }

    /// One that is built in one piece if it is no longer than `room`.
    pub(crate) fn with_room(table: Table, room: usize) -> Self {
        let mut key = Vec::with_capacity(room);
        key.push(table as u8);
        Self(key)
    }

    pub(crate) fn name(mut self, name: &str) -> Self {
        self.0.extend_from_slice(name.as_bytes());
        self.0.push(0);
        self
    }

    pub(crate) fn node(self, id: &NodeId) -> Self {
        self.name(id.as_str())
    }

    pub(crate) fn group(mut self, group: KeyGroup) -> Self {
        self.0.push(group.0);
        self
    }

    pub(crate) fn key(mut self, key: &[u8]) -> Self {
        self = self.key_prefix(key);
        self.0.extend_from_slice(&[0, 0]);
        self
    }

    /// A key that may go on.
    pub(crate) fn key_prefix(mut self, key: &[u8]) -> Self {
        if !key.contains(&0) {
            self.0.extend_from_slice(key);
            return self;
        }
        for byte in key {
            self.0.push(*byte);
            if *byte == 0 {
                self.0.push(0xff);
            }
        }
        self
    }

    pub(crate) fn invocation(mut self, id: InvocationId) -> Self {
        self.0.extend_from_slice(&id.0.to_be_bytes());
        self
    }

    pub(crate) fn call(self, id: CallId) -> Self {
        let mut key = self.invocation(id.caller);
        key.0.extend_from_slice(&id.n.to_be_bytes());
        key.0.extend_from_slice(&id.r.to_be_bytes());
        key
    }

    pub(crate) fn number(mut self, n: u32) -> Self {
        self.0.extend_from_slice(&n.to_be_bytes());
        self
    }

    pub(crate) fn topic(mut self, name: &TopicName, id: u64) -> Self {
        self = self.name(name.as_str());
        self.0.extend_from_slice(&id.to_be_bytes());
        self
    }

    pub(crate) fn rest(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    pub(crate) fn done(self) -> Vec<u8> {
        self.0
    }
}

/// Reads a key from left to right. Whatever the bytes, it never panics.
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// A row of this table.
    pub(crate) fn new(row: &'a [u8], table: Table) -> Option<Self> {
        row.strip_prefix(&[table as u8]).map(Self)
    }

    pub(crate) fn name(&mut self) -> Option<&'a str> {
        let end = self.0.iter().position(|byte| *byte == 0)?;
        let name = std::str::from_utf8(&self.0[..end]).ok()?;
        self.0 = &self.0[end + 1..];
        Some(name)
    }

    pub(crate) fn group(&mut self) -> Option<KeyGroup> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        (*first < KeyGroup::COUNT).then_some(KeyGroup(*first))
    }

    pub(crate) fn key(&mut self) -> Option<Vec<u8>> {
        let mut key = Vec::new();
        loop {
            match self.0 {
                [0, 0, rest @ ..] => {
                    self.0 = rest;
                    return Some(key);
                }
                [0, 0xff, rest @ ..] => {
                    key.push(0);
                    self.0 = rest;
                }
                [0, ..] | [] => return None,
                [byte, rest @ ..] => {
                    key.push(*byte);
                    self.0 = rest;
                }
            }
        }
    }

    pub(crate) fn invocation(&mut self) -> Option<InvocationId> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(InvocationId(u128::from_be_bytes(*bytes)))
    }

    pub(crate) fn number(&mut self) -> Option<u32> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_be_bytes(*bytes))
    }

    pub(crate) fn topic(&mut self) -> Option<(TopicName, u64)> {
        let name = self.name()?.parse().ok()?;
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some((name, u64::from_be_bytes(*bytes)))
    }

    pub(crate) fn call(&mut self) -> Option<CallId> {
        Some(CallId { caller: self.invocation()?, n: self.number()?, r: self.number()? })
    }

    pub(crate) fn rest(self) -> &'a [u8] {
        self.0
    }

    pub(crate) fn end(&self) -> Option<()> {
        self.0.is_empty().then_some(())
    }
}
