//! When a failed event is tried again.

use std::time::Duration;

use crate::plan::RetryPolicy;

/// The pause after the `failed`-th failed attempt, the first being 1.
///
/// It doubles from the policy's first pause up to its longest. Jitter takes away up
/// to a quarter, chosen by `seed`, so that events that failed together do not come
/// back together.
#[must_use]
pub fn pause(policy: &RetryPolicy, failed: u32, seed: u64) -> Duration {
    let doublings = failed.saturating_sub(1).min(31);
    let full = policy.first.saturating_mul(1 << doublings).min(policy.max);
    let mut input = [0; 12];
    input[..8].copy_from_slice(&seed.to_le_bytes());
    input[8..].copy_from_slice(&failed.to_le_bytes());
    let share = xxhash_rust::xxh3::xxh3_64(&input) % 256;
    full - full / 1024 * share as u32
}

/// Is there another attempt after so many failed ones?
#[must_use]
pub fn goes_on(policy: &RetryPolicy, failed: u32) -> bool {
    failed < policy.attempts.max(1)
}

#[cfg(test)]
mod tests;
