//! A handler that breaks the contract in the way that its value names, as no SDK
//! would: raw bindings.

use std::cell::RefCell;

use weir_sdk_handler_world::{
    exports::weir::operator::{
        descriptor::{Cell, CellKind, Description, Guest as Descriptor, Handler, Port},
        handler::{Guest, Input, Reply},
    },
    weir::operator::{
        calls, context,
        invocation_types::Emission,
        invocations::Invocation,
        log, state,
        types::{Failure, FailureKind, Header, Request},
    },
};

thread_local! {
    /// Handles that were kept beyond their invocation.
    static KEPT: RefCell<Vec<Invocation>> = const { RefCell::new(Vec::new()) };
}

struct Garbage;

impl Descriptor for Garbage {
    fn describe() -> Description {
        let cell = |name: &str, kind| Cell {
            name: name.into(),
            kind,
            version: 1,
            ttl_ms: None,
            schema: None,
        };
        Description {
            doc: "Breaks the contract in the way that its value names.".into(),
            sdk: String::new(),
            language: "rust".into(),
            handlers: vec![Handler {
                name: "break".into(),
                doc: "Breaks the contract.".into(),
                takes_events: true,
                takes_calls: true,
                read_only: false,
                input_schema: None,
                output_schema: None,
            }],
            inputs: Vec::new(),
            outputs: vec![Port { name: "out".into(), doc: String::new(), schema: None }],
            cells: vec![
                cell("value", CellKind::Value),
                cell("map", CellKind::Map),
                cell("count", CellKind::Counter),
            ],
            config_schema: None,
            wanted_hosts: Vec::new(),
        }
    }
}

fn emission(port: u8) -> Emission {
    Emission { port, key: None, value: b"1".into(), timestamp: None, headers: Vec::new() }
}

fn request(operator: &str, handler: &str) -> Request {
    Request {
        operator: operator.into(),
        handler: handler.into(),
        key: Some(b"k".into()),
        value: b"1".into(),
        after_ms: None,
    }
}

impl Guest for Garbage {
    async fn handle(invocation: Invocation, input: Input) -> Result<Reply, Failure> {
        let mut reply = Reply { value: b"1".into(), emissions: Vec::new(), sends: Vec::new() };
        match input.value.as_slice() {
            b"port-unknown" => reply.emissions.push(emission(9)),
            b"send-nowhere" => reply.sends.push(request("no such operator", "")),
            b"header-huge" => {
                let header = Header { name: "h".repeat(1 << 20), value: vec![0; 1 << 20] };
                reply.emissions.push(Emission { headers: vec![header], ..emission(0) });
            }
            b"reply-not-utf8" => reply.value = vec![0xff, 0xfe],
            b"cell-unknown" => drop(state::get(&invocation, 99)),
            b"cell-kind" => drop(state::get(&invocation, 1)),
            b"map-kind" => drop(state::map_get(&invocation, 0, b"k")),
            b"counter-length" => state::put(&invocation, 2, &[1, 2, 3]),
            b"value-huge" => state::put(&invocation, 0, &vec![0; 2 << 20]),
            b"map-key-huge" => state::map_put(&invocation, 1, &[0; 2000], b"1"),
            b"random-huge" => drop(context::random(&invocation, u32::MAX)),
            b"log-huge" => log::write_for(&invocation, log::Level::Warn, &"x".repeat(1 << 20)),
            b"code-empty" => {
                let (code, message) = (String::new(), "m".repeat(1 << 20));
                return Err(Failure { kind: FailureKind::Terminal, code, message });
            }
            b"call-left-open" => {
                // Polled once and dropped at the return.
                let mut call = std::pin::pin!(calls::call(&invocation, request("echo", "spin")));
                std::future::poll_fn(|poll| {
                    let _ = call.as_mut().poll(poll);
                    std::task::Poll::Ready(())
                })
                .await;
            }
            b"keep" => KEPT.with_borrow_mut(|kept| kept.push(invocation)),
            b"use-kept" => {
                let kept = KEPT.take();
                for old in &kept {
                    state::put(old, 0, b"\"from a handle that was kept\"");
                    reply.value = match state::get(old, 0) {
                        None => b"\"closed\"".into(),
                        Some(_) => b"\"open\"".into(),
                    };
                    if let Err(failure) = calls::call(old, request("echo", "echo")).await {
                        reply.value = format!("{:?}", failure.code).into();
                    }
                }
            }
            b"trap" => std::process::abort(),
            _ => {}
        }
        Ok(reply)
    }
}

weir_sdk_handler_world::export!(Garbage with_types_in weir_sdk_handler_world);
