//! The `handler` face: many invocations in one instance, each waiting for itself.
//!
//! The guest's tasks live in the store, and so do the host's: one per invocation,
//! which waits for `handle` to return, and one per call, which waits for its
//! outcome. [`Instance::take_steps`] does one thing after the other (begins an
//! invocation, hands over an outcome) and after each of them turns the store's
//! event loop until nothing in it can move. So whatever runs in between belongs to
//! one invocation: a trap has a culprit, and the limit of time is its own.

use std::{convert::Infallible, future};

use bytes::Bytes;
use wasmtime::component::{Accessor, AccessorTask, Resource};
use weir_core::{
    failure::{Failure, Trap, TrapKind},
    guest::{GuestEvent, Invocation},
    ids::InvocationId,
};

use crate::{
    bindings::{exports::weir::operator::handler, weir::operator::invocation_types::Input},
    convert,
    data::Data,
    instance::Instance,
    invocations::{Handle, Run, TOMBSTONES_MAX},
    output,
    trap::Fault,
};

/// What is to be done with an instance.
pub(crate) enum Step {
    /// Begin an invocation.
    Begin(Box<Invocation>),
    /// Hand over the outcome of a call.
    Answer { invocation: InvocationId, call: u32, outcome: Result<Bytes, Failure> },
    /// Let go of an invocation.
    Cancel(InvocationId),
}

impl Instance {
    /// Does what is to be done, and gives what the guest did.
    pub(crate) fn take_steps(&mut self) -> Result<Vec<GuestEvent>, Trap> {
        while let Some(step) = self.steps.pop_front() {
            match step {
                Step::Begin(invocation) => self.begin_now(*invocation)?,
                Step::Answer { invocation, call, outcome } => {
                    if self.store.data_mut().invocations.answer(invocation, call, outcome) {
                        self.settle(invocation)?;
                    }
                }
                Step::Cancel(invocation) => {
                    if self.store.data_mut().invocations.cancel(invocation) {
                        self.settle(invocation)?;
                    }
                }
            }
        }
        Ok(std::mem::take(&mut self.store.data_mut().events))
    }

    fn begin_now(&mut self, invocation: Invocation) -> Result<(), Trap> {
        let id = invocation.id;
        let Some(export) = self.handler.clone() else {
            let fault =
                Fault { kind: TrapKind::Trap, message: "the module has no handler face".into() };
            return Err(fault.into_trap(Some(id)));
        };
        let data = self.store.data_mut();
        let read_only = data
            .description
            .handlers
            .get(invocation.handler as usize)
            .is_some_and(|handler| handler.read_only);
        let begun = data.invocations.begin(&invocation, read_only).and_then(|(run, handle)| {
            let input = convert::input(invocation);
            self.store.spawn(Task { export, run, handle, input })
        });
        if let Err(error) = begun {
            return Err(
                Fault::misuse(format!("no invocation can begin: {error:#}")).into_trap(Some(id))
            );
        }
        self.settle(id)
    }

    /// Turns the event loop until nothing in it can move.
    fn settle(&mut self, invocation: InvocationId) -> Result<(), Trap> {
        self.stretch(Some(invocation), |store, event_loop| {
            // The loop never ends by itself, and leaves all tasks in the store
            // when it is dropped.
            let turning = store.run_concurrent(async |_| future::pending::<Infallible>().await);
            match event_loop.turn(turning) {
                Some(Ok(never)) => match never {},
                Some(Err(error)) => Err(error),
                None => Ok(()),
            }
        })?;
        let kept = self.store.data().invocations.tombstones();
        if kept > TOMBSTONES_MAX {
            let message = format!(
                "the instance keeps {kept} handles of invocations that have ended and may keep {TOMBSTONES_MAX}"
            );
            return Err(Fault::misuse(message).into_trap(None));
        }
        Ok(())
    }
}

/// Waits for the end of an invocation.
struct Task {
    export: handler::Guest,
    run: Run,
    handle: Resource<Handle>,
    input: Input,
}

impl AccessorTask<Data> for Task {
    async fn run(self, accessor: &Accessor<Data>) -> wasmtime::Result<()> {
        let given = self.export.call_handle(accessor, self.handle, self.input).await?;
        accessor.with(|mut access| {
            let data = access.get();
            let Some(invocation) = data.invocations.end(self.run) else { return Ok(()) };
            let result = match given {
                Ok(reply) => {
                    output::check_reply(&reply, data.description.outputs.len(), &data.limits)?;
                    Ok(convert::reply(reply))
                }
                Err(failure) => Err(convert::failure(failure)),
            };
            data.events.push(GuestEvent::Ended { invocation, result });
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests;
