//! Server-sent events.

use std::{convert::Infallible, fmt::Write, time::Duration};

use axum::{
    body::Body,
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures::Stream;
use tokio_stream::StreamExt;

use super::App;

/// A comment is sent after so long without an event, so that both sides notice a
/// broken connection.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Adds one event to `out`. A carriage return in the data, which can only be space
/// between JSON tokens, becomes a line feed: the protocol cannot carry it.
pub(super) fn write(out: &mut String, event: Option<&str>, id: Option<&str>, data: &str) {
    if let Some(event) = event {
        let _ = writeln!(out, "event: {event}");
    }
    if let Some(id) = id {
        let _ = writeln!(out, "id: {id}");
    }
    for line in data.split(['\n', '\r']) {
        let _ = writeln!(out, "data: {line}");
    }
    out.push('\n');
}

/// Answers with a stream of events that ends when the server goes down. `events`
/// are whole events, as [`write`] makes them.
pub(super) fn respond(
    app: &App,
    permit: super::StreamPermit,
    events: impl Stream<Item = String> + Send + 'static,
) -> Response {
    let mut closing = app.closing.clone();
    let closed = async move {
        let _ = closing.wait_for(|closing| *closing).await;
    };
    let parts = futures::stream::unfold(
        (Box::pin(events), Box::pin(closed), permit, false),
        |(mut events, mut closed, permit, begun)| async move {
            if !begun {
                // The browser waits so long before it connects again.
                return Some(("retry: 1000\n\n".to_owned(), (events, closed, permit, true)));
            }
            let next = tokio::select! {
                biased;
                () = &mut closed => None,
                event = events.next() => event,
                () = tokio::time::sleep(KEEP_ALIVE) => Some(": still here\n\n".to_owned()),
            };
            next.map(|text| (text, (events, closed, permit, true)))
        },
    );
    let body = Body::from_stream(parts.map(|text| Ok::<_, Infallible>(Bytes::from(text))));
    let mut response = body.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

#[cfg(test)]
mod tests {
    use super::write;

    #[test]
    fn data_of_several_lines_stays_one_event() {
        let mut out = String::new();
        write(&mut out, Some("figures"), Some("7"), "{\n\r1}");
        assert_eq!(out, "event: figures\nid: 7\ndata: {\ndata: \ndata: 1}\n\n");
    }
}
