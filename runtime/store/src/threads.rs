//! The threads that drive a store in the shipped program.

use std::{
    io,
    sync::{
        Arc, Condvar, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use crate::Store;

/// How often upkeep looks at what is due.
const UPKEEP_EVERY: Duration = Duration::from_secs(1);

/// Owns the threads `weir-journal`, which commits, and `weir-upkeep`, which settles
/// and makes snapshots. Dropping it commits what is queued, refuses what comes later
/// as [`crate::StoreError::Stopped`], stops both and closes the store.
#[must_use = "dropping it stops the store"]
pub struct Threads {
    store: Arc<Store>,
    journal: Option<JoinHandle<()>>,
    upkeep: Option<JoinHandle<()>>,
}

/// Wakes the upkeep thread.
#[derive(Default)]
pub(crate) struct Alarm {
    due: Mutex<bool>,
    rung: Condvar,
    ended: AtomicBool,
}

impl Alarm {
    pub(crate) fn ring(&self) {
        *self.due.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.rung.notify_all();
    }

    /// Waits for the next turn; false at the end.
    fn wait(&self) -> bool {
        let due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.rung.wait_timeout_while(due, UPKEEP_EVERY, |due| !*due);
        let (mut due, _) = waited.unwrap_or_else(PoisonError::into_inner);
        *due = false;
        !self.ended.load(Ordering::Acquire)
    }
}

impl Threads {
    pub(crate) fn spawn(store: &Arc<Store>) -> io::Result<Self> {
        let mut threads = Self { store: store.clone(), journal: None, upkeep: None };
        let of_journal = store.clone();
        let journal = move || {
            while of_journal.step() || of_journal.queue.wait() {}
        };
        threads.journal = Some(thread::Builder::new().name("weir-journal".into()).spawn(journal)?);
        let of_upkeep = store.clone();
        let upkeep = move || {
            // What fails is tried again at each turn, and said once.
            let mut failing = None;
            while of_upkeep.alarm.wait() {
                let error = of_upkeep.upkeep().err().map(|error| error.to_string());
                if error != failing {
                    match &error {
                        Some(error) => {
                            tracing::error!(error, "upkeep of the store failed: trying again")
                        }
                        None => tracing::info!("upkeep of the store works again"),
                    }
                }
                failing = error;
            }
        };
        threads.upkeep = Some(thread::Builder::new().name("weir-upkeep".into()).spawn(upkeep)?);
        Ok(threads)
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.store.queue.close();
        self.store.alarm.ended.store(true, Ordering::Release);
        self.store.alarm.ring();
        for thread in [self.journal.take(), self.upkeep.take()].into_iter().flatten() {
            if thread.join().is_err() {
                tracing::error!("a thread of the store has panicked");
            }
        }
        if let Err(error) = self.store.close() {
            tracing::error!(%error, "the store could not be settled at its end: the next start takes longer");
        }
    }
}
