//! Invocations: calls, sends, state, rollback.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::Point;
use crate::{
    Cause, Counter, Ctx, Failure, List, Map, Raw, RawBuf, Result, Value, config, log::Level,
    testing,
};

#[derive(Deserialize, JsonSchema)]
struct Config {
    #[serde(default = "ten")]
    limit: i64,
}

fn ten() -> i64 {
    10
}

crate::handlers! {
    /// A bit of everything.
    Everything;
    config Config;

    handlers {
        /// Adds, up to the limit.
        add(call, event),
        fetch(call),
        look(read),
        rings(call),
        bytes(call),
        entries(call),
    }
    outputs {
        DONE: Point,
    }
    cells {
        TOTAL: Counter,
        LAST: Value<Point>,
        BY_TIME: Map<i64, String>,
        STEPS: List<i64>,
    }
}

async fn add(ctx: &Ctx, amount: i64) -> Result<i64> {
    let total = TOTAL.add(ctx, amount)?;
    let limit = config::<Config>()?.limit;
    if total > limit {
        return Err(Failure::terminal("over-limit", format!("{total} is over {limit}")));
    }
    DONE.emit(ctx, &Point { x: amount, y: total })?;
    Ok(total)
}

async fn fetch(ctx: &Ctx, name: String) -> Result<Point> {
    crate::info!("fetching {name}");
    let point: Point =
        ctx.call("store", "get", &name).key(&name).within(Duration::from_secs(3)).await?;
    LAST.put(ctx, point.clone())?;
    Ok(point)
}

async fn look(ctx: &Ctx, _nothing: ()) -> Result<i64> {
    TOTAL.get(ctx)
}

async fn rings(ctx: &Ctx, times: u64) -> Result<()> {
    for i in 0..times {
        ctx.send("bell", "ring", &i).later(Duration::from_millis(i))?;
    }
    Ok(())
}

async fn bytes(_ctx: &Ctx, value: Raw<'_>) -> Result<RawBuf> {
    Ok(RawBuf(value.0.iter().rev().copied().collect()))
}

async fn entries(ctx: &Ctx, _nothing: ()) -> Result<Vec<String>> {
    for time in [5, -5, 0] {
        BY_TIME.put(ctx, &time, &format!("at {time}"))?;
    }
    for step in 0..1500 {
        STEPS.push(ctx, &step)?;
    }
    assert_eq!(STEPS.pop(ctx)?, Some(1499));
    assert_eq!(STEPS.len(ctx)?, 1499);
    assert_eq!(STEPS.all(ctx)?, (0..1499).collect::<Vec<_>>());
    Ok(BY_TIME.range(ctx, -5..=0)?.into_iter().map(|(_, text)| text).collect())
}

#[test]
fn an_invocation_that_fails_leaves_nothing_of_its_own() {
    let mut host = testing::handlers::<Everything>();
    assert_eq!(host.call::<i64>("k", "add", &6).unwrap(), 6);
    assert!(host.call::<i64>("k", "add", &6).unwrap_err().is("over-limit"));
    host.event("k", "add", &4).unwrap();
    assert_eq!(host.counter("k", "total"), 10);
    assert_eq!(host.take::<Point>("done"), [Point { x: 6, y: 6 }, Point { x: 4, y: 10 }]);
    assert_eq!(host.call::<i64>("k", "look", &()).unwrap(), 10);
}

#[test]
fn a_configuration_is_read_once_with_its_defaults() {
    let mut host = testing::handlers::<Everything>();
    host.config(&serde_json::json!({"limit": 3}));
    assert!(host.call::<i64>("k", "add", &4).unwrap_err().is("over-limit"));
}

#[test]
fn a_call_gets_the_answer_or_the_failure() {
    let mut host = testing::handlers::<Everything>();
    assert!(host.call::<Point>("k", "fetch", &"p").unwrap_err().is("unknown-operator"));
    host.answer("store", "get", |_| Ok(Point { x: 1, y: 2 }));
    assert_eq!(host.call::<Point>("k", "fetch", &"p").unwrap(), Point { x: 1, y: 2 });
    assert_eq!(host.value::<Point>("k", "last"), Some(Point { x: 1, y: 2 }));
    let calls = host.take_calls();
    assert_eq!((calls[1].key.as_deref(), calls[1].after_ms), (Some(b"p".as_slice()), Some(3000)));
    assert_eq!(host.take_logs()[0], (Level::Info, "fetching p".into()));
    host.answer("store", "get", |_| Ok("no point"));
    assert!(host.call::<Point>("k", "fetch", &"p").unwrap_err().is("invalid-reply"));
}

#[test]
fn sends_leave_with_the_result() {
    let mut host = testing::handlers::<Everything>();
    host.call::<()>("k", "rings", &3).unwrap();
    let delays: Vec<_> = host.take_sends().into_iter().map(|send| send.after_ms).collect();
    assert_eq!(delays, [Some(0), Some(1), Some(2)]);
}

#[test]
fn bytes_that_are_no_json_pass_as_they_are() {
    let mut host = testing::handlers::<Everything>();
    let input =
        testing::Input { key: Some(b"k".into()), value: vec![1, 2, 255], ..Default::default() };
    assert_eq!(host.run(Cause::Call, "bytes", &input, 1).unwrap(), [255, 2, 1]);
    assert!(host.run(Cause::Call, "add", &input, 1).unwrap_err().is("invalid-input"));
}

#[test]
fn maps_are_in_order_of_their_keys_and_lists_are_longer_than_a_page() {
    let mut host = testing::handlers::<Everything>();
    assert_eq!(host.call::<Vec<String>>("k", "entries", &()).unwrap(), ["at -5", "at 0"]);
}
