//! Following a topic as records are committed.

use std::sync::Arc;

use tokio::sync::Notify;
use weir_core::ids::{Offset, Partition, TopicName};
use weir_store::{Store, Watch};

use super::{
    Engine, Error, RecordOut, blocking,
    topics::{ReadFrom, is_gone, unpack},
};

/// Records of one partition that are read at once.
const STEP_RECORDS: usize = 256;
/// Bytes of one partition that are read at once.
const STEP_BYTES: usize = 1 << 20;

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
        Ok(Tail { store: self.store.clone(), topic: topic.clone(), at, wake, _watch: watch })
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
            let step = blocking(move || {
                let mut records = Vec::new();
                for (partition, offset) in &mut at.0 {
                    let read = store.read(&topic, *partition, *offset, STEP_RECORDS, STEP_BYTES)?;
                    records.extend(unpack(*partition, read.first, &read.batch));
                    *offset = read.next;
                }
                Ok((records, at))
            })
            .await?;
            match step {
                Ok((records, at)) => {
                    self.at = at;
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
