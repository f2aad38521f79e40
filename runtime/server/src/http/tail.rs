//! Following a topic by server-sent events.
//!
//! Each event is one record; its id says where every partition stands after it, so
//! that a client that comes back with `Last-Event-ID` misses and repeats nothing.

use axum::response::Response;
use weir_core::ids::{Partition, TopicName};
use weir_engine::service::{Position, ReadFrom, Tail};

use super::{App, problem::Problem, sse};
use crate::wire::record::Record;

pub(super) fn follow(
    app: &App,
    topic: &TopicName,
    partition: Option<Partition>,
    from: ReadFrom,
    resume: Option<Position>,
) -> Result<Response, Problem> {
    let permit = app.stream()?;
    let tail = app.engine.tail(topic, partition, from, resume)?;
    Ok(sse::respond(app, permit, futures::stream::unfold(Some(tail), next)))
}

async fn next(tail: Option<Tail>) -> Option<(String, Option<Tail>)> {
    let mut tail = tail?;
    let mut position = tail.position().clone();
    match tail.next().await {
        Ok(Some(records)) => {
            let mut out = String::new();
            for record in records {
                position.pass(&record);
                let data = serde_json::to_string(&Record::from(record)).unwrap_or_default();
                sse::write(&mut out, None, Some(&position.to_string()), &data);
            }
            Some((out, Some(tail)))
        }
        Ok(None) => Some((last("the topic was deleted"), None)),
        Err(error) => Some((last(&error.to_string()), None)),
    }
}

/// An event that says why the stream ends.
fn last(message: &str) -> String {
    let mut out = String::new();
    let data = serde_json::json!({ "message": message }).to_string();
    sse::write(&mut out, Some("end"), None, &data);
    out
}
