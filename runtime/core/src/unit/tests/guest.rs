//! Scripted guests: a handler is a function that is run from its beginning each time,
//! with what it did before remembered, until it needs an answer that is not there.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use bytes::Bytes;

use crate::{
    batch::Batch,
    failure::{Failure, Trap, TrapKind},
    guest::{Effects, Emission, GuestEvent, Invocation, Output, Reply, Request, Subject},
    ids::InvocationId,
    unit::Unit,
};

pub(super) type HandlerFn = Arc<dyn Fn(&mut Cx<'_>) -> Result<&'static str, Stop> + Send + Sync>;
pub(super) type TransformFn =
    Arc<dyn Fn(&Arc<Batch>, &Mutex<Unit>) -> Result<Result<Output, Failure>, Trap> + Send + Sync>;

/// Why a handler does not go on.
pub(super) enum Stop {
    Wait,
    Fail(Failure),
    /// With the culprit known, or not.
    Trap {
        known: bool,
    },
}

pub(super) fn transient(code: &str) -> Stop {
    Stop::Fail(Failure::transient(code, "scripted"))
}

pub(super) fn terminal(code: &str) -> Stop {
    Stop::Fail(Failure::terminal(code, "scripted"))
}

/// What a handler has at hand.
pub(super) struct Cx<'a> {
    pub(super) invocation: &'a Invocation,
    unit: &'a Mutex<Unit>,
    answers: &'a [(u32, Result<Bytes, Failure>)],
    done: &'a mut Vec<i64>,
    op: usize,
    asked: &'a mut u32,
    starts: u32,
    events: &'a mut Vec<GuestEvent>,
    reply: Reply,
}

impl Cx<'_> {
    pub(super) fn attempt(&self) -> u32 {
        self.invocation.attempt
    }

    pub(super) fn key(&self) -> String {
        String::from_utf8_lossy(&self.invocation.key).into_owned()
    }

    pub(super) fn value(&self) -> String {
        String::from_utf8_lossy(&self.invocation.value).into_owned()
    }

    fn once(&mut self, act: impl FnOnce(&Mutex<Unit>, InvocationId) -> i64) -> i64 {
        if self.op == self.done.len() {
            self.done.push(act(self.unit, self.invocation.id));
        }
        self.op += 1;
        self.done[self.op - 1]
    }

    /// Adds to the counter `n` and gives the sum.
    pub(super) fn add(&mut self, n: i64) -> i64 {
        self.once(|unit, id| {
            let of = Subject::Invocation(id);
            let old = unit
                .get(of, 0)
                .unwrap()
                .map_or(0, |bytes| i64::from_be_bytes(bytes[..].try_into().unwrap()));
            unit.put(of, 0, Some(Bytes::copy_from_slice(&(old + n).to_be_bytes()))).unwrap();
            old + n
        })
    }

    pub(super) fn now(&mut self) -> i64 {
        self.once(|unit, id| unit.now(id).0)
    }

    pub(super) fn random(&mut self) -> i64 {
        self.once(|unit, id| i64::from_be_bytes(unit.random(id, 8).try_into().unwrap()))
    }

    pub(super) fn start(&mut self, operator: &str, handler: &str, key: &str, value: &str) -> u32 {
        self.start_within(operator, handler, key, value, None)
    }

    pub(super) fn start_within(
        &mut self,
        operator: &str,
        handler: &str,
        key: &str,
        value: &str,
        ms: Option<u64>,
    ) -> u32 {
        let call = self.starts;
        self.starts += 1;
        if call == *self.asked {
            *self.asked += 1;
            let mut request = request(operator, handler, key, value);
            request.after_ms = ms;
            self.events.push(GuestEvent::Called { invocation: self.invocation.id, call, request });
        }
        call
    }

    /// How a call ended.
    pub(super) fn wait(&mut self, call: u32) -> Result<Result<Bytes, Failure>, Stop> {
        let found = self.answers.iter().find(|(of, _)| *of == call);
        found.map(|(_, outcome)| outcome.clone()).ok_or(Stop::Wait)
    }

    /// The one that ended first.
    pub(super) fn any(&mut self, calls: &[u32]) -> Result<u32, Stop> {
        self.answers
            .iter()
            .map(|(call, _)| *call)
            .find(|call| calls.contains(call))
            .ok_or(Stop::Wait)
    }

    /// A call, whose failure is the handler's.
    pub(super) fn call(
        &mut self,
        operator: &str,
        handler: &str,
        key: &str,
        value: &str,
    ) -> Result<Bytes, Stop> {
        let call = self.start(operator, handler, key, value);
        self.wait(call)?.map_err(Stop::Fail)
    }

    pub(super) fn emit(&mut self, value: &str) {
        self.reply.emissions.push(Emission {
            port: 0,
            key: None,
            value: Bytes::copy_from_slice(value.as_bytes()),
            timestamp: None,
            headers: Vec::new(),
        });
    }

    pub(super) fn send(
        &mut self,
        operator: &str,
        handler: &str,
        key: &str,
        value: &str,
        after_ms: Option<u64>,
    ) {
        let mut request = request(operator, handler, key, value);
        request.after_ms = after_ms;
        self.reply.sends.push(request);
    }
}

