//! `weir invocation`.

use std::fmt::Write as _;

use anyhow::Result;
use reqwest::Method;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    client::{Client, encode},
    output::{Output, one_line},
};

#[derive(clap::Args)]
pub(super) struct InvocationArgs {
    /// Its id, as `weir call --send` prints it.
    id: String,
    /// Cancel it: not begun, it never will; running, it is rolled back; ended, its
    /// result counts.
    #[arg(long)]
    cancel: bool,
    /// Wait so long for its end, such as `30s`.
    #[arg(long, value_name = "TIME", conflicts_with = "cancel")]
    wait: Option<String>,
}

#[derive(Deserialize)]
struct Invocation {
    id: String,
    pipeline: String,
    status: String,
    result: Option<Box<RawValue>>,
    failure: Option<Failure>,
}

#[derive(Deserialize)]
struct Failure {
    kind: String,
    code: String,
    message: String,
}

pub(super) async fn invocation(client: &Client, args: &InvocationArgs, out: &Output) -> Result<()> {
    let mut path = format!("/invocations/{}", encode(&args.id));
    if let Some(wait) = &args.wait {
        let _ = write!(path, "?wait={}", encode(wait));
    }
    let answer = if args.cancel {
        client.ask(client.request(Method::POST, &format!("{path}/cancel"))).await?
    } else {
        client.get(&path).await?
    };
    let invocation = answer.read()?;
    out.answer(answer.json(), || text(&invocation));
    Ok(())
}

fn text(invocation: &Invocation) -> String {
    let Invocation { id, pipeline, status, result, failure } = invocation;
    let means = match status.as_str() {
        "pending" => "no outcome yet",
        "delayed" => "it is held back until its time",
        "waiting" => "it waits for its key, or for a slot",
        "running" => "it is under way",
        "retrying" => "an attempt failed, the next is due later",
        "ended" => "it was carried out, or given up as its policy says",
        "cancelled" => "it leaves nothing",
        "replied" => "it has ended",
        "failed" => "it has ended without a reply",
        _ => "",
    };
    let mut out = format!("{id}  {pipeline}  {status}  {means}").trim_end().to_owned();
    if let Some(result) = result {
        let _ = write!(out, "\n{}", result.get());
    }
    if let Some(Failure { kind, code, message }) = failure {
        let _ = write!(out, "\n{kind} failure ({code}): {}", one_line(message));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn an_outcome_is_shown_below_the_status() {
        let text = |json: &str| text(&serde_json::from_str(json).unwrap());
        assert_eq!(
            text(r#"{"id":"i","pipeline":"p","status":"pending"}"#),
            "i  p  pending  no outcome yet"
        );
        assert_eq!(
            text(r#"{"id":"i","pipeline":"p","status":"replied","result":{"n":1e400}}"#),
            "i  p  replied  it has ended\n{\"n\":1e400}"
        );
        assert_eq!(
            text(
                r#"{"id":"i","pipeline":"p","status":"failed","failure":{"kind":"terminal","code":"no-stock","message":"a\nb"}}"#
            ),
            "i  p  failed  it has ended without a reply\nterminal failure (no-stock): a\\nb"
        );
    }
}
