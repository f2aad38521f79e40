//! What the SDK promises to an operator, on the host in memory.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Failure, Result};

mod handlers;
mod transform;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
struct Point {
    x: i64,
    y: i64,
}

#[test]
fn an_error_of_json_is_terminal_and_another_is_not() {
    fn json() -> Result<Point> {
        Ok(serde_json::from_str("{")?)
    }
    fn number() -> Result<u8> {
        Ok("x".parse::<u8>()?)
    }
    let failure = json().unwrap_err();
    assert!(failure.is_terminal() && failure.is("invalid-json"), "{failure}");
    let failure = number().unwrap_err();
    assert!(!failure.is_terminal() && failure.is("error"), "{failure}");
    assert_eq!(Failure::terminal("gone", "it is gone").to_string(), "gone: it is gone");
}
