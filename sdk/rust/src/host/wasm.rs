//! The host as the imports of a component, and the exports that it calls.

use std::sync::Once;

use crate::{
    Failure, Request, Result,
    describe::{self, CellKind, Takes},
    failure::Kind,
    handler::{self, Begin, Cause, Handlers},
    log::Level,
    scope::{Entry, Scan},
    transform::{self, Transform},
};

use super::Loaded;
use bindings::{
    handler::weir::operator::{calls, context, log, state},
    transform::weir::operator::batch_state,
    types,
};

pub(crate) use bindings::handler::weir::operator::invocations::Invocation;

/// The worlds of `weir:operator`, as generated.
pub mod bindings {
    pub use weir_sdk_handler_world as handler;
    pub use weir_sdk_transform_world as transform;

    pub(crate) use handler::weir::operator::types;
}

/// Once per instance: a panic is logged before it traps.
pub(crate) fn begin() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        std::panic::set_hook(Box::new(|panic| {
            let message = panic.payload_as_str().unwrap_or("no message");
            let line = match panic.location() {
                Some(place) => format!("panicked at {place}: {message}"),
                None => format!("panicked: {message}"),
            };
            crate::log::write(Level::Error, &line);
        }));
    });
}

pub(crate) fn config_text() -> String {
    context::config()
}

pub(crate) fn now(invocation: &Invocation) -> i64 {
    context::now(invocation)
}

/// The most bytes that one request for randomness gives.
const RANDOM_MAX: usize = 4096;

pub(crate) fn fill_random(invocation: &Invocation, buffer: &mut [u8]) {
    for part in buffer.chunks_mut(RANDOM_MAX) {
        part.copy_from_slice(&context::random(invocation, part.len() as u32));
    }
}

/// Fills from the invocation in hand, else from the instance's seed.
#[cfg(feature = "getrandom")]
pub(crate) fn fill_current(buffer: &mut [u8]) {
    handler::with_current(|invocation| match invocation {
        Some(invocation) => fill_random(invocation, buffer),
        None => {
            for part in buffer.chunks_mut(RANDOM_MAX) {
                part.copy_from_slice(&context::seed(part.len() as u32));
            }
        }
    });
}

pub(crate) fn log(invocation: Option<&Invocation>, level: Level, message: &str) {
    let level = match level {
        Level::Debug => log::Level::Debug,
        Level::Info => log::Level::Info,
        Level::Warn => log::Level::Warn,
        Level::Error => log::Level::Error,
    };
    match invocation {
        Some(invocation) => log::write_for(invocation, level, message),
        None => log::write(level, message),
    }
}

pub(crate) fn get(invocation: &Invocation, cell: u32) -> Option<Vec<u8>> {
    state::get(invocation, cell)
}

pub(crate) fn put(invocation: &Invocation, cell: u32, value: &[u8]) {
    state::put(invocation, cell, value);
}

pub(crate) fn remove(invocation: &Invocation, cell: u32) {
    state::remove(invocation, cell);
}

pub(crate) fn map_get(invocation: &Invocation, cell: u32, key: &[u8]) -> Option<Vec<u8>> {
    state::map_get(invocation, cell, key)
}

pub(crate) fn map_put(invocation: &Invocation, cell: u32, key: &[u8], value: &[u8]) {
    state::map_put(invocation, cell, key, value);
}

pub(crate) fn map_remove(invocation: &Invocation, cell: u32, key: &[u8]) {
    state::map_remove(invocation, cell, key);
}

pub(crate) fn map_scan(invocation: &Invocation, cell: u32, scan: &Scan) -> Vec<Entry> {
    state::map_scan(
        invocation,
        cell,
        scan.start.as_deref(),
        scan.end.as_deref(),
        scan.backwards,
        scan.limit,
    )
}

pub(crate) async fn call(invocation: &Invocation, request: Request) -> Result<Vec<u8>> {
    calls::call(invocation, request.into()).await.map_err(Failure::from_host)
}

pub(crate) fn load(cell: u32) -> Loaded {
    let batch_state::Loaded { slots, cells } = batch_state::load(cell);
    Loaded { slots, values: cells.values, ends: cells.ends }
}

