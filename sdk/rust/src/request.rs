//! Calls of other operators' handlers, and one-way sends to them.

use std::{
    future::{Future, IntoFuture},
    marker::PhantomData,
    pin::Pin,
    time::Duration,
};

use serde::de::DeserializeOwned;

use crate::{Ctx, Encode, Failure, Result, Scope, json};

/// A call or a send, as it is handed to the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Id of the operator in the pipeline file.
    pub operator: String,
    /// Name of its handler.
    pub handler: String,
    /// The key that it runs under; absent: taken from the value by the operator's
    /// `key:` pointer.
    pub key: Option<Vec<u8>>,
    /// What it takes.
    pub value: Vec<u8>,
    /// Of a call: its deadline in milliseconds of running time. Of a send: how
    /// long it is held back.
    pub after_ms: Option<u64>,
}

impl Request {
    fn new(operator: &str, handler: &str, value: &impl Encode) -> Result<Self> {
        Ok(Self {
            operator: operator.into(),
            handler: handler.into(),
            key: None,
            value: value.to_bytes()?,
            after_ms: None,
        })
    }
}

/// A call that is made when it is awaited. Built by [`Ctx::call`].
#[must_use = "a call is made only when it is awaited"]
#[derive(Debug)]
pub struct Call<'c, Reply> {
    ctx: &'c Ctx,
    request: Result<Request>,
    reply: PhantomData<fn() -> Reply>,
}

impl<'c, Reply> Call<'c, Reply> {
    pub(crate) fn new(ctx: &'c Ctx, operator: &str, handler: &str, value: &impl Encode) -> Self {
        Self { ctx, request: Request::new(operator, handler, value), reply: PhantomData }
    }

    /// The key that the handler runs under. Without it, it is taken from the value
    /// by the operator's `key:` pointer.
    pub fn key(mut self, key: impl AsRef<[u8]>) -> Self {
        if let Ok(request) = &mut self.request {
            request.key = Some(key.as_ref().into());
        }
        self
    }

    /// How long to wait, in running time; two minutes by default. Then the call
    /// fails as `deadline`.
    pub fn within(mut self, time: Duration) -> Self {
        if let Ok(request) = &mut self.request {
            request.after_ms = Some(milliseconds(time));
        }
        self
    }

    /// The reply as bytes.
    ///
    /// # Errors
    /// The callee's failure, or one of the host's own.
    pub async fn bytes(self) -> Result<Vec<u8>> {
        self.ctx.call_host(self.request?).await
    }
}

impl<'c, Reply: DeserializeOwned + 'c> IntoFuture for Call<'c, Reply> {
    type Output = Result<Reply>;
    type IntoFuture = Pin<Box<dyn Future<Output = Result<Reply>> + 'c>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let bytes = self.bytes().await?;
            let bytes = if bytes.is_empty() { b"null".as_slice() } else { &bytes };
            json::from_slice(bytes).map_err(|error| Failure::terminal("invalid-reply", error))
        })
    }
}

/// A one-way send, to be ended by [`Send::now`] or [`Send::later`]. Built by
/// [`Ctx::send`] and [`Event::send`](crate::Event::send).
#[must_use = "end it with `.now()?` or `.later(..)?`"]
#[derive(Debug)]
pub struct Send<'s, S> {
    scope: &'s S,
    request: Result<Request>,
}

impl<'s, S: Scope> Send<'s, S> {
    pub(crate) fn new(scope: &'s S, operator: &str, handler: &str, value: &impl Encode) -> Self {
        Self { scope, request: Request::new(operator, handler, value) }
    }

    /// The key that the handler runs under. Without it, it is taken from the value
    /// by the operator's `key:` pointer.
    pub fn key(mut self, key: impl AsRef<[u8]>) -> Self {
        if let Ok(request) = &mut self.request {
            request.key = Some(key.as_ref().into());
        }
        self
    }

    /// Sends it, once what is in hand has returned ok and is committed.
    ///
    /// # Errors
    /// `invalid-output` (terminal) for a value that JSON cannot hold.
    pub fn now(self) -> Result<()> {
        self.scope.post(self.request?);
        Ok(())
    }

    /// As [`Send::now`], delivered after a delay, which outlives restarts.
    ///
    /// # Errors
    /// As [`Send::now`].
    pub fn later(self, delay: Duration) -> Result<()> {
        let mut request = self.request?;
        request.after_ms = Some(milliseconds(delay));
        self.scope.post(request);
        Ok(())
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
