//! The end of a stream: records for a topic, which become visible with the commit,
//! or nothing but a count.

use std::sync::Arc;

use weir_core::{
    batch::{Batch, Event, NO_TIMESTAMP},
    ids::{Partition, TopicName},
};
use weir_store::Append;

/// A partition's share of an epoch is packed into batches of about this size.
const APPEND_BYTES: usize = 1 << 20;

/// One shard of a sink.
pub(crate) struct SinkShard {
    pub(crate) node: u16,
    pub(crate) shard: u16,
    topic: Option<Topic>,
    taken: Vec<(u16, u64)>,
    changed: bool,
}

struct Topic {
    name: TopicName,
    partitions: Vec<Share>,
    turn: usize,
}

/// What one partition gets in the running epoch.
#[derive(Default)]
struct Share {
    ready: Vec<Arc<Batch>>,
    building: Batch,
}

impl SinkShard {
    /// A sink for a topic of so many partitions, or one that only counts. `taken`:
    /// events taken so far per input edge, as committed.
    pub(crate) fn new(
        node: u16,
        shard: u16,
        topic: Option<(TopicName, u32)>,
        taken: Vec<(u16, u64)>,
    ) -> Self {
        let topic = topic.map(|(name, partitions)| Topic {
            name,
            partitions: (0..partitions.max(1)).map(|_| Share::default()).collect(),
            turn: usize::from(shard),
        });
        Self { node, shard, topic, taken, changed: false }
    }

    /// Takes events; gives the bytes that this adds to the commit.
    pub(crate) fn take(&mut self, edge: u16, batch: Arc<Batch>) -> usize {
        if let Some((_, taken)) = self.taken.iter_mut().find(|(e, _)| *e == edge) {
            *taken += batch.len() as u64;
        }
        self.changed = true;
        match &mut self.topic {
            None => 0,
            Some(topic) => {
                let bytes = batch.bytes() + 16 * batch.len();
                topic.take(batch);
                bytes
            }
        }
    }

    /// The records of the epoch that ends.
    pub(crate) fn appends(&mut self) -> Vec<Append> {
        let Some(topic) = &mut self.topic else { return Vec::new() };
        let mut appends = Vec::new();
        for (partition, share) in topic.partitions.iter_mut().enumerate() {
            share.close();
            for records in share.ready.drain(..) {
                appends.push(Append {
                    topic: topic.name.clone(),
                    partition: Partition(partition as u32),
                    records,
                });
            }
        }
        appends
    }

    /// Was anything taken since the last barrier?
    pub(crate) fn has_changed(&self) -> bool {
        self.changed
    }

    /// Events taken per edge since the pipeline was created, if that changed since
    /// the last time.
    pub(crate) fn changed_taken(&mut self) -> &[(u16, u64)] {
        if std::mem::take(&mut self.changed) { &self.taken } else { &[] }
    }
}

impl Topic {
    fn take(&mut self, batch: Arc<Batch>) {
        let readable = !batch.timestamps.contains(&NO_TIMESTAMP);
        if self.partitions.len() == 1 && readable {
            self.partitions[0].add(batch);
            return;
        }
        for i in 0..batch.len() {
            let n = self.partitions.len();
            let partition = match batch.key(i) {
                Some(_) => (batch.hash(i) % n as u64) as usize,
                None => {
                    self.turn = (self.turn + 1) % n;
                    self.turn
                }
            };
            self.partitions[partition].push(&batch, i);
        }
    }
}

impl Share {
    fn add(&mut self, batch: Arc<Batch>) {
        if batch.len() >= 64 {
            self.close();
            self.ready.push(batch);
        } else {
            (0..batch.len()).for_each(|i| self.push(&batch, i));
        }
    }

    fn push(&mut self, batch: &Batch, i: usize) {
        let event = batch.event(i);
        let timestamp = if event.timestamp == NO_TIMESTAMP { 0 } else { event.timestamp };
        self.building.push(Event { timestamp, port: 0, origin: None, ..event });
        for header in batch.headers_of(i) {
            self.building.push_header(&header.name, &header.value);
        }
        if self.building.bytes() >= APPEND_BYTES {
            self.close();
        }
    }

    fn close(&mut self) {
        if !self.building.is_empty() {
            self.ready.push(Arc::new(std::mem::take(&mut self.building)));
        }
    }
}

#[cfg(test)]
mod tests;