pub(super) fn request(operator: &str, handler: &str, key: &str, value: &str) -> Request {
    Request {
        operator: operator.into(),
        handler: handler.into(),
        key: (key != "-").then(|| Bytes::copy_from_slice(key.as_bytes())),
        value: Bytes::copy_from_slice(value.as_bytes()),
        after_ms: None,
    }
}

/// One instance.
#[derive(Default)]
pub(super) struct SimGuest {
    live: BTreeMap<InvocationId, Live>,
}

struct Live {
    invocation: Invocation,
    answers: Vec<(u32, Result<Bytes, Failure>)>,
    done: Vec<i64>,
    asked: u32,
}

impl SimGuest {
    pub(super) fn begin(&mut self, invocation: Invocation) {
        let live = Live { invocation, answers: Vec::new(), done: Vec::new(), asked: 0 };
        let old = self.live.insert(live.invocation.id, live);
        assert!(old.is_none(), "begun twice in one instance");
    }

    pub(super) fn answer(&mut self, id: InvocationId, call: u32, outcome: Result<Bytes, Failure>) {
        if let Some(live) = self.live.get_mut(&id) {
            assert!(call < live.asked, "answered before it was asked");
            live.answers.push((call, outcome));
        }
    }

    pub(super) fn cancel(&mut self, id: InvocationId) {
        self.live.remove(&id);
    }

    pub(super) fn run(
        &mut self,
        handlers: &[(&str, HandlerFn)],
        unit: &Mutex<Unit>,
    ) -> Result<Vec<GuestEvent>, Trap> {
        let mut events = Vec::new();
        for id in self.live.keys().copied().collect::<Vec<_>>() {
            let live = self.live.get_mut(&id).unwrap();
            let mut cx = Cx {
                invocation: &live.invocation,
                unit,
                answers: &live.answers,
                done: &mut live.done,
                op: 0,
                asked: &mut live.asked,
                starts: 0,
                events: &mut events,
                reply: Reply::default(),
            };
            let handler = &handlers[live.invocation.handler as usize].1;
            let result = handler(&mut cx);
            let reply = std::mem::take(&mut cx.reply);
            match result {
                Err(Stop::Wait) => continue,
                Err(Stop::Trap { known }) => {
                    self.live.clear();
                    return Err(trap(known.then_some(id)));
                }
                Err(Stop::Fail(failure)) => {
                    events.push(GuestEvent::Ended { invocation: id, result: Err(failure) })
                }
                Ok(value) => {
                    let reply = Reply { value: Bytes::from_static(value.as_bytes()), ..reply };
                    events.push(GuestEvent::Ended { invocation: id, result: Ok(reply) });
                }
            }
            self.live.remove(&id);
        }
        Ok(events)
    }
}

pub(super) fn trap(culprit: Option<InvocationId>) -> Trap {
    Trap {
        kind: TrapKind::Trap,
        message: "unreachable".into(),
        panic: Some("scripted".into()),
        backtrace: vec!["handle".into()],
        culprit,
    }
}
