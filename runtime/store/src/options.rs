//! Sizes and times of the store.

use std::time::Duration;

/// Where settled rows live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViewKind {
    /// In sled, in the directory `state/` of the real file system, whatever the
    /// [`crate::Disk`]. What the program ships with.
    Sled,
    /// In memory, rebuilt from snapshot and journal at each open. For the
    /// simulation.
    Memory,
}

/// Sizes and times. The defaults are what the program ships with.
#[derive(Clone, Debug)]
pub struct Options {
    /// A journal segment is ended when it is larger. Default 64 MiB.
    pub segment_bytes: u64,
    /// A segment file of a topic partition is ended when it is larger. Default 128
    /// MiB.
    pub topic_segment_bytes: u64,
    /// So many topic files are kept open. Default 256.
    pub topic_files: usize,
    /// Rows are settled into the view when those that wait are larger. Default 64
    /// MiB.
    pub settle_bytes: u64,
    /// Rows are settled when nothing was committed for so long. Default 30 s.
    pub settle_idle: Duration,
    /// A snapshot is made when the journal since the last one is larger. Default
    /// 256 MiB.
    pub snapshot_bytes: u64,
    /// The marker that nothing is in doubt is written when nothing was committed
    /// for so long. Default 1 s.
    pub rest_after: Duration,
    /// At most so many bytes of commits share one sync. Default 16 MiB.
    pub group_bytes: u64,
    /// Memory that sled may use for pages. Default 32 MiB.
    pub view_cache_bytes: u64,
}

impl Default for Options {
    fn default() -> Self {
        const MIB: u64 = 1 << 20;
        Self {
            segment_bytes: 64 * MIB,
            topic_segment_bytes: 128 * MIB,
            topic_files: 256,
            settle_bytes: 64 * MIB,
            settle_idle: Duration::from_secs(30),
            snapshot_bytes: 256 * MIB,
            rest_after: Duration::from_secs(1),
            group_bytes: 16 * MIB,
            view_cache_bytes: 32 * MIB,
        }
    }
}
