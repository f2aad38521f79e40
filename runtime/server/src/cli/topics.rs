//! `weir topics`.

use anyhow::Result;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{
    client::{Client, encode},
    output::{Output, count, show},
};

#[derive(clap::Args)]
pub(super) struct TopicsArgs {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(clap::Subcommand)]
enum Command {
    /// List the topics.
    List,
    /// Create a topic. Deploying a pipeline creates the topics of its file by itself.
    Create(CreateArgs),
    /// Delete a topic and its records. No pipeline may use it.
    Delete(DeleteArgs),
}

#[derive(clap::Args)]
struct CreateArgs {
    /// The topic.
    topic: String,
    /// How many partitions, fixed for ever; by default the server's choice.
    #[arg(long)]
    partitions: Option<u32>,
}

#[derive(clap::Args)]
struct DeleteArgs {
    /// The topic.
    topic: String,
}

pub(super) async fn topics(client: &Client, args: &TopicsArgs, out: &Output) -> Result<()> {
    match &args.command {
        None | Some(Command::List) => list(client, out).await,
        Some(Command::Create(args)) => create(client, args, out).await,
        Some(Command::Delete(args)) => delete(client, &args.topic, out).await,
    }
}

async fn list(client: &Client, out: &Output) -> Result<()> {
    let topics = client.pages("/topics", "topics").await?;
    out.list(&topics, ["NAME", "PARTITIONS", "RECORDS", "BYTES", "CLOSED"], |topic: &Value| {
        let closed = if topic["closed"] == true { "yes" } else { "no" };
        [
            show(&topic["name"]),
            show(&topic["partitions"]),
            show(&topic["records"]),
            show(&topic["bytes"]),
            closed.into(),
        ]
    })
}

async fn create(client: &Client, args: &CreateArgs, out: &Output) -> Result<()> {
    let settings = match args.partitions {
        Some(partitions) => json!({ "partitions": partitions }),
        None => json!({}),
    };
    let path = format!("/topics/{}", encode(&args.topic));
    let answer = client.ask(client.request(Method::PUT, &path).json(&settings)).await?;
    let topic: Value = answer.read()?;
    let partitions = topic["partitions"].as_u64().unwrap_or_default() as usize;
    out.answer(answer.json(), || {
        let made = if answer.status == StatusCode::CREATED { "created" } else { "already there" };
        format!(
            "{}  {}, {made}",
            show(&topic["name"]),
            count(partitions, "partition", "partitions")
        )
    });
    Ok(())
}

async fn delete(client: &Client, topic: &str, out: &Output) -> Result<()> {
    let path = format!("/topics/{}", encode(topic));
    client.ask(client.request(Method::DELETE, &path)).await?;
    out.answer(json!({ "deleted": topic }).to_string(), || format!("{topic} deleted"));
    Ok(())
}
