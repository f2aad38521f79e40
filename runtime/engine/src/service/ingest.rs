//! Records from outside, answered when they are durable.

use weir_core::ids::TopicName;
use weir_store::{Dedupe, Ingested, NewRecords};

use super::{Engine, Error, ask};

impl Engine {
    /// Appends records to a topic, all or nothing.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::IdempotencyConflict`], or of the store.
    pub async fn ingest(
        &self,
        topic: &TopicName,
        records: NewRecords,
        dedupe: Option<Dedupe>,
    ) -> Result<Ingested, Error> {
        self.topic(topic)?;
        ask(|done| self.ingest.append(topic, records, dedupe, done)).await
    }
}
