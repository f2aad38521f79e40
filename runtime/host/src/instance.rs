//! One instance of a module: a store, and what may be called in it.

use std::{
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use bytes::Bytes;
use wasmtime::{
    Store, StoreContextMut, UpdateDeadline,
    component::{ComponentNamedList, Lift, Lower, TypedFunc},
};
use weir_core::{
    batch::Batch,
    description::Description,
    failure::{Failure, Trap, TrapKind},
    guest::{Effects, Guest, GuestEvent, Invocation, Output},
    ids::InvocationId,
};

use crate::{
    bindings::{
        exports::weir::operator::{descriptor, handler},
        transform,
    },
    convert,
    data::Data,
    engine::{Engines, Kind},
    event_loop::EventLoop,
    handler::Step,
    limits::Limits,
    program::Program,
    trap::{self, Fault},
};

/// An instance. After a trap it refuses everything.
pub(crate) struct Instance {
    pub(crate) store: Store<Data>,
    pub(crate) engines: Arc<Engines>,
    descriptor: descriptor::Guest,
    pub(crate) transform: Option<transform::Guest>,
    pub(crate) handler: Option<handler::Guest>,
    /// What is to be done with the next run, in order.
    pub(crate) steps: VecDeque<Step>,
    pub(crate) kind: Kind,
    event_loop: EventLoop,
    trapped: bool,
}

impl Instance {
    /// A fresh instance.
    ///
    /// # Errors
    /// If it does not come up within its limits.
    pub(crate) fn new(
        program: &Program,
        description: Arc<Description>,
        effects: Arc<dyn Effects>,
        config: Arc<str>,
        limits: Limits,
    ) -> Result<Self, Trap> {
        let engines = Arc::clone(&program.engines);
        let data = Data::new(effects, description, program.digest, config, limits);
        let mut store = Store::new(program.pre.engine(), data);
        store.limiter(|data| &mut data.limiter);
        store.set_hostcall_fuel(store.data().limits.crossing_bytes());
        store.set_epoch_deadline(1);
        store.epoch_deadline_callback(|mut store: StoreContextMut<'_, Data>| {
            Ok(if store.data_mut().tick() {
                UpdateDeadline::Continue(1)
            } else {
                UpdateDeadline::Interrupt
            })
        });
        let running = engines.ticker.running();
        let event_loop = EventLoop::new();
        let loaded = load(program, &mut store, &event_loop);
        drop(running);
        let (descriptor, transform, handler) =
            loaded.map_err(|error| trap::explain(&error, store.data_mut(), None))?;
        Ok(Self {
            store,
            engines,
            descriptor,
            transform,
            handler,
            steps: VecDeque::new(),
            kind: program.kind,
            event_loop,
            trapped: false,
        })
    }

    /// Asks the module what it is. Faces are left out.
    ///
    /// # Errors
    /// If it traps.
    pub(crate) fn describe(&mut self) -> Result<Description, Trap> {
        let describe = self.descriptor.func_describe();
        let kind = self.kind;
        let described =
            self.stretch(None, |store, event_loop| call(store, event_loop, kind, &describe, ()))?;
        Ok(convert::description(described.0))
    }

    /// Bytes of all memories now.
    pub(crate) fn memory(&self) -> u64 {
        self.store.data().limiter.memory()
    }

    /// Runs a stretch of guest code: the limits begin anew, the ticker runs, and
    /// what goes wrong becomes a trap, after which nothing runs any more.
    pub(crate) fn stretch<R>(
        &mut self,
        culprit: Option<InvocationId>,
        run: impl FnOnce(&mut Store<Data>, &EventLoop) -> wasmtime::Result<R>,
    ) -> Result<R, Trap> {
        if self.trapped {
            return Err(Trap {
                kind: TrapKind::Trap,
                message: "the instance has trapped before".into(),
                panic: None,
                backtrace: Vec::new(),
                culprit: None,
            });
        }
        self.store.data_mut().begin_stretch();
        self.store.set_epoch_deadline(1);
        let running = self.engines.ticker.running();
        // A panic here would be a defect of the host that a guest found.
        let result = catch_unwind(AssertUnwindSafe(|| run(&mut self.store, &self.event_loop)));
        drop(running);
        let result = result.unwrap_or_else(|_| {
            let message = "the host failed at something that the guest did".into();
            Err(Fault { kind: TrapKind::Trap, message }.into())
        });
        result.map_err(|error| {
            self.trapped = true;
            trap::explain(&error, self.store.data_mut(), culprit)
        })
    }
}

/// Calls a function that is not async, whichever the engine is.
pub(crate) fn call<P, R>(
    store: &mut Store<Data>,
    event_loop: &EventLoop,
    kind: Kind,
    function: &TypedFunc<P, R>,
    arguments: P,
) -> wasmtime::Result<R>
where
    P: ComponentNamedList + Lower,
    R: ComponentNamedList + Lift + 'static,
{
    match kind {
        Kind::Synchronous => function.call(store, arguments),
        Kind::Concurrent => {
            event_loop.turn(function.call_async(store, arguments)).unwrap_or_else(waits)
        }
    }
}

fn waits<R>() -> wasmtime::Result<R> {
    Err(Fault::misuse("it waits for a call in a function that is not async").into())
}

type Loaded = (descriptor::Guest, Option<transform::Guest>, Option<handler::Guest>);

fn load(
    program: &Program,
    store: &mut Store<Data>,
    event_loop: &EventLoop,
) -> wasmtime::Result<Loaded> {
    let instance = match program.kind {
        Kind::Synchronous => program.pre.instantiate(&mut *store)?,
        Kind::Concurrent => {
            event_loop.turn(program.pre.instantiate_async(&mut *store)).unwrap_or_else(waits)?
        }
    };
    let descriptor = program.descriptor.load(&mut *store, &instance)?;
    let transform = match &program.transform {
        Some(indices) => Some(indices.load(&mut *store, &instance)?),
        None => None,
    };
    let handler = match &program.handler {
        Some(indices) => Some(indices.load(&mut *store, &instance)?),
        None => None,
    };
    Ok((descriptor, transform, handler))
}

impl Guest for Instance {
    fn process(&mut self, batch: &Arc<Batch>) -> Result<Result<Output, Failure>, Trap> {
        self.process_batch(batch)
    }

    fn begin(&mut self, invocation: Invocation) {
        self.steps.push_back(Step::Begin(Box::new(invocation)));
    }

    fn answer(&mut self, invocation: InvocationId, call: u32, outcome: Result<Bytes, Failure>) {
        self.steps.push_back(Step::Answer { invocation, call, outcome });
    }

    fn cancel(&mut self, invocation: InvocationId) {
        // It may not have begun yet: then nobody will ever hear of it.
        self.steps.retain(|step| !matches!(step, Step::Begin(begun) if begun.id == invocation));
        self.steps.push_back(Step::Cancel(invocation));
    }

    fn run(&mut self) -> Result<Vec<GuestEvent>, Trap> {
        self.take_steps()
    }
}
