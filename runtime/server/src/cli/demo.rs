//! `weir demo`: a server, and beside it a client that does over HTTP what a person
//! would: uploads the order-fulfilment modules, deploys the pipeline, loads stock,
//! sends the recorded orders, and then keeps a gentle stream of new ones coming.
//!
//! Started again on the same data it goes on: what is there already is not sent again.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context as _, Result};
use reqwest::Method;
use serde_json::Value;
use tokio::sync::oneshot;

use super::{ServeArgs, announce, client::Client, server::DEFAULT_SERVER};

const MODULES: [&str; 4] = ["order", "inventory", "payment", "shipping"];
const VERSION: &str = "1.0.0";
/// Recorded orders in one request; a request that was taken is not taken again.
const CHUNK: usize = 500;
/// Between two orders of the gentle stream.
const PACE: Duration = Duration::from_millis(400);

#[derive(clap::Args)]
pub(super) struct DemoArgs {
    #[command(flatten)]
    serve: ServeArgs,
    /// The example: pipeline.yaml, restock.jsonl and input.jsonl.
    #[arg(long, default_value = "examples/order-fulfilment")]
    example: PathBuf,
    /// Its four modules, as `make guests` builds them.
    #[arg(long, default_value = "target/guests")]
    modules: PathBuf,
}

pub(super) async fn run(args: DemoArgs) -> Result<()> {
    let scene = Scene::read(&args)?;
    let (send, listening) = oneshot::channel();
    let server = crate::serve(args.serve.listen, args.serve.data, move |address| {
        announce(address);
        // The client is there as long as the server is.
        let _ = send.send(address);
    });
    tokio::pin!(server);
    let play = async {
        let address = listening.await.context("the server did not start")?;
        scene.play(address).await
    };
    tokio::select! {
        biased;
        ended = &mut server => return ended,
        // Whatever becomes of a request now is no failure of the demo.
        () = crate::serve::told_to_end() => {}
        Err(error) = play => eprintln!("weir: the demo cannot go on, the server does: {error:#}"),
    }
    server.await
}

/// Everything that is sent.
struct Scene {
    pipeline: String,
    modules: Vec<(&'static str, Vec<u8>)>,
    restock: Vec<String>,
    orders: Vec<String>,
}

impl Scene {
    fn read(args: &DemoArgs) -> Result<Self> {
        let text = |name: &str| {
            let path = args.example.join(name);
            std::fs::read_to_string(&path).with_context(|| hint(&path, "--example"))
        };
        let lines = |name: &str| -> Result<Vec<String>> {
            Ok(text(name)?.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect())
        };
        let module = |name: &'static str| {
            let path = args.modules.join(name).with_extension("wasm");
            Ok((name, std::fs::read(&path).with_context(|| hint(&path, "--modules"))?))
        };
        Ok(Self {
            pipeline: text("pipeline.yaml")?,
            modules: MODULES.into_iter().map(module).collect::<Result<_>>()?,
            restock: lines("restock.jsonl")?,
            orders: lines("input.jsonl")?,
        })
    }

    async fn play(&self, address: SocketAddr) -> Result<()> {
        let client = Client::new(format!("http://{address}").parse()?)?;
        for (name, bytes) in &self.modules {
            self.upload(&client, name, bytes).await?;
        }
        let apply = client
            .request(Method::PUT, "/pipelines/order-fulfilment")
            .header("content-type", "application/yaml")
            .body(self.pipeline.clone());
        let deployed: Value = client.ask(apply).await?.read()?;
        println!("weir: order-fulfilment runs, revision {}", deployed["revision"]);

        self.feed(&client, "restock", &self.restock).await?;
        self.feed(&client, "orders", &self.orders).await?;
        // The command line looks for a server at the default address.
        let elsewhere = if format!("http://{address}") == DEFAULT_SERVER {
            String::new()
        } else {
            format!("  export WEIR_SERVER=http://{address}\n")
        };
        println!(
            "weir: {} orders are in. Open http://{address}/pipelines/order-fulfilment and try:\n\
             \n{elsewhere}  weir tail shipments\
             \n  weir describe order-fulfilment\
             \n  weir state order-fulfilment inventory\
             \n  weir call order-fulfilment order status '{{\"order_id\":\"{}\"}}'\
             \n\nCtrl-C stops it cleanly; started again it goes on.",
            self.orders.len(),
            self.orders.last().and_then(|order| id_of(order)).unwrap_or_default(),
        );
        self.go_on(&client).await
    }

