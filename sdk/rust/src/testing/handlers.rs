//! Invocations for handlers.

use std::{
    future::Future,
    marker::PhantomData,
    ops::{Deref, DerefMut},
    pin::pin,
    task::{Context, Poll, Waker},
};

use serde::de::DeserializeOwned;

use super::{Emitted, Host, Input};
use crate::{
    Cause, Encode, Failure, Handlers, Request, Result,
    handler::{self, Begin, Emission},
    host::Invocation,
};

/// An operator of type `O`, declared by [`handlers!`](crate::handlers), on a host in memory.
#[derive(Debug)]
pub struct HandlersHost<O> {
    host: Host,
    operator: PhantomData<O>,
}

impl<O> Deref for HandlersHost<O> {
    type Target = Host;

    fn deref(&self) -> &Host {
        &self.host
    }
}

impl<O> DerefMut for HandlersHost<O> {
    fn deref_mut(&mut self) -> &mut Host {
        &mut self.host
    }
}

impl<O: Handlers> HandlersHost<O> {
    pub(super) fn new() -> Self {
        Self { host: Host::new(O::describe()), operator: PhantomData }
    }

    /// Calls a handler under a key and gives its reply.
    ///
    /// # Errors
    /// Its failure.
    ///
    /// # Panics
    /// If there is no such handler, it takes no calls, or the reply is of another
    /// type.
    pub fn call<Reply: DeserializeOwned>(
        &mut self,
        key: impl AsRef<[u8]>,
        handler: &str,
        value: &impl Encode,
    ) -> Result<Reply> {
        let reply = self.run(Cause::Call, handler, &Input::new(key, value), 1)?;
        Ok(serde_json::from_slice(&reply).expect("a reply of that type"))
    }

    /// Gives a handler an event under a key.
    ///
    /// # Errors
    /// Its failure.
    ///
    /// # Panics
    /// If there is no such handler or it takes no events.
    pub fn event(
        &mut self,
        key: impl AsRef<[u8]>,
        handler: &str,
        value: &impl Encode,
    ) -> Result<()> {
        self.run(Cause::Event, handler, &Input::new(key, value), 1).map(drop)
    }

    /// Runs a call or a send that another operator made, and gives the reply's
    /// bytes: so that one operator under test answers the other.
    ///
    /// # Errors
    /// The handler's failure; `no-key` if the request has none.
    ///
    /// # Panics
    /// If there is no such handler.
    pub fn serve(&mut self, request: &Request) -> Result<Vec<u8>> {
        let key = request
            .key
            .clone()
            .ok_or_else(|| Failure::terminal("no-key", "the request has no key"))?;
        let input = Input { key: Some(key), value: request.value.clone(), ..Input::default() };
        self.run(Cause::Call, &request.handler, &input, 1)
    }

    /// Runs one attempt of an invocation and gives the reply's bytes.
    ///
    /// # Errors
    /// The handler's failure.
    ///
    /// # Panics
    /// If there is no such handler, or it does not take what begins it.
    pub fn run(
        &mut self,
        cause: Cause,
        handler: &str,
        input: &Input,
        attempt: u32,
    ) -> Result<Vec<u8>> {
        let index = self.description.handlers.iter().position(|known| known.name == handler);
        let index = index.unwrap_or_else(|| panic!("no handler `{handler}`"));
        let takes = self.description.handlers[index].takes;
        assert!(
            if cause == Cause::Event { takes.events } else { takes.calls },
            "`{handler}` takes no {cause:?}"
        );

        let key = input.key.clone().unwrap_or_default();
        let invocation = Invocation { key: key.clone() };
        self.invocations += 1;
        let begin = Begin {
            cause,
            id: format!("test-{}", self.invocations),
            attempt,
            key: key.clone(),
            timestamp: input.timestamp,
            headers: input.headers.clone(),
        };
        let before = self.memory.state.clone();
        self.memory.read_only = takes.read_only;
        let value = input.value.clone();
        let result = self
            .memory
            .during(|| run_now(handler::handle::<O>(invocation, begin, index as u32, value)));
        if result.is_err() {
            self.memory.state = before;
        }
        let reply = result?;
        for Emission { port, key: to, value, timestamp, headers } in reply.emissions {
            let port = self.port_name(port);
            let key = Some(to.unwrap_or_else(|| key.clone()));
            let timestamp = timestamp.unwrap_or(input.timestamp);
            self.outputs.push(Emitted { port, key, value, timestamp, headers });
        }
        self.sends.extend(reply.sends);
        Ok(reply.value)
    }
}

/// Runs a future to its end. Answers are there at once, so it only ever waits for
/// itself.
fn run_now<F: Future>(future: F) -> F::Output {
    const POLLS_MAX: usize = 1_000_000;
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    for _ in 0..POLLS_MAX {
        if let Poll::Ready(result) = future.as_mut().poll(&mut context) {
            return result;
        }
    }
    panic!("the handler waits for something that is no call");
}
