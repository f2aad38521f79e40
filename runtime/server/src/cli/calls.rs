//! `weir call`.

use std::{fmt::Write as _, io::Read as _};

use anyhow::Result;
use reqwest::Method;

use super::{
    client::{Client, encode},
    output::Output,
};

#[derive(clap::Args)]
pub(super) struct CallArgs {
    /// The pipeline.
    pipeline: String,
    /// The operator.
    operator: String,
    /// The handler.
    handler: String,
    /// What the handler takes; `-` reads standard input.
    #[arg(default_value = "null")]
    value: String,
    /// The key; by default taken from the value by the operator's `key:` pointer.
    #[arg(short, long)]
    key: Option<String>,
    /// Do not wait for the reply: print the invocation's id.
    #[arg(long)]
    send: bool,
    /// Makes a repeat of this call return the first answer.
    #[arg(long)]
    idempotency_key: Option<String>,
}

pub(super) async fn call(client: &Client, args: &CallArgs, out: &Output) -> Result<()> {
    let value = if args.value == "-" {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text)?;
        text
    } else {
        args.value.clone()
    };
    let mut path = format!(
        "/{}/{}/{}/{}",
        if args.send { "send" } else { "call" },
        encode(&args.pipeline),
        encode(&args.operator),
        encode(&args.handler)
    );
    if let Some(key) = &args.key {
        let _ = write!(path, "?key={}", encode(key));
    }
    let mut request = client.request(Method::POST, &path).body(value);
    request = request.header("content-type", "application/json");
    if let Some(key) = &args.idempotency_key {
        request = request.header("idempotency-key", key);
    }
    // The reply is the handler's own bytes.
    let reply = client.send(request).await?.bytes().await?;
    out.line(String::from_utf8_lossy(&reply));
    Ok(())
}
