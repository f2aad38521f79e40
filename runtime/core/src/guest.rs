//! The wall between the engine and whatever runs user code.
//!
//! A [`Guest`] is one instance of a module. The engine drives it and is never
//! called back out of turn: it begins invocations and hands over answers, then
//! [`Guest::run`] lets the guest work until it can do nothing more without an
//! answer, and says what happened. While it runs, the guest reads and writes
//! through [`Effects`]. WebAssembly instances implement this in `weir-host`,
//! scripted ones in the simulation.

use std::sync::Arc;

use bytes::Bytes;

use crate::{
    batch::Batch,
    description::Description,
    failure::{Failure, Trap},
    ids::{EventTime, InvocationId},
};

/// Makes instances of one module, with the configuration and limits of one
/// operator.
pub trait GuestFactory: Send + Sync {
    /// What the module says of itself.
    fn description(&self) -> &Arc<Description>;

    /// A fresh instance.
    ///
    /// # Errors
    /// If the module cannot be instantiated within its limits.
    fn instantiate(&self, effects: Arc<dyn Effects>) -> Result<Box<dyn Guest>, Trap>;
}

/// One instance. After a trap it must be dropped.
pub trait Guest: Send {
    /// Runs the `transform` face on a batch of at least one event.
    ///
    /// The outer error is a trap. The inner one is a failure of the whole batch.
    ///
    /// # Errors
    /// A trap; the instance is of no more use.
    fn process(&mut self, batch: &Arc<Batch>) -> Result<Result<Output, Failure>, Trap>;

    /// Begins an invocation; it moves with the next [`Guest::run`].
    fn begin(&mut self, invocation: Invocation);

    /// Hands over the outcome of a call; the guest sees it with the next
    /// [`Guest::run`]. Unknown ones are ignored: the guest may have dropped the
    /// future that waited.
    fn answer(&mut self, invocation: InvocationId, call: u32, outcome: Result<Bytes, Failure>);

    /// Lets go of an invocation: its handle is closed, its open calls fail as
    /// `cancelled`, its end is not reported. Other invocations do not notice.
    fn cancel(&mut self, invocation: InvocationId);

    /// Lets the guest work until every invocation has ended or waits.
    ///
    /// # Errors
    /// A trap. Every invocation in the instance is lost.
    fn run(&mut self) -> Result<Vec<GuestEvent>, Trap>;
}

/// An invocation to begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invocation {
    /// Its id, the same over attempts.
    pub id: InvocationId,
    /// Index of the handler in the description.
    pub handler: u32,
    /// What began it.
    pub cause: Cause,
    /// 1 for the first attempt.
    pub attempt: u32,
    /// Its key.
    pub key: Bytes,
    /// What it takes.
    pub value: Bytes,
    /// Event time; of a call, when it was made.
    pub timestamp: EventTime,
    /// Headers of the event.
    pub headers: Vec<(String, Bytes)>,
}

/// What began an invocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// An event of a stream.
    Event,
    /// A call that awaits the reply.
    Call,
    /// A one-way send.
    Send,
    /// A due timer.
    Timer,
}

/// What a guest did while it ran, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GuestEvent {
    /// It asks for a call. Calls of one invocation are numbered from 0 in the
    /// order in which they were made, the same on every re-run.
    Called {
        /// Who asks.
        invocation: InvocationId,
        /// Its number.
        call: u32,
        /// What it asks.
        request: Request,
    },
    /// An invocation returned.
    Ended {
        /// Which.
        invocation: InvocationId,
        /// What it gives away, or why not.
        result: Result<Reply, Failure>,
    },
}

/// A call of a handler of another operator, or a one-way send to it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Request {
    /// Id of the operator in the pipeline file. Not yet checked.
    pub operator: String,
    /// Name of the handler. Not yet checked.
    pub handler: String,
    /// The key; absent: taken from the value by the operator's pointer.
    pub key: Option<Bytes>,
    /// What the handler takes.
    pub value: Bytes,
    /// Of a call: its deadline in milliseconds of running time. Of a send: how
    /// long it is held back.
    pub after_ms: Option<u64>,
}

