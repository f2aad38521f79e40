//! The invocations in an instance, and the handles that name them.
//!
//! A handle is a resource in the store's table. The guest owns it and may keep it
//! for ever, so its entry lives until the invocation has ended *and* the guest has
//! dropped it: the table gives a freed place to the next invocation, and a handle
//! that was kept must never name another one. An entry that is closed but not
//! dropped is a tombstone; an instance that gathers too many of them is given up.

use bytes::Bytes;
use futures::channel::oneshot;
use rustc_hash::FxHashMap;
use wasmtime::component::{Resource, ResourceTable};
use weir_core::{failure::Failure, guest::Invocation, ids::InvocationId};

/// Handles that a guest may keep beyond the end of their invocations.
pub(crate) const TOMBSTONES_MAX: usize = 10_000;

/// Calls that one invocation may have open at once.
pub(crate) const CALLS_OPEN_MAX: usize = 1_024;

pub(crate) type Outcome = Result<Bytes, Failure>;

/// What a guest's handle stands for.
#[expect(unreachable_pub, reason = "generated code makes it part of its own interface")]
#[derive(Debug)]
pub struct Handle {
    /// Tells a run from another one of the same invocation.
    serial: u64,
    id: InvocationId,
    read_only: bool,
    open: bool,
    dropped: bool,
    next_call: u32,
    calls: Vec<(u32, oneshot::Sender<Outcome>)>,
}

/// One run of an invocation, for the task that drives it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    rep: u32,
    serial: u64,
}

/// An invocation that an import may act for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Open {
    pub(crate) id: InvocationId,
    pub(crate) read_only: bool,
}

/// Why no call was begun.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NoCall {
    /// The invocation has ended.
    Closed,
    /// Too many are open.
    TooMany,
}

/// All invocations of an instance.
#[derive(Debug, Default)]
pub(crate) struct Invocations {
    handles: ResourceTable,
    open: FxHashMap<InvocationId, u32>,
    tombstones: usize,
    next_serial: u64,
}

impl Invocations {
    /// Begins an invocation and gives the handle for the guest. If one with this
    /// id is open, it is cancelled.
    ///
    /// # Errors
    /// If the table is full.
    pub(crate) fn begin(
        &mut self,
        invocation: &Invocation,
        read_only: bool,
    ) -> wasmtime::Result<(Run, Resource<Handle>)> {
        self.cancel(invocation.id);
        self.next_serial += 1;
        let serial = self.next_serial;
        let handle = self.handles.push(Handle {
            serial,
            id: invocation.id,
            read_only,
            open: true,
            dropped: false,
            next_call: 0,
            calls: Vec::new(),
        })?;
        self.open.insert(invocation.id, handle.rep());
        Ok((Run { rep: handle.rep(), serial }, handle))
    }

    /// The invocation of a handle, if it has not ended.
    pub(crate) fn open(&self, handle: &Resource<Handle>) -> Option<Open> {
        let handle = self.handles.get(handle).ok().filter(|handle| handle.open)?;
        Some(Open { id: handle.id, read_only: handle.read_only })
    }

    /// Begins a call: its invocation, its number, and where its outcome will come.
    pub(crate) fn call(
        &mut self,
        handle: &Resource<Handle>,
    ) -> Result<(InvocationId, u32, oneshot::Receiver<Outcome>), NoCall> {
        let handle =
            self.handles.get_mut(handle).ok().filter(|handle| handle.open).ok_or(NoCall::Closed)?;
        // Those whose future the guest has dropped are of no more use.
        if handle.calls.len() >= CALLS_OPEN_MAX {
            handle.calls.retain(|(_, sender)| !sender.is_canceled());
        }
        if handle.calls.len() >= CALLS_OPEN_MAX {
            return Err(NoCall::TooMany);
        }
        let (sender, receiver) = oneshot::channel();
        let call = handle.next_call;
        handle.next_call += 1;
        handle.calls.push((call, sender));
        Ok((handle.id, call, receiver))
    }

    /// Hands over an outcome. False if nobody waits for it.
    pub(crate) fn answer(&mut self, id: InvocationId, call: u32, outcome: Outcome) -> bool {
        let Some(rep) = self.open.get(&id) else { return false };
        let Ok(handle) = self.handles.get_mut(&Resource::<Handle>::new_borrow(*rep)) else {
            return false;
        };
        let Some(at) = handle.calls.iter().position(|(n, _)| *n == call) else { return false };
        let (_, sender) = handle.calls.swap_remove(at);
        sender.send(outcome).is_ok()
    }

    /// Closes an invocation before its end. False if it is not open.
    pub(crate) fn cancel(&mut self, id: InvocationId) -> bool {
        match self.open.remove(&id) {
            Some(rep) => {
                self.close(rep);
                true
            }
            None => false,
        }
    }

    /// Closes an invocation at its end. Gives its id, unless it was cancelled.
    pub(crate) fn end(&mut self, run: Run) -> Option<InvocationId> {
        let handle = self.handles.get(&Resource::<Handle>::new_borrow(run.rep)).ok()?;
        if !handle.open || handle.serial != run.serial {
            return None;
        }
        let id = handle.id;
        self.open.remove(&id);
        self.close(run.rep);
        Some(id)
    }

    /// The guest has dropped its handle.
    pub(crate) fn dropped(&mut self, handle: &Resource<Handle>) {
        let key = Resource::<Handle>::new_borrow(handle.rep());
        let Ok(handle) = self.handles.get_mut(&key) else { return };
        handle.dropped = true;
        if !handle.open {
            self.tombstones -= 1;
            self.delete(key.rep());
        }
    }

    /// Handles kept beyond the end of their invocations.
    pub(crate) fn tombstones(&self) -> usize {
        self.tombstones
    }

    fn close(&mut self, rep: u32) {
        let Ok(handle) = self.handles.get_mut(&Resource::<Handle>::new_borrow(rep)) else { return };
        handle.open = false;
        for (_, sender) in handle.calls.drain(..) {
            // The guest may have dropped the future that waits.
            let _ = sender.send(Err(cancelled()));
        }
        if handle.dropped {
            self.delete(rep);
        } else {
            self.tombstones += 1;
        }
    }

    fn delete(&mut self, rep: u32) {
        // It was there a moment ago, and nobody else has the table.
        let _ = self.handles.delete(Resource::<Handle>::new_own(rep));
    }
}

/// What a call gives whose invocation has ended or was cancelled.
fn cancelled() -> Failure {
    Failure::terminal("cancelled", "the invocation that made the call has ended")
}

#[cfg(test)]
mod tests;
