//! A group of commits on its way into the journal: checked in order, each as if
//! those before it had been committed.

use std::collections::HashMap;

use weir_core::ids::{Epoch, Offset, TopicName};

use crate::{DomainName, Done, Receipt, StoreError, journal::record::Prepared, meta::Meta};

/// What the accepted commits of a group will have changed.
pub(crate) struct Plan<'a> {
    meta: &'a Meta,
    epochs: HashMap<DomainName, u64>,
    next: HashMap<(TopicName, u32), u64>,
    /// Why topics take no records now: earlier ones wait for the disk.
    behind: Option<StoreError>,
    end: u64,
    durable: u64,
}

/// A commit and what became of it.
pub(crate) struct Outcome {
    pub(crate) done: Done,
    pub(crate) result: Result<Box<Prepared>, StoreError>,
}

impl<'a> Plan<'a> {
    /// A group behind this journal position.
    pub(crate) fn new(meta: &'a Meta, end: u64, behind: Option<StoreError>) -> Self {
        Self { meta, epochs: HashMap::new(), next: HashMap::new(), behind, end, durable: end }
    }

    /// Checks a commit, gives it its epoch, position and offsets.
    pub(crate) fn admit(
        &mut self,
        mut prepared: Box<Prepared>,
    ) -> Result<Box<Prepared>, StoreError> {
        let last = self
            .epochs
            .get(&prepared.domain)
            .copied()
            .unwrap_or_else(|| self.meta.epoch(&prepared.domain));
        let expected = Epoch(last + 1);
        if prepared.epoch != Epoch(0) && prepared.epoch != expected {
            return Err(StoreError::Fenced {
                domain: prepared.domain.clone(),
                expected,
                found: prepared.epoch,
            });
        }
        if let Some(error) = self.behind.as_ref().filter(|_| !prepared.appends.is_empty()) {
            return Err(error.clone());
        }
        for append in &prepared.appends {
            let unknown = || StoreError::UnknownTopic(append.topic.clone());
            let topic = self.meta.topics.get(&append.topic).ok_or_else(unknown)?;
            if topic.closed {
                return Err(StoreError::TopicClosed(append.topic.clone()));
            }
            topic.next.get(append.partition.0 as usize).ok_or_else(unknown)?;
        }
        // From here on nothing is refused.
        for append in &mut prepared.appends {
            let partition = append.partition.0;
            let committed = self
                .meta
                .topics
                .get(&append.topic)
                .and_then(|topic| topic.next.get(partition as usize));
            let next = self
                .next
                .entry((append.topic.clone(), partition))
                .or_insert(committed.copied().unwrap_or(0));
            append.first = Offset(*next);
            *next += u64::from(append.count);
        }
        self.epochs.insert(prepared.domain.clone(), expected.0);
        prepared.finish(expected, self.end, self.durable);
        self.end += prepared.bytes.len() as u64;
        Ok(prepared)
    }
}

/// The answer to a commit that is durable.
pub(crate) fn receipt(prepared: &Prepared) -> Receipt {
    let appended = prepared.appends.iter();
    let appended =
        appended.map(|append| (append.topic.clone(), append.partition, append.first, append.count));
    Receipt { epoch: prepared.epoch, appended: appended.collect() }
}
