//! The journal: the truth of the store.
//!
//! Records are appended in groups with one sync. What happens when the disk fails:
//!
//! | fails | then |
//! |---|---|
//! | write, disk full | the segment is cut back and synced; the group is refused; later ones may succeed |
//! | write, otherwise | the group is written again, to a new segment |
//! | sync | the same: a sync is never tried twice on one file (rule J2) |
//! | new segment | if the old one is sound it goes on; else the journal stops |
//!
//! A segment appears under its name only when it is durable with all that it begins
//! with, so a half-made one never counts.

pub(crate) mod record;
pub(crate) mod replay;
pub(crate) mod segment;
#[cfg(test)]
mod tests;

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use self::{
    record::Record,
    replay::Segment,
    segment::{HEADER, SegmentHeader},
};
use crate::{Disk, StoreError, disk::File, error::is_full};

/// Smaller records are written together.
const GATHER_BYTES: usize = 256 << 10;

/// The journal, open for appending.
pub(crate) struct Journal {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    segment_bytes: u64,
    segments: Vec<Segment>,
    active: Option<Active>,
    next_number: u64,
    /// All before it is durable, and it is the end: groups are all or nothing.
    end: u64,
    /// Was a marker written at the end?
    rests: bool,
    stopped: Option<String>,
    gather: Vec<u8>,
}

struct Active {
    file: Arc<dyn File>,
    base: u64,
}

impl Journal {
    /// Opens the journal, hands over all records from `from` on, and makes durable
    /// what was in doubt.
    ///
    /// # Errors
    /// `Damaged` if a record is missing or wrong that was durable, or what `each` says.
    pub(crate) fn open(
        disk: Arc<dyn Disk>,
        dir: PathBuf,
        segment_bytes: u64,
        from: u64,
        each: impl FnMut(Record) -> Result<(), StoreError>,
    ) -> Result<Self, StoreError> {
        disk.create_dir(&dir).map_err(|e| StoreError::io("creating", &dir, e))?;
        let (segments, strays) = replay::chain(&*disk, &dir, from)?;
        let mut tail = replay::replay(&*disk, &dir, &segments, from, each)?;
        if !tail.is_sound() {
            let last = segments.last().map_or((0, 0), |s| (s.number, HEADER + (tail.end - s.base)));
            return Err(replay::damaged(
                last.0,
                last.1,
                "the journal ends before a position that was durable",
            ));
        }
        if let Some(cut) = &tail.cut {
            let epochs: Vec<String> =
                cut.epochs.iter().map(|(domain, epoch)| format!("{domain}@{epoch}")).collect();
            tracing::warn!(
                bytes = cut.bytes,
                epochs = epochs.join(" "),
                "cut the torn end of the journal: it was never acknowledged"
            );
        }
        let numbers = strays.iter().filter_map(|name| segment::parse_name(name));
        let next_number =
            numbers.chain(segments.iter().map(|s| s.number)).max().map_or(1, |last| last + 1);
        let mut journal = Self {
            disk,
            dir,
            segment_bytes,
            segments,
            active: None,
            next_number,
            end: tail.durable,
            rests: true,
            stopped: None,
            gather: Vec::new(),
        };
        journal.remove(strays)?;
        // Read back from the system's cache, the last group proves nothing of the
        // disk. It is written and synced again, behind what is known durable.
        let usable =
            tail.in_doubt.is_empty() && tail.cut.is_none() && journal.reopen_empty(tail.end)?;
        if !usable {
            journal.begin_segment(tail.in_doubt.make_contiguous())?;
            journal.end = tail.end;
        }
        Ok(journal)
    }

    /// The position after the last durable record.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// Segments, oldest first.
    pub(crate) fn segments(&self) -> Vec<Segment> {
        self.segments.clone()
    }

    /// Why nothing can be appended any more.
    pub(crate) fn stopped(&self) -> Option<StoreError> {
        self.stopped.clone().map(|reason| StoreError::Stopped { reason })
    }

    /// Appends records, finished with positions from [`Journal::end`] on, and syncs
    /// them. All are durable or, unless the journal has stopped, none is.
    ///
    /// # Errors
    /// `Full`: nothing was kept. `Stopped`: it is not known what was kept.
    pub(crate) fn append(&mut self, records: &[&[u8]]) -> Result<(), StoreError> {
        if let Some(stopped) = self.stopped() {
            return Err(stopped);
        }
        self.rotate()?;
        let bytes: u64 = records.iter().map(|record| record.len() as u64).sum();
        match self.write_and_sync(records) {
            Ok(()) => {}
            Err(Failed::Full) => return Err(StoreError::Full),
            Err(Failed::Unsound(error)) => {
                tracing::error!(%error, "the journal could not be written or synced: going to a new segment");
                self.active = None;
                if let Err(again) = self.begin_segment(records) {
                    return Err(self.stop(format!(
                        "the journal could not be written: {error}; then: {again}"
                    )));
                }
            }
        }
        self.end += bytes;
        self.rests = false;
        Ok(())
    }

    /// Writes the marker that says that nothing is in doubt, if there is none.
    /// Answers whether it did.
    pub(crate) fn rest(&mut self) -> Result<bool, StoreError> {
        if self.rests || self.stopped.is_some() {
            return Ok(false);
        }
        let marker = record::rest(self.end);
        self.append(&[&marker])?;
        self.rests = true;
        Ok(true)
    }

