//! Errors as RFC 9457 `application/problem+json`, and the one table that says
//! which error is which status and code.

use std::time::Duration;

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;
use utoipa::ToSchema;
use weir_core::{
    failure::{Failure, FailureKind},
    spec::Severity,
};
use weir_engine::service::Error;
use weir_store::StoreError;

/// The answer to a request that was not done.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Problem {
    /// `urn:weir:problem:` and the code.
    #[serde(rename = "type")]
    pub kind: String,
    /// What went wrong, in a few words; the same for every problem of this code.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// A stable name, for programs.
    pub code: String,
    /// What went wrong this time, and what to do.
    pub detail: String,
    /// Every single problem, where there can be several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<Detail>,
    /// The failure of the handler that was called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<HandlerFailure>,
    /// The invocation that the problem is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub invocation: Option<String>,
    /// When to try again; also the header `Retry-After`.
    #[serde(skip)]
    pub retry_after: Option<Duration>,
}

/// One of several problems of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct Detail {
    /// Line in the body, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Column in characters, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// Where in the document, such as `operators.order.key`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Of a pipeline file: `error` refuses it, `warning` does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub severity: Option<Severity>,
    /// A stable name, for programs.
    pub code: String,
    /// What is wrong.
    pub message: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
}

/// What a called handler failed with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct HandlerFailure {
    /// `transient` or `terminal`.
    #[schema(value_type = String)]
    pub kind: FailureKind,
    /// The handler's code.
    pub code: String,
    /// The handler's words.
    pub message: String,
}

impl Problem {
    /// A problem of this status and code.
    #[must_use]
    pub fn new(status: StatusCode, code: &str, title: &str, detail: impl Into<String>) -> Self {
        Self {
            kind: format!("urn:weir:problem:{code}"),
            title: title.into(),
            status: status.as_u16(),
            code: code.into(),
            detail: detail.into(),
            errors: Vec::new(),
            failure: None,
            invocation: None,
            retry_after: None,
        }
    }

    /// With every single problem.
    #[must_use]
    pub fn with_errors(mut self, errors: Vec<Detail>) -> Self {
        self.errors = errors;
        self
    }

    /// With a time to try again.
    #[must_use]
    pub fn retry_after(mut self, after: Duration) -> Self {
        self.retry_after = Some(after);
        self
    }

    /// The request makes no sense: 400.
    #[must_use]
    pub fn bad_request(code: &str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, "The request is not valid", detail)
    }

    /// Nothing is there: 404.
    #[must_use]
    pub fn not_found(what: &str, name: &str) -> Self {
        let code = format!("unknown-{}", what.replace(' ', "-"));
        Self::new(
            StatusCode::NOT_FOUND,
            &code,
            "There is no such thing",
            format!("There is no {what} `{name}`. {}", where_to_look(what)),
        )
    }

    /// A cursor that no answer gave: 400.
    #[must_use]
    pub fn bad_cursor(cursor: &str) -> Self {
        let cursor: String = cursor.chars().take(80).collect();
        Self::bad_request(
            "bad-cursor",
            format!("`{cursor}` is not a cursor. Give `next` of the page before as `after`."),
        )
    }

    /// Larger than a limit: 413.
    #[must_use]
    pub fn too_large(what: &str, limit: u64) -> Self {
        Self::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "too-large",
            "The request is too large",
            format!("The limit for {what} is {}. Send less at once.", bytes_text(limit)),
        )
    }

    /// A defect of this program: 500.
    #[must_use]
    pub fn defect(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "defect", "A defect in Weir", detail)
    }
}

fn where_to_look(what: &str) -> &'static str {
    match what {
        "pipeline" => "`GET /v1/pipelines` lists those that are deployed.",
        "topic" => "`GET /v1/topics` lists them; `PUT /v1/topics/{name}` creates one.",
        "module" => "`GET /v1/modules` lists those that are stored.",
        "operator" => "`GET /v1/pipelines/{name}` shows the operators of a pipeline.",
        "handler" => "`GET /v1/modules/{name}/{version}` shows the handlers of a module.",
        "dead letter" => "`GET /v1/pipelines/{name}/dead-letters` lists them.",
        _ => "Check the name.",
    }
}

fn bytes_text(bytes: u64) -> String {
    match bytes {
        n if n >= 1 << 20 && n % (1 << 20) == 0 => format!("{} MiB ({n} bytes)", n >> 20),
        n if n >= 1 << 10 && n % (1 << 10) == 0 => format!("{} KiB ({n} bytes)", n >> 10),
        n => format!("{n} bytes"),
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = serde_json::to_vec(&self).unwrap_or_else(|_| b"{}".to_vec());
        let mut response = (status, body).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some(after) = self.retry_after {
            let seconds = after.as_millis().div_ceil(1000).max(1) as u64;
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        response
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let detail = sentence(&error.to_string());
        let conflict = |code, title| Self::new(StatusCode::CONFLICT, code, title, detail.clone());
        match error {
            Error::NotFound { what, name } => Self::not_found(what, &name),
            Error::BadRequest(_) => Self::bad_request("bad-request", detail),
            Error::InvalidModule(report) => invalid_module(&report),
            Error::ModuleConflict { .. } => {
                conflict("module-exists", "The version exists with other bytes")
            }
            Error::ModuleInUse { .. } => conflict("module-in-use", "The module is in use"),
            Error::InvalidPipeline(problems) => invalid_pipeline(detail, problems),
            Error::OrphanState { held } => conflict("orphan-state", "State would have no owner")
                .with_errors(
                    held.into_iter()
                        .map(|orphan| Detail {
                            code: "orphan-state".into(),
                            path: Some(format!("operators.{}", orphan.operator)),
                            message: format!(
                                "The operator `{}` holds {}.",
                                orphan.operator,
                                orphan.holds.join(" and ")
                            ),
                            ..Detail::default()
                        })
                        .collect(),
                ),
            Error::StartFailed(_) => Self::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                "start-failed",
                "The pipeline could not be started",
                detail,
            ),
            Error::WrongStatus { .. } => conflict("wrong-status", "Not in this state"),
            Error::TopicInUse { .. } => conflict("topic-in-use", "The topic is in use"),
            Error::IdempotencyConflict => Self::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                "idempotency-conflict",
                "The idempotency key was used before",
                detail,
            ),
            Error::NoKey { .. } => {
                Self::new(StatusCode::UNPROCESSABLE_ENTITY, "no-key", "There is no key", detail)
            }
            Error::CallFailed { failure, invocation } => {
                let mut problem = call_failed(failure);
                problem.invocation = invocation.map(|id| id.to_string());
                problem
            }
            Error::Busy { after, .. } => {
                Self::new(StatusCode::TOO_MANY_REQUESTS, "busy", "A bound is reached", detail)
                    .retry_after(after)
            }
            Error::Unavailable(_) => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", "Not ready", detail)
                    .retry_after(Duration::from_secs(1))
            }
            Error::Store(error) => store(error, detail),
            Error::Defect(_) => Self::defect(detail),
        }
    }
}

