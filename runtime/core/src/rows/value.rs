//! Row values: a version byte, then postcard.
//!
//! Names stand where the running machines have indexes, since those change with
//! each revision of a pipeline.

use bytes::Bytes;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{RowError, key::Table};
use crate::{
    guest::Cause,
    ids::{CallId, EventTime, InvocationId},
    message::{AskKind, Outcome},
};

/// Version of all values below.
const VERSION: u8 = 1;

/// Encodes a value.
pub(crate) fn encode<T: Serialize>(value: &T) -> Bytes {
    let bytes = postcard::to_extend(value, vec![VERSION]);
    // Only a type without a fixed shape can fail, and there is none here.
    Bytes::from(bytes.unwrap_or_default())
}

/// Decodes a value.
pub(crate) fn decode<T: DeserializeOwned>(table: Table, bytes: &[u8]) -> Result<T, RowError> {
    let error = |problem: String| RowError { table: table.name(), problem };
    match bytes.split_first() {
        Some((&VERSION, rest)) => match postcard::take_from_bytes(rest) {
            Ok((value, [])) => Ok(value),
            Ok((_, rest)) => Err(error(format!("{} bytes too many", rest.len()))),
            Err(problem) => Err(error(problem.to_string())),
        },
        Some((version, _)) => Err(error(format!("version {version} of the value is not known"))),
        None => Err(error("the value is empty".into())),
    }
}

/// A cell's value: version byte, the cell's schema version as 4 bytes, the bytes.
pub(crate) fn encode_cell(schema: u32, value: &[u8]) -> Bytes {
    let mut bytes = Vec::with_capacity(5 + value.len());
    bytes.push(VERSION);
    bytes.extend_from_slice(&schema.to_be_bytes());
    bytes.extend_from_slice(value);
    bytes.into()
}

/// The schema version and the bytes of a cell's value.
pub(crate) fn decode_cell(bytes: &Bytes) -> Result<(u32, Bytes), RowError> {
    let error = |problem: &str| RowError { table: Table::Cells.name(), problem: problem.into() };
    match bytes.split_first() {
        Some((&VERSION, rest)) => match rest.split_first_chunk() {
            Some((schema, _)) => Ok((u32::from_be_bytes(*schema), bytes.slice(5..))),
            None => Err(error("the value is cut off")),
        },
        Some(_) => Err(error("the version of the value is not known")),
        None => Err(error("the value is empty")),
    }
}

/// A sender or receiver of messages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Place {
    Ingress,
    Node { id: String, group: u8 },
}

/// What an event, a call or a send goes in by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum EntryRow {
    Handler(String),
    Port(String),
}

/// An event, call or send that was taken in and has not ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WaitingRow {
    /// Place in the order of arrival.
    pub(crate) order: u64,
    pub(crate) entry: EntryRow,
    pub(crate) cause: Cause,
    pub(crate) key: Option<Bytes>,
    pub(crate) value: Bytes,
    pub(crate) timestamp: EventTime,
    pub(crate) headers: Vec<(String, Bytes)>,
    pub(crate) origin: Option<OriginRow>,
    /// Failed attempts so far.
    pub(crate) failed: u32,
    pub(crate) retry: Option<RetryRow>,
    pub(crate) ask: Option<AskRow>,
}

/// Where an event came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OriginRow {
    pub(crate) source: String,
    pub(crate) partition: u32,
    pub(crate) offset: u64,
}

/// The next attempt: at this wall time, but no later than so many milliseconds from
/// the start of the process (rule P17).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RetryRow {
    pub(crate) at: EventTime,
    pub(crate) pause_ms: u64,
}

/// Who asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AskRow {
    pub(crate) id: CallId,
    pub(crate) from: Place,
    pub(crate) kind: AskKind,
    pub(crate) chain: Vec<InvocationId>,
}

/// The journal of an invocation (rule P6).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct JournalRow {
    pub(crate) seed: u64,
    pub(crate) began: EventTime,
    pub(crate) calls: Vec<CallRow>,
    pub(crate) outcomes: Vec<OutcomeRow>,
    /// How many of the outcomes a guest has seen.
    pub(crate) handed: u32,
}

/// A call that was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CallRow {
    pub(crate) r: u32,
    /// Fingerprint of the request; `None` after a refusal that a retry dropped: it
    /// may be asked for anew, and differently.
    pub(crate) print: Option<u64>,
    /// Where it went; `None` if it was refused on the spot.
    pub(crate) made: Option<MadeRow>,
}

/// Where a call went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MadeRow {
    pub(crate) operator: String,
    pub(crate) handler: String,
    pub(crate) key: Bytes,
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OutcomeRow {
    pub(crate) call: u32,
    pub(crate) at: EventTime,
    pub(crate) outcome: Outcome,
}

/// A send that no commit holds at its target yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OutboxRow {
    pub(crate) to: MadeRow,
    pub(crate) value: Bytes,
    pub(crate) timestamp: EventTime,
    pub(crate) not_before: Option<EventTime>,
}

/// A call or send that has ended here, until the caller's commit holds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AnswerRow {
    pub(crate) from: Place,
    /// `None`: a send.
    pub(crate) outcome: Option<Outcome>,
}

/// What a key is blocked by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BlockedRow {
    pub(crate) by: InvocationId,
}

/// A call or send from outside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RequestRow {
    pub(crate) to: MadeRow,
    pub(crate) kind: AskKind,
    pub(crate) timestamp: EventTime,
    pub(crate) deadline_ms: u64,
    pub(crate) idempotency: Option<(String, [u8; 16])>,
    pub(crate) state: RequestStateRow,
}

/// How far it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum RequestStateRow {
    /// Its outcome, or of a send its `Taken`, is not here yet.
    Asked { value: Bytes },
    /// It is.
    Answered { outcome: Option<Outcome>, at: EventTime },
}
