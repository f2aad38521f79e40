//! How much and how long: sizes of bodies, time, and how many requests at once.
//!
//! A bound that is reached answers at once, as a problem, and never takes
//! `/healthz`, `/readyz` and `/metrics` with it.

use std::{sync::Arc, time::Duration};

use axum::{
    BoxError, Router,
    error_handling::HandleErrorLayer,
    extract::Request,
    http::{HeaderMap, StatusCode, header},
};
use bytes::{Bytes, BytesMut};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_stream::StreamExt;
use tower::{
    ServiceBuilder, limit::GlobalConcurrencyLimitLayer, load_shed::LoadShedLayer,
    timeout::TimeoutLayer,
};

use super::problem::Problem;

/// The most that a body of some kind may hold.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limit {
    /// What it is for, for people.
    pub(super) what: &'static str,
    /// Bytes.
    pub(super) bytes: u64,
}

/// An uploaded module.
pub(super) const MODULE: Limit = Limit { what: "a module", bytes: 64 << 20 };
/// A pipeline file.
pub(super) const PIPELINE: Limit = Limit { what: "a pipeline file", bytes: 1 << 20 };
/// All records of one request.
pub(super) const RECORDS: Limit = Limit { what: "the records of one request", bytes: 32 << 20 };
/// The value of one record.
pub(super) const VALUE: Limit = Limit { what: "the value of one record", bytes: 4 << 20 };
/// The key of a record or call.
pub(super) const KEY: Limit = Limit { what: "a key", bytes: 64 << 10 };
/// The headers of one record together.
pub(super) const HEADERS: Limit = Limit { what: "the headers of one record", bytes: 64 << 10 };
/// What a called handler takes.
pub(super) const CALL: Limit = Limit { what: "the value of a call", bytes: 4 << 20 };
/// Settings as JSON.
pub(super) const SETTINGS: Limit = Limit { what: "settings", bytes: 64 << 10 };

/// How many records one request may bring.
pub(super) const RECORDS_MAX: usize = 100_000;

/// Bytes of bodies of records that may be in memory at once, in KiB.
pub(super) const INGEST_KIB: usize = 256 << 10;

/// The longest pause within a body.
const PAUSE: Duration = Duration::from_secs(30);
/// How much of a body that is refused is read and dropped, so that a client that
/// sends before it listens gets to see the answer.
const DRAINED: u64 = 1 << 30;

/// The whole body of a request.
///
/// # Errors
/// 413 if it is larger than the limit, 408 if it pauses too long, 400 if it breaks
/// off.
pub(super) async fn body(request: Request, limit: Limit) -> Result<Bytes, Problem> {
    let (parts, body) = request.into_parts();
    if let Some(encoding) = parts.headers.get(header::CONTENT_ENCODING)
        && encoding != "identity"
    {
        return Err(Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "unsupported-encoding",
            "This encoding of a body is not taken here",
            format!(
                "The body has the content encoding `{}`. Send it as it is, without compression.",
                String::from_utf8_lossy(encoding.as_bytes())
            ),
        ));
    }
    let announced = parts
        .headers
        .get(header::CONTENT_LENGTH)
        .and_then(|n| n.to_str().ok()?.parse::<u64>().ok());
    // Such a client sends the body only when it is asked to.
    let waits = parts.headers.contains_key(header::EXPECT);
    let mut stream = body.into_data_stream();
    let too_large = announced.is_some_and(|announced| announced > limit.bytes);
    if too_large && waits {
        return Err(Problem::too_large(limit.what, limit.bytes));
    }
    let mut body = BytesMut::new();
    if !too_large {
        body.reserve(announced.unwrap_or(0).min(limit.bytes) as usize);
    }
    let mut seen = 0;
    loop {
        let part = match tokio::time::timeout(PAUSE, stream.next()).await {
            Err(_) => {
                return Err(Problem::new(
                    StatusCode::REQUEST_TIMEOUT,
                    "body-timeout",
                    "The body did not come",
                    format!(
                        "The body paused for more than {} s. Send it without pauses.",
                        PAUSE.as_secs()
                    ),
                ));
            }
            Ok(Some(Err(error))) => {
                return Err(Problem::bad_request(
                    "body-broken",
                    format!("The body broke off: {error}."),
                ));
            }
            Ok(Some(Ok(part))) => part,
            Ok(None) => break,
        };
        seen += part.len() as u64;
        if seen > DRAINED {
            break;
        }
        if too_large || seen > limit.bytes {
            body = BytesMut::new();
        } else {
            body.extend_from_slice(&part);
        }
    }
    if too_large || seen > limit.bytes {
        return Err(Problem::too_large(limit.what, limit.bytes));
    }
    Ok(body.freeze())
}

/// Room for a body of records: of the size that is announced, or of the largest.
///
/// # Errors
/// 429 if too much is on its way already.
pub(super) fn room(
    of: &Arc<Semaphore>,
    headers: &HeaderMap,
) -> Result<OwnedSemaphorePermit, Problem> {
    let announced =
        headers.get(header::CONTENT_LENGTH).and_then(|n| n.to_str().ok()?.parse::<u64>().ok());
    let kib = announced.unwrap_or(RECORDS.bytes).min(RECORDS.bytes).div_ceil(1024).max(1);
    of.clone().try_acquire_many_owned(u32::try_from(kib).unwrap_or(u32::MAX)).map_err(|_| {
        Problem::new(
            StatusCode::TOO_MANY_REQUESTS,
            "busy",
            "A bound is reached",
            "As many bytes of records as may be are on their way to the disk. Try again in a moment, or send less at once.",
        )
        .retry_after(Duration::from_secs(1))
    })
}

/// Routes that are answered soon.
pub(super) fn quick<S: Clone + Send + Sync + 'static>(routes: Router<S>) -> Router<S> {
    guard(routes, 512, Duration::from_secs(60))
}

/// Routes that compile, load or stop something.
pub(super) fn slow<S: Clone + Send + Sync + 'static>(routes: Router<S>) -> Router<S> {
    guard(routes, 8, Duration::from_secs(600))
}

/// Routes that wait for a handler.
pub(super) fn waiting<S: Clone + Send + Sync + 'static>(routes: Router<S>) -> Router<S> {
    guard(routes, 8_192, Duration::from_secs(600))
}

fn guard<S: Clone + Send + Sync + 'static>(
    routes: Router<S>,
    at_once: usize,
    within: Duration,
) -> Router<S> {
    routes.layer(
        ServiceBuilder::new()
            .layer(HandleErrorLayer::new(refused))
            .layer(LoadShedLayer::new())
            .layer(GlobalConcurrencyLimitLayer::new(at_once))
            .layer(TimeoutLayer::new(within)),
    )
}

async fn refused(error: BoxError) -> Problem {
    if error.is::<tower::timeout::error::Elapsed>() {
        Problem::new(
            StatusCode::GATEWAY_TIMEOUT,
            "timeout",
            "It took too long",
            "The answer was not there in time. What was begun goes on; ask for its state before you repeat it.",
        )
    } else {
        Problem::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "overloaded",
            "Too many requests at once",
            "As many requests of this kind as may be are being worked on. Try again in a moment.",
        )
        .retry_after(Duration::from_secs(1))
    }
}