fn store(error: StoreError, detail: String) -> Problem {
    match error {
        StoreError::Full => {
            Problem::new(StatusCode::INSUFFICIENT_STORAGE, "disk-full", "The disk is full", detail)
                .retry_after(Duration::from_secs(10))
        }
        StoreError::TopicConflict { .. } => Problem::new(
            StatusCode::CONFLICT,
            "topic-exists",
            "The topic exists with other settings",
            detail,
        ),
        StoreError::TopicClosed(_) => {
            Problem::new(StatusCode::CONFLICT, "topic-closed", "The topic is closed", detail)
        }
        StoreError::TooLarge { what, limit, .. } => Problem::too_large(what, limit),
        StoreError::Stopped { .. } => Problem::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "store-stopped",
            "The store has stopped",
            detail,
        )
        .retry_after(Duration::from_secs(10)),
        StoreError::Damaged { .. } => Problem::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "damaged",
            "Stored data is damaged",
            format!("{detail} Restore from a copy, or ask for help with the file named here."),
        ),
        _ => Problem::defect(detail),
    }
}

fn call_failed(failure: Failure) -> Problem {
    let (status, title) = match failure.code.as_str() {
        "unknown-operator" | "unknown-handler" => {
            (StatusCode::NOT_FOUND, "There is no such handler")
        }
        "deadline" => (StatusCode::GATEWAY_TIMEOUT, "The handler did not answer in time"),
        "cancelled" => (StatusCode::CONFLICT, "The invocation was cancelled"),
        "exhausted" => (StatusCode::BAD_GATEWAY, "The handler failed on each attempt"),
        _ => (StatusCode::UNPROCESSABLE_ENTITY, "The handler refused"),
    };
    let mut problem = Problem::new(status, &failure.code, title, sentence(&failure.message));
    problem.failure =
        Some(HandlerFailure { kind: failure.kind, code: failure.code, message: failure.message });
    problem
}

fn invalid_pipeline(detail: String, problems: Vec<weir_engine::service::Diagnostic>) -> Problem {
    Problem::new(
        StatusCode::UNPROCESSABLE_ENTITY,
        "invalid-pipeline",
        "The pipeline file is not valid",
        format!("{detail} `errors` lists each with its place and what to do."),
    )
    .with_errors(problems.into_iter().map(Detail::from).collect())
}

fn invalid_module(report: &serde_json::Value) -> Problem {
    let text = |problem: &serde_json::Value, name: &str| {
        problem.get(name).and_then(|v| v.as_str()).map(String::from)
    };
    let errors: Vec<Detail> = report
        .get("problems")
        .and_then(|p| p.as_array())
        .into_iter()
        .flatten()
        .map(|problem| Detail {
            code: text(problem, "code").unwrap_or_else(|| "invalid-module".into()),
            message: text(problem, "message").unwrap_or_default(),
            help: text(problem, "help"),
            ..Detail::default()
        })
        .collect();
    let detail = match errors.first() {
        Some(first) if errors.len() == 1 => {
            sentence(&[Some(first.message.as_str()), first.help.as_deref()].into_iter().flatten().map(sentence).collect::<Vec<_>>().join(" "))
        }
        _ => "These bytes are not a module that can run here. `errors` lists each problem and what to do.".into(),
    };
    Problem::new(
        StatusCode::UNPROCESSABLE_ENTITY,
        "invalid-module",
        "The module was not accepted",
        detail,
    )
    .with_errors(errors)
}

/// With a capital letter and a full stop.
pub(crate) fn sentence(text: &str) -> String {
    let text = text.trim();
    let mut out: String = match text.chars().next() {
        Some(first) if first.is_lowercase() => {
            first.to_uppercase().chain(text.chars().skip(1)).collect()
        }
        _ => text.into(),
    };
    if !out.is_empty() && !out.ends_with(['.', '?', ':']) {
        out.push('.');
    }
    out
}

impl From<weir_engine::service::Diagnostic> for Detail {
    fn from(diagnostic: weir_engine::service::Diagnostic) -> Self {
        Self {
            line: Some(diagnostic.line),
            column: Some(diagnostic.column),
            path: Some(diagnostic.path).filter(|path| !path.is_empty()),
            severity: Some(diagnostic.severity),
            code: diagnostic.code,
            message: diagnostic.message,
            help: diagnostic.help,
        }
    }
}
