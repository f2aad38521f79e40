//! Modules and guests without WebAssembly: a module's bytes are the name of one of
//! the scripts below.

use std::sync::Arc;

use bytes::Bytes;
use sha2::{Digest, Sha256};
use weir_core::{
    batch::{Batch, Event},
    description::{Cell, CellKind, Description, Face, Handler, Port},
    failure::{Failure, Trap, TrapKind},
    guest::{
        Effects, Emission, Guest, GuestEvent, GuestFactory, Invocation, Output, Packed, Reply,
        Request, Subject,
    },
    ids::{InvocationId, ModuleDigest},
};
use weir_engine::service::{Checked, Modules, Settings};

/// Knows the scripts `count` and `echo`, each with any suffix after a space.
pub(super) struct Scripts;

/// Counts the events of each key and gives the count on.
struct Count(Arc<dyn Effects>);

/// Handlers: `echo` replies and remembers what it was given, `refuse` fails for
/// good, `crash` traps, `ask` calls `echo` of the operator `other`.
struct Echo {
    effects: Arc<dyn Effects>,
    begun: Vec<Invocation>,
    waiting: Vec<InvocationId>,
    answers: Vec<(InvocationId, Result<Bytes, Failure>)>,
}

struct Factory {
    description: Arc<Description>,
    script: String,
}

impl Modules for Scripts {
    fn check(&self, bytes: &Bytes) -> Checked {
        let digest = ModuleDigest(Sha256::digest(bytes).into());
        let description = describe(&String::from_utf8_lossy(bytes));
        let problems = match &description {
            Some(_) => serde_json::json!([]),
            None => {
                serde_json::json!([{ "code": "no-wasm", "message": "This is not WebAssembly.", "help": "Upload a component." }])
            }
        };
        let report = serde_json::json!({
            "ok": description.is_some(), "size": bytes.len(), "digest": digest.to_string(), "problems": problems,
        });
        Checked { report, description }
    }

    fn factory(
        &self,
        _: ModuleDigest,
        bytes: &dyn Fn() -> Result<Bytes, String>,
        settings: &Settings,
    ) -> Result<Arc<dyn GuestFactory>, String> {
        let script = String::from_utf8_lossy(&bytes()?).into_owned();
        let description = describe(&script).ok_or("it is no script")?;
        if settings.config.as_deref() == Some("\"broken\"") {
            return Err("its config is broken".into());
        }
        Ok(Arc::new(Factory { description: Arc::new(description), script }))
    }
}

fn describe(script: &str) -> Option<Description> {
    let port = |name: &str| Port { name: name.into(), doc: String::new(), schema: None };
    let handler = |name: &str| Handler {
        name: name.into(),
        doc: String::new(),
        takes_events: name == "echo",
        takes_calls: true,
        read_only: false,
        input_schema: None,
        output_schema: None,
    };
    let cell =
        |name: &str, kind| Cell { name: name.into(), kind, version: 1, ttl_ms: None, schema: None };
    let base = Description {
        language: "script".into(),
        outputs: vec![port("out")],
        ..Description::default()
    };
    match script.split(' ').next()? {
        "count" => Some(Description {
            inputs: vec![port("events")],
            cells: vec![cell("count", CellKind::Counter)],
            faces: vec![Face::Transform],
            ..base
        }),
        "echo" => Some(Description {
            handlers: ["echo", "refuse", "crash", "ask"].map(handler).to_vec(),
            cells: vec![cell("last", CellKind::Value)],
            faces: vec![Face::Handler],
            ..base
        }),
        _ => None,
    }
}

impl GuestFactory for Factory {
    fn description(&self) -> &Arc<Description> {
        &self.description
    }

    fn instantiate(&self, effects: Arc<dyn Effects>) -> Result<Box<dyn Guest>, Trap> {
        Ok(if self.script.starts_with("count") {
            Box::new(Count(effects))
        } else {
            Box::new(Echo { effects, begun: vec![], waiting: vec![], answers: vec![] })
        })
    }
}

fn trap(message: &str, culprit: Option<InvocationId>) -> Trap {
    Trap {
        kind: TrapKind::Trap,
        message: message.into(),
        panic: Some("it was told to".into()),
        backtrace: vec!["crash".into(), "handle".into()],
        culprit,
    }
}

