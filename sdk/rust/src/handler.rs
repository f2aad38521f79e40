//! Work that waits: handlers and the handle of their invocation.

use std::{
    cell::{Cell, RefCell},
    future::{Future, poll_fn},
    pin::pin,
    rc::Rc,
};

use serde::de::DeserializeOwned;

use crate::{
    Call, Encode, Failure, Request, Result,
    cells::{decode, decode_counter, encode},
    describe::Description,
    host::{self, Invocation},
    request::Send,
    scope::{
        Entry, Meta, Scan,
        sealed::{Sealed, Stored},
    },
};

/// A module with the `handler` face; written by [`handlers!`](crate::handlers).
pub trait Handlers {
    /// What the module says of itself.
    fn describe() -> Description;

    /// Runs a handler by its index in the description and gives its reply's bytes.
    fn handle(ctx: &Ctx, handler: u32, value: &[u8]) -> impl Future<Output = Result<Vec<u8>>>;
}

/// What began an invocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// An event of a stream.
    Event,
    /// A call, whose reply is awaited.
    Call,
    /// A one-way send.
    Send,
    /// A timer.
    Timer,
}

/// How an invocation began: `invocation-types.input` of the contract, without
/// what the handler takes.
#[derive(Clone, Debug)]
pub struct Begin {
    /// What began it.
    pub cause: Cause,
    /// Unique, and stable over attempts and restarts.
    pub id: String,
    /// 1 for the first attempt.
    pub attempt: u32,
    /// The key that it runs under.
    pub key: Vec<u8>,
    /// Event time, in milliseconds since the Unix epoch; of a call, when it was made.
    pub timestamp: i64,
    /// Headers, in order.
    pub headers: Vec<(String, Vec<u8>)>,
}

/// An event that a handler gives on.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Emission {
    pub port: u8,
    pub key: Option<Vec<u8>>,
    pub value: Vec<u8>,
    pub timestamp: Option<i64>,
    pub headers: Vec<(String, Vec<u8>)>,
}

/// What an invocation gives away.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Reply {
    pub value: Vec<u8>,
    pub emissions: Vec<Emission>,
    pub sends: Vec<Request>,
}

/// The invocation in hand: its key, its state, calls and sends.
///
/// An invocation may be run again from the start, after a failure or a restart;
/// it is then given the answers that it already had. So a handler must do the
/// same again: take time and randomness from here, and from nowhere else.
#[derive(Debug)]
pub struct Ctx {
    invocation: Rc<Invocation>,
    begin: Begin,
    emissions: RefCell<Vec<Emission>>,
    sends: RefCell<Vec<Request>>,
}

thread_local! {
    /// The invocation whose future is being polled, for logs and randomness.
    static CURRENT: Cell<Option<Rc<Invocation>>> = const { Cell::new(None) };
}

/// Does something with the invocation in hand, if there is one.
pub(crate) fn with_current<R>(f: impl FnOnce(Option<&Invocation>) -> R) -> R {
    CURRENT.with(|current| {
        let invocation = current.take();
        let result = f(invocation.as_deref());
        current.set(invocation);
        result
    })
}

/// Runs an invocation.
///
/// # Errors
/// The handler's failure; the host then drops everything that it gave away.
#[doc(hidden)]
pub async fn handle<H: Handlers>(
    invocation: Invocation,
    begin: Begin,
    handler: u32,
    value: Vec<u8>,
) -> Result<Reply> {
    host::begin();
    let ctx = Ctx {
        invocation: Rc::new(invocation),
        begin,
        emissions: RefCell::default(),
        sends: RefCell::default(),
    };
    let value = {
        let mut future = pin!(H::handle(&ctx, handler, &value));
        poll_fn(|poll| {
            let outer = CURRENT.replace(Some(ctx.invocation.clone()));
            let result = future.as_mut().poll(poll);
            CURRENT.set(outer);
            result
        })
        .await?
    };
    Ok(Reply { value, emissions: ctx.emissions.into_inner(), sends: ctx.sends.into_inner() })
}

impl Ctx {
    /// The key that this invocation holds, as bytes.
    #[must_use]
    pub fn key(&self) -> &[u8] {
        &self.begin.key
    }

    /// The key as text.
    ///
    /// # Errors
    /// `invalid-key`, terminal, if it is not UTF-8.
    pub fn key_str(&self) -> Result<&str> {
        std::str::from_utf8(self.key())
            .map_err(|_| Failure::terminal("invalid-key", "the key is not UTF-8"))
    }

    /// What began it.
    #[must_use]
    pub fn cause(&self) -> Cause {
        self.begin.cause
    }

