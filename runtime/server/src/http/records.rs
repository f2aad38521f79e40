//! `/v1/topics/{topic}/records`: records in, and pages of records out. The tail is
//! in [`tail`](super::tail).

use axum::{
    Json, Router,
    extract::{Request, State},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use bytes::Bytes;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use utoipa::IntoParams;
use weir_core::{
    batch::{Batch, Event},
    ids::{EventTime, Partition, TopicName},
};
use weir_engine::service::{ReadFrom, RecordQuery};
use weir_store::{Dedupe, DedupeId, NewRecord, NewRecords};

use super::{
    App,
    extract::{Path, Query, bad_json, media_type, name, page_size, wants_events},
    limits,
    problem::{Detail, Problem},
    tail,
};
use crate::wire::{
    payload::is_json,
    record::{Appended, Place, Record, RecordIn, RecordPage},
};

pub(super) fn routes() -> Router<App> {
    limits::quick(Router::new().route("/v1/topics/{topic}/records", post(append)))
        .merge(limits::quick(Router::new().route("/v1/topics/{topic}/records", get(read))))
}

/// How the lines of NDJSON are read.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Append {
    /// Of NDJSON: each line is an object as in the JSON array, not a bare value.
    envelope: Option<bool>,
}

/// Which records.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Read {
    /// Only of this partition.
    pub(super) partition: Option<u32>,
    /// `earliest` (default), `latest`, or an offset in each partition.
    pub(super) from: Option<String>,
    /// `next` of the page before.
    pub(super) after: Option<String>,
    /// At most so many; default 100, at most 1,000.
    pub(super) limit: Option<u32>,
}

/// Appends records; the answer comes when they are durable.
#[utoipa::path(post, operation_id = "append_records", path = "/v1/topics/{topic}/records", tag = "topics",
    params(("topic" = String, Path), Append,
        ("Idempotency-Key" = Option<String>, Header, description = "A repeat within 24 h gets the first answer."),
        ("X-Weir-Producer" = Option<String>, Header, description = "With `X-Weir-Sequence`: the same, by producer and number."),
        ("X-Weir-Sequence" = Option<u64>, Header),
        ("X-Weir-Key" = Option<String>, Header, description = "The body is one raw value, and this its key.")),
    request_body(description = "A JSON array of records; NDJSON, each line one bare value; or one raw value.",
        content((Vec<RecordIn> = "application/json"), (String = "application/x-ndjson"), (Vec<u8> = "application/octet-stream"))),
    responses((status = 200, body = Appended), (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 404, body = Problem, content_type = "application/problem+json"),
        (status = 413, body = Problem, content_type = "application/problem+json"),
        (status = 415, body = Problem, content_type = "application/problem+json"),
        (status = 422, description = "The idempotency key came with another body.", body = Problem, content_type = "application/problem+json"),
        (status = 507, description = "The disk is full.", body = Problem, content_type = "application/problem+json")))]
pub(super) async fn append(
    State(app): State<App>,
    Path(topic): Path<String>,
    Query(query): Query<Append>,
    request: Request,
) -> Result<Json<Appended>, Problem> {
    let topic: TopicName = name(&topic)?;
    let headers = request.headers().clone();
    let form = form(&headers, query.envelope == Some(true))?;
    // Before a long body is sent for nothing.
    app.engine.topic(&topic)?;
    let _room = limits::room(&app.ingest_room, &headers)?;
    let body = limits::body(request, limits::RECORDS).await?;
    let dedupe = dedupe(&headers, &form, &body)?;
    let now = app.engine.wall();
    let records = match form {
        Form::Array => NewRecords::List(array(&body, now)?),
        Form::Lines => lines(&body, now)?,
        Form::Envelopes => NewRecords::List(envelopes(&body, now)?),
        Form::Raw(key) => {
            check_value(&body, 0)?;
            NewRecords::List(vec![NewRecord {
                key,
                value: body,
                timestamp: now,
                headers: vec![],
                partition: None,
            }])
        }
    };
    let ingested = app.engine.ingest(&topic, records, dedupe).await?;
    let place = |(partition, offset): (Partition, weir_core::ids::Offset)| Place {
        partition: partition.0,
        offset: offset.0,
    };
    Ok(Json(Appended { records: ingested.records.into_iter().map(place).collect() }))
}

