//! `/v1/live`: figures of all pipelines once a second, and what happens to them.

use std::collections::VecDeque;

use axum::{Router, extract::State, http::HeaderMap, response::Response, routing::get};
use tokio::sync::broadcast::error::RecvError;
use weir_engine::service::LiveFeed;

use super::{App, problem::Problem, sse};
use crate::wire::live::{Figures, Lifecycle};

pub(super) fn routes() -> Router<App> {
    Router::new().route("/v1/live", get(live))
}

/// Events `figures` and `lifecycle`. With `Last-Event-ID` the lifecycle events
/// since come first.
#[utoipa::path(get, operation_id = "watch_live", path = "/v1/live", tag = "live",
    params(("Last-Event-ID" = Option<String>, Header, description = "Id of the last lifecycle event that was seen.")),
    responses((status = 200, content((Figures = "text/event-stream"))),
        (status = 503, description = "Too many streams.", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn live(State(app): State<App>, headers: HeaderMap) -> Result<Response, Problem> {
    let permit = app.stream()?;
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
    let feed = app.engine.listen(last);
    let mut ready: VecDeque<String> = feed.missed.iter().map(|event| lifecycle(event)).collect();
    ready.push_back(figures(&feed.now));
    Ok(sse::respond(&app, permit, futures::stream::unfold((ready, feed), next)))
}

async fn next(
    (mut ready, mut feed): (VecDeque<String>, LiveFeed),
) -> Option<(String, (VecDeque<String>, LiveFeed))> {
    if let Some(text) = ready.pop_front() {
        return Some((text, (ready, feed)));
    }
    let text = loop {
        tokio::select! {
            biased;
            event = feed.events.recv() => match event {
                Ok(event) => break lifecycle(&event),
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return None,
            },
            sample = feed.figures.recv() => match sample {
                Ok(sample) => break figures(&sample),
                // Only the newest matters.
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return None,
            },
        }
    };
    Some((text, (ready, feed)))
}

fn figures(sample: &weir_engine::service::Figures) -> String {
    let mut out = String::new();
    sse::write(
        &mut out,
        Some("figures"),
        None,
        &serde_json::to_string(&Figures::from(sample)).unwrap_or_default(),
    );
    out
}

fn lifecycle(event: &weir_engine::service::Lifecycle) -> String {
    let mut out = String::new();
    let data = serde_json::to_string(&Lifecycle::from(event)).unwrap_or_default();
    sse::write(&mut out, Some("lifecycle"), Some(&event.id.to_string()), &data);
    out
}