impl Guest for Count {
    fn process(&mut self, batch: &Arc<Batch>) -> Result<Result<Output, Failure>, Trap> {
        let misuse = |misuse: weir_core::guest::Misuse| trap(&misuse.0, None);
        let loaded = self.0.load(0).map_err(misuse)?;
        let mut start = 0;
        let mut counts: Vec<i64> = Vec::new();
        for end in &loaded.cells.ends {
            let bytes = &loaded.cells.values[start..*end as usize];
            counts.push(bytes.try_into().map_or(0, i64::from_be_bytes));
            start = *end as usize;
        }
        let mut output = Output::default();
        for i in 0..batch.len() {
            let event = batch.event(i);
            if event.value == b"\"crash\"" {
                return Err(trap("unreachable", None));
            }
            if event.value == b"\"refuse\"" {
                output
                    .failures
                    .push((i as u32, Failure::terminal("refused", "it does not like this one")));
                continue;
            }
            let Some(count) = counts.get_mut(loaded.slots[i] as usize) else { continue };
            *count += 1;
            let value = format!("{{\"count\":{count}}}");
            output.batch.push(Event { value: value.as_bytes(), port: 0, origin: None, ..event });
            output.causes.push(i as u32);
        }
        output.batch.ports = vec![0; output.batch.len()];
        if output.failures.is_empty() {
            let mut cells = Packed::default();
            for count in &counts {
                cells.values.extend(count.to_be_bytes());
                cells.ends.push(cells.values.len() as u32);
            }
            let slots: Vec<u32> = (0..counts.len() as u32).collect();
            self.0.store(0, &slots, &cells).map_err(misuse)?;
        }
        Ok(Ok(output))
    }

    fn begin(&mut self, _: Invocation) {}
    fn answer(&mut self, _: InvocationId, _: u32, _: Result<Bytes, Failure>) {}
    fn cancel(&mut self, _: InvocationId) {}
    fn run(&mut self) -> Result<Vec<GuestEvent>, Trap> {
        Ok(vec![])
    }
}

impl Guest for Echo {
    fn process(&mut self, _: &Arc<Batch>) -> Result<Result<Output, Failure>, Trap> {
        Err(trap("it has no transform", None))
    }

    fn begin(&mut self, invocation: Invocation) {
        self.begun.push(invocation);
    }

    fn answer(&mut self, invocation: InvocationId, _: u32, outcome: Result<Bytes, Failure>) {
        if self.waiting.contains(&invocation) {
            self.waiting.retain(|id| *id != invocation);
            self.answers.push((invocation, outcome));
        }
    }

    fn cancel(&mut self, invocation: InvocationId) {
        self.begun.retain(|begun| begun.id != invocation);
        self.waiting.retain(|id| *id != invocation);
    }

    fn run(&mut self) -> Result<Vec<GuestEvent>, Trap> {
        let mut events = Vec::new();
        for Invocation { id, handler, value, .. } in std::mem::take(&mut self.begun) {
            let ended = |result| GuestEvent::Ended { invocation: id, result };
            match handler {
                0 => {
                    let put = self.effects.put(Subject::Invocation(id), 0, Some(value.clone()));
                    put.map_err(|misuse| trap(&misuse.0, Some(id)))?;
                    let emission = Emission {
                        port: 0,
                        key: None,
                        value: value.clone(),
                        timestamp: None,
                        headers: vec![],
                    };
                    events.push(ended(Ok(Reply {
                        value,
                        emissions: vec![emission],
                        sends: vec![],
                    })));
                }
                1 => {
                    events.push(ended(Err(Failure::terminal("out-of-stock", "there is none left"))))
                }
                2 => return Err(trap("unreachable", Some(id))),
                _ => {
                    let request = Request {
                        operator: "other".into(),
                        handler: "echo".into(),
                        key: Some(Bytes::from_static(b"k")),
                        value,
                        after_ms: None,
                    };
                    self.waiting.push(id);
                    events.push(GuestEvent::Called { invocation: id, call: 0, request });
                }
            }
        }
        for (id, outcome) in std::mem::take(&mut self.answers) {
            let result = outcome.map(|value| Reply { value, ..Reply::default() });
            events.push(GuestEvent::Ended { invocation: id, result });
        }
        Ok(events)
    }
}
