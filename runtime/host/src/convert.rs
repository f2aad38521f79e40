//! Between the contract's records and the engine's.

use bytes::Bytes;
use weir_core::{
    description as core_description,
    failure::{Failure, FailureKind},
    guest::{Cause, Emission, Invocation, LogLevel, Reply, Request},
    ids::EventTime,
};

use crate::{
    bindings::{
        exports::weir::operator::descriptor as wit_description,
        weir::operator::{invocation_types as wit, log, types},
    },
    data::cut,
};

/// Bytes of a failure's message that are kept.
const MESSAGE_MAX: usize = 8 << 10;

/// Bytes of a failure's code that are kept.
const CODE_MAX: usize = 128;

pub(crate) fn failure(failure: types::Failure) -> Failure {
    Failure {
        kind: match failure.kind {
            types::FailureKind::Transient => FailureKind::Transient,
            types::FailureKind::Terminal => FailureKind::Terminal,
        },
        code: cut(&failure.code, CODE_MAX).to_owned(),
        message: cut(&failure.message, MESSAGE_MAX).to_owned(),
    }
}

pub(crate) fn failure_for_guest(failure: Failure) -> types::Failure {
    types::Failure {
        kind: match failure.kind {
            FailureKind::Transient => types::FailureKind::Transient,
            FailureKind::Terminal => types::FailureKind::Terminal,
        },
        code: failure.code,
        message: failure.message,
    }
}

pub(crate) fn request(request: types::Request) -> Request {
    Request {
        operator: request.operator,
        handler: request.handler,
        key: request.key.map(Bytes::from),
        value: request.value.into(),
        after_ms: request.after_ms,
    }
}

pub(crate) fn level(level: log::Level) -> LogLevel {
    match level {
        log::Level::Debug => LogLevel::Debug,
        log::Level::Info => LogLevel::Info,
        log::Level::Warn => LogLevel::Warn,
        log::Level::Error => LogLevel::Error,
    }
}

pub(crate) fn input(invocation: Invocation) -> wit::Input {
    wit::Input {
        handler: invocation.handler,
        cause: match invocation.cause {
            Cause::Event => wit::Cause::Event,
            Cause::Call => wit::Cause::Call,
            Cause::Send => wit::Cause::Send,
            Cause::Timer => wit::Cause::Timer,
        },
        id: invocation.id.to_string(),
        attempt: invocation.attempt,
        key: invocation.key.into(),
        value: invocation.value.into(),
        timestamp: invocation.timestamp.0,
        headers: invocation
            .headers
            .into_iter()
            .map(|(name, value)| types::Header { name, value: value.into() })
            .collect(),
    }
}

pub(crate) fn reply(reply: wit::Reply) -> Reply {
    Reply {
        value: reply.value.into(),
        emissions: reply.emissions.into_iter().map(emission).collect(),
        sends: reply.sends.into_iter().map(request).collect(),
    }
}

fn emission(emission: wit::Emission) -> Emission {
    Emission {
        port: emission.port,
        key: emission.key.map(Bytes::from),
        value: emission.value.into(),
        timestamp: emission.timestamp.map(EventTime),
        headers: emission
            .headers
            .into_iter()
            .map(|header| (header.name, header.value.into()))
            .collect(),
    }
}

/// Everything but the faces, which the guest does not say.
pub(crate) fn description(of: wit_description::Description) -> core_description::Description {
    let port = |port: wit_description::Port| core_description::Port {
        name: port.name,
        doc: port.doc,
        schema: port.schema,
    };
    let handler = |handler: wit_description::Handler| core_description::Handler {
        name: handler.name,
        doc: handler.doc,
        takes_events: handler.takes_events,
        takes_calls: handler.takes_calls,
        read_only: handler.read_only,
        input_schema: handler.input_schema,
        output_schema: handler.output_schema,
    };
    let cell = |cell: wit_description::Cell| core_description::Cell {
        name: cell.name,
        kind: match cell.kind {
            wit_description::CellKind::Value => core_description::CellKind::Value,
            wit_description::CellKind::Map => core_description::CellKind::Map,
            wit_description::CellKind::List => core_description::CellKind::List,
            wit_description::CellKind::Counter => core_description::CellKind::Counter,
        },
        version: cell.version,
        ttl_ms: cell.ttl_ms,
        schema: cell.schema,
    };
    core_description::Description {
        doc: of.doc,
        sdk: of.sdk,
        language: of.language,
        handlers: of.handlers.into_iter().map(handler).collect(),
        inputs: of.inputs.into_iter().map(port).collect(),
        outputs: of.outputs.into_iter().map(port).collect(),
        cells: of.cells.into_iter().map(cell).collect(),
        config_schema: of.config_schema,
        wanted_hosts: of.wanted_hosts,
        faces: Vec::new(),
    }
}
