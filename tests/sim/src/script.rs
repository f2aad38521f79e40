//! Guests written as Rust closures: handlers are async functions, polled by hand.
//!
//! They keep the rules of [`Guest`] as an instance of a module does: work is done in
//! [`Guest::run`] only, calls are numbered per invocation, and after a trap the
//! instance is gone. They also check what the engine owes them: one answer at a time
//! for each invocation.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    future::{Future, pending, poll_fn},
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

use bytes::Bytes;
use weir_core::{
    batch::Batch,
    description::{Cell, CellKind, Description, Face, Handler, Port},
    failure::{Failure, Trap, TrapKind},
    guest::{
        Effects, Emission, Guest, GuestEvent, GuestFactory, Invocation, Output, Reply, Request,
        Scan, Subject,
    },
    ids::InvocationId,
};

use crate::chaos::Chaos;

/// What a handler gives in the end; what it emits and sends it says to its [`Ctx`].
pub type Ending = Result<Bytes, Failure>;
type Work = Pin<Box<dyn Future<Output = Ending> + Send>>;
type HandlerFn = Arc<dyn Fn(Ctx, Invocation) -> Work + Send + Sync>;
type TransformFn =
    Arc<dyn Fn(&dyn Effects, &Batch) -> Result<Result<Output, Failure>, Trap> + Send + Sync>;

/// A module: what it says of itself, and its code.
pub struct Module {
    description: Description,
    handlers: Vec<HandlerFn>,
    transform: Option<TransformFn>,
}

impl Module {
    /// One without anything.
    #[must_use]
    pub fn new() -> Self {
        Self {
            description: Description { language: "script".into(), ..Description::default() },
            handlers: Vec::new(),
            transform: None,
        }
    }

    /// Adds a state cell. Cells are numbered from 0.
    #[must_use]
    pub fn cell(mut self, name: &str, kind: CellKind) -> Self {
        self.description.cells.push(Cell {
            name: name.into(),
            kind,
            version: 1,
            ttl_ms: None,
            schema: None,
        });
        self
    }

    /// Adds an output port. Ports are numbered from 0.
    #[must_use]
    pub fn output(mut self, name: &str) -> Self {
        self.description.outputs.push(port(name));
        self
    }

    /// Adds a handler.
    #[must_use]
    pub fn handler<F, W>(mut self, name: &str, code: F) -> Self
    where
        F: Fn(Ctx, Invocation) -> W + Send + Sync + 'static,
        W: Future<Output = Ending> + Send + 'static,
    {
        self.description.handlers.push(Handler {
            name: name.into(),
            doc: String::new(),
            takes_events: true,
            takes_calls: true,
            read_only: false,
            input_schema: None,
            output_schema: None,
        });
        if !self.description.has(Face::Handler) {
            self.description.faces.push(Face::Handler);
        }
        self.handlers.push(Arc::new(move |ctx, invocation| Box::pin(code(ctx, invocation))));
        self
    }

    /// Sets the code of the `transform` face, with one input.
    #[must_use]
    pub fn transform<F>(mut self, code: F) -> Self
    where
        F: Fn(&dyn Effects, &Batch) -> Result<Result<Output, Failure>, Trap>
            + Send
            + Sync
            + 'static,
    {
        self.description.inputs.push(port("in"));
        self.description.faces.push(Face::Transform);
        self.transform = Some(Arc::new(code));
        self
    }

    /// What it says of itself.
    #[must_use]
    pub fn description(&self) -> Description {
        self.description.clone()
    }
}

impl Default for Module {
    fn default() -> Self {
        Self::new()
    }
}

fn port(name: &str) -> Port {
    Port { name: name.into(), doc: String::new(), schema: None }
}

/// Makes instances of a scripted module.
pub struct Factory {
    description: Arc<Description>,
    module: Arc<Module>,
    chaos: Arc<Chaos>,
}

impl Factory {
    /// Of this module, with these faults.
    #[must_use]
    pub fn new(module: Arc<Module>, chaos: Arc<Chaos>) -> Self {
        Self { description: Arc::new(module.description()), module, chaos }
    }
}

impl GuestFactory for Factory {
    fn description(&self) -> &Arc<Description> {
        &self.description
    }

    fn instantiate(&self, effects: Arc<dyn Effects>) -> Result<Box<dyn Guest>, Trap> {
        if self.chaos.strikes(|rates| rates.instance) {
            return Err(trap(TrapKind::Memory, "no memory for an instance", None));
        }
        Ok(Box::new(Scripted {
            module: self.module.clone(),
            chaos: self.chaos.clone(),
            effects,
            shared: Arc::default(),
            running: BTreeMap::new(),
            order: 0,
            answered: HashSet::new(),
        }))
    }
}

/// A trap as the host reports it.
#[must_use]
pub fn trap(kind: TrapKind, message: &str, culprit: Option<InvocationId>) -> Trap {
    Trap { kind, message: message.into(), panic: None, backtrace: Vec::new(), culprit }
}

