//! What waits to be committed.

use std::{
    collections::VecDeque,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
};

use crate::{Done, Store, StoreError, journal::record::Prepared};

/// Decides, when its turn comes, what to commit: it sees all that was queued before
/// as committed. If it commits nothing, or its turn will never come, it answers its
/// caller itself.
pub(crate) type Decide =
    Box<dyn FnOnce(Result<&Store, StoreError>) -> Option<(Prepared, Done)> + Send>;

pub(crate) enum Entry {
    Commit(Box<Prepared>, Done),
    /// Refused before it was queued; told in its turn.
    Refused(StoreError, Done),
    Decide(Decide),
}

/// First in, first out, over all threads.
#[derive(Default)]
pub(crate) struct Queue {
    waiting: Mutex<Waiting>,
    queued: Condvar,
}

#[derive(Default)]
struct Waiting {
    entries: VecDeque<Entry>,
    closed: bool,
}

impl Queue {
    /// Queues an entry, or gives it back if the queue is closed.
    pub(crate) fn push(&self, entry: Entry) -> Result<(), Entry> {
        let mut waiting = self.lock();
        if waiting.closed {
            return Err(entry);
        }
        waiting.entries.push_back(entry);
        drop(waiting);
        self.queued.notify_one();
        Ok(())
    }

    /// The entries of the next group: up to so many bytes. A decision comes alone.
    pub(crate) fn take(&self, bytes_max: u64) -> Vec<Entry> {
        let mut waiting = self.lock();
        let mut group = Vec::new();
        let mut bytes = 0;
        while let Some(entry) = waiting.entries.front() {
            match entry {
                Entry::Decide(_) if group.is_empty() => {
                    group.extend(waiting.entries.pop_front());
                    break;
                }
                Entry::Decide(_) => break,
                Entry::Commit(prepared, _) => {
                    bytes += prepared.bytes.len() as u64;
                    if bytes > bytes_max && !group.is_empty() {
                        break;
                    }
                }
                Entry::Refused(..) => {}
            }
            group.extend(waiting.entries.pop_front());
        }
        group
    }

    /// Waits until something is queued. False if nothing is and nothing will be.
    pub(crate) fn wait(&self) -> bool {
        let mut waiting = self.lock();
        while waiting.entries.is_empty() {
            if waiting.closed {
                return false;
            }
            waiting = self.queued.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
        true
    }

    /// Takes nothing more.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.queued.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
