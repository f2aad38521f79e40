//! Reads a topic: one shard of a source, with its partitions and positions.

use weir_core::{
    batch::{Batch, NO_TIMESTAMP, Origin},
    ids::{EventTime, Offset, Partition, TopicName},
    plan::{Source, Start},
    pointer::JsonPointer,
    rows::{PositionOf, PositionRow},
    timestamp,
};
use weir_store::{Store, StoreError};

/// One shard of a source.
pub(crate) struct SourceShard {
    pub(crate) node: u16,
    pub(crate) shard: u16,
    topic: TopicName,
    topic_id: u64,
    timestamp: Option<JsonPointer>,
    partitions: Vec<Reader>,
    turn: usize,
}

/// One partition.
pub(crate) struct Reader {
    pub(crate) partition: Partition,
    /// Where the source began.
    pub(crate) start: Offset,
    /// The next record to read.
    pub(crate) next: Offset,
    /// Records read since it began: counted, not computed from the offsets.
    pub(crate) read: u64,
    /// Has this to be committed?
    pub(crate) changed: bool,
    behind: u64,
    seek: Option<EventTime>,
}

impl Reader {
    /// From a committed position.
    pub(crate) fn restored(partition: Partition, start: Offset, next: Offset, read: u64) -> Self {
        Self { partition, start, next, read, changed: false, behind: 0, seek: None }
    }

    /// Where a source begins that has no committed position, given the first and the
    /// next offset of the partition.
    pub(crate) fn beginning(partition: Partition, from: Start, first: Offset, end: Offset) -> Self {
        let (start, seek) = match from {
            Start::Earliest => (first, None),
            Start::Latest => (end, None),
            Start::Offset(offset) => (Offset(offset.max(first.0)), None),
            Start::Timestamp(timestamp) => (first, Some(timestamp)),
        };
        Self { partition, start, next: start, read: 0, changed: true, behind: 0, seek }
    }
}

impl SourceShard {
    pub(crate) fn new(
        node: u16,
        shard: u16,
        source: &Source,
        topic_id: u64,
        partitions: Vec<Reader>,
    ) -> Self {
        Self {
            node,
            shard,
            topic: source.topic.clone(),
            topic_id,
            timestamp: source.timestamp.clone(),
            partitions,
            turn: 0,
        }
    }

    /// The next batch, taking the partitions in turn; `None` if all are read to
    /// their end.
    ///
    /// # Errors
    /// What the store says; positions are unchanged.
    pub(crate) fn read(
        &mut self,
        store: &Store,
        records: usize,
        bytes: usize,
    ) -> Result<Option<Batch>, StoreError> {
        for _ in 0..self.partitions.len() {
            let turn = self.turn;
            self.turn = (self.turn + 1) % self.partitions.len();
            let reader = &mut self.partitions[turn];
            loop {
                let read =
                    store.read(&self.topic, reader.partition, reader.next, records, bytes)?;
                reader.behind = read.end.0.saturating_sub(read.next.0);
                if read.batch.is_empty() {
                    break;
                }
                let mut batch = read.batch;
                let mut first = read.first.0;
                if let Some(timestamp) = reader.seek {
                    let skip = batch.timestamps.iter().take_while(|t| **t < timestamp.0).count();
                    first += skip as u64;
                    reader.start = Offset(first);
                    reader.changed = true;
                    if skip == batch.len() {
                        reader.next = read.next;
                        continue;
                    }
                    reader.seek = None;
                    if skip > 0 {
                        batch = tail(&batch, skip);
                    }
                } else if read.first != reader.next {
                    // Older records are gone: said by the position, not hidden.
                    tracing::warn!(topic = %self.topic, partition = reader.partition.0, from = reader.next.0, to = first, "records are gone from the topic that were not read");
                    reader.start = Offset(reader.start.0 + first - reader.next.0);
                }
                reader.next = read.next;
                reader.read += batch.len() as u64;
                reader.changed = true;
                batch.origins = (0..batch.len() as u64)
                    .map(|i| Origin {
                        source: self.node,
                        partition: reader.partition.0,
                        offset: first + i,
                    })
                    .collect();
                if let Some(pointer) = &self.timestamp {
                    for i in 0..batch.len() {
                        batch.timestamps[i] =
                            timestamp::at(pointer, batch.value(i)).map_or(NO_TIMESTAMP, |t| t.0);
                    }
                }
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }

    /// Records of the topic that are not read, as of the last reads.
    pub(crate) fn behind(&self) -> u64 {
        self.partitions.iter().map(|reader| reader.behind).sum()
    }

    /// Is there a position to commit?
    pub(crate) fn has_changed(&self) -> bool {
        self.partitions.iter().any(|reader| reader.changed)
    }

    /// The positions to commit; they count as committed from now on.
    pub(crate) fn changed(&mut self) -> impl Iterator<Item = (PositionOf, PositionRow)> {
        let (topic, id) = (&self.topic, self.topic_id);
        self.partitions.iter_mut().filter_map(move |reader| {
            let of = PositionOf { topic: topic.clone(), id, partition: reader.partition };
            let row = PositionRow { next: reader.next, start: reader.start, read: reader.read };
            std::mem::take(&mut reader.changed).then_some((of, row))
        })
    }
}

fn tail(batch: &Batch, skip: usize) -> Batch {
    let mut tail = Batch::default();
    (skip..batch.len()).for_each(|i| tail.push_from(batch, i));
    tail
}

#[cfg(test)]
mod tests;
