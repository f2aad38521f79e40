//! The order-fulfilment example as the tests run it.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::{client::Client, guests};

/// The name of its pipeline.
pub const PIPELINE: &str = "order-fulfilment";

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../examples/order-fulfilment")
}

fn text(name: &str) -> Result<String> {
    let path = folder().join(name);
    std::fs::read_to_string(&path).with_context(|| format!("{} cannot be read", path.display()))
}

/// The pipeline file.
///
/// # Errors
/// If it cannot be read.
pub fn file() -> Result<String> {
    text("pipeline.yaml")
}

/// Stock, one delivery a line.
///
/// # Errors
/// If it cannot be read.
pub fn restock() -> Result<String> {
    text("restock.jsonl")
}

/// Recorded orders, one a line.
///
/// # Errors
/// If they cannot be read.
pub fn orders() -> Result<String> {
    text("input.jsonl")
}

/// Uploads the four modules and deploys a pipeline file that uses them.
///
/// # Errors
/// If a module has not been built, or anything is refused.
pub async fn deploy(client: &Client, file: &str) -> Result<()> {
    for name in ["order", "inventory", "payment", "shipping"] {
        client.upload(name, "1.0.0", guests::bytes(name)?).await?;
    }
    client.deploy(PIPELINE, file).await?;
    Ok(())
}

/// Runs the example's own checker, which waits until the pipeline is at rest.
///
/// # Errors
/// If an invariant does not hold, with the checker's words.
pub fn check(url: &str) -> Result<String> {
    let output = std::process::Command::new("python3")
        .arg(folder().join("check.py"))
        .args(["--url", url, "--wait", "120", "--no-calls"])
        .output()?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        bail!("{said}{}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(said)
}