struct Scripted {
    module: Arc<Module>,
    chaos: Arc<Chaos>,
    effects: Arc<dyn Effects>,
    shared: Arc<Mutex<Shared>>,
    running: BTreeMap<u64, Running>,
    order: u64,
    /// Invocations that got an answer since the last run.
    answered: HashSet<InvocationId>,
}

struct Running {
    id: InvocationId,
    attempt: u32,
    work: Work,
    due: bool,
}

#[derive(Default)]
struct Shared {
    results: HashMap<(InvocationId, u32), Result<Bytes, Failure>>,
    calls: HashMap<InvocationId, u32>,
    replies: HashMap<InvocationId, Reply>,
    events: Vec<GuestEvent>,
    trap: Option<String>,
}

impl Guest for Scripted {
    fn process(&mut self, batch: &Arc<Batch>) -> Result<Result<Output, Failure>, Trap> {
        let Some(code) = &self.module.transform else {
            return Err(trap(TrapKind::Misuse, "no transform face", None));
        };
        if self.chaos.strikes(|rates| rates.trap) {
            return Err(trap(TrapKind::Trap, "chaos", None));
        }
        let result = code(&*self.effects, batch)?;
        if self.chaos.strikes(|rates| rates.fail) {
            return Ok(Err(Failure::transient("chaos", "once more, please")));
        }
        Ok(result)
    }

    fn begin(&mut self, invocation: Invocation) {
        let Some(code) = self.module.handlers.get(invocation.handler as usize) else { return };
        let id = invocation.id;
        assert!(
            self.running.values().all(|running| running.id != id),
            "{id} begins twice in one instance"
        );
        let attempt = invocation.attempt;
        let ctx = Ctx {
            id,
            key: invocation.key.clone(),
            timestamp: invocation.timestamp,
            attempt,
            effects: self.effects.clone(),
            shared: self.shared.clone(),
        };
        let work = code(ctx, invocation);
        self.running.insert(self.order, Running { id, attempt, work, due: true });
        self.order += 1;
    }

    fn answer(&mut self, invocation: InvocationId, call: u32, outcome: Result<Bytes, Failure>) {
        assert!(
            self.answered.insert(invocation),
            "{invocation} got two answers before it could wait again"
        );
        lock(&self.shared).results.insert((invocation, call), outcome);
        for running in self.running.values_mut().filter(|running| running.id == invocation) {
            running.due = true;
        }
    }

    fn cancel(&mut self, invocation: InvocationId) {
        self.running.retain(|_, running| running.id != invocation);
        self.answered.remove(&invocation);
        lock(&self.shared).forget(invocation);
    }

    fn run(&mut self) -> Result<Vec<GuestEvent>, Trap> {
        self.answered.clear();
        let due: Vec<u64> =
            self.running.iter().filter(|(_, r)| r.due).map(|(order, _)| *order).collect();
        for order in due {
            let Some(running) = self.running.get_mut(&order) else { continue };
            let id = running.id;
            let culprit = (!self.chaos.strikes(|rates| rates.blind)).then_some(id);
            if self.chaos.strikes(|rates| rates.trap) {
                return Err(trap(TrapKind::Trap, "chaos", culprit));
            }
            running.due = false;
            let polled = running.work.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            let mut shared = lock(&self.shared);
            if let Some(message) = shared.trap.take() {
                return Err(trap(TrapKind::Trap, &message, culprit));
            }
            if let Poll::Ready(mut ending) = polled {
                if running.attempt < 6 && self.chaos.strikes(|rates| rates.fail) {
                    ending = Err(Failure::transient("chaos", "once more, please"));
                }
                let mut reply = shared.replies.remove(&id).unwrap_or_default();
                let result = ending.map(|value| {
                    reply.value = value;
                    reply
                });
                shared.forget(id);
                shared.events.push(GuestEvent::Ended { invocation: id, result });
                self.running.remove(&order);
            }
        }
        Ok(std::mem::take(&mut lock(&self.shared).events))
    }
}

impl Shared {
    fn forget(&mut self, id: InvocationId) {
        self.results.retain(|(of, _), _| *of != id);
        self.calls.remove(&id);
        self.replies.remove(&id);
    }
}

/// What a handler has in its hands.
#[derive(Clone)]
pub struct Ctx {
    /// The invocation.
    pub id: InvocationId,
    /// Its key.
    pub key: Bytes,
    /// Its event time.
    pub timestamp: weir_core::ids::EventTime,
    /// 1 for the first attempt.
    pub attempt: u32,
    effects: Arc<dyn Effects>,
    shared: Arc<Mutex<Shared>>,
}

impl Ctx {
    /// A cell without entries.
    #[must_use]
    pub fn get(&self, cell: u32) -> Option<Bytes> {
        self.effects.get(self.subject(), cell).expect("a cell without entries")
    }

    /// Puts it.
    pub fn put(&self, cell: u32, value: impl Into<Bytes>) {
        self.effects.put(self.subject(), cell, Some(value.into())).expect("a cell without entries");
    }

