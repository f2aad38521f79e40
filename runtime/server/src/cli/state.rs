//! `weir state` and `weir dead-letters`.

use std::fmt::Write as _;

use anyhow::Result;
use reqwest::Method;
use serde_json::Value;

use super::{
    client::{Client, encode},
    output::{Output, show as text},
};

#[derive(clap::Args)]
pub(super) struct StateArgs {
    /// The pipeline.
    pipeline: String,
    /// The operator.
    operator: String,
    /// The key; without one, all keys are listed.
    key: Option<String>,
    /// Only keys that begin so.
    #[arg(long, conflicts_with = "key")]
    prefix: Option<String>,
    /// Only this cell.
    #[arg(long)]
    cell: Option<String>,
}

#[derive(clap::Args)]
pub(super) struct DeadLetterArgs {
    /// The pipeline.
    pipeline: String,
    /// Only those of this operator.
    #[arg(long)]
    operator: Option<String>,
    /// Discard this one.
    #[arg(long, value_name = "ID")]
    discard: Option<String>,
}

pub(super) async fn show_key(client: &Client, path: &str, key: &str, out: &Output) -> Result<()> {
    let request = client.request(Method::GET, &format!("{path}/{}", encode(key)));
    let state = client.json(request).await?;
    out.answer(&state, |state| {
        let cells = state["cells"].as_object();
        let lines = cells.into_iter().flatten().map(|(name, value)| format!("{name}: {value}"));
        lines.collect::<Vec<_>>().join("\n")
    });
    Ok(())
}

pub(super) async fn show(client: &Client, args: &StateArgs, out: &Output) -> Result<()> {
    let mut path =
        format!("/pipelines/{}/operators/{}/state", encode(&args.pipeline), encode(&args.operator));
    if let Some(key) = &args.key {
        return show_key(client, &path, key, out).await;
    }
    let _ = write!(path, "?prefix={}", encode(args.prefix.as_deref().unwrap_or_default()));
    if let Some(cell) = &args.cell {
        let _ = write!(path, "&cell={}", encode(cell));
    }
    let keys = client.pages(&path, "keys").await?;
    out.rows(&keys, ["KEY", "CELLS"], |row| [text(&row["key"]), row["cells"].to_string()]);
    Ok(())
}

pub(super) async fn dead_letters(
    client: &Client,
    args: &DeadLetterArgs,
    out: &Output,
) -> Result<()> {
    let mut path = format!("/pipelines/{}/dead-letters", encode(&args.pipeline));
    if let Some(id) = &args.discard {
        let path = format!("{path}/{}/discard", encode(id));
        let answer = client.json(client.request(Method::POST, &path)).await?;
        out.answer(&answer, |_| format!("{id} discarded"));
        return Ok(());
    }
    if let Some(operator) = &args.operator {
        let _ = write!(path, "?operator={}", encode(operator));
    }
    let letters = client.pages(&path, "dead_letters").await?;
    let headings = ["ID", "OPERATOR", "HANDLER", "KEY", "ATTEMPTS", "CODE", "ERROR"];
    out.rows(&letters, headings, |letter: &Value| {
        let error: String = text(&letter["error"]).chars().take(80).collect();
        [
            text(&letter["id"]),
            text(&letter["operator"]),
            text(&letter["handler"]),
            text(&letter["key"]),
            text(&letter["attempts"]),
            text(&letter["code"]),
            error.replace('\n', " "),
        ]
    });
    Ok(())
}
