//! Following a topic as records are committed.

use std::sync::Arc;

use tokio::sync::Notify;
use weir_core::ids::{Offset, Partition, TopicName};
use weir_store::{Store, Watch};

use super::{
    Engine, Error, RecordOut, blocking,
    topics::{ReadFrom, is_gone, unpack},
};

/// Records that are read at once.
const STEP_RECORDS: usize = 256;
/// Bytes that are read at once; one record may be larger. A reader that stops reading
/// holds a few times as much.
const STEP_BYTES: usize = 64 << 10;

/// Where a reader stands in each partition that it reads: the offset that it wants
/// next. As text `0-12.1-7`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position(pub(super) Vec<(Partition, Offset)>);

impl Position {
    /// Moves past a record.
    pub fn pass(&mut self, record: &RecordOut) {
        if let Some((_, offset)) =
            self.0.iter_mut().find(|(partition, _)| *partition == record.partition)
        {
            *offset = Offset(record.offset.0 + 1);
        }
    }
}

/// Follows a topic.
pub struct Tail {
    store: Arc<Store>,
    topic: TopicName,
    at: Position,
    /// Which partition is read first in the next step, so that all get their turn.
    turn: usize,
    wake: Arc<Notify>,
    _watch: Watch,
}

impl Engine {
    /// Follows a topic from a position, or from where `from` says.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub fn tail(
        &self,
        topic: &TopicName,
        partition: Option<Partition>,
        from: ReadFrom,
        resume: Option<Position>,
    ) -> Result<Tail, Error> {
        let wake = Arc::new(Notify::new());
        let waker = wake.clone();
        // Watched before the position is taken, so that nothing falls in between.
        let watch = self.store.watch(topic, Arc::new(move || waker.notify_one()));
        let info = self.topic(topic)?;
        let at = match resume {
            Some(position) => position.within(&info, partition)?,
            None => Position::start(&info, partition, from)?,
        };
        Ok(Tail {
            store: self.store.clone(),
            topic: topic.clone(),
            at,
            turn: 0,
            wake,
            _watch: watch,
        })
    }
}

impl Tail {
    /// Where it stands.
    #[must_use]
    pub fn position(&self) -> &Position {
        &self.at
    }

    /// The next records, at least one; `None` when the topic is deleted.
    ///
    /// # Errors
    /// Of the store.
    pub async fn next(&mut self) -> Result<Option<Vec<RecordOut>>, Error> {
        loop {
            let (store, topic, mut at) = (self.store.clone(), self.topic.clone(), self.at.clone());
            let first = self.turn;
            let step = blocking(move || {
                let mut records = Vec::new();
                let mut bytes = 0;
                let mut turn = first;
                for i in 0..at.0.len() {
                    let i = (first + i) % at.0.len();
                    let (partition, offset) = &mut at.0[i];
                    let (most, room) = (STEP_RECORDS - records.len(), STEP_BYTES - bytes);
                    let read = store.read(&topic, *partition, *offset, most, room)?;
                    bytes += read.batch.bytes();
                    records.extend(unpack(*partition, read.first, &read.batch));
                    *offset = read.next;
                    turn = i + 1;
                    if records.len() >= STEP_RECORDS || bytes >= STEP_BYTES {
                        break;
                    }
                }
                Ok((records, at, turn))
            })
            .await?;
            match step {
                Ok((records, at, turn)) => {
                    self.at = at;
                    self.turn = turn;
                    if !records.is_empty() {
                        return Ok(Some(records));
                    }
                }
                Err(error) if is_gone(&error) => return Ok(None),
                Err(error) => return Err(error.into()),
            }
            self.wake.notified().await;
        }
    }
}