/// Reads committed records; with `Accept: text/event-stream`, follows the topic.
#[utoipa::path(get, operation_id = "read_records", path = "/v1/topics/{topic}/records", tag = "topics",
    params(("topic" = String, Path), Read, ("Last-Event-ID" = Option<String>, Header, description = "Of a stream: where to go on.")),
    responses((status = 200, content((RecordPage = "application/json"),
        (Record = "text/event-stream"))),
        (status = 404, body = Problem, content_type = "application/problem+json")))]
pub(super) async fn read(
    State(app): State<App>,
    Path(topic): Path<String>,
    Query(query): Query<Read>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let topic: TopicName = name(&topic)?;
    let partition = query.partition.map(Partition);
    let from: ReadFrom = query.from.as_deref().map_or(Ok(ReadFrom::default()), str::parse)?;
    let after = query.after.as_deref().map(str::parse).transpose()?;
    if wants_events(&headers) {
        let last = headers
            .get("last-event-id")
            .and_then(|id| id.to_str().ok())
            .filter(|id| !id.is_empty());
        let resume = last.map(str::parse).transpose()?.or(after);
        return tail::follow(&app, &topic, partition, from, resume);
    }
    let limit = page_size(query.limit, 100)?;
    let page = app.engine.records(&topic, RecordQuery { partition, from, after, limit }).await?;
    let next = page.next.map(|position| position.to_string());
    Ok(Json(RecordPage { records: page.records.into_iter().map(Record::from).collect(), next })
        .into_response())
}

/// What a body of records is.
enum Form {
    Array,
    Lines,
    Envelopes,
    Raw(Option<Bytes>),
}

fn form(headers: &HeaderMap, envelope: bool) -> Result<Form, Problem> {
    if let Some(key) = headers.get("x-weir-key") {
        let key = Bytes::copy_from_slice(key.as_bytes());
        check_key(&key, 0)?;
        return Ok(Form::Raw(Some(key)));
    }
    let given = media_type(headers);
    match given.as_deref() {
        Some("application/json") => Ok(Form::Array),
        Some("application/x-ndjson" | "application/ndjson" | "application/jsonl") => {
            Ok(if envelope { Form::Envelopes } else { Form::Lines })
        }
        Some("application/octet-stream") => Ok(Form::Raw(None)),
        other => Err(Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "unsupported-media-type",
            "This kind of body is not taken here",
            format!(
                "The body is {}. Send records as `application/json` (an array), as `application/x-ndjson` (one value per line), \
                 or one raw value as `application/octet-stream` or with the header `X-Weir-Key`.",
                other.map_or("without a `Content-Type`".into(), |other| format!("`{other}`"))
            ),
        )),
    }
}

fn array(body: &Bytes, now: EventTime) -> Result<Vec<NewRecord>, Problem> {
    let records: Vec<RecordIn> = serde_json::from_slice(body).map_err(|error| {
        let mut problem = bad_json(&error, 1);
        if body.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{') {
            problem
                .detail
                .push_str(" Records are sent as an array, also a single one: `[{\"value\": ..}]`.");
        }
        problem
    })?;
    check_count(records.len())?;
    let records: Vec<_> = records.into_iter().map(|record| record.into_new(now)).collect();
    records.iter().enumerate().try_for_each(|(i, record)| check_record(record, i))?;
    Ok(records)
}

fn envelopes(body: &Bytes, now: EventTime) -> Result<Vec<NewRecord>, Problem> {
    let mut records = Vec::new();
    for (number, line) in split_lines(body) {
        let record: RecordIn =
            serde_json::from_slice(line).map_err(|error| bad_json(&error, number))?;
        let record = record.into_new(now);
        check_record(&record, records.len())?;
        records.push(record);
        check_count(records.len())?;
    }
    Ok(records)
}

