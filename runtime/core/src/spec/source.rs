//! A source of the file.

use super::{
    SourceSpec,
    diagnostic::{Placed, Problems},
    fields::{At, Fields},
    read::partitions,
    settings::{Start, Watermark},
    tree::Value,
};
use crate::{
    ids::{EventTime, NodeId},
    timestamp,
};

pub(super) fn read(id: Placed<NodeId>, fields: &Fields<'_>, problems: &mut Problems) -> SourceSpec {
    fields.only(&["topic", "partitions", "from", "timestamp", "watermark"], &[], problems);
    let topic = fields
        .need("topic", "some-topic", problems)
        .and_then(|at| at.name("a topic name", problems).map(|topic| at.placed(topic)));
    let partitions = fields.get("partitions").and_then(|at| partitions(&at, problems));
    let from = fields.get("from").and_then(|at| start(&at, problems)).unwrap_or_default();
    let timestamp = fields.get("timestamp").and_then(|at| at.parse("a JSON pointer", problems));
    let watermark =
        fields.get("watermark").and_then(|at| watermark(&at, problems)).unwrap_or_default();
    SourceSpec { id, topic, partitions, from, timestamp, watermark }
}

fn start(at: &At<'_>, problems: &mut Problems) -> Option<Start> {
    const EXPECTED: &str = "`earliest`, `latest`, `{ timestamp: .. }` or `{ offset: .. }`";
    if !matches!(at.node.value, Value::Mapping(_)) {
        return match at.text(EXPECTED, problems)? {
            "earliest" => Some(Start::Earliest),
            "latest" => Some(Start::Latest),
            other => {
                problems
                    .error(
                        at.node.place,
                        &at.path,
                        "invalid-value",
                        format!("`{other}` is not a place to begin."),
                    )
                    .help(format!("write {EXPECTED}"));
                None
            }
        };
    }
    let fields = Fields::of(at, problems)?;
    fields.only(&["timestamp", "offset"], &[], problems);
    match (fields.get("timestamp"), fields.get("offset")) {
        (Some(at), None) => instant(&at, problems).map(Start::Timestamp),
        (None, Some(at)) => {
            at.integer(0..=i64::MAX, problems).map(|offset| Start::Offset(offset.unsigned_abs()))
        }
        (Some(_), Some(at)) => {
            problems
                .error(at.node.place, &at.path, "conflict", "The source has two places to begin.")
                .help("keep `timestamp` or `offset`");
            None
        }
        (None, None) => {
            at.wrong_type(EXPECTED, problems);
            None
        }
    }
}

/// A time: RFC 3339, or a whole number by the rules of [`timestamp`].
fn instant(at: &At<'_>, problems: &mut Problems) -> Option<EventTime> {
    const EXPECTED: &str = "a time such as `2026-01-31T12:00:00Z`";
    let text = at.text(EXPECTED, problems)?;
    let time = timestamp::of_text(text);
    if time.is_none() {
        problems
            .error(at.node.place, &at.path, "invalid-value", format!("`{text}` is not a time."))
            .help(format!("write {EXPECTED}"));
    }
    time
}

fn watermark(at: &At<'_>, problems: &mut Problems) -> Option<Watermark> {
    let fields = Fields::of(at, problems)?;
    fields.only(&["bound", "idle"], &[], problems);
    let default = Watermark::default();
    Some(Watermark {
        bound: fields.get("bound").and_then(|at| at.duration(problems)).unwrap_or(default.bound),
        idle: fields.get("idle").and_then(|at| at.duration(problems)).unwrap_or(default.idle),
    })
}
