//! A partition: its segment files, and reading from them.

use std::{
    cell::RefCell,
    collections::VecDeque,
    io,
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError, RwLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use bytes::Bytes;
use weir_core::{batch::Batch, ids::Offset};

use super::{
    PartitionInfo, Read,
    block::{BlockHeader, Columns, HEADER},
    files::Files,
    segment::{self, Segment, SharedSegment},
};
use crate::{StoreError, disk::File};

/// How much a read takes from the file at once, at least and at most.
const READ_BYTES: std::ops::RangeInclusive<usize> = (8 << 10)..=(512 << 10);

/// One partition of a topic. Written by the thread that steps, read by all.
pub(crate) struct Partition {
    dir: PathBuf,
    segment_bytes: u64,
    /// Offset after the last record that can be read.
    next: AtomicU64,
    segments: RwLock<Vec<SharedSegment>>,
    /// Durable in the journal but not yet in the file: the disk was full.
    behind: Mutex<VecDeque<Behind>>,
    dir_dirty: AtomicBool,
    /// The last file may end in half a block.
    broken: AtomicBool,
}

struct Behind {
    first: u64,
    blocks: Vec<(u32, u32)>,
    bytes: Bytes,
}

impl Partition {
    /// One that has no records yet.
    pub(crate) fn new(dir: PathBuf, segment_bytes: u64) -> Self {
        Self {
            dir,
            segment_bytes,
            next: AtomicU64::new(0),
            segments: RwLock::default(),
            behind: Mutex::default(),
            dir_dirty: AtomicBool::new(false),
            broken: AtomicBool::new(false),
        }
    }

    /// Opens what is in the directory and cuts it to end before `next`: what came
    /// after is written again from the journal.
    pub(crate) fn open(
        files: &Files,
        dir: PathBuf,
        segment_bytes: u64,
        next: u64,
    ) -> Result<Self, StoreError> {
        let names = match files.disk.list(&dir) {
            Ok(names) => names,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(StoreError::io("listing", &dir, error)),
        };
        let mut segments: Vec<SharedSegment> = Vec::new();
        let mut dir_dirty = false;
        for first in names.iter().filter_map(|name| segment::parse_name(name)) {
            let path = dir.join(segment::file_name(first));
            if first >= next {
                files.close_under(&path);
                files.disk.remove(&path).map_err(|e| StoreError::io("removing", &path, e))?;
                dir_dirty = true;
                continue;
            }
            let length = files.get(&path).and_then(|file| file.length());
            let length = length.map_err(|e| StoreError::io("reading", &path, e))?;
            segments.push(Arc::new(Segment::existing(&dir, first, length)));
        }
        match segments.last() {
            Some(last) => last.cut(files, next)?,
            None if next > 0 => {
                let missing = Segment::new(&dir, 0);
                return Err(missing.damaged(0, "the file is missing"));
            }
            None => {}
        }
        Ok(Self {
            next: AtomicU64::new(next),
            segments: RwLock::new(segments),
            dir_dirty: AtomicBool::new(dir_dirty),
            ..Self::new(dir, segment_bytes)
        })
    }

    /// Adds blocks that are durable in the journal. If the disk does not take them
    /// they are kept for [`Partition::catch_up`] and the answer is false.
    pub(crate) fn append(
        &self,
        files: &Files,
        first: u64,
        blocks: &[(u32, u32)],
        bytes: &[u8],
    ) -> bool {
        let mut behind = self.behind.lock().unwrap_or_else(PoisonError::into_inner);
        if behind.is_empty() {
            match self.write(files, first, blocks, bytes) {
                Ok(()) => return true,
                Err(error) => tracing::warn!(
                    dir = %self.dir.display(), %error, "a topic file could not be written: its records wait in memory"
                ),
            }
        }
        behind.push_back(Behind {
            first,
            blocks: blocks.into(),
            bytes: Bytes::copy_from_slice(bytes),
        });
        false
    }

    /// Does anything wait for the disk?
    pub(crate) fn is_behind(&self) -> bool {
        !self.behind.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Writes what the disk did not take before.
    pub(crate) fn catch_up(&self, files: &Files) -> Result<(), StoreError> {
        let mut behind = self.behind.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(next) = behind.front() {
            self.write(files, next.first, &next.blocks, &next.bytes)
                .map_err(|e| StoreError::io("writing", &self.dir, e))?;
            behind.pop_front();
        }
        Ok(())
    }

    fn write(
        &self,
        files: &Files,
        first: u64,
        blocks: &[(u32, u32)],
        bytes: &[u8],
    ) -> io::Result<()> {
        let last = self.segments().last().cloned();
        let usable = |segment: &SharedSegment| {
            segment.length() < self.segment_bytes && !self.broken.load(Ordering::Relaxed)
        };
        let segment = match last.filter(usable) {
            Some(segment) => segment,
            None => {
                files.disk.create_dir(&self.dir)?;
                let segment = Arc::new(Segment::new(&self.dir, first));
                // A leftover of an earlier try.
                files.get(&segment.path)?.truncate(0)?;
                self.dir_dirty.store(true, Ordering::Release);
                self.broken.store(false, Ordering::Relaxed);
                segment
            }
        };
        let file = files.get(&segment.path)?;
        segment.append(&*file, first, blocks, bytes).map_err(|(error, sound)| {
            self.broken.fetch_or(!sound, Ordering::Relaxed);
            error
        })?;
        let mut segments = self.segments.write().unwrap_or_else(PoisonError::into_inner);
        if segments.last().is_none_or(|last| last.first != segment.first) {
            segments.push(segment);
        }
        drop(segments);
        let count: u64 = blocks.iter().map(|(count, _)| u64::from(*count)).sum();
        self.next.store(first + count, Ordering::Release);
        Ok(())
    }

    /// Makes all files durable.
    pub(crate) fn sync(&self, files: &Files) -> Result<(), StoreError> {
        let segments = self.segments().clone();
        for segment in segments {
            if segment.dirty.swap(false, Ordering::AcqRel) {
                let synced = files.get(&segment.path).and_then(|file| file.sync());
                synced.map_err(|e| StoreError::io("syncing", &segment.path, e))?;
            }
        }
        if self.dir_dirty.swap(false, Ordering::AcqRel) && !self.segments().is_empty() {
            files.disk.sync_dir(&self.dir).map_err(|e| StoreError::io("syncing", &self.dir, e))?;
        }
        Ok(())
    }

    pub(crate) fn info(&self) -> PartitionInfo {
        let segments = self.segments();
        PartitionInfo {
            first: Offset(segments.first().map_or(0, |segment| segment.first)),
            next: Offset(self.next.load(Ordering::Acquire)),
            bytes: segments.iter().map(|segment| segment.length()).sum(),
        }
    }

    /// Reads committed records: see [`crate::Store::read`].
    pub(crate) fn read(
        &self,
        files: &Files,
        from: Offset,
        records: usize,
        bytes: usize,
    ) -> Result<Read, StoreError> {
        thread_local! {
            static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
        }
        let end = self.next.load(Ordering::Acquire);
        let first = from.0.max(self.segments().first().map_or(0, |segment| segment.first));
        let mut wanted = Wanted { next: first, end, records, bytes, batch: Batch::default() };
        BUFFER.with_borrow_mut(|buffer| {
            while wanted.more() {
                let (segment, segment_end) = self.segment_of(wanted.next, end);
                let Some(segment) = segment else {
                    return Err(
                        Segment::new(&self.dir, wanted.next).damaged(0, "the file is missing")
                    );
                };
                if !wanted.take(files, &segment, segment_end, buffer)? {
                    break;
                }
            }
            buffer.truncate(*READ_BYTES.end());
            buffer.shrink_to(*READ_BYTES.end());
            Ok(())
        })?;
        Ok(Read {
            batch: wanted.batch,
            first: Offset(first),
            next: Offset(wanted.next),
            end: Offset(end),
        })
    }

    fn segment_of(&self, offset: u64, end: u64) -> (Option<SharedSegment>, u64) {
        let segments = self.segments();
        let after = segments.partition_point(|segment| segment.first <= offset);
        let segment_end = segments.get(after).map_or(end, |next| next.first);
        (after.checked_sub(1).and_then(|i| segments.get(i)).cloned(), segment_end)
    }

    fn segments(&self) -> std::sync::RwLockReadGuard<'_, Vec<SharedSegment>> {
        self.segments.read().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A read under way.
struct Wanted {
    next: u64,
    end: u64,
    records: usize,
    bytes: usize,
    batch: Batch,
}

impl Wanted {
    fn more(&self) -> bool {
        self.next < self.end
            && self.batch.len() < self.records
            && (self.batch.is_empty() || self.batch.bytes() < self.bytes)
    }

    /// Takes records from one segment. Answers whether another may follow.
    fn take(
        &mut self,
        files: &Files,
        segment: &Segment,
        segment_end: u64,
        buffer: &mut Vec<u8>,
    ) -> Result<bool, StoreError> {
        let mut at = segment.locate(files, self.next, segment_end)?;
        let mut source = Source::open(files, segment, segment_end, at)?;
        while self.more() && self.next < segment_end {
            let ahead = source.ahead(
                self.records - self.batch.len(),
                self.bytes.saturating_sub(self.batch.bytes()),
            );
            let header = source.fill(buffer, at, HEADER, ahead)?;
            let Some(header) = BlockHeader::decode(header).filter(|header| header.count > 0) else {
                return Err(segment.damaged(at, "no valid block begins here"));
            };
            if header.next() <= self.next {
                at += header.size() as u64;
                continue;
            }
            let block = source.fill(buffer, at, header.size(), ahead)?;
            let payload = &block[HEADER..];
            let columns =
                Columns::decode(header.count, payload).filter(|_| header.matches(payload));
            let (Some(columns), true) = (columns, header.first <= self.next) else {
                return Err(segment.damaged(at, "the block here is not valid"));
            };
            let from = (self.next - header.first) as usize;
            let until = match self.until(&columns, from, header.count as usize) {
                Some(until) => until,
                None => return Ok(false),
            };
            let taken = columns.append_to(&mut self.batch, from, until);
            taken.ok_or_else(|| segment.damaged(at, "the block here is not valid"))?;
            self.next = header.first + until as u64;
            at += header.size() as u64;
        }
        Ok(true)
    }

    /// How far to take a block: a whole one, or, of the first one, what fits. `None` if
    /// it should be left for the next read, which would have to check it again.
    fn until(&self, columns: &Columns<'_>, from: usize, count: usize) -> Option<usize> {
        let records = self.records - self.batch.len();
        let fits = count - from <= records
            && (from > 0 || self.batch.bytes() + columns.bytes() <= self.bytes);
        if fits && from == 0 {
            return Some(count);
        }
        if !self.batch.is_empty() {
            return None;
        }
        let mut until = from;
        let mut bytes = 0;
        while until < count && until - from < records && (until == from || bytes < self.bytes) {
            bytes += columns.bytes_of(until);
            until += 1;
        }
        Some(until)
    }
}

/// A segment file, read ahead into a buffer.
struct Source<'a> {
    file: Arc<dyn File>,
    segment: &'a Segment,
    length: u64,
    /// What a record takes in this file, on average.
    record_bytes: u64,
    buffered: std::ops::Range<u64>,
}

impl<'a> Source<'a> {
    fn open(
        files: &Files,
        segment: &'a Segment,
        segment_end: u64,
        at: u64,
    ) -> Result<Self, StoreError> {
        let file =
            files.get(&segment.path).map_err(|e| StoreError::io("opening", &segment.path, e))?;
        let length = segment.length();
        let record_bytes = length / segment_end.saturating_sub(segment.first).max(1) + 1;
        Ok(Self { file, segment, length, record_bytes, buffered: at..at })
    }

    /// How much to read for so many records and bytes, and the rest of a block.
    fn ahead(&self, records: usize, bytes: usize) -> usize {
        let records = (records as u64).saturating_mul(self.record_bytes);
        let wanted = records.min(bytes as u64).saturating_add(self.record_bytes) as usize;
        wanted.saturating_add(1 << 10).clamp(*READ_BYTES.start(), *READ_BYTES.end())
    }

    /// The bytes `at..at + n` of the file; reads `ahead` bytes if they are not there.
    fn fill<'b>(
        &mut self,
        buffer: &'b mut Vec<u8>,
        at: u64,
        n: usize,
        ahead: usize,
    ) -> Result<&'b [u8], StoreError> {
        if at + n as u64 > self.length {
            return Err(self.segment.damaged(at, "the file ends too early"));
        }
        if at < self.buffered.start || at + n as u64 > self.buffered.end {
            let size = (ahead.max(n) as u64).min(self.length - at) as usize;
            buffer.resize(size.max(buffer.len()), 0);
            let read = self.file.read_at(at, &mut buffer[..size]);
            read.map_err(|e| StoreError::io("reading", &self.segment.path, e))?;
            self.buffered = at..at + size as u64;
        }
        let start = (at - self.buffered.start) as usize;
        Ok(&buffer[start..start + n])
    }
}
