//! What the service can refuse, named by what the caller can do about it.

use std::time::Duration;

use serde_json::Value;
use weir_core::{failure::Failure, ids::InvocationId, spec::Severity};
use weir_store::StoreError;

use super::Orphan;
use crate::error::EngineError;

/// A problem of a pipeline file, with its place.
pub use weir_core::spec::Diagnostic;

/// Why the service did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no such thing.
    #[error("there is no {what} `{name}`")]
    NotFound {
        /// Of what kind: `pipeline`, `topic`, ..
        what: &'static str,
        /// What was asked for.
        name: String,
    },
    /// A name breaks its rule, or a parameter makes no sense.
    #[error("{0}")]
    BadRequest(String),
    /// These bytes are no module that can run here. Holds the report of the check.
    #[error("the module was not accepted")]
    InvalidModule(Value),
    /// The name and version stand for other bytes.
    #[error(
        "module {name}@{version} exists with other bytes ({digest}): modules are immutable, give a new version"
    )]
    ModuleConflict {
        /// The module's name.
        name: String,
        /// Its version.
        version: String,
        /// What it stands for.
        digest: String,
    },
    /// The module is pinned by a revision of these pipelines.
    #[error("module {module} is used by {}: delete those pipelines or deploy them without it first", by.join(", "))]
    ModuleInUse {
        /// `name@version`.
        module: String,
        /// Names of pipelines.
        by: Vec<String>,
    },
    /// The pipeline file has problems: all of them.
    #[error("the pipeline file has {}", count(.0))]
    InvalidPipeline(Vec<Diagnostic>),
    /// Operators that are gone from the file still hold something.
    #[error(
        "operators that are not in the file still hold something: {}; bring them back, or drop that for good, with their dead letters: `weir apply --drop-state`, in the API `?state=drop`",
        held.iter().map(Orphan::line).collect::<Vec<_>>().join("; ")
    )]
    OrphanState {
        /// Per operator.
        held: Vec<Orphan>,
    },
    /// The new revision could not be started; what runs now is said in the text.
    #[error("{0}")]
    StartFailed(String),
    /// The pipeline is not in a state in which this can be done.
    #[error("pipeline `{pipeline}` is {status}: {help}")]
    WrongStatus {
        /// The pipeline.
        pipeline: String,
        /// What it is.
        status: &'static str,
        /// What to do first.
        help: &'static str,
    },
    /// The topic cannot go while these read or write it.
    #[error("topic `{topic}` is used by {}: delete those pipelines first", by.join(", "))]
    TopicInUse {
        /// The topic.
        topic: String,
        /// Names of pipelines.
        by: Vec<String>,
    },
    /// The idempotency key came with another body before.
    #[error(
        "this idempotency key was used before with another body: use a new key for a new request"
    )]
    IdempotencyConflict,
    /// Neither the call nor the value has a key.
    #[error(
        "operator `{operator}` needs a key: name one with `?key=`, or send a value that has the operator's `key:` pointer"
    )]
    NoKey {
        /// The operator.
        operator: String,
    },
    /// The handler gave no reply.
    #[error("{failure}")]
    CallFailed {
        /// The handler's words, or the host's.
        failure: Failure,
        /// Which invocation, if one began.
        invocation: Option<InvocationId>,
    },
    /// A bound is reached for now.
    #[error("{what}")]
    Busy {
        /// Which.
        what: String,
        /// When to try again.
        after: Duration,
    },
    /// The engine is starting or going down.
    #[error("{0}")]
    Unavailable(String),
    /// The store refused or failed.
    #[error(transparent)]
    Store(StoreError),
    /// Something that should not happen.
    #[error("{0}")]
    Defect(String),
}

/// How many of them refuse the file.
fn count(problems: &[Diagnostic]) -> String {
    match problems.iter().filter(|problem| problem.severity == Severity::Error).count() {
        1 => "1 problem".into(),
        n => format!("{n} problems"),
    }
}

impl Error {
    pub(crate) fn not_found(what: &'static str, name: impl ToString) -> Self {
        Self::NotFound { what, name: name.to_string() }
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::UnknownTopic(topic) => Self::not_found("topic", topic),
            StoreError::UnknownPartition { topic, partition } => {
                Self::not_found("partition", format!("{topic}/{partition}"))
            }
            StoreError::IdempotencyConflict => Self::IdempotencyConflict,
            StoreError::ModuleConflict { name, version, digest } => {
                Self::ModuleConflict { name, version, digest: digest.to_string() }
            }
            StoreError::Unknown { what, name } => Self::NotFound { what, name },
            other => Self::Store(other),
        }
    }
}

impl From<EngineError> for Error {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Store(error) => error.into(),
            EngineError::NotRunning => {
                Self::Unavailable("the pipeline takes nothing in at present".into())
            }
            EngineError::Overloaded(operator) => Self::Busy {
                what: format!("too much waits at operator `{operator}`"),
                after: Duration::from_secs(1),
            },
            EngineError::NoTopic(topic) => Self::not_found("topic", topic),
            other => Self::StartFailed(other.to_string()),
        }
    }
}
