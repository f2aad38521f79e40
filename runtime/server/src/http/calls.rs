//! `/v1/call`, `/v1/send` and `/v1/invocations`.

use std::time::Duration;

use axum::{
    Json, Router,
    extract::{OriginalUri, Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use bytes::Bytes;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use utoipa::IntoParams;
use weir_core::ingress::Idempotency;
use weir_engine::service::{CallRequest, Delay, Request as Asked, SendRequest};

use super::{
    App,
    extract::{Path, Query, name, query_bytes},
    limits,
    problem::Problem,
};
use crate::wire::{
    invocation::{Accepted, Invocation},
    payload::is_json,
};

pub(super) fn routes() -> Router<App> {
    limits::waiting(
        Router::new()
            .route("/v1/call/{pipeline}/{operator}/{handler}", post(call))
            .route("/v1/send/{pipeline}/{operator}/{handler}", post(send))
            .route("/v1/invocations/{id}", get(status))
            .route("/v1/invocations/{id}/cancel", post(cancel)),
    )
}

/// Of a call.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Call {
    /// The key; without it the operator's pointer finds one in the value.
    #[serde(rename = "key")]
    #[param(rename = "key")]
    _key: Option<String>,
    /// How long the handler may take, such as `30s`; default `2m`.
    deadline: Option<String>,
}

/// Of a send.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Send {
    /// The key; without it the operator's pointer finds one in the value.
    #[serde(rename = "key")]
    #[param(rename = "key")]
    _key: Option<String>,
    /// How long it is held back, such as `500ms`, `30s`, `2m`, `1h`.
    delay: Option<String>,
}

/// Of a question for an invocation.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Wait {
    /// Wait so long for its end, such as `30s`; at most 5 min.
    wait: Option<String>,
}

/// Calls a handler and waits for its reply, which is the body of the answer.
#[utoipa::path(post, operation_id = "call_handler", path = "/v1/call/{pipeline}/{operator}/{handler}", tag = "calls",
    params(("pipeline" = String, Path), ("operator" = String, Path), ("handler" = String, Path), Call,
        ("Idempotency-Key" = Option<String>, Header, description = "A repeat within 24 h gets the first answer, or waits for it.")),
    request_body(description = "What the handler takes: any bytes, as a rule JSON.", content((serde_json::Value = "application/json"), (Vec<u8> = "application/octet-stream"))),
    responses((status = 200, description = "The reply; the header `X-Weir-Invocation` names the invocation.", content((serde_json::Value = "application/json"), (Vec<u8> = "application/octet-stream"))),
        (status = 404, body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "The pipeline does not run.", body = Problem, content_type = "application/problem+json"),
        (status = 422, description = "The handler refused, or there is no key.", body = Problem, content_type = "application/problem+json"),
        (status = 502, description = "The handler failed on each attempt.", body = Problem, content_type = "application/problem+json"),
        (status = 504, body = Problem, content_type = "application/problem+json")))]
pub(super) async fn call(
    State(app): State<App>,
    Path(target): Path<(String, String, String)>,
    Query(query): Query<Call>,
    OriginalUri(uri): OriginalUri,
    request: Request,
) -> Result<Response, Problem> {
    let deadline = query.deadline.as_deref().map(|text| duration("deadline", text)).transpose()?;
    let key = query_bytes(&uri, "key");
    let request: CallRequest = asked(target, key, request, "call", deadline).await?;
    let called = app.engine.call(request).await?;
    let kind = if is_json(&called.value) { "application/json" } else { "application/octet-stream" };
    let mut response = called.value.into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    if let Ok(id) = HeaderValue::from_str(&called.invocation.to_string()) {
        response.headers_mut().insert("x-weir-invocation", id);
    }
    Ok(response)
}

