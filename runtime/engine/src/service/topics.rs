//! Topics: create, list, delete, and reading their records page by page.

use std::{fmt, str::FromStr};

use bytes::Bytes;
use weir_core::{
    batch::Batch,
    ids::{EventTime, Offset, Partition, PipelineName, TopicName},
    plan::{NodeKind, Plan, Sink},
};
use weir_store::{Store, StoreError, TopicConfig, TopicInfo};

use super::{Engine, Error, Position, ask, blocking};

/// The most bytes of keys and values in a page; one record may be larger.
const PAGE_BYTES: usize = 8 << 20;

/// Which records are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordQuery {
    /// Only this one.
    pub partition: Option<Partition>,
    /// Where to begin.
    pub from: ReadFrom,
    /// Where an earlier page ended; wins over `from`.
    pub after: Option<Position>,
    /// At most so many records.
    pub limit: usize,
}

/// Where in each partition a reader begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReadFrom {
    /// With the oldest record that is kept.
    #[default]
    Earliest,
    /// After the newest.
    Latest,
    /// With this offset.
    Offset(Offset),
}

/// A record that is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordOut {
    /// Its partition.
    pub partition: Partition,
    /// Its offset there.
    pub offset: Offset,
    /// Its time.
    pub timestamp: EventTime,
    /// Its key.
    pub key: Option<Bytes>,
    /// Its value.
    pub value: Bytes,
    /// Its headers.
    pub headers: Vec<(String, Bytes)>,
}

/// Records, and where to go on; without it there are no more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// By partition, then offset.
    pub records: Vec<RecordOut>,
    /// Of the next page.
    pub next: Option<Position>,
}

impl Engine {
    /// Creates a topic. One that exists with so many partitions is no error; says
    /// whether it is new.
    ///
    /// # Errors
    /// [`StoreError::TopicConflict`], or another of the store.
    pub async fn create_topic(
        &self,
        name: &TopicName,
        partitions: Option<u32>,
    ) -> Result<(TopicInfo, bool), Error> {
        let existing = self.store.topic(name);
        let config = match (partitions, &existing) {
            (Some(partitions), _) => TopicConfig { partitions },
            (None, Some(existing)) => existing.config.clone(),
            (None, None) => TopicConfig::default(),
        };
        if !(1..=TopicConfig::PARTITIONS_MAX).contains(&config.partitions) {
            return Err(Error::BadRequest(format!(
                "a topic has 1 to {} partitions, not {}",
                TopicConfig::PARTITIONS_MAX,
                config.partitions
            )));
        }
        let info = ask(|done| self.store.create_topic(name, config, done)).await?;
        Ok((info, existing.is_none()))
    }

    /// The topics of a plan, where they are missing.
    pub(super) async fn create_topics(&self, plan: &Plan) -> Result<(), Error> {
        for node in &plan.nodes {
            let (topic, partitions) = match &node.kind {
                NodeKind::Source(source) => (&source.topic, source.partitions),
                NodeKind::Sink(Sink::Topic { topic, partitions }) => (topic, *partitions),
                NodeKind::Sink(Sink::Discard) | NodeKind::Operator(_) => continue,
            };
            if self.store.topic(topic).is_none() {
                self.create_topic(topic, Some(partitions)).await?;
                tracing::info!(%topic, partitions, "topic created");
            }
        }
        Ok(())
    }

    /// Topics after `after`, by name.
    #[must_use]
    pub fn list_topics(&self, after: Option<&TopicName>, limit: usize) -> Vec<TopicInfo> {
        let all = self.store.topics().into_iter();
        all.filter(|topic| after.is_none_or(|after| topic.name > *after)).take(limit).collect()
    }

    /// One topic.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub fn topic(&self, name: &TopicName) -> Result<TopicInfo, Error> {
        self.store.topic(name).ok_or_else(|| Error::not_found("topic", name))
    }

    /// Deletes a topic with its records.
    ///
    /// # Errors
    /// [`Error::TopicInUse`], [`Error::NotFound`], or of the store.
    pub async fn delete_topic(&self, name: &TopicName) -> Result<(), Error> {
        let _deploys = self.deploys.write().await;
        let by: Vec<_> = self.users_of_topic(name).into_iter().map(String::from).collect();
        if !by.is_empty() {
            return Err(Error::TopicInUse { topic: name.to_string(), by });
        }
        ask(|done| self.store.delete_topic(name, done)).await?;
        tracing::info!(topic = %name, "topic deleted");
        Ok(())
    }

    /// The pipelines that read or write a topic.
    #[must_use]
    pub fn users_of_topic(&self, name: &TopicName) -> Vec<PipelineName> {
        let names = |plan: &Plan| {
            plan.nodes.iter().any(|node| match &node.kind {
                NodeKind::Source(source) => source.topic == *name,
                NodeKind::Sink(Sink::Topic { topic, .. }) => topic == name,
                NodeKind::Sink(Sink::Discard) | NodeKind::Operator(_) => false,
            })
        };
        self.all()
            .iter()
            .filter(|p| p.plan().is_some_and(|plan| names(&plan)))
            .map(|p| p.name.clone())
            .collect()
    }

    /// A page of committed records, partition after partition.
    ///
    /// # Errors
    /// [`Error::NotFound`], or of the store.
    pub async fn records(&self, topic: &TopicName, query: RecordQuery) -> Result<Page, Error> {
        let info = self.topic(topic)?;
        let start = match query.after {
            Some(position) => position.within(&info, query.partition)?,
            None => Position::start(&info, query.partition, query.from)?,
        };
        let (store, topic) = (self.store.clone(), topic.clone());
        blocking(move || read_page(&store, &topic, start, query.limit)).await?
    }
}

