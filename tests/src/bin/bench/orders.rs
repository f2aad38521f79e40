//! 1,000 orders a second through the order-fulfilment example, in an open loop: an
//! order's clock starts when it was due, not when there was time to send it, and
//! stops when a reader sees its outcome in a topic. Beside it, in the same run, a
//! bare group commit of the same bytes at the same pace: what the disk alone takes.

use std::{
    collections::HashMap,
    io::Write as _,
    sync::{Arc, Mutex, mpsc},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use futures::StreamExt as _;
use serde_json::Value;
use weir_tests::{client::Client, example, process::Weir, wait::until};

use crate::{Options, report::Report};

const PER_SECOND: u32 = 1_000;

/// When each order was due, and how long it took.
#[derive(Default)]
struct Ledger {
    due: HashMap<String, Instant>,
    taken: Vec<Duration>,
}

/// Runs it.
pub(crate) async fn run(options: &Options, report: &mut Report) -> Result<()> {
    report
        .section(&format!("{PER_SECOND} orders/s through order-fulfilment, {} s", options.seconds));
    let scratch = tempfile::tempdir()?;
    let data = scratch.path().join("data");
    std::fs::create_dir_all(&data)?;
    let weir = Weir::start(&data)?;
    let client = Client::new(weir.url());
    client.ready().await?;
    example::deploy(&client, &example::file()?).await?;
    client.ingest("restock", example::restock()?).await?;

    let ledger = Arc::new(Mutex::new(Ledger::default()));
    let tails = ["confirmed", "rejected"]
        .map(|topic| tokio::spawn(tail(client.clone(), topic, Arc::clone(&ledger))));

    let orders: Vec<String> = example::orders()?
        .lines()
        .take((u64::from(PER_SECOND) * options.seconds) as usize)
        .map(str::to_owned)
        .collect();
    let before = weir.usage()?;
    let begin = Instant::now() + Duration::from_millis(200);
    let mut sending = tokio::task::JoinSet::new();
    for (i, order) in orders.iter().enumerate() {
        let due = begin + i as u32 * Duration::from_secs(1) / PER_SECOND;
        let id: Value = serde_json::from_str(order)?;
        let id = id["order_id"].as_str().context("an order without an id")?.to_owned();
        lock(&ledger).due.insert(id, due);
        let (client, order) = (client.clone(), order.clone());
        sending.spawn(async move {
            tokio::time::sleep_until(due.into()).await;
            client.ingest("orders", order).await
        });
    }
    while let Some(sent) = sending.join_next().await {
        sent??;
    }
    let count = orders.len();
    until("every order has its outcome", || async {
        Ok((lock(&ledger).taken.len() >= count).then_some(()))
    })
    .await?;
    let after = weir.usage()?;
    for tail in tails {
        tail.abort();
    }
    let taken = std::mem::take(&mut lock(&ledger).taken);
    if taken.len() != count {
        bail!("{} outcomes for {count} orders", taken.len());
    }
    report.figure("committed end to end", percentiles(taken));
    report
        .figure("bare group commit of the same bytes", percentiles(bare(&orders, scratch.path())?));
    let cpu = (after.cpu - before.cpu).as_secs_f64() / count as f64 * 1e6;
    report.figure("CPU per order, HTTP and tails included", format!("{cpu:.0} us"));
    let audit = client.audit_where("order-fulfilment", |audit| audit["balanced"] == true).await?;
    report.figure("audit", format!("balanced at epoch {}", audit["epoch"]));
    weir.terminate()?;
    Ok(())
}

fn lock(ledger: &Mutex<Ledger>) -> std::sync::MutexGuard<'_, Ledger> {
    ledger.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Follows a topic and notes the outcome of every order the moment it is seen.
async fn tail(client: Client, topic: &'static str, ledger: Arc<Mutex<Ledger>>) -> Result<()> {
    let request = client
        .request("GET", &format!("/v1/topics/{topic}/records?from=earliest"))
        .header("accept", "text/event-stream");
    let mut body = request.send().await?.error_for_status()?.bytes_stream();
    let mut text = Vec::new();
    while let Some(part) = body.next().await {
        text.extend_from_slice(&part?);
        let seen = Instant::now();
        while let Some(end) = text.iter().position(|b| *b == b'\n') {
            let line: Vec<u8> = text.drain(..=end).collect();
            let Some(data) = line.strip_prefix(b"data:") else { continue };
            let record: Value = serde_json::from_slice(data)?;
            let id = record["value"]["order_id"].as_str().context("an outcome without an id")?;
            let mut ledger = lock(&ledger);
            // An order id may come twice in the input; its outcome comes once.
            if let Some(due) = ledger.due.remove(id) {
                ledger.taken.push(seen.saturating_duration_since(due));
            }
        }
    }
    Ok(())
}

fn percentiles(mut taken: Vec<Duration>) -> String {
    taken.sort_unstable();
    let at = |p: f64| {
        let i = ((taken.len() as f64 * p) as usize).min(taken.len().saturating_sub(1));
        taken.get(i).copied().unwrap_or_default().as_secs_f64() * 1e3
    };
    format!("p50 {:.1} ms, p99 {:.1} ms, p99.9 {:.1} ms", at(0.5), at(0.99), at(0.999))
}

/// Appends each order when it is due and syncs once for all that wait.
fn bare(orders: &[String], folder: &std::path::Path) -> Result<Vec<Duration>> {
    let mut file = std::fs::File::create(folder.join("bare"))?;
    let (send, receive) = mpsc::channel::<(Instant, String)>();
    let writer = std::thread::spawn(move || -> Result<Vec<Duration>> {
        let mut taken = Vec::new();
        while let Ok(first) = receive.recv() {
            let group: Vec<_> = std::iter::once(first).chain(receive.try_iter()).collect();
            for (_, order) in &group {
                file.write_all(order.as_bytes())?;
            }
            file.sync_data()?;
            let done = Instant::now();
            taken.extend(group.iter().map(|(due, _)| done.saturating_duration_since(*due)));
        }
        Ok(taken)
    });
    let begin = Instant::now();
    for (i, order) in orders.iter().enumerate() {
        let due = begin + i as u32 * Duration::from_secs(1) / PER_SECOND;
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        send.send((due, order.clone()))?;
    }
    drop(send);
    writer.join().map_err(|_| anyhow::anyhow!("the writer panicked"))?
}
