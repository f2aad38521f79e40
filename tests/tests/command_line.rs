//! The command line against a server, as people and programs use it.

use std::{
    path::Path,
    process::{Command, Output},
};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use weir_tests::{client::Client, guests, process::binary};

const FILE: &str = "
pipeline: odd
sources:
  in: { topic: in, partitions: 1 }
operators:
  good: { module: counter@1.0.0, input: in, key: /key }
  bad:
    module: echo@1.0.0
    input: in
    handler: panic
    key: /key
    retry: { attempts: 1 }
sinks:
  counted: { topic: counted, input: good.out, partitions: 1 }
";

/// The binary as a client of one server.
struct Weir {
    url: String,
}

impl Weir {
    async fn run(&self, args: &[&str]) -> Result<Output> {
        let mut command = Command::new(binary()?);
        command.args(args).env("WEIR_SERVER", &self.url);
        Ok(tokio::task::spawn_blocking(move || command.output()).await??)
    }

    /// What a command prints that succeeds.
    async fn prints(&self, args: &[&str]) -> Result<String> {
        let output = self.run(args).await?;
        ensure!(output.status.success(), "{args:?}: {output:?}");
        Ok(String::from_utf8(output.stdout)?)
    }

    /// The one JSON document that a command prints that succeeds.
    async fn json(&self, args: &[&str]) -> Result<Value> {
        let args = [args, &["-o", "json"]].concat();
        Ok(serde_json::from_str(&self.prints(&args).await?)?)
    }

    /// What a command says that fails.
    async fn fails(&self, args: &[&str]) -> Result<String> {
        let output = self.run(args).await?;
        ensure!(output.status.code() == Some(1), "{args:?}: {output:?}");
        Ok(String::from_utf8(output.stderr)?)
    }
}

fn write(folder: &Path, name: &str, text: &str) -> Result<String> {
    let path = folder.join(name);
    std::fs::write(&path, text)?;
    Ok(path.to_str().context("a path that is no text")?.to_owned())
}

#[tokio::test]
async fn topics_and_modules_are_made_shown_and_deleted() -> Result<()> {
    let (scratch, server, _client) = crate::server().await?;
    let weir = Weir { url: server.url().to_owned() };
    let made = weir.prints(&["topics", "create", "in", "--partitions", "3"]).await?;
    assert_eq!(made, "in  3 partitions, created\n");
    let again = weir.prints(&["topics", "create", "in", "--partitions", "3"]).await?;
    assert!(again.contains("already there"), "{again}");
    assert_eq!(weir.json(&["topics"]).await?["topics"][0]["partitions"], 3);
    assert_eq!(weir.prints(&["topics", "delete", "in"]).await?, "in deleted\n");
    assert_eq!(weir.prints(&["topics"]).await?.lines().count(), 1, "the headings alone");
    let error = weir.fails(&["topics", "delete", "in"]).await?;
    assert!(error.contains("`weir topics` lists them") && !error.contains("/v1/"), "{error}");

    let counter = guests::path("counter")?;
    let counter = counter.to_str().context("a path that is no text")?;
    let push = ["push", counter, "--version", "1.0.0"];
    assert!(!weir.prints(&push).await?.contains("already there"));
    assert!(weir.prints(&push).await?.contains("already there"));
    let shown = weir.prints(&["modules", "show", "counter", "1.0.0"]).await?;
    assert!(shown.contains("counter@1.0.0") && shown.contains("faces: "), "{shown}");
    let text = write(scratch.path(), "text.wasm", "this is no module")?;
    let error = weir.fails(&["push", &text]).await?;
    let sentence = error.trim().rsplit(": ").next().unwrap_or_default().trim_end_matches('.');
    assert_eq!(error.to_lowercase().matches(&sentence.to_lowercase()).count(), 1, "{error}");
    weir.prints(&["modules", "delete", "counter", "1.0.0"]).await?;
    assert_eq!(weir.json(&["modules"]).await?, serde_json::json!({ "modules": [] }));
    Ok(())
}

