//! What handlers take from a request, with refusals as problems.

use std::str::FromStr;

use axum::{
    extract::{
        FromRequestParts,
        rejection::{PathRejection, QueryRejection},
    },
    http::{Uri, header},
};
use bytes::Bytes;
use serde::de::DeserializeOwned;

use super::problem::{Detail, Problem, sentence};

/// Parts of the path.
#[derive(FromRequestParts)]
#[from_request(via(axum::extract::Path), rejection(Problem))]
pub(super) struct Path<T>(pub(super) T);

/// Parameters behind the question mark.
#[derive(FromRequestParts)]
#[from_request(via(axum::extract::Query), rejection(Problem))]
pub(super) struct Query<T>(pub(super) T);

impl From<PathRejection> for Problem {
    fn from(rejection: PathRejection) -> Self {
        Self::bad_request("bad-path", sentence(&rejection.body_text()))
    }
}

impl From<QueryRejection> for Problem {
    fn from(rejection: QueryRejection) -> Self {
        let text = rejection.body_text();
        let text = text.strip_prefix("Failed to deserialize query string: ").unwrap_or(&text);
        Self::bad_request("bad-parameter", format!("The query is not valid: {}", sentence(text)))
    }
}

/// A name, by its rule.
///
/// # Errors
/// 400 with the rule.
pub(super) fn name<T: FromStr<Err: std::fmt::Display>>(text: &str) -> Result<T, Problem> {
    text.parse()
        .map_err(|error: T::Err| Problem::bad_request("bad-name", sentence(&error.to_string())))
}

/// How many items a page has: `limit`, at most 1,000.
///
/// # Errors
/// 400 for 0.
pub(super) fn page_size(limit: Option<u32>, default: u32) -> Result<usize, Problem> {
    match limit.unwrap_or(default) {
        0 => Err(Problem::bad_request("bad-parameter", "`limit` is a number from 1 to 1000.")),
        limit => Ok(limit.min(1_000) as usize),
    }
}

/// JSON of a body; an empty one is the default.
///
/// # Errors
/// 400 with the place.
pub(super) fn json<T: DeserializeOwned + Default>(body: &Bytes) -> Result<T, Problem> {
    if body.iter().all(u8::is_ascii_whitespace) {
        return Ok(T::default());
    }
    serde_json::from_slice(body).map_err(|error| bad_json(&error, 1))
}

/// A problem with the place where JSON goes wrong; `line` is where it begins.
pub(super) fn bad_json(error: &serde_json::Error, line: usize) -> Problem {
    let text = error.to_string();
    let message = text.split(" at line ").next().unwrap_or(&text).to_owned();
    let line = (line + error.line()).saturating_sub(1).max(1);
    let column = error.column().max(1);
    let code = if error.is_data() { "bad-shape" } else { "bad-json" };
    let detail = format!(
        "The body is not what is expected at line {line}, column {column}: {}",
        sentence(&message)
    );
    Problem::bad_request(code, detail).with_errors(vec![Detail {
        line: u32::try_from(line).ok(),
        column: u32::try_from(column).ok(),
        code: code.into(),
        message,
        ..Detail::default()
    }])
}

/// The bytes of a query parameter, percent-decoded: a key need not be text.
#[must_use]
pub(super) fn query_bytes(uri: &Uri, name: &str) -> Option<Bytes> {
    let pairs = uri.query()?.split('&');
    let value = pairs
        .filter_map(|pair| pair.split_once('=').or(Some((pair, ""))))
        .find(|(n, _)| *n == name)?
        .1;
    Some(key_bytes(&percent_decode(value, true)))
}

/// The bytes of the last part of the path, percent-decoded.
#[must_use]
pub(super) fn last_segment(uri: &Uri) -> Bytes {
    let last = uri.path().rsplit('/').next().unwrap_or_default();
    key_bytes(&percent_decode(last, false))
}

/// `base64:..` stands for bytes that are no text.
fn key_bytes(text: &[u8]) -> Bytes {
    use base64::{Engine as _, prelude::BASE64_STANDARD};
    let decoded = text.strip_prefix(b"base64:").and_then(|rest| BASE64_STANDARD.decode(rest).ok());
    // Only where it is the one way to write the key; else the text is the key.
    match decoded.filter(|bytes| std::str::from_utf8(bytes).is_err()) {
        Some(bytes) => bytes.into(),
        None => Bytes::copy_from_slice(text),
    }
}

fn percent_decode(text: &str, plus_is_space: bool) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut i = 0;
    while let Some(byte) = bytes.get(i) {
        let hex =
            || u8::from_str_radix(std::str::from_utf8(bytes.get(i + 1..i + 3)?).ok()?, 16).ok();
        match (byte, hex()) {
            (b'%', Some(decoded)) => {
                out.push(decoded);
                i += 2;
            }
            (b'+', _) if plus_is_space => out.push(b' '),
            (byte, _) => out.push(*byte),
        }
        i += 1;
    }
    out
}

/// The media type of a body, without parameters, in lower case.
#[must_use]
pub(super) fn media_type(headers: &axum::http::HeaderMap) -> Option<String> {
    let text = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
    Some(text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase())
}

/// Does the client ask for server-sent events?
#[must_use]
pub(super) fn wants_events(headers: &axum::http::HeaderMap) -> bool {
    headers.get_all(header::ACCEPT).iter().any(|accept| {
        accept
            .to_str()
            .is_ok_and(|accept| accept.to_ascii_lowercase().contains("text/event-stream"))
    })
}

#[cfg(test)]
mod tests;
