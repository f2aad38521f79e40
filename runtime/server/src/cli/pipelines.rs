//! Commands about pipelines.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use reqwest::Method;
use serde_json::Value;

use super::{
    client::{Client, encode},
    output::{Output, show},
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
    /// Drop the state of operators that the new revision has no more.
    #[arg(long)]
    drop_state: bool,
}

#[derive(clap::Args)]
pub(super) struct Name {
    /// The pipeline.
    pipeline: String,
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
    let of_json = serde_json::from_str::<Value>(text)
        .ok()
        .and_then(|file| file["pipeline"].as_str().map(str::to_owned));
    let of_yaml = || {
        let line = text.lines().find_map(|line| line.strip_prefix("pipeline:"))?;
        let name = line.split('#').next()?.trim().trim_matches(['"', '\'']);
        (!name.is_empty()).then(|| name.to_owned())
    };
    of_json.or_else(of_yaml).unwrap_or_else(|| "unnamed".into())
}

pub(super) async fn apply(client: &Client, args: &ApplyArgs, out: &Output) -> Result<()> {
    let text = std::fs::read_to_string(&args.file)
        .with_context(|| format!("{} cannot be read", args.file.display()))?;
    let mut path = format!("/pipelines/{}?dry_run={}", encode(&name_in(&text)), args.dry_run);
    if args.drop_state {
        path.push_str("&state=drop");
    }
    let bar = progress::spinner("compile and deploy");
    let request = client.request(Method::PUT, &path).header("content-type", "application/yaml");
    let answer = client.json(request.body(text)).await;
    bar.finish_and_clear();
    let answer = answer.with_context(|| format!("{} was not deployed", args.file.display()))?;
    out.answer(&answer, |answer| {
        let mut text = format!("{} revision {}", show(&answer["name"]), show(&answer["revision"]));
        if args.dry_run {
            text.push_str(" would be deployed");
        }
        for warning in answer["warnings"].as_array().into_iter().flatten() {
            let sentence = warning["message"].as_str().map_or_else(|| show(warning), str::to_owned);
            text.push_str(&format!("\n  warning: {sentence}"));
        }
        text
    });
    Ok(())
}

pub(super) async fn list(client: &Client, out: &Output) -> Result<()> {
    let pipelines = client.pages("/pipelines", "pipelines").await?;
    let headings = ["NAME", "STATUS", "REVISION", "IN", "OUT", "ERRORS", "DEAD LETTERS"];
    out.rows(&pipelines, headings, |p| {
        [
            show(&p["name"]),
            show(&p["status"]),
            show(&p["revision"]),
            show(&p["records_in"]),
            show(&p["records_out"]),
            show(&p["errors"]),
            show(&p["dead_letters"]),
        ]
    });
    Ok(())
}

pub(super) async fn describe(client: &Client, name: &Name, out: &Output) -> Result<()> {
    let path = format!("/pipelines/{}", encode(&name.pipeline));
    let pipeline = client.json(client.request(Method::GET, &path)).await?;
    let audit = client.json(client.request(Method::GET, &format!("{path}/audit"))).await?;
    if out.is_json() {
        out.line(serde_json::json!({ "pipeline": pipeline, "audit": audit }).to_string());
        return Ok(());
    }
    out.line(format!(
        "{}  {}  revision {}  audit {} at epoch {}",
        show(&pipeline["name"]),
        show(&pipeline["status"]),
        show(&pipeline["revision"]),
        if audit["balanced"] == true { "balanced" } else { "NOT balanced" },
        show(&audit["epoch"]),
    ));
    if let Some(reason) = pipeline["status_reason"].as_str() {
        out.line(format!("  {reason}"));
    }
    let rows = |field: &str| pipeline["graph"][field].as_array().cloned().unwrap_or_default();
    out.line("");
    let headings = ["NODE", "KIND", "MODULE", "IN", "OUT", "ERRORS", "WAITING"];
    out.rows(&rows("nodes"), headings, |node| {
        [
            show(&node["id"]),
            show(&node["kind"]),
            show(&node["module"]),
            show(&node["records_in"]),
            show(&node["records_out"]),
            show(&node["errors"]),
            show(&node["waiting"]),
        ]
    });
    out.line("");
    out.rows(&rows("edges"), ["FROM", "TO", "KIND", "RECORDS", "QUEUE"], |edge| {
        let port = edge["port"].as_str().map(|port| format!(".{port}")).unwrap_or_default();
        let fill = edge["queue_fill"].as_f64().unwrap_or(0.0) * 100.0;
        [
            format!("{}{port}", show(&edge["from"])),
            show(&edge["to"]),
            show(&edge["kind"]),
            show(&edge["records"]),
            format!("{fill:.0} %"),
        ]
    });
    Ok(())
}

pub(super) async fn change(client: &Client, name: &Name, what: &str, out: &Output) -> Result<()> {
    let path = format!("/pipelines/{}/{what}", encode(&name.pipeline));
    let answer = client.json(client.request(Method::POST, &path)).await?;
    out.answer(&answer, |answer| format!("{} {}", name.pipeline, show(&answer["status"])));
    Ok(())
}

pub(super) async fn delete(client: &Client, args: &DeleteArgs, out: &Output) -> Result<()> {
    let path = format!("/pipelines/{}?state={}", encode(&args.pipeline), args.state);
    let answer = client.json(client.request(Method::DELETE, &path)).await?;
    out.answer(&answer, |_| format!("{} deleted, its state: {}", args.pipeline, args.state));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::name_in;

    #[test]
    fn the_name_is_found_in_yaml_and_json() {
        assert_eq!(name_in("# a comment\npipeline: orders # mine\nsources: {}"), "orders");
        assert_eq!(name_in("pipeline: \"orders\""), "orders");
        assert_eq!(name_in("{\"pipeline\": \"orders\"}"), "orders");
        assert_eq!(name_in("sources: {}"), "unnamed");
    }
}