    /// Its id: unique, and the same on every attempt.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.begin.id
    }

    /// 1 for the first attempt.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.begin.attempt
    }

    /// Event time, in milliseconds since the Unix epoch; of a call, when it was made.
    #[must_use]
    pub fn timestamp(&self) -> i64 {
        self.begin.timestamp
    }

    /// The headers, in order.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.begin.headers.iter().map(|(name, value)| (name.as_str(), value.as_slice()))
    }

    /// The time, in milliseconds since the Unix epoch. The same on every re-run;
    /// it moves on only when a call is answered.
    #[must_use]
    pub fn now(&self) -> i64 {
        host::now(&self.invocation)
    }

    /// Random bytes, the same on every re-run.
    #[must_use]
    pub fn random<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        self.fill_random(&mut bytes);
        bytes
    }

    /// Fills a buffer with random bytes, the same on every re-run.
    pub fn fill_random(&self, buffer: &mut [u8]) {
        host::fill_random(&self.invocation, buffer);
    }

    /// Calls a handler of another operator, named as in the pipeline file, when
    /// awaited: `let left: i64 = ctx.call("inventory", "reserve", &units).key(sku).await?`.
    ///
    /// The failure of an awaited call is terminal: either the callee's own, or one
    /// of the host's, such as `unknown-operator`, `deadline` or `exhausted`.
    pub fn call<Reply>(
        &self,
        operator: &str,
        handler: &str,
        value: &impl Encode,
    ) -> Call<'_, Reply> {
        Call::new(self, operator, handler, value)
    }

    /// Sends to a handler of another operator, once this invocation is committed:
    /// `ctx.send("mail", "welcome", &user).key(&user.id).now()?`.
    pub fn send(&self, operator: &str, handler: &str, value: &impl Encode) -> Send<'_, Self> {
        Send::new(self, operator, handler, value)
    }

    pub(crate) async fn call_host(&self, request: Request) -> Result<Vec<u8>> {
        host::call(&self.invocation, request).await
    }
}

impl Sealed for Ctx {
    fn counter(&self, cell: u32) -> Result<i64> {
        host::get(&self.invocation, cell).map_or(Ok(0), |bytes| decode_counter(&bytes))
    }

    fn set_counter(&self, cell: u32, value: i64) -> Result<()> {
        host::put(&self.invocation, cell, &value.to_be_bytes());
        Ok(())
    }

    fn update_counter(&self, cell: u32, change: impl FnOnce(i64) -> Result<i64>) -> Result<i64> {
        let value = change(self.counter(cell)?)?;
        self.set_counter(cell, value)?;
        Ok(value)
    }

    fn value<T: Stored>(&self, cell: u32) -> Result<Option<T>> {
        host::get(&self.invocation, cell).map(|bytes| decode(&bytes)).transpose()
    }

    fn set_value<T: Stored>(&self, cell: u32, value: Option<T>) -> Result<()> {
        match value {
            Some(value) => host::put(&self.invocation, cell, &encode(&value)?),
            None => host::remove(&self.invocation, cell),
        }
        Ok(())
    }

    fn update_value<T: Stored, R>(
        &self,
        cell: u32,
        change: impl FnOnce(&mut Option<T>) -> R,
    ) -> Result<R> {
        let mut value = self.value(cell)?;
        let result = change(&mut value);
        self.set_value(cell, value)?;
        Ok(result)
    }

    fn map_get(&self, cell: u32, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(host::map_get(&self.invocation, cell, key))
    }

    fn map_put(&self, cell: u32, key: &[u8], value: &[u8]) -> Result<()> {
        host::map_put(&self.invocation, cell, key, value);
        Ok(())
    }

    fn map_remove(&self, cell: u32, key: &[u8]) -> Result<()> {
        host::map_remove(&self.invocation, cell, key);
        Ok(())
    }

    fn map_clear(&self, cell: u32) -> Result<()> {
        host::remove(&self.invocation, cell);
        Ok(())
    }

    fn map_scan(&self, cell: u32, scan: &Scan) -> Result<Vec<Entry>> {
        Ok(host::map_scan(&self.invocation, cell, scan))
    }

    fn emit(
        &self,
        port: u8,
        meta: Meta,
        write: impl FnOnce(&mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        let mut value = Vec::new();
        write(&mut value)?;
        let Meta { key, timestamp, headers } = meta;
        self.emissions.borrow_mut().push(Emission { port, key, value, timestamp, headers });
        Ok(())
    }

    fn post(&self, request: Request) {
        self.sends.borrow_mut().push(request);
    }
}

/// The operator's `config:`, read once per instance.
///
/// Where there is none, it is what an empty object reads as, if the type allows.
///
/// # Errors
/// `invalid-config`, terminal.
pub fn config<T: DeserializeOwned + 'static>() -> Result<Rc<T>> {
    host::config(|text| {
        let read = |text| {
            serde_json::from_str(text).map_err(|error| Failure::terminal("invalid-config", error))
        };
        if text.trim() == "null" { read("{}").or_else(|_| read("null")) } else { read(text) }
    })
}
