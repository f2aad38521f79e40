//! A transform that breaks the contract in the way that an event's value names, as
//! no SDK would: raw bindings.

use weir_sdk_handler_world::weir::operator::types::{Failure, FailureKind, Request};
use weir_sdk_transform_world::{
    exports::weir::operator::{
        descriptor::{Cell, CellKind, Description, Guest as Descriptor, Port},
        transform::{Batch, EventFailure, EventHeader, EventSend, Guest as Transform, Output},
    },
    weir::operator::batch_state::{self, Packed},
};

struct Garbage;

impl Descriptor for Garbage {
    fn describe() -> Description {
        let port = |name: &str| Port { name: name.into(), doc: String::new(), schema: None };
        let cell = |name: &str, kind| Cell {
            name: name.into(),
            kind,
            version: 1,
            ttl_ms: None,
            schema: None,
        };
        Description {
            doc: "Breaks the contract in the way that an event's value names.".into(),
            sdk: String::new(),
            language: "rust".into(),
            handlers: Vec::new(),
            inputs: vec![port("events")],
            outputs: vec![port("out")],
            cells: vec![cell("count", CellKind::Counter), cell("map", CellKind::Map)],
            config_schema: None,
            wanted_hosts: Vec::new(),
        }
    }
}

/// One correct output of event 0.
fn good() -> Output {
    Output {
        timestamps: Vec::new(),
        keys: Vec::new(),
        key_ends: Vec::new(),
        values: b"1".into(),
        value_ends: vec![1],
        ports: Vec::new(),
        causes: vec![0],
        headers: Vec::new(),
        failures: Vec::new(),
        sends: Vec::new(),
    }
}

fn failure(event: u32) -> EventFailure {
    EventFailure {
        event,
        failure: Failure {
            kind: FailureKind::Terminal,
            code: "asked-for".into(),
            message: "garbage".into(),
        },
    }
}

impl Transform for Garbage {
    fn process(batch: Batch) -> Result<Output, Failure> {
        let first = batch.value_ends.first().map_or(0, |end| *end as usize);
        let events = batch.value_ends.len() as u32;
        let good = good();
        Ok(match &batch.values[..first] {
            b"ends-beyond" => Output { value_ends: vec![5], ..good },
            b"ends-short" => Output { value_ends: vec![0], ..good },
            b"ends-fall" => Output { value_ends: vec![1, 0], causes: vec![0, 0], ..good },
            b"key-ends-missing" => Output { keys: b"k".into(), ..good },
            b"timestamps-short" => {
                Output { value_ends: vec![0, 1], causes: vec![0, 0], timestamps: vec![1], ..good }
            }
            b"ports-short" => {
                Output { value_ends: vec![0, 1], causes: vec![0, 0], ports: vec![0], ..good }
            }
            b"port-unknown" => Output { ports: vec![9], ..good },
            b"causes-missing" => Output { causes: Vec::new(), ..good },
            b"causes-beyond" => Output { causes: vec![events], ..good },
            b"causes-fall" => {
                Output { value_ends: vec![1, 1], causes: vec![events - 1, 0], ..good }
            }
            b"headers-beyond" => {
                let header = EventHeader { event: 7, name: "h".into(), value: Vec::new() };
                Output { headers: vec![header], ..good }
            }
            b"failures-beyond" => Output { failures: vec![failure(events)], ..good },
            b"failures-twice" => Output { failures: vec![failure(0), failure(0)], ..good },
            b"failure-huge" => {
                let mut huge = failure(0);
                huge.failure.message = "x".repeat(1 << 20);
                Output { failures: vec![huge], ..good }
            }
            b"sends-beyond" => Output { sends: vec![send(events, "echo", "echo")], ..good },
            b"send-nowhere" => Output { sends: vec![send(0, "no such operator", "")], ..good },
            b"cell-unknown" => {
                batch_state::load(99);
                good
            }
            b"cell-kind" => {
                batch_state::load(1);
                good
            }
            b"event-unknown" => {
                batch_state::get(events, 0);
                good
            }
            b"store-unloaded" => {
                batch_state::store(0, &[0], &Packed { values: vec![0; 8], ends: vec![8] });
                good
            }
            b"store-slot" => {
                batch_state::load(0);
                batch_state::store(0, &[9999], &Packed { values: vec![0; 8], ends: vec![8] });
                good
            }
            b"store-ends" => {
                batch_state::load(0);
                batch_state::store(0, &[0], &Packed { values: vec![0; 8], ends: vec![80] });
                good
            }
            b"counter-length" => {
                batch_state::put(0, 0, &[1, 2, 3]);
                good
            }
            b"trap" => std::process::abort(),
            b"batch-fails" => return Err(failure(0).failure),
            _ => good,
        })
    }
}

fn send(event: u32, operator: &str, handler: &str) -> EventSend {
    let request = Request {
        operator: operator.into(),
        handler: handler.into(),
        key: None,
        value: Vec::new(),
        after_ms: None,
    };
    EventSend { event, request }
}

weir_sdk_transform_world::export!(Garbage with_types_in weir_sdk_transform_world);
