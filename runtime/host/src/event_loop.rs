//! Futures of wasmtime without an async runtime.
//!
//! Nothing that a store waits for comes by itself: only the engine's next answer
//! can move it. So a future is polled until it is done or nothing has woken it
//! since it was polled, and then it is left alone.

use std::{
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
};

/// Polls futures until they can do no more.
#[derive(Clone)]
pub(crate) struct EventLoop {
    woken: Arc<Woken>,
    waker: Waker,
}

/// A waker that only remembers that it was woken.
#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.store(true, Ordering::Release);
    }
}

impl EventLoop {
    pub(crate) fn new() -> Self {
        let woken = Arc::<Woken>::default();
        Self { waker: Waker::from(Arc::clone(&woken)), woken }
    }

    /// What the future gives, or none if it waits for something.
    pub(crate) fn turn<F: Future>(&self, future: F) -> Option<F::Output> {
        let mut future = pin!(future);
        let mut context = Context::from_waker(&self.waker);
        loop {
            self.woken.0.store(false, Ordering::Release);
            match future.as_mut().poll(&mut context) {
                Poll::Ready(output) => return Some(output),
                Poll::Pending if self.woken.0.load(Ordering::Acquire) => {}
                Poll::Pending => return None,
            }
        }
    }
}

#[cfg(test)]
mod tests;
