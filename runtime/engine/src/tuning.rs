//! Sizes and times of a running pipeline. No user sets them; the simulation does.

use std::time::Duration;

/// Bounds of batches, queues and epochs.
#[derive(Clone, Debug)]
pub struct Tuning {
    /// The most events in a batch. Default 256.
    pub batch_records: usize,
    /// The most bytes of keys and values in a batch; one event may be larger.
    /// Default 256 KiB.
    pub batch_bytes: usize,
    /// Events in a stream queue after which its producer waits. Default 2,048.
    pub queue_records: usize,
    /// Bytes in a stream queue after which its producer waits. Default 2 MiB.
    pub queue_bytes: usize,
    /// Messages that a task takes in one step. Default 256.
    pub messages_per_step: usize,
    /// Batches that a task takes in one step. Default 4.
    pub batches_per_step: usize,
    /// The shortest time from one commit to the next barrier. Default 5 ms.
    pub epoch_min: Duration,
    /// The longest time from the first thing to commit to the barrier. Default 1 s.
    pub epoch_max: Duration,
    /// How long an epoch lasts while sources are behind, when latency does not
    /// matter and a commit has its price. Default 100 ms.
    pub epoch_behind: Duration,
    /// Bytes of changes and outputs after which a barrier is due. Default 8 MiB.
    pub epoch_bytes: usize,
    /// How long `stop` waits for what runs before the last barrier. What has not
    /// ended by then is in the commit and runs again. Default 2 s.
    pub drain: Duration,
    /// Memory of waiting events per operator shard after which they are spilled to the
    /// store, and the sources before it stop while it could begin no more anyway.
    /// Default 32 MiB.
    pub waiting_bytes: usize,
    /// Bytes of waiting events per operator, over all shards, after which the sources
    /// stop, a send to it fails as transient and requests are refused. Default 1 GiB.
    pub waiting_quota: u64,
    /// The pause after the store refused a commit because the disk is full.
    /// Default 500 ms.
    pub full_retry: Duration,
    /// The first pause after an instance could not be made; doubles up to 30 s.
    /// Default 100 ms.
    pub instance_retry: Duration,
}

impl Default for Tuning {
    fn default() -> Self {
        Self {
            batch_records: 256,
            batch_bytes: 256 << 10,
            queue_records: 2_048,
            queue_bytes: 2 << 20,
            messages_per_step: 256,
            batches_per_step: 4,
            epoch_min: Duration::from_millis(5),
            epoch_max: Duration::from_secs(1),
            epoch_behind: Duration::from_millis(100),
            epoch_bytes: 8 << 20,
            drain: Duration::from_secs(2),
            waiting_bytes: 32 << 20,
            waiting_quota: 1 << 30,
            full_retry: Duration::from_millis(500),
            instance_retry: Duration::from_millis(100),
        }
    }
}
