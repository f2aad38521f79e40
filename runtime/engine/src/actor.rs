//! An actor: a synchronous state machine that is stepped.
//!
//! Nothing in it awaits. The shell steps each actor from a tokio task of its own;
//! the simulation steps all of them from one thread, in an order of its choosing.
//! Both sleep on the actor's [`Signal`].

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use weir_core::clock::Now;

/// Something that is stepped until it is done.
pub trait Actor: Send {
    /// For logs, such as `order-fulfilment/order/0`.
    fn name(&self) -> &str;

    /// Raised when there may be something to do. Lowered by whoever steps, before
    /// the step.
    fn signal(&self) -> &Arc<Signal>;

    /// Does a bounded amount of work.
    fn step(&mut self, now: Now) -> Next;
}

/// When an actor wants to be stepped again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// At once, after others had a turn.
    Again,
    /// When its signal is raised.
    Idle,
    /// When its signal is raised, or at this monotonic time.
    At(Duration),
    /// Never; it may be dropped.
    Done,
}

/// Wakes one actor. Raising it while it is raised costs one atomic read.
#[derive(Default)]
pub struct Signal {
    raised: AtomicBool,
    hook: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

impl Signal {
    /// A lowered one without a hook.
    #[must_use]
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// What to do when it is raised. Only the first hook counts.
    pub fn on_raise(&self, hook: impl Fn() + Send + Sync + 'static) {
        if self.hook.set(Box::new(hook)).is_ok()
            && self.is_raised()
            && let Some(hook) = self.hook.get()
        {
            hook();
        }
    }

    /// There may be something to do.
    pub fn raise(&self) {
        if !self.raised.load(Ordering::SeqCst)
            && !self.raised.swap(true, Ordering::SeqCst)
            && let Some(hook) = self.hook.get()
        {
            hook();
        }
    }

    /// Lowers it and says whether it was raised.
    pub fn lower(&self) -> bool {
        self.raised.swap(false, Ordering::SeqCst)
    }

    /// Is it raised?
    #[must_use]
    pub fn is_raised(&self) -> bool {
        self.raised.load(Ordering::SeqCst)
    }
}
