//! What operator tasks of one pipeline say to each other beside the streams:
//! calls, sends, their outcomes, and the bookkeeping that makes each exactly once.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::{
    failure::Failure,
    ids::{CallId, Epoch, EventTime, InvocationId, KeyGroup},
};

/// Where a message goes: the task that owns this key group of this node (rule
/// P19), whatever shard that is today.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    /// Index of the node in the running plan, or [`Address::INGRESS`].
    pub node: u16,
    /// The key group.
    pub group: KeyGroup,
}

impl Address {
    /// The node index of the task that takes calls and sends from outside.
    pub const INGRESS: u16 = u16::MAX;

    /// The task that takes calls and sends from outside.
    #[must_use]
    pub fn ingress() -> Self {
        Self { node: Self::INGRESS, group: KeyGroup(0) }
    }
}

/// A message with the epoch in which its sender was when it sent it (rule P4): a
/// receiver that has not yet passed that epoch's predecessor's barrier, that is,
/// whose own epoch is lower, keeps it until it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamped {
    /// The sender's epoch.
    pub epoch: Epoch,
    /// The receiver.
    pub to: Address,
    /// What is said.
    pub message: Message,
}

/// What is said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// A call or a send. Asked again with the same id after a recovery.
    Ask(Ask),
    /// The one outcome of a call, from the callee.
    Outcome {
        /// The call.
        id: CallId,
        /// Where it was decided.
        from: Address,
        /// How.
        outcome: Outcome,
    },
    /// The receiver of a send holds it: in its waiting list or ended.
    Taken {
        /// The send.
        id: CallId,
        /// Where it is held.
        from: Address,
    },
    /// The caller wants no more of this call, or of this send: deadline or
    /// cancellation (rule P8). Answered by an [`Message::Outcome`] in every case; of a
    /// send that has ended it is ok and empty.
    Cancel {
        /// The call or send. Not known to the callee: it never will begin, or if it
        /// was taken, it has ended.
        id: CallId,
        /// Is it a send whose [`Message::Taken`] was heard?
        taken: bool,
        /// `deadline` or `cancelled`: the code of the failure.
        code: String,
        /// Where the outcome goes.
        from: Address,
    },
    /// How far is this send, whose [`Message::Taken`] was heard? Answered by
    /// [`Message::Standing`].
    Look {
        /// The send.
        id: CallId,
        /// Who asks.
        from: Address,
    },
    /// How far a send is.
    Standing {
        /// The send.
        id: CallId,
        /// Where it is, or was, held.
        standing: Standing,
    },
    /// A commit holds the outcome at the caller (of a send: that the outbox row is
    /// gone): the callee may drop its record (rule P9).
    Forget {
        /// The call or send.
        id: CallId,
    },
}

/// How far a send is at its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is held back until its time.
    Delayed,
    /// It waits for its key or for a slot.
    Waiting,
    /// It runs.
    Running,
    /// An attempt failed; the next is due later.
    Retrying,
    /// It is there no more: carried out, or given up as its policy says.
    Ended,
}

/// A call or a send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    /// Its id.
    pub id: CallId,
    /// Where the outcome, or the `Taken`, goes.
    pub from: Address,
    /// Call or send?
    pub kind: AskKind,
    /// Index of the handler in the callee's description.
    pub handler: u32,
    /// The key, resolved.
    pub key: Bytes,
    /// What the handler takes.
    pub value: Bytes,
    /// When it was made.
    pub timestamp: EventTime,
    /// The invocations up the chain, the root first, the caller last. A send
    /// begins a chain of its own: empty.
    pub chain: Vec<InvocationId>,
}

/// Call or send?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AskKind {
    /// The caller awaits the outcome. It runs on its chain's slot (rule P3).
    Call,
    /// One-way.
    Send {
        /// Not before this wall time.
        not_before: Option<EventTime>,
    },
}

/// How a call ended, decided where the callee runs.
pub type Outcome = Result<Bytes, CallFailure>;

/// Why a call gave no reply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallFailure {
    /// What the caller's guest sees.
    pub failure: Failure,
    /// Did the callee begin? If not, a retry of the caller asks anew (rule P6).
    pub began: bool,
    /// Calls that the callee had made and that stay done, for people:
    /// `operator.handler key`.
    pub done: Vec<String>,
}