/// Bare values, as columns: the way for many records at once.
fn lines(body: &Bytes, now: EventTime) -> Result<NewRecords, Problem> {
    let mut batch = Batch::default();
    for (number, line) in split_lines(body) {
        if !is_json(line) {
            let error = match serde_json::from_slice::<serde::de::IgnoredAny>(line) {
                Err(error) => bad_json(&error, number),
                Ok(_) => Problem::bad_request("bad-json", format!("Line {number} is not UTF-8.")),
            };
            return Err(error);
        }
        check_value(line, batch.len())?;
        batch.push(Event { timestamp: now.0, key: None, value: line, port: 0, origin: None });
        check_count(batch.len())?;
    }
    Ok(NewRecords::Batch(batch))
}

/// Lines with their numbers, from 1; empty ones are left out.
fn split_lines(body: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let lines =
        body.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    (1..).zip(lines).filter(|(_, line)| !line.iter().all(u8::is_ascii_whitespace))
}

fn check_count(records: usize) -> Result<(), Problem> {
    if records <= limits::RECORDS_MAX {
        return Ok(());
    }
    Err(Problem::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        "too-many-records",
        "The request is too large",
        format!("The limit for one request is {} records. Send less at once.", limits::RECORDS_MAX),
    ))
}

fn check_record(record: &NewRecord, index: usize) -> Result<(), Problem> {
    if let Some(key) = &record.key {
        check_key(key, index)?;
    }
    let headers: usize = record.headers.iter().map(|(name, value)| name.len() + value.len()).sum();
    check_size(headers, limits::HEADERS, index)?;
    check_value(&record.value, index)
}

fn check_key(key: &[u8], index: usize) -> Result<(), Problem> {
    check_size(key.len(), limits::KEY, index)
}

fn check_value(value: &[u8], index: usize) -> Result<(), Problem> {
    check_size(value.len(), limits::VALUE, index)
}

fn check_size(size: usize, limit: limits::Limit, index: usize) -> Result<(), Problem> {
    if size as u64 <= limit.bytes {
        return Ok(());
    }
    Err(Problem::too_large(limit.what, limit.bytes).with_errors(vec![Detail {
        path: Some(index.to_string()),
        code: "too-large".into(),
        message: format!("Record {index} of the request has {size} bytes there."),
        ..Detail::default()
    }]))
}

/// What makes a repeat of this request known, if it says so.
fn dedupe(headers: &HeaderMap, form: &Form, body: &Bytes) -> Result<Option<Dedupe>, Problem> {
    let text = |name: &str| match headers.get(name) {
        None => Ok(None),
        Some(value) => match value.to_str() {
            Ok(text) if (1..=255).contains(&text.len()) => Ok(Some(text.to_owned())),
            _ => Err(Problem::bad_request(
                "bad-header",
                format!("`{name}` is 1 to 255 visible ASCII characters."),
            )),
        },
    };
    let id = match (text("idempotency-key")?, text("x-weir-producer")?, text("x-weir-sequence")?) {
        (None, None, None) => return Ok(None),
        (Some(key), None, None) => DedupeId::Key(key),
        (None, Some(producer), Some(sequence)) => {
            let sequence = sequence.parse().map_err(|_| {
                Problem::bad_request(
                    "bad-header",
                    format!("`X-Weir-Sequence` is a whole number, not `{sequence}`."),
                )
            })?;
            DedupeId::Producer { producer, sequence }
        }
        _ => {
            return Err(Problem::bad_request(
                "bad-header",
                "Send either `Idempotency-Key`, or both `X-Weir-Producer` and `X-Weir-Sequence`.",
            ));
        }
    };
    let mut hash = Sha256::new();
    match form {
        Form::Array => hash.update([0]),
        Form::Lines => hash.update([1]),
        Form::Envelopes => hash.update([2]),
        Form::Raw(key) => {
            hash.update([3, u8::from(key.is_some())]);
            let key = key.as_deref().unwrap_or_default();
            hash.update((key.len() as u64).to_be_bytes());
            hash.update(key);
        }
    }
    hash.update(body);
    Ok(Some(Dedupe { id, body_hash: hash.finalize().into() }))
}

#[cfg(test)]
mod tests;
