//! From an error of wasmtime to what the engine is told.

use rustc_demangle::demangle;
use wasmtime::WasmBacktrace;
use weir_core::{
    failure::{Trap, TrapKind},
    ids::InvocationId,
};

use crate::data::Data;

/// Frames that are kept, innermost first.
const FRAMES_MAX: usize = 64;

/// Bytes of a text that are kept.
const TEXT_MAX: usize = 8 << 10;

/// A trap that the host itself raises.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Fault {
    pub(crate) kind: TrapKind,
    pub(crate) message: String,
}

impl Fault {
    /// An import was used in a way that the contract does not allow.
    pub(crate) fn misuse(message: impl Into<String>) -> Self {
        Self { kind: TrapKind::Misuse, message: message.into() }
    }

    /// The guest gave something that the contract does not allow.
    pub(crate) fn garbage(message: impl Into<String>) -> Self {
        Self { kind: TrapKind::Garbage, message: message.into() }
    }

    /// The guest gave away too much at once.
    pub(crate) fn output(bytes: u64, limit: u64) -> Self {
        let message = format!(
            "what it gives away at once (replies, events, sends) is {bytes} bytes, and may be {limit}: \
             give away less, or raise `output` in the `limits` of the operator"
        );
        Self { kind: TrapKind::Output, message }
    }

    /// As a trap of its own, where no guest code was on the stack.
    pub(crate) fn into_trap(self, culprit: Option<InvocationId>) -> Trap {
        Trap { kind: self.kind, message: self.message, panic: None, backtrace: Vec::new(), culprit }
    }
}

/// Says what stopped an instance.
pub(crate) fn explain(
    error: &wasmtime::Error,
    data: &mut Data,
    culprit: Option<InvocationId>,
) -> Trap {
    let panic = data.take_panic();
    let (kind, message) = if let Some(fault) = error.downcast_ref::<Fault>() {
        (fault.kind, fault.message.clone())
    } else if let Some(refused) = data.limiter.refused() {
        (TrapKind::Memory, refused.to_owned())
    } else {
        match error.downcast_ref::<wasmtime::Trap>() {
            Some(wasmtime::Trap::Interrupt) => (
                TrapKind::Cpu,
                format!("it ran for more than {} ms without a pause", data.limits.cpu.as_millis()),
            ),
            Some(trap) => (TrapKind::Trap, trap.to_string()),
            // Neither the guest's own doing nor ours: what it gave breaks the
            // rules of the component model, such as a bad pointer.
            None => (TrapKind::Garbage, error.root_cause().to_string()),
        }
    };
    let cut = |text: &str| crate::data::cut(text, TEXT_MAX).to_owned();
    Trap {
        kind,
        message: cut(&message),
        panic: panic.as_deref().map(cut),
        backtrace: error.downcast_ref::<WasmBacktrace>().map(frames).unwrap_or_default(),
        culprit,
    }
}

fn frames(backtrace: &WasmBacktrace) -> Vec<String> {
    let name = |frame: &wasmtime::FrameInfo| match frame.func_name() {
        Some(name) => format!("{:#}", demangle(name)),
        None => format!("function {}", frame.func_index()),
    };
    backtrace.frames().iter().take(FRAMES_MAX).map(name).collect()
}
