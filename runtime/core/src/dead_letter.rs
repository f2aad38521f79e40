//! Dead letters: events that exhausted their attempts, kept for people.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::{
    failure::{Failure, Trap},
    guest::Cause,
    ids::{EventTime, InvocationId, NodeId},
};

/// An event that exhausted its attempts or failed for good (contract 3.4). As JSON,
/// the key is a string if it is UTF-8, the value its own JSON text if it is JSON, and
/// both are `{"base64": ".."}` otherwise; so are headers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeadLetter {
    /// Its name; of the invocation that failed.
    pub id: InvocationId,
    /// The operator that gave it up.
    pub operator: NodeId,
    /// Module and version that ran.
    pub module: String,
    /// Digest of the module.
    pub digest: String,
    /// The handler that took it; of a transform, the input port.
    pub handler: String,
    /// What it was.
    pub cause: Cause,
    /// Its key, if it has one.
    #[serde(serialize_with = "optional_key")]
    pub key: Option<Bytes>,
    /// Its value.
    #[serde(serialize_with = "value")]
    pub value: Bytes,
    /// Its event time, milliseconds since the Unix epoch.
    pub timestamp: EventTime,
    /// Its headers.
    #[serde(serialize_with = "headers")]
    pub headers: Vec<(String, Bytes)>,
    /// The record that it began as, where that is known.
    pub position: Option<SourcePosition>,
    /// How often it was tried.
    pub attempts: u32,
    /// What the last attempt ended with.
    pub failure: Failure,
    /// The trap of the last attempt, if it was one: the guest's panic message and
    /// the backtrace.
    pub trap: Option<Trap>,
    /// Calls that it made and that stay done: `operator.handler key`.
    pub done: Vec<String>,
    /// Is its key blocked until it is discarded?
    pub blocks_key: bool,
    /// When it was given up.
    pub at: EventTime,
}

/// The record that an event began as.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourcePosition {
    /// The source that read it.
    pub source: String,
    /// Its topic; empty if it is not known.
    pub topic: String,
    /// Partition of the topic.
    pub partition: u32,
    /// Offset there.
    pub offset: u64,
}

fn optional_key<S: Serializer>(key: &Option<Bytes>, to: S) -> Result<S::Ok, S::Error> {
    if !to.is_human_readable() {
        return key.serialize(to);
    }
    key.as_deref().map(Shown::key).serialize(to)
}

fn value<S: Serializer>(value: &Bytes, to: S) -> Result<S::Ok, S::Error> {
    if to.is_human_readable() { Shown::value(value).serialize(to) } else { value.serialize(to) }
}

fn headers<S: Serializer>(headers: &Vec<(String, Bytes)>, to: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Header<'a> {
        name: &'a str,
        value: Shown<'a>,
    }
    if !to.is_human_readable() {
        return headers.serialize(to);
    }
    to.collect_seq(headers.iter().map(|(name, value)| Header { name, value: Shown::key(value) }))
}

/// Bytes as people see them in JSON.
#[derive(Serialize)]
#[serde(untagged)]
enum Shown<'a> {
    Text(&'a str),
    Json(&'a RawValue),
    Binary { base64: String },
}

impl<'a> Shown<'a> {
    fn key(bytes: &'a [u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::Text(text),
            Err(_) => Self::binary(bytes),
        }
    }

    /// JSON that looks like the form of binary is shown as binary, so that the form
    /// has one meaning.
    fn value(bytes: &'a [u8]) -> Self {
        match serde_json::from_slice::<&RawValue>(bytes) {
            Ok(json) if !is_binary_form(json.get()) => Self::Json(json),
            _ => Self::binary(bytes),
        }
    }

    fn binary(bytes: &[u8]) -> Self {
        Self::Binary { base64: BASE64_STANDARD.encode(bytes) }
    }
}

fn is_binary_form(json: &str) -> bool {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Form {
        #[serde(rename = "base64")]
        _base64: String,
    }
    json.starts_with('{') && serde_json::from_str::<Form>(json).is_ok()
}

#[cfg(test)]
mod tests;
