//! The shortest way from an upload to a committed result: a keyed count.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::json;
use weir_tests::{client::Client, guests, process::Weir};

const FILE: &str = "
pipeline: counts
sources:
  in: { topic: in, partitions: 3 }
operators:
  count: { module: counter@1.0.0, input: in, key: /key, parallelism: 2 }
sinks:
  out: { topic: out, input: count.out }
";

/// Lines with keys in a fixed pattern, and how often each key comes.
fn lines(from: u64, to: u64) -> (String, BTreeMap<String, u64>) {
    let mut counts = BTreeMap::new();
    let lines = (from..to).map(|n| {
        let key = format!("k{}", n * n % 17);
        *counts.entry(key.clone()).or_default() += 1;
        format!("{{\"key\":\"{key}\",\"n\":{n}}}\n")
    });
    (lines.collect(), counts)
}

/// Every key's outputs count up from 1 without a gap, to what the input says.
async fn assert_counted(client: &Client, expected: &BTreeMap<String, u64>) -> Result<()> {
    let total: u64 = expected.values().sum();
    let records = client.records_at_least("out", total as usize).await?;
    assert_eq!(records.len() as u64, total, "an output is missing or doubled");
    let mut last: BTreeMap<String, u64> = BTreeMap::new();
    for record in records {
        let key = record["value"]["key"].as_str().context("no key")?.to_owned();
        let count = record["value"]["count"].as_u64().context("no count")?;
        let seen = last.entry(key.clone()).or_default();
        assert_eq!(count, *seen + 1, "key {key} goes out of order");
        *seen = count;
    }
    assert_eq!(&last, expected);
    for (key, count) in expected {
        let state =
            client.get(&format!("/v1/pipelines/counts/operators/count/state/{key}")).await?;
        assert_eq!(state["cells"]["count"].as_u64(), Some(*count), "{state}");
    }
    client
        .audit_where("counts", |a| a["balanced"] == true && a["operators"][0]["ended"] == total)
        .await?;
    Ok(())
}

#[tokio::test]
async fn a_count_by_key_is_right_and_goes_on_after_a_restart_and_a_kill() -> Result<()> {
    let (scratch, weir, client) = crate::server().await?;
    client.upload("counter", "1.0.0", guests::bytes("counter")?).await?;
    client.deploy("counts", FILE).await?;
    let (first, mut expected) = lines(0, 5_000);
    client.ingest("in", first).await?;
    assert_counted(&client, &expected).await?;
    let pipeline = client.get("/v1/pipelines/counts").await?;
    assert_eq!(pipeline["status"], "running");
    assert_eq!(pipeline["graph"]["nodes"].as_array().map(Vec::len), Some(3));
    weir.terminate()?;

    let data = scratch.path().join("data");
    let weir = Weir::start(&data)?;
    let client = Client::new(weir.url());
    client.ready().await?;
    let (second, more) = lines(5_000, 6_000);
    client.ingest("in", second).await?;
    for (key, n) in more {
        *expected.entry(key).or_default() += n;
    }
    assert_counted(&client, &expected).await?;
    weir.kill()?;

    let weir = Weir::start(&data)?;
    let client = Client::new(weir.url());
    client.ready().await?;
    assert_counted(&client, &expected).await?;
    Ok(())
}

#[tokio::test]
async fn kill_9_under_load_loses_and_doubles_nothing() -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let data = scratch.path().join("data");
    std::fs::create_dir_all(&data)?;
    let mut expected = BTreeMap::new();
    let mut weir = Weir::start(&data)?;
    let mut client = Client::new(weir.url());
    client.ready().await?;
    client.upload("counter", "1.0.0", guests::bytes("counter")?).await?;
    client.deploy("counts", FILE).await?;
    for round in 0..8_u64 {
        // Several requests; the kill falls at another place in each round, after
        // the answer to one of them and in the middle of the work.
        for part in 0..=round % 3 {
            let from = round * 10_000 + part * 700;
            let (lines, counts) = lines(from, from + 700);
            client.ingest("in", lines).await?;
            for (key, n) in counts {
                *expected.entry(key).or_default() += n;
            }
        }
        client.records_at_least("out", (round * 300) as usize).await?;
        weir.kill()?;
        weir = Weir::start(&data)?;
        client = Client::new(weir.url());
        client.ready().await?;
    }
    assert_counted(&client, &expected).await
}

