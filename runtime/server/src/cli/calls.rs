//! `weir call`.

use std::io::Read as _;

use anyhow::{Result, bail};
use bytes::Bytes;
use reqwest::Method;
use serde::{Deserialize, de::IgnoredAny};

use super::{
    client::{Client, encode},
    output::Output,
    problem::Refused,
};
use crate::wire::payload::Value;

#[derive(clap::Args)]
pub(super) struct CallArgs {
    /// The pipeline.
    pipeline: String,
    /// The operator.
    operator: String,
    /// The handler.
    handler: String,
    /// What the handler takes, in JSON; `-` reads standard input.
    #[arg(default_value = "null")]
    value: String,
    /// The key; by default taken from the value by the operator's `key:` pointer.
    #[arg(short, long)]
    key: Option<String>,
    /// The value need not be JSON: its bytes are given as they are.
    #[arg(long)]
    raw: bool,
    /// Do not wait for the reply: print the invocation's id.
    #[arg(long)]
    send: bool,
    /// Makes a repeat of this call return the first answer.
    #[arg(long)]
    idempotency_key: Option<String>,
}

pub(super) async fn call(client: &Client, args: &CallArgs, out: &Output) -> Result<()> {
    let value = if args.value == "-" {
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes)?;
        bytes
    } else {
        args.value.clone().into_bytes()
    };
    if !args.raw {
        check_json(&value)?;
    }
    let verb = if args.send { "send" } else { "call" };
    let [pipeline, operator, handler] =
        [&args.pipeline, &args.operator, &args.handler].map(|name| encode(name));
    let mut path = format!("/{verb}/{pipeline}/{operator}/{handler}");
    if let Some(key) = &args.key {
        path.push_str("?key=");
        path.push_str(&encode(key));
    }
    let content = if args.raw { "application/octet-stream" } else { "application/json" };
    let mut request = client.request(Method::POST, &path).header("content-type", content);
    if let Some(key) = &args.idempotency_key {
        request = request.header("idempotency-key", key);
    }
    let response = client.send(request.body(value)).await.map_err(|error| named(args, error))?;
    let reply = response.bytes().await?;
    if args.send {
        #[derive(Deserialize)]
        struct Accepted {
            invocation: String,
        }
        let Accepted { invocation } = serde_json::from_slice(&reply)?;
        out.answer(String::from_utf8_lossy(&reply), || invocation);
    } else if out.is_json() {
        out.line(json_of(reply)?);
    } else {
        // The reply is the handler's own bytes.
        out.bytes(&reply);
    }
    Ok(())
}

/// A failure says of what, and the code that programs know it by.
fn named(args: &CallArgs, error: anyhow::Error) -> anyhow::Error {
    let CallArgs { pipeline, operator, handler, .. } = args;
    let code = error.downcast_ref::<Refused>().map(|refused| format!(" ({})", refused.code));
    let code = code.unwrap_or_default();
    error.context(format!("{operator}.{handler} of {pipeline} was not done{code}"))
}

/// A reply for programs: as it is, or as the API gives bytes that are no JSON.
fn json_of(reply: Bytes) -> Result<String> {
    Ok(serde_json::to_string(&Value(reply))?)
}

/// Says where a value is no JSON, as a shell easily makes it.
fn check_json(value: &[u8]) -> Result<()> {
    let Err(error) = serde_json::from_slice::<IgnoredAny>(value) else { return Ok(()) };
    let text = error.to_string();
    let what = text.split(" at line ").next().unwrap_or(&text);
    bail!(
        "the value is not JSON at line {}, column {}: {what}. Give a text with its quotes, as in \
         '\"text\"', or anything at all with --raw",
        error.line(),
        error.column()
    )
}

#[cfg(test)]
mod tests {
    use super::{check_json, json_of};

    #[test]
    fn a_value_that_is_no_json_is_told_by_its_place() {
        assert!(check_json(br#"{"a":[1,"x"]}"#).is_ok());
        let error = check_json(b"{\"a\":1,\n \"b\":x}").unwrap_err().to_string();
        assert!(error.contains("line 2, column 6"), "{error}");
        assert!(check_json(b"").is_err() && check_json(b"ann").is_err());
    }

    #[test]
    fn a_reply_is_json_for_programs() {
        assert_eq!(json_of("{\"n\":1e400}".into()).unwrap(), "{\"n\":1e400}");
        assert_eq!(json_of("ok".into()).unwrap(), "{\"base64\":\"b2s=\"}");
    }
}
