//! The way out of a node: one outlet per edge. Selects the events of its port,
//! gives them the key that the consumer wants, finds their shard, and packs them
//! into batches.

use std::{
    collections::VecDeque,
    sync::{Arc, atomic::Ordering},
};

use weir_core::{
    batch::{Batch, Event},
    ids::{Epoch, KeyGroup, hash_key},
    plan::{Edge, KeyRule},
    pointer::{Found, JsonPointer},
};

use crate::{channel::Channel, figures::Figures, tuning::Tuning};

/// Where an outlet leads.
pub(crate) enum To {
    /// To an operator in the same task: its index there.
    Station(usize),
    /// To a sink in the same task: its index there.
    Sink(usize),
    /// Through queues, one per shard of the consumer.
    Lanes(Vec<Lane>),
}

/// The way to one shard.
pub(crate) struct Lane {
    channel: Arc<Channel>,
    builder: Builder,
    pending: VecDeque<Arc<Batch>>,
}

/// A batch in the making, with the hashes of its keys.
#[derive(Default)]
struct Builder {
    batch: Batch,
    hashes: Vec<u64>,
    /// The size of the last batch: the next is likely to be alike.
    last: Size,
}

#[derive(Default)]
struct Size {
    events: usize,
    keys: usize,
    values: usize,
}

/// The way out over one edge.
pub(crate) struct Outlet {
    pub(crate) edge: u16,
    pub(crate) to: To,
    port: u8,
    entry_port: u8,
    rule: KeyRule,
    records_max: usize,
    bytes_max: usize,
    sent: u64,
    figures: Arc<Figures>,
}

impl Outlet {
    /// `entry_port`: what the consumer finds in the column of ports: its input port
    /// if it is a transform, else 0. `sent`: events sent so far, as committed.
    pub(crate) fn new(
        edge: &Edge,
        entry_port: u8,
        to: To,
        sent: u64,
        tuning: &Tuning,
        figures: Arc<Figures>,
    ) -> Self {
        Self {
            edge: edge.index,
            to,
            port: edge.port,
            entry_port,
            rule: edge.key.clone(),
            records_max: tuning.batch_records.max(1),
            bytes_max: tuning.batch_bytes.max(1),
            sent,
            figures,
        }
    }

    /// Takes what its node gives away. What goes to a neighbour in the same task is
    /// given back, ready for it; the rest is packed and goes with
    /// [`Outlet::flush`], or as soon as a batch is full.
    pub(crate) fn offer(&mut self, batch: Arc<Batch>) -> Option<Arc<Batch>> {
        if let To::Lanes(lanes) = &mut self.to
            && lanes.len() > 1
        {
            let before = self.sent;
            let shards = lanes.len() as u16;
            for i in 0..batch.len() {
                if port_of(&batch, i) != self.port {
                    continue;
                }
                self.sent += 1;
                let found = found(&self.rule, batch.value(i));
                let key = key_of(&found, &batch, i);
                let hash = match (&found, batch.hashes.get(i)) {
                    (None, Some(hash)) => *hash,
                    _ => hash_key(key.unwrap_or(&[])),
                };
                let lane = &mut lanes[usize::from(KeyGroup::of_hash(hash).shard(shards).0)];
                lane.builder.push(&batch, i, key, self.entry_port, hash);
                if lane.builder.is_full(self.records_max, self.bytes_max) {
                    lane.pack();
                    lane.put();
                }
            }
            self.count(before);
            return None;
        }
        let batch = select(batch, self.port)?;
        let batch = rekey(batch, &self.rule, self.entry_port);
        let before = self.sent;
        self.sent += batch.len() as u64;
        self.count(before);
        match &mut self.to {
            To::Lanes(lanes) => {
                let lane = &mut lanes[0];
                if batch.len() * 4 >= self.records_max || batch.bytes() * 4 >= self.bytes_max {
                    lane.pack();
                    lane.pending.push_back(batch);
                } else {
                    for i in 0..batch.len() {
                        lane.builder.push(
                            &batch,
                            i,
                            batch.key(i),
                            port_of(&batch, i),
                            batch.hash(i),
                        );
                    }
                    if lane.builder.is_full(self.records_max, self.bytes_max) {
                        lane.pack();
                    }
                }
                lane.put();
                None
            }
            To::Station(_) | To::Sink(_) => Some(batch),
        }
    }

    /// Sends what there is credit for.
    pub(crate) fn flush(&mut self) {
        if let To::Lanes(lanes) = &mut self.to {
            for lane in lanes {
                lane.pack();
                lane.put();
            }
        }
    }

    /// Does something wait for credit?
    pub(crate) fn is_blocked(&self) -> bool {
        match &self.to {
            To::Lanes(lanes) => lanes.iter().any(|lane| !lane.pending.is_empty()),
            _ => false,
        }
    }