    /// Forgets segments that end at or before a position, and answers their files.
    pub(crate) fn forget_before(&mut self, position: u64) -> Vec<PathBuf> {
        let gone = self
            .segments
            .iter()
            .take_while(|segment| segment.end.is_some_and(|end| end <= position))
            .count();
        let gone = self.segments.drain(..gone);
        gone.map(|segment| self.dir.join(segment::file_name(segment.number))).collect()
    }

    /// If the last segment is empty it can be used.
    fn reopen_empty(&mut self, end: u64) -> Result<bool, StoreError> {
        let Some(last) = self.segments.last().filter(|last| last.base == end) else {
            return Ok(false);
        };
        let path = self.dir.join(segment::file_name(last.number));
        let file = self.disk.append(&path).map_err(|e| StoreError::io("opening", &path, e))?;
        if file.length().map_err(|e| StoreError::io("reading", &path, e))? != HEADER {
            return Ok(false);
        }
        self.active = Some(Active { file, base: end });
        Ok(true)
    }

    fn rotate(&mut self) -> Result<(), StoreError> {
        match &self.active {
            Some(active) if self.end - active.base < self.segment_bytes => Ok(()),
            Some(_) => match self.begin_segment(&[] as &[&[u8]]) {
                // The old segment can take more.
                Err(StoreError::Full) => Ok(()),
                Err(error) if self.stopped.is_none() => {
                    tracing::warn!(%error, "no new journal segment: going on with the old one");
                    Ok(())
                }
                result => result,
            },
            None => self.begin_segment(&[] as &[&[u8]]),
        }
    }

    /// Writes a group to the active segment.
    fn write_and_sync(&mut self, records: &[&[u8]]) -> Result<(), Failed> {
        let Some(active) = &self.active else {
            return Err(Failed::Unsound(io::Error::other("there is no segment")));
        };
        if let Err(error) = write(&*active.file, records, &mut self.gather) {
            if !is_full(&error) {
                return Err(Failed::Unsound(error));
            }
            // What was refused must not come back after a crash: the cut is synced.
            let length = HEADER + (self.end - active.base);
            active
                .file
                .truncate(length)
                .and_then(|()| active.file.sync())
                .map_err(Failed::Unsound)?;
            return Err(Failed::Full);
        }
        active.file.sync().map_err(Failed::Unsound)
    }

    /// Makes a new segment that begins at the end and holds these records, durable.
    /// The caller moves the end.
    fn begin_segment(&mut self, records: &[impl AsRef<[u8]>]) -> Result<(), StoreError> {
        let number = self.next_number;
        self.next_number += 1;
        let predecessor = self.segments.last().map(|segment| segment.number);
        let header = SegmentHeader { number, base: self.end, predecessor };
        let path = self.dir.join(segment::file_name(number));
        let temporary = path.with_extension("tmp");
        let records: Vec<&[u8]> = records.iter().map(AsRef::as_ref).collect();
        let made = (|| {
            let file = self.disk.append(&temporary)?;
            file.truncate(0)?;
            file.append(&header.encode())?;
            write(&*file, &records, &mut self.gather)?;
            file.sync()?;
            self.disk.rename(&temporary, &path)?;
            io::Result::Ok(file)
        })();
        let file = match made {
            Ok(file) => file,
            Err(error) => {
                // Best effort: a leftover is removed at the next open.
                let _ = self.disk.remove(&temporary);
                return Err(StoreError::io("creating", &path, error));
            }
        };
        if let Err(error) = self.disk.sync_dir(&self.dir) {
            // Whether the new segment exists after a crash is not known, and it decides
            // where the old one ends.
            return Err(
                self.stop(format!("a new journal segment could not be made durable: {error}"))
            );
        }
        if let Some(last) = self.segments.last_mut() {
            last.end = Some(self.end);
        }
        self.segments.push(Segment { number, base: self.end, end: None });
        self.active = Some(Active { file, base: self.end });
        Ok(())
    }

    fn remove(&self, names: Vec<String>) -> Result<(), StoreError> {
        for name in names {
            let path = self.dir.join(name);
            self.disk.remove(&path).map_err(|e| StoreError::io("removing", &path, e))?;
        }
        Ok(())
    }

    fn stop(&mut self, reason: String) -> StoreError {
        tracing::error!(reason, "the journal has stopped");
        self.active = None;
        self.stopped = Some(reason.clone());
        StoreError::Stopped { reason }
    }
}

enum Failed {
    /// Nothing was kept.
    Full,
    /// It is not known what the file holds.
    Unsound(io::Error),
}

/// Writes records one after the other, small ones together.
fn write(file: &dyn File, records: &[&[u8]], gather: &mut Vec<u8>) -> io::Result<()> {
    gather.clear();
    for record in records {
        if gather.len() + record.len() > GATHER_BYTES && !gather.is_empty() {
            file.append(gather)?;
            gather.clear();
        }
        if record.len() >= GATHER_BYTES {
            file.append(record)?;
        } else {
            gather.extend_from_slice(record);
        }
    }
    if gather.is_empty() { Ok(()) } else { file.append(gather) }
}

/// Where the journal lies.
pub(crate) fn dir(root: &Path) -> PathBuf {
    root.join("journal")
}
