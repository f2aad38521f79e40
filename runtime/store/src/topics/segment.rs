//! A segment file of a partition: blocks, one after the other.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use super::{
    block::{BlockHeader, HEADER},
    files::Files,
};
use crate::{StoreError, disk::File};

/// The index has an entry for about so many bytes.
const INDEX_BYTES: u64 = 32 << 10;
/// How much a walk reads at once.
const WALK_BYTES: usize = 64 << 10;

/// One file. Its blocks are read and appended to, never changed.
pub(crate) struct Segment {
    pub(crate) path: PathBuf,
    /// Offset of its first record; also its name.
    pub(crate) first: u64,
    /// Bytes that hold whole, committed blocks.
    length: AtomicU64,
    /// Was anything written since the last sync?
    pub(crate) dirty: AtomicBool,
    index: Mutex<Index>,
}

/// Some offsets and where their blocks lie, ascending. Empty until it is needed.
#[derive(Default)]
struct Index {
    entries: Vec<(u64, u64)>,
    built: bool,
}

impl Segment {
    /// A segment that begins empty.
    pub(crate) fn new(dir: &Path, first: u64) -> Self {
        Self::with_length(dir, first, 0, true)
    }

    /// A file that is there; its index is built when it is first read.
    pub(crate) fn existing(dir: &Path, first: u64, length: u64) -> Self {
        Self::with_length(dir, first, length, false)
    }

    fn with_length(dir: &Path, first: u64, length: u64, built: bool) -> Self {
        Self {
            path: dir.join(file_name(first)),
            first,
            length: AtomicU64::new(length),
            dirty: AtomicBool::new(false),
            index: Mutex::new(Index { entries: Vec::new(), built }),
        }
    }

    pub(crate) fn length(&self) -> u64 {
        self.length.load(Ordering::Acquire)
    }

    /// Appends whole blocks, given by number of records and length. On an error
    /// nothing is added; `Err(Some(_))` says that the file may end in half a block
    /// and that a new one must be begun.
    pub(crate) fn append(
        &self,
        file: &dyn File,
        first: u64,
        blocks: &[(u32, u32)],
        bytes: &[u8],
    ) -> Result<(), (io::Error, bool)> {
        let length = self.length();
        self.dirty.store(true, Ordering::Release);
        if let Err(error) = file.append(bytes) {
            let sound = file.truncate(length).is_ok();
            return Err((error, sound));
        }
        let mut index = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut offset, mut at) = (first, length);
        for (count, size) in blocks {
            index.add(offset, at);
            offset += u64::from(*count);
            at += u64::from(*size);
        }
        drop(index);
        self.length.store(at, Ordering::Release);
        Ok(())
    }

    /// Where to begin to look for an offset: the place of a block at or before it.
    /// `end` is the offset after the last record of this segment.
    pub(crate) fn locate(&self, files: &Files, offset: u64, end: u64) -> Result<u64, StoreError> {
        let mut index = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        if !index.built {
            self.walk(files, &mut index, end)?;
        }
        let after = index.entries.partition_point(|(first, _)| *first <= offset);
        Ok(after.checked_sub(1).and_then(|i| index.entries.get(i)).map_or(0, |(_, at)| *at))
    }

    /// Cuts the file so that it ends with the record before `end`.
    ///
    /// # Errors
    /// `Damaged` if it does not reach so far.
    pub(crate) fn cut(&self, files: &Files, end: u64) -> Result<(), StoreError> {
        let mut index = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        let length = self.walk(files, &mut index, end)?;
        if length < self.length() {
            let cut = files.get(&self.path).and_then(|file| file.truncate(length));
            cut.map_err(|e| StoreError::io("cutting", &self.path, e))?;
            self.dirty.store(true, Ordering::Release);
            self.length.store(length, Ordering::Release);
        }
        Ok(())
    }

    /// Builds the index from the headers of the blocks up to `end`. Answers where the
    /// block with that offset begins, or would.
    fn walk(&self, files: &Files, index: &mut Index, end: u64) -> Result<u64, StoreError> {
        let file = files.get(&self.path).map_err(|e| StoreError::io("opening", &self.path, e))?;
        let length = self.length();
        index.entries.clear();
        let mut buffer = Vec::new();
        let (mut offset, mut at, mut buffered_at) = (self.first, 0, 0);
        while offset < end {
            if at + HEADER as u64 > length {
                return Err(self.damaged(at, "the file ends too early"));
            }
            if at < buffered_at || at + HEADER as u64 > buffered_at + buffer.len() as u64 {
                buffer.resize(WALK_BYTES.min((length - at) as usize), 0);
                file.read_at(at, &mut buffer)
                    .map_err(|e| StoreError::io("reading", &self.path, e))?;
                buffered_at = at;
            }
            let header = BlockHeader::decode(&buffer[(at - buffered_at) as usize..]);
            let Some(header) = header.filter(|header| header.first == offset && header.count > 0)
            else {
                return Err(self.damaged(at, "no valid block begins here"));
            };
            index.add(offset, at);
            offset = header.next();
            at += header.size() as u64;
        }
        if offset > end || at > length {
            return Err(self.damaged(at, "the last block does not end where it should"));
        }
        index.built = true;
        Ok(at)
    }

    /// The error for stored bytes of this file that are wrong.
    pub(crate) fn damaged(&self, offset: u64, problem: &str) -> StoreError {
        // `topics/NAME.ID/PARTITION/FILE`
        let names: Vec<_> =
            self.path.iter().rev().take(4).map(|name| name.to_string_lossy()).collect();
        let names: Vec<_> = names.iter().rev().map(AsRef::as_ref).collect();
        StoreError::Damaged { segment: names.join("/"), offset, problem: problem.into() }
    }
}

impl Index {
    fn add(&mut self, offset: u64, at: u64) {
        if self.entries.last().is_none_or(|(_, last)| at >= last + INDEX_BYTES) {
            self.entries.push((offset, at));
        }
    }
}

/// Name of the file whose first record has this offset.
pub(crate) fn file_name(first: u64) -> String {
    format!("{first:020}.log")
}

/// The offset in such a name.
pub(crate) fn parse_name(name: &str) -> Option<u64> {
    name.strip_suffix(".log")?.parse().ok()
}

/// Segments are shared by readers and the writer.
pub(crate) type SharedSegment = Arc<Segment>;