/// Gives a handler something to do; the answer says that it is held durably.
#[utoipa::path(post, operation_id = "send_to_handler", path = "/v1/send/{pipeline}/{operator}/{handler}", tag = "calls",
    params(("pipeline" = String, Path), ("operator" = String, Path), ("handler" = String, Path), Send,
        ("Idempotency-Key" = Option<String>, Header, description = "A repeat within 24 h gets the first answer.")),
    request_body(description = "What the handler takes: any bytes, as a rule JSON.", content((serde_json::Value = "application/json"), (Vec<u8> = "application/octet-stream"))),
    responses((status = 202, body = Accepted), (status = 404, body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "The pipeline does not run.", body = Problem, content_type = "application/problem+json"),
        (status = 422, description = "There is no key.", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn send(
    State(app): State<App>,
    Path(target): Path<(String, String, String)>,
    Query(query): Query<Send>,
    OriginalUri(uri): OriginalUri,
    request: Request,
) -> Result<(StatusCode, Json<Accepted>), Problem> {
    let delay = Delay(query.delay.as_deref().map(|text| duration("delay", text)).transpose()?);
    let key = query_bytes(&uri, "key");
    let request: SendRequest = asked(target, key, request, "send", delay).await?;
    let invocation = app.engine.send(request).await?.to_string();
    Ok((StatusCode::ACCEPTED, Json(Accepted { invocation })))
}

/// How far an invocation is that was begun by a call or a send.
#[utoipa::path(get, operation_id = "get_invocation", path = "/v1/invocations/{id}", tag = "calls", params(("id" = String, Path), Wait),
    responses((status = 200, body = Invocation), (status = 404, body = Problem, content_type = "application/problem+json")))]
pub(super) async fn status(
    State(app): State<App>,
    Path(id): Path<String>,
    Query(query): Query<Wait>,
) -> Result<Json<Invocation>, Problem> {
    let patience = query.wait.as_deref().map(|text| duration("wait", text)).transpose()?;
    let patience = patience.map(|patience| patience.min(Duration::from_secs(300)));
    Ok(Json(app.engine.invocation(name(&id)?, patience).await?.into()))
}

/// Cancels an invocation: not begun, it never will; running, it is rolled back;
/// ended, its result counts.
#[utoipa::path(post, operation_id = "cancel_invocation", path = "/v1/invocations/{id}/cancel", tag = "calls", params(("id" = String, Path)),
    responses((status = 200, description = "How far it is now.", body = Invocation), (status = 404, body = Problem, content_type = "application/problem+json")))]
pub(super) async fn cancel(
    State(app): State<App>,
    Path(id): Path<String>,
) -> Result<Json<Invocation>, Problem> {
    Ok(Json(app.engine.cancel(name(&id)?).await?.into()))
}

async fn asked<T>(
    (pipeline, operator, handler): (String, String, String),
    key: Option<Bytes>,
    request: Request,
    kind: &str,
    when: T,
) -> Result<Asked<T>, Problem> {
    let pipeline = name(&pipeline)?;
    if key.as_ref().is_some_and(|key| key.len() as u64 > limits::KEY.bytes) {
        return Err(Problem::too_large(limits::KEY.what, limits::KEY.bytes));
    }
    let headers = request.headers().clone();
    let value = limits::body(request, limits::CALL).await?;
    let idempotency = idempotency(&headers, &[kind, &operator, &handler], key.as_deref(), &value)?;
    Ok(Asked { pipeline, operator, handler, key, value, idempotency, when })
}

fn idempotency(
    headers: &HeaderMap,
    target: &[&str],
    key: Option<&[u8]>,
    value: &[u8],
) -> Result<Option<Idempotency>, Problem> {
    let Some(name) = headers.get("idempotency-key") else { return Ok(None) };
    let name =
        name.to_str().ok().filter(|name| (1..=255).contains(&name.len())).ok_or_else(|| {
            Problem::bad_request(
                "bad-header",
                "`Idempotency-Key` is 1 to 255 visible ASCII characters.",
            )
        })?;
    let mut hash = Sha256::new();
    for part in target {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hash.update([u8::from(key.is_some())]);
    hash.update((key.unwrap_or_default().len() as u64).to_be_bytes());
    hash.update(key.unwrap_or_default());
    hash.update(value);
    let mut body = [0; 16];
    for (to, from) in body.iter_mut().zip(hash.finalize()) {
        *to = from;
    }
    Ok(Some(Idempotency { key: name.into(), body }))
}

fn duration(name: &str, text: &str) -> Result<Duration, Problem> {
    weir_core::spec::units::parse_duration(text).map_err(|error| {
        Problem::bad_request(
            "bad-parameter",
            format!("`{name}` is not valid: {}", super::problem::sentence(&error.to_string())),
        )
    })
}
