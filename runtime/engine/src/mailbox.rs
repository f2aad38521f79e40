//! A queue of messages to one actor: raises its signal when it gets something.
//!
//! Not bounded by itself: what may be in it is bounded by the concurrency limits
//! of those who send. Streams have their own, bounded queue (`channel`).

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::actor::Signal;

/// The sending and the receiving side in one; clones share the queue.
pub(crate) struct Mailbox<T> {
    queue: Arc<Mutex<VecDeque<T>>>,
    signal: Arc<Signal>,
}

impl<T> Clone for Mailbox<T> {
    fn clone(&self) -> Self {
        Self { queue: self.queue.clone(), signal: self.signal.clone() }
    }
}

impl<T> Mailbox<T> {
    /// An empty one that raises `signal`.
    #[must_use]
    pub(crate) fn new(signal: Arc<Signal>) -> Self {
        Self { queue: Arc::default(), signal }
    }

    /// Puts a message at the end.
    pub(crate) fn post(&self, message: T) {
        self.lock().push_back(message);
        self.signal.raise();
    }

    /// Takes up to `limit` messages, the oldest first.
    pub(crate) fn take(&self, limit: usize, into: &mut Vec<T>) {
        let mut queue = self.lock();
        let n = limit.min(queue.len());
        into.extend(queue.drain(..n));
    }

    /// Takes the oldest.
    #[must_use]
    pub(crate) fn pop(&self) -> Option<T> {
        self.lock().pop_front()
    }

    /// Does none wait?
    #[must_use]
    pub(crate) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<T>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