pub(crate) fn store(cell: u32, slots: Vec<u32>, values: Vec<u8>, ends: Vec<u32>) {
    batch_state::store(cell, &slots, &batch_state::Packed { values, ends });
}

pub(crate) fn batch_remove(event: u32, cell: u32) {
    batch_state::remove(event, cell);
}

pub(crate) fn batch_map_get(event: u32, cell: u32, key: &[u8]) -> Option<Vec<u8>> {
    batch_state::map_get(event, cell, key)
}

pub(crate) fn batch_map_put(event: u32, cell: u32, key: &[u8], value: &[u8]) {
    batch_state::map_put(event, cell, key, value);
}

pub(crate) fn batch_map_remove(event: u32, cell: u32, key: &[u8]) {
    batch_state::map_remove(event, cell, key);
}

pub(crate) fn batch_map_scan(event: u32, cell: u32, scan: &Scan) -> Vec<Entry> {
    batch_state::map_scan(
        event,
        cell,
        scan.start.as_deref(),
        scan.end.as_deref(),
        scan.backwards,
        scan.limit,
    )
}

impl Failure {
    fn from_host(failure: types::Failure) -> Self {
        let kind = match failure.kind {
            types::FailureKind::Transient => Kind::Transient,
            types::FailureKind::Terminal => Kind::Terminal,
        };
        Self { kind, code: failure.code, message: failure.message }
    }
}

impl From<Failure> for types::Failure {
    fn from(failure: Failure) -> Self {
        let kind = match failure.kind {
            Kind::Transient => types::FailureKind::Transient,
            Kind::Terminal => types::FailureKind::Terminal,
        };
        Self { kind, code: failure.code, message: failure.message }
    }
}

impl From<Request> for types::Request {
    fn from(request: Request) -> Self {
        let Request { operator, handler, key, value, after_ms } = request;
        Self { operator, handler, key, value, after_ms }
    }
}

/// Describes, converting to the generated types of one of the worlds, which have
/// the same names and fields in both.
macro_rules! described {
    ($world:ident, $description:expr) => {{
        use bindings::$world::exports::weir::operator::descriptor as to;
        let describe::Description { doc, handlers, inputs, outputs, cells, config_schema } =
            $description;
        let port = |describe::Port { name, doc, schema }| to::Port { name, doc, schema };
        to::Description {
            doc,
            sdk: concat!("weir-rust ", env!("CARGO_PKG_VERSION")).into(),
            language: "rust".into(),
            handlers: handlers
                .into_iter()
                .map(|describe::Handler { name, doc, takes, input_schema, output_schema }| {
                    let Takes { events, calls, read_only } = takes;
                    let (takes_events, takes_calls) = (events, calls);
                    to::Handler {
                        name,
                        doc,
                        takes_events,
                        takes_calls,
                        read_only,
                        input_schema,
                        output_schema,
                    }
                })
                .collect(),
            inputs: inputs.into_iter().map(port).collect(),
            outputs: outputs.into_iter().map(port).collect(),
            cells: cells
                .into_iter()
                .map(|describe::Cell { name, kind, options, schema }| to::Cell {
                    name,
                    kind: match kind {
                        CellKind::Value => to::CellKind::Value,
                        CellKind::Map => to::CellKind::Map,
                        CellKind::List => to::CellKind::List,
                        CellKind::Counter => to::CellKind::Counter,
                    },
                    version: options.version,
                    ttl_ms: options.ttl_ms,
                    schema,
                })
                .collect(),
            config_schema,
            wanted_hosts: Vec::new(),
        }
    }};
}

/// The exports of a module with the `transform` face.
#[derive(Debug)]
pub struct TransformExports<T>(T);

impl<T: Transform> bindings::transform::exports::weir::operator::descriptor::Guest
    for TransformExports<T>
{
    fn describe() -> bindings::transform::exports::weir::operator::descriptor::Description {
        begin();
        described!(transform, T::describe())
    }
}

mod transform_face {
    pub(super) use super::bindings::transform::exports::weir::operator::transform::{
        Batch, EventFailure, EventHeader, EventSend, Guest, Output,
    };
}

