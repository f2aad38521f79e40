//! Waiting on a condition with a deadline, the only way in which a test may wait.

use std::{
    future::Future,
    time::{Duration, Instant},
};

use anyhow::{Result, bail};

/// How long anything may take before a test gives up: generous, since machines
/// are shared. A passing test never waits for it.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Asks again until there is an answer.
///
/// # Errors
/// After [`PATIENCE`], with `what` in the text, or when `ask` fails.
pub async fn until<T, F>(what: &str, mut ask: impl FnMut() -> F) -> Result<T>
where
    F: Future<Output = Result<Option<T>>>,
{
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(answer) = ask().await? {
            return Ok(answer);
        }
        if Instant::now() > deadline {
            bail!("waited {PATIENCE:?} in vain until {what}");
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