/// What an invocation gives away.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// The answer to a call.
    pub value: Bytes,
    /// Events given on, in order.
    pub emissions: Vec<Emission>,
    /// One-way sends, in order.
    pub sends: Vec<Request>,
}

/// An event that a handler gives on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Emission {
    /// Index into the description's outputs; checked by the host.
    pub port: u8,
    /// Absent: the invocation's key.
    pub key: Option<Bytes>,
    /// Its value.
    pub value: Bytes,
    /// Absent: the invocation's timestamp.
    pub timestamp: Option<EventTime>,
    /// Its headers.
    pub headers: Vec<(String, Bytes)>,
}

/// What a transform gives away for a batch. The host has checked it: ends are
/// monotone and within the bytes, causes ascending and within the batch, ports
/// within the description, and every column is of full length (defaults filled
/// in).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// The events.
    pub batch: Batch,
    /// Per output, the event of the input batch that caused it.
    pub causes: Vec<u32>,
    /// Events that could not be processed, ascending, without duplicates.
    pub failures: Vec<(u32, Failure)>,
    /// One-way sends, each with the event that caused it, ascending.
    pub sends: Vec<(u32, Request)>,
}

/// Whose state an import speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Subject {
    /// The key of an invocation.
    Invocation(InvocationId),
    /// The key of an event of the batch in progress.
    Event(u32),
}

/// An import was used in a way that the contract does not allow: the guest traps
/// with this text as [`crate::failure::TrapKind::Misuse`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Misuse(pub String);

/// Values packed end to end; an absent one has length 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packed {
    /// All values.
    pub values: Vec<u8>,
    /// Where each ends.
    pub ends: Vec<u32>,
}

/// One cell's values for the distinct keys of a batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    /// Per event, the index of its key's value; `u32::MAX` without a key.
    pub slots: Vec<u32>,
    /// The values.
    pub cells: Packed,
}

/// Which entries of a map a scan asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scan {
    /// Inclusive; absent: from the first.
    pub start: Option<Bytes>,
    /// Exclusive; absent: to the last.
    pub end: Option<Bytes>,
    /// From the end to the start.
    pub backwards: bool,
    /// At most so many; never more than 1,024.
    pub limit: u32,
}

/// What a guest may do while it runs: the engine's side of the imports.
///
/// Called only from within [`Guest::process`] and [`Guest::run`], on the same
/// thread. A closed or unknown invocation reads as empty and its writes are
/// ignored.
pub trait Effects: Send + Sync {
    /// The value of a cell without entries.
    fn get(&self, of: Subject, cell: u32) -> Result<Option<Bytes>, Misuse>;
    /// Puts (`Some`) or removes (`None`) it. Removing a cell with entries removes
    /// them all.
    fn put(&self, of: Subject, cell: u32, value: Option<Bytes>) -> Result<(), Misuse>;
    /// One entry of a cell with entries.
    fn map_get(&self, of: Subject, cell: u32, key: &[u8]) -> Result<Option<Bytes>, Misuse>;
    /// Puts or removes one.
    fn map_put(
        &self,
        of: Subject,
        cell: u32,
        key: Bytes,
        value: Option<Bytes>,
    ) -> Result<(), Misuse>;
    /// Entries in order.
    fn map_scan(&self, of: Subject, cell: u32, scan: Scan) -> Result<Vec<(Bytes, Bytes)>, Misuse>;

    /// Loads a cell for the whole batch in progress.
    fn load(&self, cell: u32) -> Result<Loaded, Misuse>;
    /// Stores changed values; slots are those of the last load of this cell.
    fn store(&self, cell: u32, slots: &[u32], cells: &Packed) -> Result<(), Misuse>;

    /// The recorded time of an invocation.
    fn now(&self, of: InvocationId) -> EventTime;
    /// Recorded random bytes of an invocation.
    fn random(&self, of: InvocationId, length: u32) -> Vec<u8>;
    /// A log line; of an invocation if that is known.
    fn log(&self, of: Option<InvocationId>, level: LogLevel, message: &str);
}

/// How much a log line matters.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// For the author of the operator.
    Debug,
    /// Worth knowing.
    Info,
    /// Odd, but it goes on.
    Warn,
    /// It did not work.
    Error,
}