#[tokio::test]
async fn a_pipeline_runs_once_whoever_deploys_stops_and_deletes_it_at_the_same_time() -> Result<()>
{
    let (scratch, weir, client) = crate::server().await?;
    client.upload("counter", "1.0.0", guests::bytes("counter")?).await?;
    client.deploy("counts", FILE).await?;
    let mut workers = tokio::task::JoinSet::new();
    for worker in 0..8_usize {
        let client = client.clone();
        workers.spawn(async move {
            for round in 0..40 {
                let path = "/v1/pipelines/counts";
                let request = match (worker + round) % 5 {
                    0 => client.request("POST", &format!("{path}/stop")),
                    1 => client.request("DELETE", path),
                    2 => client.request("POST", &format!("{path}/resume")),
                    parallelism => {
                        client.request("PUT", path).header("content-type", "application/yaml").body(
                            FILE.replace("parallelism: 2", &format!("parallelism: {parallelism}")),
                        )
                    }
                };
                let answer = client.answer(request).await?;
                assert!(answer.status < 500, "{}", answer.body);
                client.ingest("in", lines(0, 10).0).await?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(worker) = workers.join_next().await {
        worker??;
    }
    client.deploy("counts", FILE).await?;
    client.answer(client.request("POST", "/v1/pipelines/counts/resume")).await?;
    client
        .audit_where("counts", |a| a["balanced"] == true && a["operators"][0]["ended"] == 3_200)
        .await?;
    weir.terminate()?;
    let log = std::fs::read_to_string(scratch.path().join("data").with_extension("log"))?;
    assert!(!log.contains("ERROR"), "{log}");
    Ok(())
}

/// The SDK looks at strings sixteen bytes at a time in WebAssembly only, so that its
/// own tests do not.
#[tokio::test]
async fn strings_of_every_length_are_read_in_webassembly_as_they_should_be() -> Result<()> {
    const BIDS: &str = "
pipeline: bids
sources:
  in: { topic: in, partitions: 1 }
operators:
  count: { module: bidcount@1.0.0, input: in, key: /bid/bidder }
sinks:
  out: { discard: true, input: count.out }
";
    let (_scratch, _weir, client) = crate::server().await?;
    client.upload("bidcount", "1.0.0", guests::bytes("bidcount")?).await?;
    client.deploy("bids", BIDS).await?;
    let (mut good, mut bad) = (Vec::new(), Vec::new());
    for length in 1..=40 {
        for at in 0..length {
            let event = |odd: &str| {
                let (before, after) = ("a".repeat(at), "z".repeat(length - at - 1));
                format!(r#"{{"bid":{{"bidder":7}},"pad":"{before}{odd}{after}"}}"#)
            };
            good.extend(["b", "é", r#"\""#, r"\\", r"\u0041"].map(event));
            bad.extend(["\0", "\n", "\x1f", "\"", r"\x"].map(event));
        }
    }
    let records = good.iter().chain(&bad).map(|event| {
        let value = BASE64_STANDARD.encode(event);
        json!({ "value": { "base64": value } })
    });
    let request = client.request("POST", "/v1/topics/in/records");
    client.ok(request.json(&records.collect::<Vec<_>>())).await?;
    let (good, bad) = (good.len() as u64, bad.len() as u64);
    client
        .audit_where("bids", |audit| {
            let count = &audit["operators"][0];
            count["taken"] == good + bad && count["waiting"] == 0
        })
        .await?;
    let audit = client.get("/v1/pipelines/bids/audit").await?;
    assert_eq!(audit["operators"][0]["dead_lettered"], bad, "{audit}");
    let state = client.get("/v1/pipelines/bids/operators/count/state/7").await?;
    assert_eq!(state["cells"]["count"], good, "{state}");
    Ok(())
}