#[tokio::test]
async fn a_pipeline_is_shown_with_its_failures_and_its_state() -> Result<()> {
    let (scratch, server, client) = crate::server().await?;
    let weir = Weir { url: server.url().to_owned() };
    for name in ["counter", "echo"] {
        client.upload(name, "1.0.0", guests::bytes(name)?).await?;
    }
    let file = write(scratch.path(), "pipeline.yaml", FILE)?;
    assert_eq!(weir.prints(&["apply", "-f", &file]).await?, "odd revision 1\n");
    weir.prints(&["send", "in", "{\"key\":\"a\",\"n\":1}"]).await?;
    client.records_at_least("counted", 1).await?;
    settled(&client).await?;

    let revisions = weir.json(&["revisions", "odd"]).await?;
    assert_eq!(revisions["revisions"][0]["current"], true, "{revisions}");
    let described = weir.prints(&["describe", "odd"]).await?;
    assert!(described.contains("DEAD LETTERS") && described.contains("audit balanced"));

    let letters = weir.prints(&["dead-letters", "odd"]).await?;
    assert!(letters.contains("asked to panic"), "{letters}");
    let id = letters.lines().nth(1).and_then(|line| line.split(' ').next()).context("no row")?;
    let full = weir.prints(&["dead-letters", "odd", "--show", id]).await?;
    assert!(full.contains("{\"key\":\"a\",\"n\":1}") && full.contains("backtrace"), "{full}");
    assert_eq!(weir.json(&["dead-letters", "odd", "--show", id]).await?["id"], id);

    let state = weir.prints(&["state", "odd", "good"]).await?;
    assert!(state.lines().nth(1).is_some_and(|line| line.starts_with('a')), "{state}");
    let nothing = weir.prints(&["state", "odd", "good", "nobody"]).await?;
    assert_eq!(nothing, "no state under key nobody\n");

    let tail = weir.prints(&["tail", "counted", "--from", "earliest", "-n", "1"]).await?;
    assert!(tail.contains('T') && tail.contains("Z  0/0"), "a date and a place: {tail}");
    Ok(())
}

#[tokio::test]
async fn an_invocation_can_be_asked_for() -> Result<()> {
    let (scratch, server, client) = crate::server().await?;
    let weir = Weir { url: server.url().to_owned() };
    for name in ["counter", "echo"] {
        client.upload(name, "1.0.0", guests::bytes(name)?).await?;
    }
    let file = write(scratch.path(), "pipeline.yaml", FILE)?;
    weir.prints(&["apply", "-f", &file]).await?;
    let id = weir.prints(&["call", "odd", "bad", "count", "{\"key\":\"b\"}", "--send"]).await?;
    let id = id.trim();
    let taken = weir.prints(&["invocation", id, "--wait", "30s"]).await?;
    assert!(taken.starts_with(&format!("{id}  odd  ")), "{taken}");
    assert_eq!(weir.json(&["invocation", id, "--cancel"]).await?["id"], id);

    let error = weir.fails(&["call", "odd", "bad", "fail_terminal", "{\"key\":\"b\"}"]).await?;
    assert!(error.contains("bad.fail_terminal of odd") && error.contains("(asked-for)"), "{error}");
    let error = weir.fails(&["call", "odd", "bad", "count", "{\"key\":b}"]).await?;
    assert!(error.contains("line 1, column 8"), "{error}");
    Ok(())
}

#[tokio::test]
async fn failures_are_json_where_json_is_asked_for() -> Result<()> {
    let (scratch, server, _client) = crate::server().await?;
    let weir = Weir { url: server.url().to_owned() };
    let problem: Value =
        serde_json::from_str(&weir.fails(&["describe", "nobody", "-o", "json"]).await?)?;
    assert_eq!((&problem["code"], &problem["status"]), (&"unknown-pipeline".into(), &404.into()));
    let local = weir.fails(&["apply", "-f", "no/such/file", "-o", "json"]).await?;
    let local: Value = serde_json::from_str(&local)?;
    assert_eq!(local["code"], "client", "{local}");

    let file = write(scratch.path(), "broken.yaml", "pipeline: [")?;
    let error = weir.fails(&["apply", "-f", &file]).await?;
    assert!(error.contains("1 error\n  2:1 ") && error.contains("YAML"), "{error}");
    Ok(())
}

/// Waits until the event is counted by the one operator and given up by the other.
async fn settled(client: &Client) -> Result<Value> {
    let given_up = |audit: &Value| {
        let operators = audit["operators"].as_array().into_iter().flatten();
        operators.map(|operator| operator["dead_lettered"].as_u64().unwrap_or(0)).sum::<u64>() == 1
    };
    client.audit_where("odd", |audit| audit["balanced"] == true && given_up(audit)).await
}