impl<T: Transform> transform_face::Guest for TransformExports<T> {
    fn process(batch: transform_face::Batch) -> Result<transform_face::Output, types::Failure> {
        use transform_face::{Batch, EventFailure, EventHeader, EventSend};
        let Batch { timestamps, keys, key_ends, values, value_ends, ports, keyless, headers, utf8 } =
            batch;
        let headers = headers
            .into_iter()
            .map(|EventHeader { event, name, value }| (event, name, value))
            .collect();
        let output = transform::process::<T>(transform::Batch {
            timestamps,
            keys,
            key_ends,
            values,
            value_ends,
            ports,
            keyless,
            headers,
            utf8,
        })?;
        Ok(transform_face::Output {
            timestamps: output.timestamps,
            keys: output.keys,
            key_ends: output.key_ends,
            values: output.values,
            value_ends: output.value_ends,
            ports: output.ports,
            causes: output.causes,
            headers: output
                .headers
                .into_iter()
                .map(|(event, name, value)| EventHeader { event, name, value })
                .collect(),
            failures: output
                .failures
                .into_iter()
                .map(|(event, failure)| EventFailure { event, failure: failure.into() })
                .collect(),
            sends: output
                .sends
                .into_iter()
                .map(|(event, request)| EventSend { event, request: request.into() })
                .collect(),
        })
    }
}

/// The exports of a module with the `handler` face.
#[derive(Debug)]
pub struct HandlerExports<H>(H);

impl<H: Handlers> bindings::handler::exports::weir::operator::descriptor::Guest
    for HandlerExports<H>
{
    fn describe() -> bindings::handler::exports::weir::operator::descriptor::Description {
        begin();
        described!(handler, H::describe())
    }
}

mod handler_face {
    pub(super) use super::bindings::handler::exports::weir::operator::handler::{
        Guest, Input, Reply,
    };
    pub(super) use super::bindings::handler::weir::operator::invocation_types::{
        self as types, Emission, Header,
    };
}

impl<H: Handlers> handler_face::Guest for HandlerExports<H> {
    async fn handle(
        invocation: Invocation,
        input: handler_face::Input,
    ) -> Result<handler_face::Reply, types::Failure> {
        use handler_face::{Emission, Header, Reply, types::Cause as From};
        let handler_face::Input { handler, cause, id, attempt, key, value, timestamp, headers } =
            input;
        let cause = match cause {
            From::Event => Cause::Event,
            From::Call => Cause::Call,
            From::Send => Cause::Send,
            From::Timer => Cause::Timer,
        };
        let headers = headers.into_iter().map(|Header { name, value }| (name, value)).collect();
        let begin = Begin { cause, id, attempt, key, timestamp, headers };
        let reply = handler::handle::<H>(invocation, begin, handler, value).await?;
        Ok(Reply {
            value: reply.value,
            emissions: reply
                .emissions
                .into_iter()
                .map(|emission| {
                    let handler::Emission { port, key, value, timestamp, headers } = emission;
                    let headers =
                        headers.into_iter().map(|(name, value)| Header { name, value }).collect();
                    Emission { port, key, value, timestamp, headers }
                })
                .collect(),
            sends: reply.sends.into_iter().map(Into::into).collect(),
        })
    }
}

/// What the export macros name.
pub mod exports {
    pub use super::{HandlerExports, TransformExports};
}

/// Exports a type with [`Transform`] as the component.
#[doc(hidden)]
#[macro_export]
macro_rules! __export_transform {
    ($name:ident) => {
        const _: () = {
            type Exports = $crate::exports::TransformExports<$name>;
    $crate::bindings::transform::export!(Exports with_types_in $crate::bindings::transform);
        };
    };
}

/// Exports a type with [`Handlers`] as the component.
#[doc(hidden)]
#[macro_export]
macro_rules! __export_handlers {
    ($name:ident) => {
        const _: () = {
            type Exports = $crate::exports::HandlerExports<$name>;
    $crate::bindings::handler::export!(Exports with_types_in $crate::bindings::handler);
        };
    };
}
