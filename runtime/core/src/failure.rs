//! What can go wrong in a guest, as the engine sees it.

use serde::{Deserialize, Serialize};

/// How a failure is to be met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureKind {
    /// May go away: retried by the operator's policy.
    Transient,
    /// Will not go away: no further attempt.
    Terminal,
}

/// A failure that a guest returned, or that the host gives in its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{code}: {message}")]
pub struct Failure {
    /// How it is to be met.
    pub kind: FailureKind,
    /// A short stable name in kebab case.
    pub code: String,
    /// A sentence for people.
    pub message: String,
}

impl Failure {
    /// A failure that no retry will mend.
    #[must_use]
    pub fn terminal(code: &str, message: impl Into<String>) -> Self {
        Self { kind: FailureKind::Terminal, code: code.into(), message: message.into() }
    }

    /// A failure that may go away.
    #[must_use]
    pub fn transient(code: &str, message: impl Into<String>) -> Self {
        Self { kind: FailureKind::Transient, code: code.into(), message: message.into() }
    }
}

/// Why an instance stopped for good. It must be dropped; a fresh one is made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{kind}: {message}")]
pub struct Trap {
    /// What stopped it.
    pub kind: TrapKind,
    /// A sentence for people.
    pub message: String,
    /// The guest's own words, if it panicked.
    pub panic: Option<String>,
    /// Frames, innermost first, with the names that the module has.
    pub backtrace: Vec<String>,
    /// The invocation in whose stretch of execution it happened, if that can be
    /// told (rule P14).
    pub culprit: Option<crate::ids::InvocationId>,
}

/// What stopped an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrapKind {
    /// A WebAssembly trap: a panic, an unreachable, a bad access.
    Trap,
    /// It wanted more memory than its limit.
    Memory,
    /// It ran longer without a pause than its CPU limit.
    Cpu,
    /// It gave away more at once than its limit.
    Output,
    /// It gave back something that the contract does not allow.
    Garbage,
    /// It used an import in a way that the contract does not allow.
    Misuse,
}

impl std::fmt::Display for TrapKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Trap => "trap",
            Self::Memory => "memory-limit",
            Self::Cpu => "cpu-limit",
            Self::Output => "output-limit",
            Self::Garbage => "garbage",
            Self::Misuse => "misuse",
        })
    }
}
