//! Tests of the whole system: a real `weir` process, spoken to over HTTP.

mod bad_input;
mod command_line;
mod count;
mod guests_that_misbehave;
mod order_fulfilment;

/// A fresh data directory and a server on it, ready.
async fn server()
-> anyhow::Result<(tempfile::TempDir, weir_tests::process::Weir, weir_tests::client::Client)> {
    let scratch = tempfile::tempdir()?;
    let data = scratch.path().join("data");
    std::fs::create_dir_all(&data)?;
    let weir = weir_tests::process::Weir::start(&data)?;
    let client = weir_tests::client::Client::new(weir.url());
    client.ready().await?;
    Ok((scratch, weir, client))
}
