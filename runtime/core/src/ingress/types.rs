//! What ingress is asked and what it answers.

use std::{collections::HashMap, sync::Arc, time::Duration};

use bytes::Bytes;

use crate::{
    failure::Failure,
    ids::{InvocationId, NodeId},
    message::{Stamped, Standing},
    unit::Target,
};

/// Everything that ingress knows of its place.
#[derive(Clone, Debug)]
pub struct IngressConfig {
    /// Incarnation of the pipeline.
    pub incarnation: u32,
    /// A part of the ids that it gives, beside those of the units.
    pub task: u16,
    /// The operators of the pipeline that can be called or sent to, by name.
    pub targets: Arc<HashMap<String, Target>>,
    /// Names of all nodes, by index in the running plan.
    pub nodes: Arc<[NodeId]>,
}

/// A call or a send from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IngressRequest {
    /// Names the asker in [`IngressAction::Respond`]; unique while the process lives.
    pub ticket: u64,
    /// Call or send?
    pub kind: IngressKind,
    /// Name of the operator.
    pub operator: String,
    /// Name of the handler.
    pub handler: String,
    /// The key; absent: taken from the value by the operator's pointer.
    pub key: Option<Bytes>,
    /// What the handler takes.
    pub value: Bytes,
    /// Of `Idempotency-Key`.
    pub idempotency: Option<Idempotency>,
}

/// A name that an outsider gives a request, so that it may repeat it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Idempotency {
    /// The name.
    pub key: String,
    /// Hash of everything that must be the same in a repeat.
    pub body: [u8; 16],
}

/// Call or send?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IngressKind {
    /// The asker waits for the reply.
    Call {
        /// Of running time; default 2 min.
        deadline: Option<Duration>,
    },
    /// One-way.
    Send {
        /// How long it is held back.
        delay: Option<Duration>,
    },
}

/// What ingress wants done, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IngressAction {
    /// To a unit.
    Post(Stamped),
    /// An answer for an asker: everything that it speaks of is durable.
    Respond {
        /// The asker.
        ticket: u64,
        /// What it is told.
        response: Response,
    },
}

/// What an asker is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Response {
    /// The send is held and will be delivered.
    Accepted {
        /// Its id.
        invocation: InvocationId,
    },
    /// The reply of the handler.
    Reply {
        /// Its id.
        invocation: InvocationId,
        /// What the handler gave.
        value: Bytes,
    },
    /// The call failed for good.
    Failed {
        /// Its id.
        invocation: InvocationId,
        /// Why.
        failure: Failure,
        /// Calls that stay done, for people.
        done: Vec<String>,
    },
    /// How far it is, to who asked only for that.
    Standing {
        /// Its id.
        invocation: InvocationId,
        /// How far.
        status: RequestStatus,
    },
    /// The same idempotency key came with another body.
    Conflict,
    /// Neither was a key given nor has the value one.
    NoKey,
    /// There is no such operator, handler or invocation.
    Unknown {
        /// A sentence for people.
        message: String,
    },
}

/// How far a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestStatus {
    /// A call that has no outcome yet, or a send that its target does not hold yet.
    Pending,
    /// A send that its target holds, or held: see [`Standing`].
    Sent(Standing),
    /// A send that was cancelled before it ended: it leaves nothing.
    Cancelled,
    /// A call that gave a reply.
    Replied,
    /// A call that failed.
    Failed,
}
