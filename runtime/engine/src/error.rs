//! What can go wrong when a pipeline is loaded or told something.

use weir_core::ids::{NodeId, TopicName};

/// Named by what the caller can do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The plan names an operator for which no module was given.
    #[error("no module was given for operator `{0}`")]
    NoModule(NodeId),
    /// A topic of the plan does not exist; it is to be created first.
    #[error("topic `{0}` does not exist")]
    NoTopic(TopicName),
    /// What is stored of an operator cannot be read.
    #[error("the stored state of `{node}` cannot be read: {reason}")]
    Rows {
        /// Whose state.
        node: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The pipeline takes nothing in at present: it is paused, stopped or failed, or
    /// the disk is full.
    #[error("the pipeline does not run")]
    NotRunning,
    /// Too much waits at this operator: try again later.
    #[error("too much waits at operator `{0}`; try again later")]
    Overloaded(NodeId),
    /// The store refused.
    #[error(transparent)]
    Store(#[from] weir_store::StoreError),
}
