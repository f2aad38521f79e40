//! The HTTP API and the web UI.
//!
//! | file | what |
//! |---|---|
//! | `modules`, `pipelines`, `topics`, `records`, `tail`, `calls`, `state`, `dead_letters`, `audit`, `live` | the routes under `/v1` |
//! | `metrics`, `openapi`, `ui` | those at the root |
//! | `extract`, `limits`, `listener`, `sse`, `problem` | what they share |
//!
//! Every refusal, from wherever it comes, is a [`problem::Problem`].

#![expect(
    clippy::result_large_err,
    reason = "a problem is made once per refused request and moved into the answer"
)]

mod audit;
mod calls;
mod dead_letters;
mod extract;
mod limits;
pub(crate) mod listener;
mod live;
mod metrics;
mod modules;
pub mod openapi;
mod pipelines;
pub mod problem;
mod records;
mod sse;
mod state;
mod tail;
mod topics;
mod ui;

use std::{any::Any, sync::Arc, time::Duration};

use axum::{
    Router,
    extract::Request,
    http::{HeaderName, HeaderValue, Method, StatusCode},
    middleware::{self, Next},
    response::{IntoResponse, Response},
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tower_http::{
    catch_panic::CatchPanicLayer,
    classify::ServerErrorsFailureClass,
    compression::CompressionLayer,
    set_header::SetResponseHeaderLayer,
    trace::{DefaultMakeSpan, TraceLayer},
};
use tracing::{Level, Span};
use weir_engine::service::Engine;

use self::problem::Problem;

/// How many streams of events may be open at once.
const STREAMS_MAX: usize = 1_024;

/// What the routes share.
#[derive(Clone)]
pub(crate) struct App {
    pub(crate) engine: Arc<Engine>,
    /// True once the server goes down: streams end then.
    pub(crate) closing: watch::Receiver<bool>,
    streams: Arc<Semaphore>,
    /// KiB of records that may be on their way at once.
    ingest_room: Arc<Semaphore>,
}

/// Held by an open stream.
pub(crate) type StreamPermit = OwnedSemaphorePermit;

impl App {
    /// Room for one more stream.
    fn stream(&self) -> Result<StreamPermit, Problem> {
        self.streams.clone().try_acquire_owned().map_err(|_| {
            Problem::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "too-many-streams",
                "Too many streams",
                format!("As many streams as may be are open: {STREAMS_MAX}. Close one, or try again in a moment."),
            )
            .retry_after(Duration::from_secs(5))
        })
    }
}

/// Everything that is served. Streams end when `closing` becomes true.
pub fn router(engine: Arc<Engine>, closing: watch::Receiver<bool>) -> Router {
    let app = App {
        engine,
        closing,
        streams: Arc::new(Semaphore::new(STREAMS_MAX)),
        ingest_room: Arc::new(Semaphore::new(limits::INGEST_KIB)),
    };
    let api = Router::new()
        .merge(modules::routes())
        .merge(pipelines::routes())
        .merge(topics::routes())
        .merge(records::routes())
        .merge(calls::routes())
        .merge(state::routes())
        .merge(dead_letters::routes())
        .merge(audit::routes())
        .merge(live::routes())
        .layer(middleware::from_fn(refuse_other_sites));
    Router::new()
        .merge(api)
        .merge(metrics::routes())
        .merge(openapi::routes())
        .fallback(ui::fallback)
        .method_not_allowed_fallback(method_not_allowed)
        .with_state(app)
        .layer(CompressionLayer::new())
        .layer(SetResponseHeaderLayer::if_not_present(
            HeaderName::from_static("x-content-type-options"),
            HeaderValue::from_static("nosniff"),
        ))
        .layer(CatchPanicLayer::custom(panicked))
        .layer(
            TraceLayer::new_for_http()
                .make_span_with(DefaultMakeSpan::new().level(Level::INFO))
                .on_failure(tell_of_failure),
        )
}

/// Says in the log what went wrong here. A handler that failed, work that took too
/// long, and what is refused for now are answers, not failures.
fn tell_of_failure(class: ServerErrorsFailureClass, latency: Duration, _: &Span) {
    let answered = matches!(
        class,
        ServerErrorsFailureClass::StatusCode(status) if status != StatusCode::INTERNAL_SERVER_ERROR
    );
    if !answered {
        tracing::error!(%class, ?latency, "a request failed");
    }
}

/// A page of another site must not make a visitor's browser change something here.
async fn refuse_other_sites(request: Request, next: Next) -> Response {
    let reads = matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    let site = request.headers().get("sec-fetch-site").map(HeaderValue::as_bytes);
    if !reads && matches!(site, Some(b"cross-site" | b"same-site")) {
        return Problem::new(
            StatusCode::FORBIDDEN,
            "other-site",
            "Not from another site",
            "A page of another site may not change anything here. Use the web UI of this server, or a program.",
        )
        .into_response();
    }
    next.run(request).await
}

async fn method_not_allowed(method: Method, uri: axum::http::Uri) -> Problem {
    let path: String = uri.path().chars().take(200).collect();
    Problem::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "method-not-allowed",
        "Not this method",
        format!("`{path}` does not know {method}. `/openapi.json` lists what it knows."),
    )
}

fn panicked(panic: Box<dyn Any + Send + 'static>) -> Response {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message");
    tracing::error!(panic = text, "a request panicked");
    Problem::defect(
        "The request hit a defect; the log of the server has the place. Nothing else is affected.",
    )
    .into_response()
}

#[cfg(test)]
mod tests;
