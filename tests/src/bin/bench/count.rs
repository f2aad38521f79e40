//! A keyed count over Nexmark events, read from a durable topic, committed, its
//! output discarded; beside it the single-threaded native program on the same files.

use std::{
    collections::HashMap,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

use anyhow::{Context, Result, bail};
use weir_tests::{client::Client, guests, process::Weir, wait::until};

use crate::{Options, report::Report};

const FILE: &str = "
pipeline: keyed-count
sources:
  events: { topic: events }
operators:
  count: { module: bidcount@1.0.0, input: events, key: { pointer: /bid/bidder, missing: skip }, parallelism: 2 }
sinks:
  out: { discard: true, input: count.out }
";

/// The generator and the native program: `WEIR_NEXMARK`, or beside the checkout.
fn nexmark() -> Option<PathBuf> {
    let path = std::env::var_os("WEIR_NEXMARK").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/bench/nexmark"),
        PathBuf::from,
    );
    path.join("Cargo.toml").exists().then_some(path)
}

fn tool(sources: &Path, target: &Path, name: &str) -> Result<Command> {
    let status = Command::new("cargo")
        .args(["build", "--release", "--quiet", "--manifest-path"])
        .arg(sources.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(target)
        .status()?;
    if !status.success() {
        bail!("the Nexmark generator does not build");
    }
    Ok(Command::new(target.join("release").join(name)))
}

/// What the native program says that it used.
fn cpu_per_million(said: &str) -> Result<f64> {
    let figure = said.split_once("cpu_s_per_M ").and_then(|(_, rest)| rest.split(' ').next());
    figure
        .and_then(|figure| figure.parse().ok())
        .with_context(|| format!("the native program said no `cpu_s_per_M`: {said}"))
}

/// Runs it.
pub(crate) async fn run(options: &Options, report: &mut Report) -> Result<()> {
    report
        .section(&format!("Keyed count over {} Nexmark events, output discarded", options.events));
    let Some(sources) = nexmark() else {
        report.figure("skipped", "no Nexmark generator: set WEIR_NEXMARK to its folder");
        return Ok(());
    };
    let scratch = tempfile::tempdir()?;
    // The sources may stand in a folder that cannot be written.
    let copy = scratch.path().join("nexmark");
    Command::new("cp").arg("-r").arg(&sources).arg(&copy).status()?;
    let target = weir_tests::process::target_dir()?.join("nexmark");
    let files = scratch.path().join("events");
    std::fs::create_dir_all(&files)?;
    let made = tool(&copy, &target, "nexgen")?
        .arg(options.events.to_string())
        .arg(&files)
        .arg("1")
        .output()?;
    if !made.status.success() {
        bail!("the generator failed: {}", String::from_utf8_lossy(&made.stderr));
    }
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(&files)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    paths.sort();

    let native = tool(&copy, &target, "native")?.arg("count").args(&paths).output()?;
    let native = cpu_per_million(&String::from_utf8_lossy(&native.stdout))?;
    report.figure("native, one thread", format!("{native:.2} CPU s per million events"));

    let data = scratch.path().join("data");
    std::fs::create_dir_all(&data)?;
    let weir = Weir::start(&data)?;
    let client = Client::new(weir.url());
    client.ready().await?;
    client.upload("bidcount", "1.0.0", guests::bytes("bidcount")?).await?;
    let topic =
        client.request("PUT", "/v1/topics/events").json(&serde_json::json!({"partitions": 2}));
    client.ok(topic).await?;

    let before = weir.usage()?;
    let mut expected: HashMap<u64, u64> = HashMap::new();
    let mut bytes = 0;
    for path in &paths {
        let mut chunk = String::new();
        let mut lines = 0;
        for line in BufReader::new(std::fs::File::open(path)?).lines() {
            let line = line?;
            if let Some(bidder) = bidder(&line) {
                *expected.entry(bidder).or_default() += 1;
            }
            bytes += line.len();
            chunk.push_str(&line);
            chunk.push('\n');
            lines += 1;
            if lines == 10_000 {
                client.ingest("events", std::mem::take(&mut chunk)).await?;
                lines = 0;
            }
        }
        if lines > 0 {
            client.ingest("events", chunk).await?;
        }
    }
    let ingested = weir.usage()?;
    let millions = options.events as f64 / 1e6;
    report.figure("event size", format!("{} bytes", bytes as u64 / options.events));
    report.figure(
        "ingest over HTTP",
        format!(
            "{:.2} CPU s per million events",
            (ingested.cpu - before.cpu).as_secs_f64() / millions
        ),
    );

    let began = Instant::now();
    client.deploy("keyed-count", FILE).await?;
    let events = options.events;
    until("every event is counted", || async {
        let audit = client.get("/v1/pipelines/keyed-count/audit").await?;
        let taken = audit["operators"][0]["taken"].as_u64().unwrap_or(0);
        Ok((taken >= events).then_some(()))
    })
    .await?;
    let wall = began.elapsed().as_secs_f64();
    let after = weir.usage()?;

    let audit = client.get("/v1/pipelines/keyed-count/audit").await?;
    if audit["balanced"] != true {
        bail!("the audit is not balanced: {audit}");
    }
    check(&client, &expected).await?;
    let cost = (after.cpu - ingested.cpu).as_secs_f64() / millions;
    report.figure("Weir, operator in WebAssembly", format!("{cost:.2} CPU s per million events"));
    report.figure("Weir / native", format!("{:.2}", cost / native));
    report.figure("throughput", format!("{:.0} events/s", events as f64 / wall));
    report.figure("keys", format!("{}, each count checked", expected.len()));
    report.figure("peak memory", format!("{} MB", after.rss_peak / 1_000_000));
    weir.terminate()?;
    Ok(())
}

/// The bidder of a bid, found as text: independent of every parser under test.
fn bidder(line: &str) -> Option<u64> {
    let bid = line.split_once("\"bid\":{")?.1;
    let digits = bid.split_once("\"bidder\":")?.1;
    digits.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

async fn check(client: &Client, expected: &HashMap<u64, u64>) -> Result<()> {
    let mut after = String::new();
    let mut seen = 0;
    loop {
        let path = format!("/v1/pipelines/keyed-count/operators/count/state?limit=1000{after}");
        let page = client.get(&path).await?;
        for entry in page["keys"].as_array().context("no keys")? {
            let key = entry["key"].as_str().context("a key that is no text")?;
            let count = entry["cells"]["count"].as_u64().context("no count")?;
            if expected.get(&key.parse()?) != Some(&count) {
                bail!("bidder {key}: counted {count}, expected {:?}", expected.get(&key.parse()?));
            }
            seen += 1;
        }
        match page["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => break,
        }
    }
    if seen != expected.len() {
        bail!("{seen} keys instead of {}", expected.len());
    }
    Ok(())
}
