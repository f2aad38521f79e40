//! Dead letters.

use serde::Serialize;
use utoipa::ToSchema;
use weir_core::dead_letter::DeadLetter as Letter;

use super::{
    payload::{Key, Value},
    record::HeadersOut,
};

/// An event that exhausted its attempts.
#[derive(Debug, Serialize, ToSchema)]
pub struct DeadLetter {
    /// Of the invocation that failed.
    pub id: String,
    /// The operator.
    pub operator: String,
    /// The handler, or the input port of a transform.
    pub handler: String,
    /// The event's key; `null`: none.
    pub key: Option<Key>,
    /// The event's value.
    pub value: Value,
    /// Event time in milliseconds since the Unix epoch.
    pub timestamp: i64,
    /// The event's headers.
    #[schema(value_type = Object)]
    pub headers: HeadersOut,
    /// The record that it began as, where that is known.
    pub source: Option<Source>,
    /// Name and version of the module.
    pub module: String,
    /// Digest of the module.
    pub digest: String,
    /// How often it was tried.
    pub attempts: u32,
    /// A stable name of what went wrong.
    pub code: String,
    /// What went wrong in the last attempt.
    pub error: String,
    /// The guest's own words, if it panicked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub panic: Option<String>,
    /// Frames, innermost first, a line each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backtrace: Option<String>,
    /// Calls that it made and that stay done.
    pub calls_done: Vec<String>,
    /// Is its key blocked until it is discarded?
    pub blocks_key: bool,
    /// When it was given up, in milliseconds since the Unix epoch.
    pub at: i64,
}

/// A record.
#[derive(Debug, Serialize, ToSchema)]
pub struct Source {
    /// The source that read it.
    pub id: String,
    /// Its topic.
    pub topic: String,
    /// Its partition.
    pub partition: u32,
    /// Its offset there.
    pub offset: u64,
}

/// A page of dead letters.
#[derive(Debug, Serialize, ToSchema)]
pub struct DeadLetterList {
    /// By operator, the oldest first.
    pub dead_letters: Vec<DeadLetter>,
    /// Give it as `after` for the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

impl From<Letter> for DeadLetter {
    fn from(letter: Letter) -> Self {
        let (panic, backtrace) = match letter.trap {
            Some(trap) => {
                (trap.panic, (!trap.backtrace.is_empty()).then(|| trap.backtrace.join("\n")))
            }
            None => (None, None),
        };
        Self {
            id: letter.id.to_string(),
            operator: letter.operator.to_string(),
            handler: letter.handler,
            key: letter.key.map(Key),
            value: Value(letter.value),
            timestamp: letter.timestamp.0,
            headers: HeadersOut(letter.headers),
            source: letter.position.map(|position| Source {
                id: position.source,
                topic: position.topic,
                partition: position.partition,
                offset: position.offset,
            }),
            module: letter.module,
            digest: letter.digest,
            attempts: letter.attempts,
            code: letter.failure.code,
            error: letter.failure.message,
            panic,
            backtrace,
            calls_done: letter.done,
            blocks_key: letter.blocks_key,
            at: letter.at.0,
        }
    }
}
