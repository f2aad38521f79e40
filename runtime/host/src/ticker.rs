//! The clock that stops endless loops.
//!
//! Compiled code looks at its engine's epoch at every loop head and function
//! entry. One thread moves the epochs on while any guest runs, and is parked, with
//! no wakeups at all, when none does.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use wasmtime::Engine;

/// How often the epochs move on while a guest runs.
pub(crate) const TICK: Duration = Duration::from_millis(10);

/// Ticks without a running guest before the thread rests. Guests that run in
/// short turns then do not have to wake it each time.
const REST_AFTER: u32 = 20;

/// Owns the thread; it ends with the ticker.
pub(crate) struct Ticker {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    running: AtomicUsize,
    resting: AtomicBool,
    stop: AtomicBool,
}

/// A guest runs for as long as this lives.
pub(crate) struct Running<'a>(&'a Shared);

impl Ticker {
    pub(crate) fn start(engines: Vec<Engine>) -> std::io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let of_thread = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("weir-ticker".into())
            .spawn(move || of_thread.tick(&engines))?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Says that a guest runs now.
    pub(crate) fn running(&self) -> Running<'_> {
        self.shared.running.fetch_add(1, SeqCst);
        if self.shared.resting.load(SeqCst)
            && let Some(thread) = &self.thread
        {
            thread.thread().unpark();
        }
        Running(&self.shared)
    }

    #[cfg(test)]
    pub(crate) fn rests(&self) -> bool {
        self.shared.resting.load(SeqCst)
    }
}

impl Shared {
    fn tick(&self, engines: &[Engine]) {
        let mut idle = 0;
        while !self.stop.load(SeqCst) {
            if self.running.load(SeqCst) == 0 {
                idle += 1;
            } else {
                idle = 0;
            }
            if idle > REST_AFTER {
                self.rest();
                idle = 0;
            }
            thread::sleep(TICK);
            engines.iter().for_each(Engine::increment_epoch);
        }
    }

    /// Parks until a guest runs. Whoever begins to run sees `resting` and wakes
    /// us, or we see that it runs: all four accesses are in one total order.
    fn rest(&self) {
        self.resting.store(true, SeqCst);
        while self.running.load(SeqCst) == 0 && !self.stop.load(SeqCst) {
            thread::park();
        }
        self.resting.store(false, SeqCst);
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, SeqCst);
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.shared.stop.store(true, SeqCst);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // It cannot have panicked, and if it had, nothing is left to do.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests;
