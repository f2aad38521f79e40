//! The example, with its own independent checker: nothing lost, nothing doubled.

use anyhow::{Context, Result};
use rand::{Rng, SeedableRng, rngs::StdRng};
use serde_json::{Value, json};
use weir_tests::{client::Client, example, process::Weir, wait::until};

/// The file with another parallelism, and another limit of invocations at once.
fn file(parallelism: u32, concurrency: u32) -> Result<String> {
    let file = example::file()?;
    let mut out = String::new();
    for line in file.lines() {
        if line.trim_start().starts_with("parallelism:") {
            continue;
        }
        out.push_str(line);
        out.push('\n');
        if line.trim_start().starts_with("module:") {
            out.push_str(&format!(
                "    parallelism: {parallelism}\n    concurrency: {concurrency}\n"
            ));
        }
    }
    Ok(out)
}

async fn send_orders(client: &Client, orders: &[&str], chunk: usize, seed: u64) -> Result<()> {
    for (i, lines) in orders.chunks(chunk).enumerate() {
        let request = client
            .request("POST", "/v1/topics/orders/records")
            .header("content-type", "application/x-ndjson")
            .header("idempotency-key", format!("orders-{seed}-{i}"));
        client.ok(request.body(lines.join("\n"))).await?;
    }
    Ok(())
}

async fn holds_with(parallelism: u32, concurrency: u32) -> Result<()> {
    let (_scratch, weir, client) = crate::server().await?;
    example::deploy(&client, &file(parallelism, concurrency)?).await?;
    client.ingest("restock", example::restock()?).await?;
    let orders = example::orders()?;
    let orders: Vec<&str> = orders.lines().take(3_000).collect();
    send_orders(&client, &orders, 500, 0).await?;
    let said = example::check(weir.url())?;
    eprintln!("{said}");
    assert!(said.contains("3000 orders"), "{said}");
    Ok(())
}

#[tokio::test]
async fn the_invariants_hold_with_one_task_per_operator() -> Result<()> {
    holds_with(1, 1024).await
}

#[tokio::test]
async fn the_invariants_hold_with_three_tasks_and_four_invocations_at_once() -> Result<()> {
    holds_with(3, 4).await
}

#[tokio::test]
async fn a_cancelled_order_is_released_and_refunded() -> Result<()> {
    let (_scratch, weir, client) = crate::server().await?;
    example::deploy(&client, &example::file()?).await?;
    client.ingest("restock", example::restock()?).await?;
    let orders = example::orders()?;
    let orders: Vec<&str> = orders.lines().take(200).collect();
    send_orders(&client, &orders, 200, 0).await?;
    let mut cancelled = 0;
    for order in orders.iter().step_by(7) {
        let order: Value = serde_json::from_str(order)?;
        let id = json!({ "order_id": order["order_id"] });
        let call = |handler: &str| {
            let path = format!("/v1/call/order-fulfilment/order/{handler}");
            client.request("POST", &path).json(&id)
        };
        let status = until("the order is placed", || async {
            let status = client.ok(call("status")).await?["status"].clone();
            Ok((!status.is_null()).then_some(status))
        })
        .await?;
        // One that was rejected cannot be cancelled, nor one that has left: they say so.
        let answer = client.answer(call("cancel")).await?;
        assert!(matches!(answer.status, 200 | 422), "{}", answer.body);
        assert!(status == "confirmed" || answer.status == 422, "{}", answer.body);
        cancelled += u32::from(answer.status == 200);
    }
    assert!(cancelled > 0, "every order had left before it could be cancelled");
    let said = example::check(weir.url())?;
    eprintln!("{said}");
    Ok(())
}

#[tokio::test]
async fn twenty_kills_at_random_moments_lose_and_double_nothing() -> Result<()> {
    twenty_kills(&[]).await
}

#[tokio::test]
async fn twenty_power_failures_at_random_moments_lose_and_double_nothing() -> Result<()> {
    // Writes are held in the process until they are synced, so a kill loses the rest.
    twenty_kills(&[("WEIR_FAULT", "hold-writes")]).await
}

async fn twenty_kills(env: &[(&str, &str)]) -> Result<()> {
    let seed = std::env::var("WEIR_CRASH_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(1);
    eprintln!("WEIR_CRASH_SEED={seed}");
    let mut random = StdRng::seed_from_u64(seed);
    let scratch = tempfile::tempdir()?;
    let data = scratch.path().join("data");
    std::fs::create_dir_all(&data)?;
    let mut weir = Weir::start_with(&data, env)?;
    let mut client = Client::new(weir.url());
    client.ready().await?;
    example::deploy(&client, &file(2, 64)?).await?;
    client.ingest("restock", example::restock()?).await?;
    let orders = example::orders()?;
    let orders: Vec<&str> = orders.lines().take(4_000).collect();
    for (round, lines) in orders.chunks(orders.len() / 20).enumerate() {
        // The kill comes while requests are on their way. One that got no answer is
        // sent again with its key: it counts once, whatever had become of it.
        let sending = send_orders(&client, lines, 40, round as u64);
        let pause = std::time::Duration::from_millis(random.random_range(0..150));
        tokio::select! {
            sent = sending => sent?,
            () = tokio::time::sleep(pause) => {}
        }
        weir.kill()?;
        weir = Weir::start_with(&data, env)?;
        client = Client::new(weir.url());
        client.ready().await?;
        send_orders(&client, lines, 40, round as u64).await?;
    }
    let said = example::check(weir.url()).with_context(|| format!("WEIR_CRASH_SEED={seed}"))?;
    eprintln!("{said}");
    assert!(said.contains("4000 orders"), "{said}");
    let log = std::fs::read_to_string(data.with_extension("log"))?;
    let held = log.matches("writes are held in memory until they are synced").count();
    assert_eq!(held, if env.is_empty() { 0 } else { 21 }, "the fault is in this build, or not");
    Ok(())
}
