//! What a store holds beside the instance: the host's side of every import.

use std::{sync::Arc, time::Duration};

use weir_core::{
    batch::Batch,
    description::Description,
    failure::TrapKind,
    guest::{Effects, GuestEvent, LogLevel, Misuse},
    ids::{InvocationId, ModuleDigest},
};

use crate::{
    cpu_time,
    invocations::Invocations,
    limits::{Limiter, Limits},
    trap::Fault,
};

/// Bytes of a log line that are kept.
const LINE_MAX: usize = 8 << 10;

/// The data of a store.
pub(crate) struct Data {
    pub(crate) effects: Arc<dyn Effects>,
    pub(crate) description: Arc<Description>,
    pub(crate) digest: ModuleDigest,
    pub(crate) config: Arc<str>,
    pub(crate) limits: Limits,
    pub(crate) limiter: Limiter,
    pub(crate) invocations: Invocations,
    /// The batch in progress.
    pub(crate) batch: Option<Arc<Batch>>,
    /// What the guest did since the last time somebody asked.
    pub(crate) events: Vec<GuestEvent>,
    stretch: Stretch,
}

/// What is counted within one stretch of execution.
#[derive(Default)]
struct Stretch {
    ticks: u64,
    /// CPU time of the thread at the first tick.
    cpu_at_first: Option<Duration>,
    log_bytes: u64,
    last_error: Option<String>,
}

impl Data {
    pub(crate) fn new(
        effects: Arc<dyn Effects>,
        description: Arc<Description>,
        digest: ModuleDigest,
        config: Arc<str>,
        limits: Limits,
    ) -> Self {
        Self {
            effects,
            description,
            digest,
            config,
            limiter: Limiter::new(&limits),
            limits,
            invocations: Invocations::default(),
            batch: None,
            events: Vec::new(),
            stretch: Stretch::default(),
        }
    }

    /// A stretch of execution begins: nothing is used up yet.
    pub(crate) fn begin_stretch(&mut self) {
        self.stretch = Stretch::default();
        self.limiter.forget();
    }

    /// A tick of the clock while the guest runs. False if its time is up: by the
    /// time that its thread had since the first tick, or by the count of ticks
    /// where the system does not tell that.
    pub(crate) fn tick(&mut self) -> bool {
        self.stretch.ticks += 1;
        let now = cpu_time::of_this_thread();
        if self.stretch.ticks == 1 {
            self.stretch.cpu_at_first = now;
        }
        match (self.stretch.cpu_at_first, now) {
            (Some(first), Some(now)) => now.saturating_sub(first) < self.limits.cpu,
            _ => self.stretch.ticks < self.limits.ticks(),
        }
    }

    /// The guest's own words about a panic, if the last error that it logged in
    /// this stretch is one: SDKs write it just before they trap.
    pub(crate) fn take_panic(&mut self) -> Option<String> {
        self.stretch.last_error.take().filter(|line| line.starts_with("panicked"))
    }

    /// A log line of the guest.
    pub(crate) fn log(&mut self, of: Option<InvocationId>, level: LogLevel, message: &str) {
        let message = cut(message, LINE_MAX);
        if level == LogLevel::Error {
            self.stretch.last_error = Some(message.to_owned());
        }
        let before = self.stretch.log_bytes;
        self.stretch.log_bytes = before.saturating_add(message.len() as u64);
        if self.stretch.log_bytes <= self.limits.log_bytes {
            self.effects.log(of, level, message);
        } else if before <= self.limits.log_bytes {
            self.effects.log(
                of,
                LogLevel::Warn,
                "more log lines in one go than allowed: the rest is dropped",
            );
            self.stretch.log_bytes = u64::MAX;
        }
    }

    /// Is this a cell?
    pub(crate) fn check_any_cell(&self, cell: u32) -> Result<(), Fault> {
        match self.description.cells.get(cell as usize) {
            Some(_) => Ok(()),
            None => Err(Fault::misuse(format!(
                "there is no cell {cell}: the module declares {}",
                self.description.cells.len()
            ))),
        }
    }

    /// Is this a cell, and has it entries or not, as the import needs it?
    pub(crate) fn check_cell(&self, cell: u32, entries: bool) -> Result<(), Fault> {
        self.check_any_cell(cell)?;
        match self.description.cells.get(cell as usize) {
            Some(declared) if declared.kind.has_entries() != entries => {
                Err(Fault::misuse(format!(
                    "the cell `{}` is a {:?}: {}",
                    declared.name,
                    declared.kind,
                    if entries {
                        "it has no entries"
                    } else {
                        "its entries are read and written one by one"
                    }
                )))
            }
            _ => Ok(()),
        }
    }
}

impl From<Misuse> for Fault {
    fn from(misuse: Misuse) -> Self {
        Self { kind: TrapKind::Misuse, message: misuse.0 }
    }
}

/// The first bytes of a text, whole characters only.
pub(crate) fn cut(text: &str, max: usize) -> &str {
    &text[..text.floor_char_boundary(max)]
}
