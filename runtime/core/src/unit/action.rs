//! What a unit wants done.

use std::sync::Arc;

use bytes::Bytes;

use crate::{
    batch::Batch, failure::Failure, guest::Invocation, ids::InvocationId, message::Stamped,
};

/// What a unit wants done, in order.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// `Guest::begin`.
    Begin(Invocation),
    /// `Guest::answer`.
    Answer {
        /// Who waits.
        invocation: InvocationId,
        /// The number of its call.
        call: u32,
        /// What came of it.
        outcome: Result<Bytes, Failure>,
    },
    /// `Guest::cancel`.
    Cancel(InvocationId),
    /// Run `Guest::process` on it and report by `Unit::on_processed` before anything
    /// else goes in, also before the actions after this one.
    Process(Arc<Batch>),
    /// To another unit or to ingress. Stamped with the epoch of the unit.
    Post(Stamped),
    /// Events given on, with output ports, not empty: of one ended invocation or of
    /// a transform's batch.
    Emit(Batch),
    /// An event exhausted its attempts and its operator's policy is `halt`: the
    /// pipeline is to stop as failed, without a commit of what is now in the unit.
    Halt {
        /// For people.
        reason: String,
    },
}
