//! The credit of a stream queue, in records and bytes.

/// How much is in a queue and how much may be.
#[derive(Clone, Debug)]
pub struct Credit {
    records_max: usize,
    bytes_max: usize,
    records: usize,
    bytes: usize,
}

impl Credit {
    /// Of an empty queue.
    #[must_use]
    pub fn new(records_max: usize, bytes_max: usize) -> Self {
        Self { records_max, bytes_max, records: 0, bytes: 0 }
    }

    /// May a batch be put in? One that is larger than what is left still may, so
    /// that every batch fits some time: the bound is exceeded by at most one batch.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.records < self.records_max && self.bytes < self.bytes_max
    }

    /// A batch was put in: with room, or before a barrier, which never waits.
    pub fn put(&mut self, records: usize, bytes: usize) {
        self.records += records;
        self.bytes += bytes;
    }

    /// A batch was taken out. Says whether there is room now that was not before:
    /// the producer is to be woken.
    pub fn take(&mut self, records: usize, bytes: usize) -> bool {
        let had_room = self.has_room();
        self.records = self.records.saturating_sub(records);
        self.bytes = self.bytes.saturating_sub(bytes);
        !had_room && self.has_room()
    }

    /// Records in the queue.
    #[must_use]
    pub fn records(&self) -> usize {
        self.records
    }
}