fn read_page(
    store: &Store,
    topic: &TopicName,
    mut at: Position,
    limit: usize,
) -> Result<Page, Error> {
    let mut page = Page::default();
    let mut bytes = 0;
    let mut more = false;
    for (partition, offset) in &mut at.0 {
        loop {
            let room = (limit - page.records.len().min(limit), PAGE_BYTES.saturating_sub(bytes));
            if room.0 == 0 || room.1 == 0 {
                let probe = store.read(topic, *partition, *offset, 1, 1)?;
                more |= probe.end > probe.first && !probe.batch.is_empty();
                break;
            }
            let read = store.read(topic, *partition, *offset, room.0, room.1)?;
            bytes += read.batch.bytes();
            *offset = read.next;
            if read.batch.is_empty() {
                break;
            }
            page.records.extend(unpack(*partition, read.first, &read.batch));
        }
    }
    page.next = more.then_some(at);
    Ok(page)
}

/// The records of a batch, one by one.
pub(super) fn unpack(partition: Partition, first: Offset, batch: &Batch) -> Vec<RecordOut> {
    (0..batch.len())
        .map(|i| {
            let event = batch.event(i);
            RecordOut {
                partition,
                offset: Offset(first.0 + i as u64),
                timestamp: EventTime(event.timestamp),
                key: event.key.map(Bytes::copy_from_slice),
                value: Bytes::copy_from_slice(event.value),
                headers: batch
                    .headers_of(i)
                    .map(|header| (header.name.clone(), Bytes::copy_from_slice(&header.value)))
                    .collect(),
            }
        })
        .collect()
}

impl Position {
    /// The beginning of a reading.
    pub(super) fn start(
        info: &TopicInfo,
        only: Option<Partition>,
        from: ReadFrom,
    ) -> Result<Self, Error> {
        let mut position = Self(Vec::new());
        for (number, partition) in (0..).map(Partition).zip(&info.partitions) {
            if only.is_none_or(|only| only == number) {
                let offset = match from {
                    ReadFrom::Earliest => partition.first,
                    ReadFrom::Latest => partition.next,
                    ReadFrom::Offset(offset) => offset.clamp(partition.first, partition.next),
                };
                position.0.push((number, offset));
            }
        }
        match (only, position.0.is_empty()) {
            (Some(only), true) => {
                Err(Error::not_found("partition", format!("{}/{only}", info.name)))
            }
            _ => Ok(position),
        }
    }

    /// Of an earlier reading, as far as it fits the topic of today. Partitions that
    /// it does not name begin at the start.
    pub(super) fn within(&self, info: &TopicInfo, only: Option<Partition>) -> Result<Self, Error> {
        let mut position = Self::start(info, only, ReadFrom::Earliest)?;
        for (partition, offset) in &mut position.0 {
            let known = self.0.iter().find(|(p, _)| p == partition);
            let end = info.partitions.get(partition.0 as usize).map_or(Offset(0), |p| p.next);
            if let Some((_, at)) = known {
                *offset = (*at).clamp((*offset).min(end), end);
            }
        }
        Ok(position)
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (partition, offset)) in self.0.iter().enumerate() {
            let dot = if i == 0 { "" } else { "." };
            write!(f, "{dot}{partition}-{offset}")?;
        }
        Ok(())
    }
}

impl FromStr for Position {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self, Error> {
        let pair = |text: &str| {
            let (partition, offset) = text.split_once('-')?;
            Some((Partition(partition.parse().ok()?), Offset(offset.parse().ok()?)))
        };
        let pairs: Option<Vec<_>> = text.split('.').map(pair).collect();
        pairs.map(Self).ok_or_else(|| {
            let text: String = text.chars().take(80).collect();
            Error::BadRequest(format!(
                "`{text}` is not a position; use one that an answer gave, such as `0-12.1-7`"
            ))
        })
    }
}

impl FromStr for ReadFrom {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "earliest" => Ok(Self::Earliest),
            "latest" => Ok(Self::Latest),
            offset => offset.parse().map(|offset| Self::Offset(Offset(offset))).map_err(|_| {
                Error::BadRequest(format!(
                    "`from` is `earliest`, `latest` or an offset, not `{text}`"
                ))
            }),
        }
    }
}

/// Is the topic gone?
pub(super) fn is_gone(error: &StoreError) -> bool {
    matches!(error, StoreError::UnknownTopic(_))
}

#[cfg(test)]
mod tests;