    /// Adds to a counter; gives the sum.
    pub fn add(&self, cell: u32, by: i64) -> i64 {
        let sum = number(self.get(cell).as_deref()) + by;
        self.put(cell, Bytes::copy_from_slice(&sum.to_be_bytes()));
        sum
    }

    /// A counter.
    #[must_use]
    pub fn count(&self, cell: u32) -> i64 {
        number(self.get(cell).as_deref())
    }

    /// One entry of a map.
    #[must_use]
    pub fn entry(&self, cell: u32, key: &[u8]) -> Option<Bytes> {
        self.effects.map_get(self.subject(), cell, key).expect("a cell with entries")
    }

    /// Puts one entry of a map.
    pub fn put_entry(&self, cell: u32, key: impl Into<Bytes>, value: impl Into<Bytes>) {
        self.effects
            .map_put(self.subject(), cell, key.into(), Some(value.into()))
            .expect("a cell with entries");
    }

    /// Appends to a list.
    pub fn push(&self, cell: u32, value: impl Into<Bytes>) {
        let last = Scan { start: None, end: None, backwards: true, limit: 1 };
        let last = self.effects.map_scan(self.subject(), cell, last).expect("a cell with entries");
        let next = last.first().map_or(0, |(key, _)| position(key) + 1);
        self.put_entry(cell, Bytes::copy_from_slice(&next.to_be_bytes()), value);
    }

    /// Calls a handler and waits.
    ///
    /// # Errors
    /// If the call failed for good.
    pub async fn call(
        &self,
        operator: &str,
        handler: &str,
        key: &str,
        value: impl Into<Bytes>,
    ) -> Ending {
        self.start(operator, handler, key, value, None).await
    }

    /// Calls a handler; the answer waits for whoever awaits it.
    pub fn start<V: Into<Bytes>>(
        &self,
        operator: &str,
        handler: &str,
        key: &str,
        value: V,
        deadline_ms: Option<u64>,
    ) -> impl Future<Output = Ending> + Send + Unpin + use<V> {
        let request = request(operator, handler, key, value, deadline_ms);
        let id = self.id;
        let call = {
            let mut shared = lock(&self.shared);
            let n = shared.calls.entry(id).or_default();
            let call = *n;
            *n += 1;
            shared.events.push(GuestEvent::Called { invocation: id, call, request });
            call
        };
        let shared = self.shared.clone();
        poll_fn(move |_| match lock(&shared).results.remove(&(id, call)) {
            Some(outcome) => Poll::Ready(outcome),
            None => Poll::Pending,
        })
    }

    /// Gives an event on, under this invocation's key.
    pub fn emit(&self, port: u8, value: impl Into<Bytes>) {
        let emission =
            Emission { port, key: None, value: value.into(), timestamp: None, headers: Vec::new() };
        lock(&self.shared).replies.entry(self.id).or_default().emissions.push(emission);
    }

    /// Sends one way.
    pub fn send(
        &self,
        operator: &str,
        handler: &str,
        key: &str,
        value: impl Into<Bytes>,
        delay_ms: Option<u64>,
    ) {
        let send = request(operator, handler, key, value, delay_ms);
        lock(&self.shared).replies.entry(self.id).or_default().sends.push(send);
    }

    /// Recorded random bytes.
    #[must_use]
    pub fn random(&self, length: u32) -> Vec<u8> {
        self.effects.random(self.id, length)
    }

    /// Traps.
    pub async fn trap(&self, message: &str) -> Ending {
        lock(&self.shared).trap = Some(message.into());
        pending().await
    }

    /// Waits for ever: until it is cancelled.
    pub async fn hang(&self) -> Ending {
        pending().await
    }

    fn subject(&self) -> Subject {
        Subject::Invocation(self.id)
    }
}

/// Waits for whichever of two calls is answered first.
pub async fn first<A, B>(mut a: A, mut b: B) -> (usize, Ending)
where
    A: Future<Output = Ending> + Unpin,
    B: Future<Output = Ending> + Unpin,
{
    poll_fn(move |cx| {
        if let Poll::Ready(outcome) = Pin::new(&mut a).poll(cx) {
            return Poll::Ready((0, outcome));
        }
        Pin::new(&mut b).poll(cx).map(|outcome| (1, outcome))
    })
    .await
}

fn request(
    operator: &str,
    handler: &str,
    key: &str,
    value: impl Into<Bytes>,
    after_ms: Option<u64>,
) -> Request {
    Request {
        operator: operator.into(),
        handler: handler.into(),
        key: Some(Bytes::copy_from_slice(key.as_bytes())),
        value: value.into(),
        after_ms,
    }
}

/// The value of a counter.
#[must_use]
pub fn number(value: Option<&[u8]>) -> i64 {
    value.and_then(|bytes| bytes.try_into().ok()).map_or(0, i64::from_be_bytes)
}

fn position(key: &[u8]) -> u64 {
    key.try_into().map_or(0, u64::from_be_bytes)
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
