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
    queue: Arc<Mutex<Queue<T>>>,
    signal: Arc<Signal>,
}

struct Queue<T> {
    messages: VecDeque<T>,
    closed: bool,
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
        let queue = Queue { messages: VecDeque::new(), closed: false };
        Self { queue: Arc::new(Mutex::new(queue)), signal }
    }

    /// Puts a message at the end; into a closed one: drops it.
    pub(crate) fn post(&self, message: T) {
        let mut queue = self.lock();
        if queue.closed {
            // Not under the lock: what is dropped may tell somebody.
            drop(queue);
            return drop(message);
        }
        queue.messages.push_back(message);
        drop(queue);
        self.signal.raise();
    }

    /// Nobody takes from it any more: what is in it is dropped, so that whoever waits
    /// for an answer learns that there will be none.
    pub(crate) fn close(&self) {
        let mut queue = self.lock();
        queue.closed = true;
        let left = std::mem::take(&mut queue.messages);
        drop(queue);
        drop(left);
    }

    /// Takes up to `limit` messages, the oldest first.
    pub(crate) fn take(&self, limit: usize, into: &mut Vec<T>) {
        let mut queue = self.lock();
        let n = limit.min(queue.messages.len());
        into.extend(queue.messages.drain(..n));
    }

    /// Takes the oldest.
    #[must_use]
    pub(crate) fn pop(&self) -> Option<T> {
        self.lock().messages.pop_front()
    }

    /// Does none wait?
    #[must_use]
    pub(crate) fn is_empty(&self) -> bool {
        self.lock().messages.is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, Queue<T>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
