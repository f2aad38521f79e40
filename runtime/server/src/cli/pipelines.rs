//! Commands about pipelines.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use reqwest::Method;
use serde_json::{Value, json};
use weir_core::spec;

use super::{
    client::{Client, encode},
    date,
    output::{Output, show, table},
    problem::Detail,
    progress,
};

#[derive(clap::Args)]
pub(super) struct ApplyArgs {
    /// The pipeline file, YAML or JSON.
    #[arg(short, long)]
    file: PathBuf,
    /// Check everything, deploy nothing.
    #[arg(long)]
    dry_run: bool,
    /// Operators that the file has no more lose what they hold: their state, their
    /// dead letters and what waits for them. Without this, such a file is refused.
    #[arg(long)]
    drop_state: bool,
}

/// What the server says of a file that it took.
#[derive(serde::Deserialize)]
struct Applied {
    name: String,
    revision: u64,
    #[serde(default)]
    warnings: Vec<Detail>,
    #[serde(default)]
    dropped: Vec<Dropped>,
}

/// What an operator holds that the file has no more.
#[derive(serde::Deserialize)]
struct Dropped {
    operator: String,
    holds: Vec<String>,
}

#[derive(clap::Args)]
pub(super) struct Name {
    /// The pipeline.
    pub(super) pipeline: String,
}

#[derive(clap::Args)]
pub(super) struct DeleteArgs {
    /// The pipeline; it must be stopped.
    pipeline: String,
    /// What becomes of its state.
    #[arg(long, value_parser = ["keep", "drop"], default_value = "keep")]
    state: String,
}

/// The name that a file gives its pipeline. A file that has none is sent under a
/// name of our own choice, so that the server can say all that is wrong with it.
fn name_in(text: &str) -> String {
    let name = spec::read(text).spec.pipeline;
    name.map_or_else(|| "unnamed".into(), |name| name.to_string())
}

pub(super) async fn apply(client: &Client, args: &ApplyArgs, out: &Output) -> Result<()> {
    let file = args.file.display();
    let text =
        std::fs::read_to_string(&args.file).with_context(|| format!("{file} cannot be read"))?;
    let bar = progress::spinner("compile and deploy");
    let mut path = format!("/pipelines/{}?dry_run={}", encode(&name_in(&text)), args.dry_run);
    if args.drop_state {
        path.push_str("&state=drop");
    }
    let request = client.request(Method::PUT, &path).header("content-type", "application/yaml");
    let answer = client.ask(request.body(text)).await;
    bar.finish_and_clear();
    let verb = if args.dry_run { "cannot be" } else { "was not" };
    let answer = answer.with_context(|| format!("{file} {verb} deployed"))?;
    let applied: Applied = answer.read()?;
    out.answer(answer.json(), || {
        let mut lines = vec![format!("{} revision {}", applied.name, applied.revision)];
        if args.dry_run {
            lines[0].push_str(" would be deployed");
        }
        if args.drop_state {
            let held = applied.dropped.iter();
            let held: Vec<_> = held
                .map(|of| format!("operator `{}`: {}", of.operator, of.holds.join(", ")))
                .collect();
            lines.extend(said_of_dropped(&held, args.dry_run));
        }
        lines.extend(applied.warnings.iter().map(|warning| format!("  {}", warning.text())));
        lines.join("\n")
    });
    Ok(())
}

fn said_of_dropped(held: &[String], dry_run: bool) -> Vec<String> {
    if held.is_empty() {
        return vec!["  no operator that is gone held anything: nothing is dropped".into()];
    }
    let held = held.iter().map(|sentence| format!("    {sentence}"));
    let done = if dry_run { "would be dropped" } else { "dropped" };
    let head = format!("  {done}, state, dead letters and all, as asked with --drop-state:");
    [head].into_iter().chain(held).collect()
}

pub(super) async fn list(client: &Client, out: &Output) -> Result<()> {
    let pipelines = client.pages("/pipelines", "pipelines").await?;
    let headings = ["NAME", "STATUS", "REVISION", "IN", "OUT", "ERRORS", "DEAD LETTERS", "AUDIT"];
    out.list(&pipelines, headings, |p: &Value| {
        [
            show(&p["name"]),
            show(&p["status"]),
            show(&p["revision"]),
            show(&p["records_in"]),
            show(&p["records_out"]),
            show(&p["errors"]),
            show(&p["dead_letters"]),
            audit(&p["balanced"]).into(),
        ]
    })
}

/// What the audit says; a dash if there is none yet.
fn audit(balanced: &Value) -> &'static str {
    match balanced {
        Value::Bool(true) => "ok",
        Value::Bool(false) => "NOT BALANCED",
        _ => "-",
    }
}

pub(super) async fn revisions(client: &Client, name: &Name, out: &Output) -> Result<()> {
    let path = format!("/pipelines/{}/revisions", encode(&name.pipeline));
    let answer = client.get(&path).await?;
    let list: Value = answer.read()?;
    out.answer(answer.json(), || {
        let rows = list["revisions"].as_array().into_iter().flatten().map(|revision| {
            let modules = revision["modules"].as_array().into_iter().flatten().map(show);
            [
                show(&revision["revision"]),
                date::show(&revision["created_at"]),
                if revision["current"] == true { "yes" } else { "no" }.into(),
                modules.collect::<Vec<_>>().join(", "),
            ]
        });
        table(["REVISION", "APPLIED", "CURRENT", "MODULES"], rows)
    });
    Ok(())
}

pub(super) async fn change(client: &Client, name: &Name, what: &str, out: &Output) -> Result<()> {
    let path = format!("/pipelines/{}/{what}", encode(&name.pipeline));
    let answer = client.ask(client.request(Method::POST, &path)).await?;
    let read: Value = answer.read()?;
    out.answer(answer.json(), || format!("{} {}", name.pipeline, show(&read["status"])));
    Ok(())
}

pub(super) async fn delete(client: &Client, args: &DeleteArgs, out: &Output) -> Result<()> {
    let DeleteArgs { pipeline, state } = args;
    let path = format!("/pipelines/{}?state={state}", encode(pipeline));
    client.ask(client.request(Method::DELETE, &path)).await?;
    out.answer(json!({ "deleted": pipeline, "state": state }).to_string(), || {
        format!("{pipeline} deleted, its state: {state}")
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{audit, name_in, said_of_dropped};

    #[test]
    fn the_name_is_found_in_yaml_and_json() {
        assert_eq!(name_in("# a comment\npipeline: orders # mine\nsources: {}"), "orders");
        assert_eq!(name_in("pipeline: \"orders\""), "orders");
        assert_eq!(name_in("{\"pipeline\": \"orders\"}"), "orders");
    }

    #[test]
    fn a_file_without_a_good_name_is_sent_for_the_server_to_judge() {
        for file in ["sources: {}", "pipeline: [", "pipeline: Not A Name", "a: {", ""] {
            assert_eq!(name_in(file), "unnamed", "{file}");
        }
    }

    #[test]
    fn what_was_dropped_is_said() {
        let held = ["operator `a` is not in the file but still holds state".to_owned()];
        let lines = said_of_dropped(&held, false).join("\n");
        assert!(lines.contains("dead letters") && lines.contains("operator `a`"), "{lines}");
        assert!(said_of_dropped(&[], false).join("\n").contains("nothing is dropped"));
    }

    #[test]
    fn an_audit_that_is_not_known_is_a_dash() {
        assert_eq!(
            [json!(true), json!(false), json!(null)].map(|b| audit(&b)),
            ["ok", "NOT BALANCED", "-"]
        );
    }
}
