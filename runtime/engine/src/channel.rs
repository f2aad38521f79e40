//! A stream queue between two tasks: batches in order, bounded by credit, with
//! barriers that are not.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::Ordering},
};

use weir_core::{batch::Batch, epoch::Credit, ids::Epoch};

use crate::{actor::Signal, figures::Figures};

/// What is in a queue.
#[derive(Clone, Debug)]
pub(crate) enum Item {
    /// Events.
    Batch(Arc<Batch>),
    /// The end of an epoch; what follows belongs to this one.
    Barrier(Epoch),
}

/// One queue: of one edge, from one shard of its producer to one of its consumer.
pub(crate) struct Channel {
    edge: u16,
    state: Mutex<State>,
    producer: Arc<Signal>,
    consumer: Arc<Signal>,
    figures: Arc<Figures>,
}

struct State {
    /// Each with the epoch in which its producer was.
    items: VecDeque<(Epoch, Item)>,
    credit: Credit,
    epoch: Epoch,
}

impl Channel {
    pub(crate) fn new(
        edge: u16,
        running: Epoch,
        credit: Credit,
        producer: Arc<Signal>,
        consumer: Arc<Signal>,
        figures: Arc<Figures>,
    ) -> Arc<Self> {
        let state = State { items: VecDeque::new(), credit, epoch: running };
        Arc::new(Self { edge, state: Mutex::new(state), producer, consumer, figures })
    }

    /// May the producer put in a batch? If not, it is woken when it may.
    pub(crate) fn has_room(&self) -> bool {
        self.lock().credit.has_room()
    }

    /// Puts in a batch: with room, or before a barrier.
    pub(crate) fn put(&self, batch: Arc<Batch>) {
        let records = batch.len();
        {
            let mut state = self.lock();
            state.credit.put(records, batch.bytes());
            let epoch = state.epoch;
            state.items.push_back((epoch, Item::Batch(batch)));
        }
        if let Some(figures) = self.figures.edge(self.edge) {
            figures.queued.fetch_add(records as u64, Ordering::Relaxed);
        }
        self.consumer.raise();
    }

    /// Puts in a barrier.
    pub(crate) fn put_barrier(&self, next: Epoch) {
        {
            let mut state = self.lock();
            let epoch = std::mem::replace(&mut state.epoch, next);
            state.items.push_back((epoch, Item::Barrier(next)));
        }
        self.consumer.raise();
    }

    /// Takes the next item; if `barriers_only`, only a barrier.
    pub(crate) fn pop(&self, barriers_only: bool) -> Option<Item> {
        let mut state = self.lock();
        if barriers_only && !matches!(state.items.front(), Some((_, Item::Barrier(_)))) {
            return None;
        }
        let (_, item) = state.items.pop_front()?;
        if let Item::Batch(batch) = &item {
            let wake = state.credit.take(batch.len(), batch.bytes());
            drop(state);
            if let Some(figures) = self.figures.edge(self.edge) {
                figures.queued.fetch_sub(batch.len() as u64, Ordering::Relaxed);
            }
            if wake {
                self.producer.raise();
            }
        }
        Some(item)
    }

    /// Events of epochs before this one that were not taken: what is still on the way
    /// when the consumer hands over. Measured for the audit; none, if barriers do what
    /// they are for.
    pub(crate) fn queued_before(&self, epoch: Epoch) -> u64 {
        let old = |(of, item): &(Epoch, Item)| match item {
            Item::Batch(batch) if *of < epoch => batch.len() as u64,
            _ => 0,
        };
        self.lock().items.iter().map(old).sum()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
