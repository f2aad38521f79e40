//! Handlers that do, each, one thing that a test wants: answer, fail, trap, spin,
//! hoard, call, send.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use weir_sdk::{Counter, Ctx, Failure, Map, Raw, RawBuf, Result, Value};

weir_sdk::handlers! {
    /// Does what a test asks for.
    Echo;

    handlers {
        /// Replies with the value, and gives it on.
        echo(event, call),
        /// Counts, replies with the count, and gives it on.
        count(event, call),
        /// Replies with the count.
        peek(read),
        /// Breaks its word: writes, though it is declared read-only.
        peek_and_write(read),
        /// Keeps a value, and replies with the one before.
        swap(call),
        /// Fails for good, after writing state and giving an event on.
        fail_terminal(event, call),
        /// Fails on the first so many attempts, then replies with the attempt.
        fail_transient(event, call),
        /// Panics.
        panic(event, call),
        /// Never returns and never waits.
        spin(event, call),
        /// Allocates until there is no more.
        hoard(event, call),
        /// Replies with so many bytes.
        bulk(call),
        /// Writes so many log lines.
        chatter(call),
        /// Calls a handler so many times, one after the other, and replies with
        /// what came of each.
        relay(event, call),
        /// As relay, but fails if any call does.
        relay_all(event, call),
        /// Sends to a handler so many times.
        send(event, call),
        /// Replies with its time, its randomness and its attempt.
        context(call),
    }
    outputs {
        /// What handlers give on.
        OUT: RawBuf,
    }
    cells {
        /// How often the key was counted.
        COUNT: Counter,
        /// The value of `swap`.
        KEPT: Value<Json>,
        /// What `relay` got, by number.
        ANSWERS: Map<u64, Json>,
    }
}

async fn echo(ctx: &Ctx, value: Raw<'_>) -> Result<RawBuf> {
    let value = RawBuf(value.0.into());
    OUT.emit(ctx, &value)?;
    Ok(value)
}

async fn count(ctx: &Ctx, _value: Raw<'_>) -> Result<i64> {
    let count = COUNT.add(ctx, 1)?;
    OUT.emit(ctx, &RawBuf(count.to_string().into()))?;
    Ok(count)
}

async fn peek(ctx: &Ctx, _value: Raw<'_>) -> Result<i64> {
    COUNT.get(ctx)
}

async fn peek_and_write(ctx: &Ctx, _value: Raw<'_>) -> Result<i64> {
    COUNT.add(ctx, 1)
}

async fn swap(ctx: &Ctx, value: Json) -> Result<Option<Json>> {
    let before = KEPT.get(ctx)?;
    KEPT.put(ctx, value)?;
    Ok(before)
}

async fn fail_terminal(ctx: &Ctx, _value: Raw<'_>) -> Result<()> {
    COUNT.add(ctx, 1000)?;
    OUT.emit(ctx, &RawBuf(b"\"must not be seen\"".into()))?;
    Err(Failure::terminal("asked-for", "this handler always fails"))
}

/// How often to fail.
#[derive(Deserialize, JsonSchema)]
struct Times {
    times: u32,
}

async fn fail_transient(ctx: &Ctx, value: Times) -> Result<u32> {
    let attempt = ctx.attempt();
    COUNT.add(ctx, 1)?;
    OUT.emit(ctx, &RawBuf(attempt.to_string().into()))?;
    if attempt <= value.times {
        return Err(Failure::transient(
            "not-yet",
            format!("attempt {attempt} of {} that fail", value.times),
        ));
    }
    Ok(attempt)
}

async fn panic(ctx: &Ctx, _value: Raw<'_>) -> Result<()> {
    COUNT.add(ctx, 1000)?;
    std::panic!("asked to panic")
}

async fn spin(_ctx: &Ctx, _value: Raw<'_>) -> Result<()> {
    let mut n = 0_u64;
    loop {
        n = std::hint::black_box(n.wrapping_add(1));
    }
}

async fn hoard(_ctx: &Ctx, _value: Raw<'_>) -> Result<()> {
    let mut hoard = Vec::new();
    loop {
        hoard.push(std::hint::black_box(vec![1_u8; 1 << 20]));
    }
}

/// How many bytes.
#[derive(Deserialize, JsonSchema)]
struct Bulk {
    bytes: usize,
}

async fn bulk(_ctx: &Ctx, value: Bulk) -> Result<RawBuf> {
    Ok(RawBuf(vec![b'0'; value.bytes]))
}

async fn chatter(_ctx: &Ctx, value: Times) -> Result<()> {
    for n in 1..=value.times {
        weir_sdk::info!("line {n} of {}", value.times);
    }
    Ok(())
}

/// A handler to call or send to.
#[derive(Deserialize, JsonSchema)]
struct To {
    operator: String,
    handler: String,
    /// Absent: by the operator's pointer.
    key: Option<String>,
    #[serde(default)]
    value: Json,
    #[serde(default = "once")]
    times: u64,
    /// Of a call: its deadline. Of a send: its delay. Milliseconds.
    after_ms: Option<u64>,
}

fn once() -> u64 {
    1
}

/// What came of a call.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Answer {
    reply: Option<Json>,
    /// Code and message.
    failure: Option<(String, String)>,
}

async fn call(ctx: &Ctx, to: &To) -> Result<Json> {
    let mut call = ctx.call(&to.operator, &to.handler, &to.value);
    if let Some(key) = &to.key {
        call = call.key(key);
    }
    if let Some(after) = to.after_ms {
        call = call.within(Duration::from_millis(after));
    }
    call.await
}

async fn relay(ctx: &Ctx, to: To) -> Result<Vec<Answer>> {
    let mut answers = Vec::new();
    for n in 0..to.times {
        let answer = match call(ctx, &to).await {
            Ok(reply) => Answer { reply: Some(reply), failure: None },
            Err(failure) => Answer { reply: None, failure: Some((failure.code, failure.message)) },
        };
        ANSWERS.put(ctx, &n, &serde_json::to_value(&answer)?)?;
        answers.push(answer);
    }
    COUNT.add(ctx, 1)?;
    OUT.emit(ctx, &RawBuf(serde_json::to_vec(&answers)?))?;
    Ok(answers)
}

async fn relay_all(ctx: &Ctx, to: To) -> Result<Vec<Json>> {
    let mut replies = Vec::new();
    for _ in 0..to.times {
        replies.push(call(ctx, &to).await?);
    }
    COUNT.add(ctx, 1)?;
    OUT.emit(ctx, &RawBuf(serde_json::to_vec(&replies)?))?;
    Ok(replies)
}

async fn send(ctx: &Ctx, to: To) -> Result<()> {
    for _ in 0..to.times {
        let mut send = ctx.send(&to.operator, &to.handler, &to.value);
        if let Some(key) = &to.key {
            send = send.key(key);
        }
        match to.after_ms {
            Some(after) => send.later(Duration::from_millis(after))?,
            None => send.now()?,
        }
    }
    Ok(())
}

/// What surrounds an invocation.
#[derive(Serialize, JsonSchema)]
struct Context {
    id: String,
    now: i64,
    random: [u8; 8],
    attempt: u32,
    config: Json,
}

async fn context(ctx: &Ctx, _value: Raw<'_>) -> Result<Context> {
    Ok(Context {
        id: ctx.id().into(),
        now: ctx.now(),
        random: ctx.random(),
        attempt: ctx.attempt(),
        config: (*weir_sdk::config::<Json>()?).clone(),
    })
}
