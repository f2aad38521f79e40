//! Events as columns: what moves between tasks, and to and from guests.

use crate::ids::hash_key;

/// The timestamp that a source gives to an event in whose value it could not be
/// read. The first operator makes it a dead letter `no-timestamp`; a sink stores 0.
pub const NO_TIMESTAMP: i64 = i64::MIN;

/// A batch of events or records, as a struct of arrays.
///
/// Key `i` is `keys[key_ends[i - 1]..key_ends[i]]`, and values likewise. Columns
/// that are empty though the batch is not have a default, said at each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// Event time per event, milliseconds since the Unix epoch.
    pub timestamps: Vec<i64>,
    /// All keys, end to end.
    pub keys: Vec<u8>,
    /// Where each key ends.
    pub key_ends: Vec<u32>,
    /// All values, end to end.
    pub values: Vec<u8>,
    /// Where each value ends.
    pub value_ends: Vec<u32>,
    /// Input or output port per event; empty: all of port 0.
    pub ports: Vec<u8>,
    /// Events without a key, ascending. Their key has length 0.
    pub keyless: Vec<u32>,
    /// Sparse headers, ascending by event.
    pub headers: Vec<BatchHeader>,
    /// [`hash_key`] of each key; empty: not computed yet.
    pub hashes: Vec<u64>,
    /// Where each event came from; empty: not known.
    pub origins: Vec<Origin>,
}

/// A header of one event of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchHeader {
    /// Index of the event.
    pub event: u32,
    /// Its name; need not be unique.
    pub name: String,
    /// Its value.
    pub value: Vec<u8>,
}

/// The record that an event began as: kept for dead letters and paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Origin {
    /// Index of the source node in the plan.
    pub source: u16,
    /// Partition of its topic.
    pub partition: u32,
    /// Offset there.
    pub offset: u64,
}

/// One event of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event<'a> {
    /// Milliseconds since the Unix epoch.
    pub timestamp: i64,
    /// The key; `None` is no key, which is not the same as an empty one.
    pub key: Option<&'a [u8]>,
    /// The value.
    pub value: &'a [u8],
    /// The port.
    pub port: u8,
    /// The record that it began as.
    pub origin: Option<Origin>,
}

impl Batch {
    /// How many events there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.value_ends.len()
    }

    /// Is there no event?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.value_ends.is_empty()
    }

    /// Bytes of keys and values: what a queue counts.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.keys.len() + self.values.len()
    }

    /// The bytes of key `i`; empty if it has none.
    #[must_use]
    pub fn key_bytes(&self, i: usize) -> &[u8] {
        slice(&self.keys, &self.key_ends, i)
    }

    /// The key of event `i`.
    #[must_use]
    pub fn key(&self, i: usize) -> Option<&[u8]> {
        let key = self.key_bytes(i);
        if key.is_empty() && self.keyless.binary_search(&(i as u32)).is_ok() {
            None
        } else {
            Some(key)
        }
    }

    /// The value of event `i`.
    #[must_use]
    pub fn value(&self, i: usize) -> &[u8] {
        slice(&self.values, &self.value_ends, i)
    }

    /// Event `i`, without its headers.
    #[must_use]
    pub fn event(&self, i: usize) -> Event<'_> {
        Event {
            timestamp: self.timestamps[i],
            key: self.key(i),
            value: self.value(i),
            port: self.ports.get(i).copied().unwrap_or(0),
            origin: self.origins.get(i).copied(),
        }
    }

    /// The headers of event `i`.
    pub fn headers_of(&self, i: usize) -> impl Iterator<Item = &BatchHeader> {
        let from = self.headers.partition_point(|h| (h.event as usize) < i);
        self.headers[from..].iter().take_while(move |h| h.event as usize == i)
    }

    /// Makes room for so many events more, with so many bytes of keys and of values.
    pub fn reserve(&mut self, events: usize, keys: usize, values: usize) {
        self.timestamps.reserve(events);
        self.key_ends.reserve(events);
        self.value_ends.reserve(events);
        self.keys.reserve(keys);
        self.values.reserve(values);
    }

    /// Adds an event. Ports and origins are filled up for earlier events when the
    /// first that needs one comes.
    pub fn push(&mut self, event: Event<'_>) {
        let i = self.len();
        self.timestamps.push(event.timestamp);
        match event.key {
            Some(key) => self.keys.extend_from_slice(key),
            None => self.keyless.push(i as u32),
        }
        self.key_ends.push(self.keys.len() as u32);
        self.values.extend_from_slice(event.value);
        self.value_ends.push(self.values.len() as u32);
        if event.port != 0 && self.ports.is_empty() {
            self.ports.resize(i, 0);
        }
        if event.port != 0 || !self.ports.is_empty() {
            self.ports.push(event.port);
        }
        if let Some(origin) = event.origin
            && self.origins.len() == i
        {
            self.origins.push(origin);
        }
        self.hashes.clear();
    }

    /// Adds a header to the event added last.
    pub fn push_header(&mut self, name: &str, value: &[u8]) {
        let event = self.len().saturating_sub(1) as u32;
        self.headers.push(BatchHeader { event, name: name.into(), value: value.into() });
    }

    /// Adds event `i` of another batch, with its headers.
    pub fn push_from(&mut self, other: &Batch, i: usize) {
        self.push(other.event(i));
        for header in other.headers_of(i) {
            self.push_header(&header.name, &header.value);
        }
    }

    /// Computes the hashes of all keys where they are missing.
    pub fn hash_keys(&mut self) {
        if self.hashes.len() != self.len() {
            self.hashes = (0..self.len()).map(|i| hash_key(self.key_bytes(i))).collect();
        }
    }

    /// The hash of key `i`.
    #[must_use]
    pub fn hash(&self, i: usize) -> u64 {
        match self.hashes.get(i) {
            Some(hash) => *hash,
            None => hash_key(self.key_bytes(i)),
        }
    }
}

fn slice<'a>(bytes: &'a [u8], ends: &[u32], i: usize) -> &'a [u8] {
    let start = if i == 0 { 0 } else { ends[i - 1] as usize };
    &bytes[start..ends[i] as usize]
}
