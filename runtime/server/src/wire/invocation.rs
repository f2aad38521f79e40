//! Invocations that were begun from outside.

use serde::Serialize;
use utoipa::ToSchema;
use weir_core::ingress::RequestStatus;
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
    /// `pending`: no outcome yet. `taken`: a send that the operator holds.
    /// `replied` and `failed`: a call that has ended.
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
                RequestStatus::Taken => "taken",
                RequestStatus::Replied => "replied",
                RequestStatus::Failed => "failed",
            },
            result,
            failure,
        }
    }
}
