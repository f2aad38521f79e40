//! Invocations that were begun from outside.

use serde::Serialize;
use utoipa::ToSchema;
use weir_core::{ingress::RequestStatus, message::Standing};
use weir_engine::service::InvocationView;

use super::payload::Value;
use crate::http::problem::HandlerFailure;

/// A send that is held durably and will be delivered.
#[derive(Debug, Serialize, ToSchema)]
pub struct Accepted {
    /// Ask for it at `/v1/invocations/{id}`.
    pub invocation: String,
}

/// How far an invocation is.
#[derive(Debug, Serialize, ToSchema)]
pub struct Invocation {
    /// Its id.
    pub id: String,
    /// Its pipeline.
    pub pipeline: String,
    /// `pending`: no outcome yet. Of a call: `replied`, `failed`. Of a send that its
    /// operator has taken: `delayed`, `waiting` for its key or a slot, `running`,
    /// `retrying`, `ended` (carried out, or given up as its policy says), `cancelled`.
    pub status: &'static str,
    /// The reply of a call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// Why a call failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<HandlerFailure>,
}

impl From<InvocationView> for Invocation {
    fn from(view: InvocationView) -> Self {
        let (result, failure) = match view.outcome {
            Some(Ok(value)) => (Some(Value(value)), None),
            Some(Err(f)) => {
                (None, Some(HandlerFailure { kind: f.kind, code: f.code, message: f.message }))
            }
            None => (None, None),
        };
        Self {
            id: view.invocation.to_string(),
            pipeline: view.pipeline.to_string(),
            status: match view.status {
                RequestStatus::Pending => "pending",
                RequestStatus::Sent(Standing::Delayed) => "delayed",
                RequestStatus::Sent(Standing::Waiting) => "waiting",
                RequestStatus::Sent(Standing::Running) => "running",
                RequestStatus::Sent(Standing::Retrying) => "retrying",
                RequestStatus::Sent(Standing::Ended) => "ended",
                RequestStatus::Cancelled => "cancelled",
                RequestStatus::Replied => "replied",
                RequestStatus::Failed => "failed",
            },
            result,
            failure,
        }
    }
}