    /// Sends everything, without regard to credit, then a barrier.
    pub(crate) fn barrier(&mut self, next: Epoch) {
        if let To::Lanes(lanes) = &mut self.to {
            for lane in lanes {
                lane.pack();
                for batch in lane.pending.drain(..) {
                    lane.channel.put(batch);
                }
                lane.channel.put_barrier(next);
            }
        }
    }

    /// Events sent over this edge by this task since the pipeline was created.
    pub(crate) fn sent(&self) -> u64 {
        self.sent
    }

    fn count(&self, before: u64) {
        if let Some(figures) = self.figures.edge(self.edge) {
            figures.records.fetch_add(self.sent - before, Ordering::Relaxed);
        }
    }
}

impl Lane {
    pub(crate) fn new(channel: Arc<Channel>) -> Self {
        Self { channel, builder: Builder::default(), pending: VecDeque::new() }
    }

    /// Closes the batch in the making.
    fn pack(&mut self) {
        if !self.builder.batch.is_empty() {
            self.pending.push_back(Arc::new(self.builder.take()));
        }
    }

    /// Puts what there is credit for into the queue.
    fn put(&mut self) {
        while !self.pending.is_empty() && self.channel.has_room() {
            if let Some(batch) = self.pending.pop_front() {
                self.channel.put(batch);
            }
        }
    }
}

impl Builder {
    fn push(&mut self, from: &Batch, i: usize, key: Option<&[u8]>, port: u8, hash: u64) {
        if self.batch.is_empty() {
            let Size { events, keys, values } = self.last;
            self.batch.reserve(events, keys, values);
            self.hashes.reserve(events);
        }
        self.batch.push(Event { key, port, ..from.event(i) });
        for header in from.headers_of(i) {
            self.batch.push_header(&header.name, &header.value);
        }
        self.hashes.push(hash);
    }

    fn is_full(&self, records: usize, bytes: usize) -> bool {
        self.batch.len() >= records || self.batch.bytes() >= bytes
    }

    fn take(&mut self) -> Batch {
        let mut batch = std::mem::take(&mut self.batch);
        batch.hashes = std::mem::take(&mut self.hashes);
        self.last = Size {
            events: batch.len(),
            keys: batch.keys.len(),
            // Some more: a little too small is worse than a little too large.
            values: batch.values.len() + batch.values.len() / 8,
        };
        batch
    }
}

fn port_of(batch: &Batch, i: usize) -> u8 {
    batch.ports.get(i).copied().unwrap_or(0)
}

/// The events of a port; `None` if there are none.
fn select(batch: Arc<Batch>, port: u8) -> Option<Arc<Batch>> {
    let matching = match batch.ports.as_slice() {
        [] if port == 0 => batch.len(),
        [] => 0,
        ports => ports.iter().filter(|p| **p == port).count(),
    };
    if matching == batch.len() {
        return (matching > 0).then_some(batch);
    }
    if matching == 0 {
        return None;
    }
    let mut selected = Batch::default();
    for i in (0..batch.len()).filter(|i| port_of(&batch, *i) == port) {
        selected.push_from(&batch, i);
    }
    Some(Arc::new(selected))
}

/// The same events under the keys and the port that the consumer wants.
fn rekey(batch: Arc<Batch>, rule: &KeyRule, port: u8) -> Arc<Batch> {
    let ports_fit =
        if batch.ports.is_empty() { port == 0 } else { batch.ports.iter().all(|p| *p == port) };
    if *rule == KeyRule::Keep && ports_fit {
        return batch;
    }
    let mut batch = Arc::unwrap_or_clone(batch);
    if !ports_fit {
        batch.ports = if port == 0 { Vec::new() } else { vec![port; batch.len()] };
    }
    if let KeyRule::Pointer(pointer) = rule {
        set_keys(&mut batch, pointer);
    }
    Arc::new(batch)
}

fn set_keys(batch: &mut Batch, pointer: &JsonPointer) {
    let mut keys = Vec::with_capacity(batch.keys.len().max(batch.len() * 8));
    let mut ends = Vec::with_capacity(batch.len());
    let mut keyless = Vec::new();
    for i in 0..batch.len() {
        match pointer.scan(batch.value(i)).key() {
            Ok(key) => keys.extend_from_slice(key),
            Err(_) => keyless.push(i as u32),
        }
        ends.push(keys.len() as u32);
    }
    batch.keys = keys;
    batch.key_ends = ends;
    batch.keyless = keyless;
    batch.hashes.clear();
}

fn found<'a>(rule: &KeyRule, value: &'a [u8]) -> Option<Found<'a>> {
    match rule {
        KeyRule::Keep => None,
        KeyRule::Pointer(pointer) => Some(pointer.scan(value)),
    }
}

fn key_of<'a>(found: &'a Option<Found<'_>>, batch: &'a Batch, i: usize) -> Option<&'a [u8]> {
    match found {
        None => batch.key(i),
        Some(found) => found.key().ok(),
    }
}

#[cfg(test)]
mod tests;
