//! How much an instance may use.

use std::time::Duration;

use wasmtime::ResourceLimiter;

use crate::ticker::TICK;

/// Limits of one instance of an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of all its memories together. Default 64 MiB.
    pub memory: u64,
    /// Elements of all its tables together. Default 100,000.
    pub table_elements: u64,
    /// CPU time in one stretch without a pause, checked about every 10 ms. Default
    /// 1 s.
    pub cpu: Duration,
    /// Bytes that it may give away at once: keys, values and headers of a batch's
    /// outputs, or of an invocation's reply, emissions and sends. Default 16 MiB.
    pub output_bytes: u64,
    /// Bytes of log lines in one stretch; what is over is dropped, and a line says
    /// so. Default 256 KiB.
    pub log_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory: 64 << 20,
            table_elements: 100_000,
            cpu: Duration::from_secs(1),
            output_bytes: 16 << 20,
            log_bytes: 256 << 10,
        }
    }
}

impl Limits {
    /// Ticks that a stretch may see. It begins somewhere within a tick, so one
    /// more than the time says.
    pub(crate) fn ticks(&self) -> u64 {
        let ticks = self.cpu.as_millis().div_ceil(TICK.as_millis());
        u64::try_from(ticks).unwrap_or(u64::MAX - 1) + 1
    }

    /// Bytes that may cross from the guest in one call, as wasmtime counts them:
    /// a bound on what the host holds before it can check anything.
    pub(crate) fn crossing_bytes(&self) -> usize {
        usize::try_from(self.output_bytes.saturating_mul(2).saturating_add(16 << 20))
            .unwrap_or(usize::MAX)
    }
}

/// Keeps count of memories and tables, and remembers a refusal: the guest itself
/// only sees that it cannot grow, and mostly stops with an unreachable then.
#[derive(Debug)]
pub(crate) struct Limiter {
    memory_max: usize,
    elements_max: usize,
    memory: usize,
    elements: usize,
    refused: Option<String>,
}

impl Limiter {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            memory_max: usize::try_from(limits.memory).unwrap_or(usize::MAX),
            elements_max: usize::try_from(limits.table_elements).unwrap_or(usize::MAX),
            memory: 0,
            elements: 0,
            refused: None,
        }
    }

    /// Bytes of all memories now.
    pub(crate) fn memory(&self) -> u64 {
        self.memory as u64
    }

    /// What was refused since the last [`Limiter::forget`], as a sentence.
    pub(crate) fn refused(&self) -> Option<&str> {
        self.refused.as_deref()
    }

    pub(crate) fn forget(&mut self) {
        self.refused = None;
    }
}

impl ResourceLimiter for Limiter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        let total = self.memory.saturating_sub(current).saturating_add(desired);
        if total > self.memory_max {
            self.refused =
                Some(format!("it wanted {total} bytes of memory and may have {}", self.memory_max));
            return Ok(false);
        }
        self.memory = total;
        Ok(true)
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        let total = self.elements.saturating_sub(current).saturating_add(desired);
        if total > self.elements_max {
            self.refused = Some(format!(
                "it wanted tables of {total} elements and may have {}",
                self.elements_max
            ));
            return Ok(false);
        }
        self.elements = total;
        Ok(true)
    }
}