    /// A module of this name and version that is there already stays, whatever was
    /// built since: modules are immutable.
    async fn upload(&self, client: &Client, name: &str, bytes: &[u8]) -> Result<()> {
        let there = client.request(Method::GET, &format!("/modules/{name}/{VERSION}"));
        if client.send(there).await.is_ok() {
            return Ok(());
        }
        let path = format!("/modules?name={name}&version={VERSION}");
        let request = client.request(Method::POST, &path).body(bytes.to_vec());
        let module = client.ask(request).await.with_context(|| format!("module {name}"))?;
        let module: Value = module.read()?;
        println!(
            "weir: uploaded {name}@{VERSION}, compiled in {} ms",
            module["report"]["compile_ms"]
        );
        Ok(())
    }

    /// Sends lines that are not in the topic yet. Each request has a key of its own,
    /// so one that was taken just before a crash is not taken twice.
    async fn feed(&self, client: &Client, topic: &str, lines: &[String]) -> Result<()> {
        let there = records(client, topic).await?;
        for (i, chunk) in lines.chunks(CHUNK).enumerate() {
            if ((i + 1) * CHUNK).min(lines.len()) as u64 <= there {
                continue;
            }
            let request = client
                .request(Method::POST, &format!("/topics/{topic}/records"))
                .header("content-type", "application/x-ndjson")
                .header("idempotency-key", format!("demo-{topic}-{i}"))
                .body(chunk.join("\n"));
            client.send(request).await?;
        }
        Ok(())
    }

    /// New orders like the recorded ones, now and then a restock and a cancellation.
    async fn go_on(&self, client: &Client) -> Result<()> {
        let mut n = records(client, "orders").await?;
        let mut pace = tokio::time::interval(PACE);
        loop {
            pace.tick().await;
            let order = self.order(n)?;
            self.append(client, "orders", &order).await?;
            if n % 10 == 0
                && let Some(line) = pick(&self.restock, n / 10)
            {
                self.append(client, "restock", line).await?;
            }
            if n % 25 == 24 {
                self.cancel(client, &live_id(n - 5)).await?;
            }
            n += 1;
        }
    }

    /// Cancels an order, if it was confirmed.
    async fn cancel(&self, client: &Client, order: &str) -> Result<()> {
        let id = serde_json::json!({ "order_id": order });
        let call = |handler: &str| {
            let path = format!("/call/order-fulfilment/order/{handler}");
            client.request(Method::POST, &path).json(&id)
        };
        let order: Value = client.ask(call("status")).await?.read()?;
        if order["status"] == "confirmed" {
            // It may have left the warehouse meanwhile: then there is nothing to cancel.
            let _ = client.send(call("cancel")).await;
        }
        Ok(())
    }

    /// Order `n` of the stream: a recorded one with an id of its own.
    fn order(&self, n: u64) -> Result<String> {
        let recorded = pick(&self.orders, n.wrapping_mul(7919)).context("input.jsonl is empty")?;
        let mut order: Value = serde_json::from_str(recorded)?;
        order["order_id"] = live_id(n).into();
        Ok(order.to_string())
    }

    async fn append(&self, client: &Client, topic: &str, line: &str) -> Result<()> {
        let request = client
            .request(Method::POST, &format!("/topics/{topic}/records"))
            .header("content-type", "application/x-ndjson")
            .body(line.to_owned());
        client.send(request).await?;
        Ok(())
    }
}

fn hint(path: &Path, flag: &str) -> String {
    format!(
        "{} cannot be read: run `make demo` in Weir's sources, or name its folder with {flag}",
        path.display()
    )
}

fn live_id(n: u64) -> String {
    format!("live-{n}")
}

fn id_of(order: &str) -> Option<String> {
    let order: Value = serde_json::from_str(order).ok()?;
    order["order_id"].as_str().map(str::to_owned)
}

fn pick(lines: &[String], n: u64) -> Option<&String> {
    lines.get((n % lines.len().max(1) as u64) as usize)
}

async fn records(client: &Client, topic: &str) -> Result<u64> {
    let topic: Value = client.get(&format!("/topics/{topic}")).await?.read()?;
    topic["records"].as_u64().context("the topic does not say how many records it has")
}
