//! `make bench`: what Weir costs, measured in one run on one machine.
//!
//! Prints a table and writes it to `tests/benches/RESULTS.md`. Figures are CPU
//! seconds of the whole `weir` process, user and system; compare ratios within a
//! run, since machines differ. Results are checked before a figure is printed.
//!
//! Arguments: `--events N` (default 2,000,000), `--seconds N` of orders (default
//! 20), `--only count|orders|start`, `--smoke` (few events, nothing written).

#![expect(clippy::disallowed_methods, reason = "a bench reads the clock")]

mod count;
mod orders;
mod report;
mod start;

use anyhow::Result;

/// What to run.
pub(crate) struct Options {
    /// Events of the keyed count.
    pub(crate) events: u64,
    /// Seconds of orders at 1,000 a second.
    pub(crate) seconds: u64,
    /// Only this part.
    pub(crate) only: Option<String>,
    /// A short run for correctness.
    pub(crate) smoke: bool,
}

fn options() -> Result<Options> {
    let mut options = Options { events: 2_000_000, seconds: 20, only: None, smoke: false };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| anyhow::anyhow!("{arg} wants a value"));
        match arg.as_str() {
            "--events" => options.events = value()?.parse()?,
            "--seconds" => options.seconds = value()?.parse()?,
            "--only" => options.only = Some(value()?),
            "--smoke" => options.smoke = true,
            _ => anyhow::bail!("unknown argument {arg}"),
        }
    }
    if options.smoke {
        options.events = 50_000;
        options.seconds = 2;
    }
    Ok(options)
}

#[tokio::main]
async fn main() -> Result<()> {
    let options = options()?;
    let wanted = |part: &str| options.only.as_deref().is_none_or(|only| only == part);
    let mut report = report::Report::default();
    if wanted("start") {
        start::run(&mut report).await?;
    }
    if wanted("count") {
        count::run(&options, &mut report).await?;
    }
    if wanted("orders") {
        orders::run(&options, &mut report).await?;
    }
    report.print();
    if !options.smoke && options.only.is_none() {
        report.write()?;
    }
    Ok(())
}
