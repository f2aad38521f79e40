//! What a person waits for: an idle server's memory and rest, and the time from an
//! upload to the first event out, compilation shown apart.

use std::time::{Duration, Instant};

use anyhow::Result;
use weir_tests::{client::Client, guests, process::Weir};

use crate::report::Report;

const FILE: &str = "
pipeline: first
sources:
  in: { topic: in, partitions: 1 }
operators:
  count: { module: counter@1.0.0, input: in, key: /key }
sinks:
  out: { topic: out, input: count.out, partitions: 1 }
";

/// Runs it.
pub(crate) async fn run(report: &mut Report) -> Result<()> {
    report.section("Start");
    let scratch = tempfile::tempdir()?;
    let data = scratch.path().join("data");
    std::fs::create_dir_all(&data)?;
    let weir = Weir::start(&data)?;
    let client = Client::new(weir.url());
    client.ready().await?;
    let rested = weir.usage()?;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let idle = weir.usage()?;
    report.figure("idle `weir serve`, memory", format!("{} MB", idle.rss / 1_000_000));
    report.figure("idle, CPU in 2 s", format!("{} ms", (idle.cpu - rested.cpu).as_millis()));

    let bytes = guests::bytes("counter")?;
    let begin = Instant::now();
    let module = client.upload("counter", "1.0.0", bytes).await?;
    let uploaded = begin.elapsed();
    client.deploy("first", FILE).await?;
    let deployed = begin.elapsed();
    client.ingest("in", "{\"key\":\"a\"}\n".into()).await?;
    client.records_at_least("out", 1).await?;
    let first = begin.elapsed();
    let ms = |d: Duration| format!("{} ms", d.as_millis());
    report.figure("upload to first event out", ms(first));
    report.figure("of it upload and check", ms(uploaded));
    report.figure("of it compilation", format!("{} ms", module["report"]["compile_ms"]));
    report.figure("of it deploy", ms(deployed - uploaded));
    weir.terminate()?;
    Ok(())
}
