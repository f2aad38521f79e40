//! Reading the journal, at open and for snapshots.
//!
//! Three ways in which bytes can be wrong (rule J1):
//!
//! | the bytes lie | they are |
//! |---|---|
//! | before the end of a segment that has a successor | damage |
//! | before a position that a later header calls durable | damage |
//! | elsewhere | a torn tail: never acknowledged, cut |

use std::{collections::VecDeque, path::Path, sync::Arc};

use bytes::Bytes;

use super::{
    record::{HEADER as RECORD_HEADER, MAGIC, Record, RecordHeader},
    segment::{self, HEADER, NoHeader, SegmentHeader, VERSION},
};
use crate::{
    DomainName, StoreError,
    disk::{Disk, File},
};

/// How much is read ahead.
const CHUNK: usize = 256 << 10;

/// A segment and where its records end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) number: u64,
    pub(crate) base: u64,
    /// Where its successor begins; `None` for the last one.
    pub(crate) end: Option<u64>,
}

/// What was found at the end of the journal.
pub(crate) struct Tail {
    /// The position after the last good record.
    pub(crate) end: u64,
    /// The last position that is known durable.
    pub(crate) durable: u64,
    /// The good records from there on.
    pub(crate) in_doubt: VecDeque<Bytes>,
    in_doubt_from: u64,
    /// What lies behind the end.
    pub(crate) cut: Option<Cut>,
}

/// Bytes that were never acknowledged.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    /// How many.
    pub(crate) bytes: u64,
    /// Epochs whose headers can still be read.
    pub(crate) epochs: Vec<(DomainName, u64)>,
}

/// Finds the segments that hold everything from `from` on, oldest first, and those
/// files that belong to none.
pub(crate) fn chain(
    disk: &dyn Disk,
    dir: &Path,
    from: u64,
) -> Result<(Vec<Segment>, Vec<String>), StoreError> {
    let mut found: Vec<(String, u64, u64, Option<SegmentHeader>)> = Vec::new();
    let mut strays = Vec::new();
    for name in disk.list(dir).map_err(|e| StoreError::io("listing", dir, e))? {
        let Some(number) = segment::parse_name(&name) else {
            // A segment that was never begun goes; what somebody put here stays.
            if name.ends_with(".tmp") {
                strays.push(name);
            } else {
                tracing::warn!(%name, "journal/ holds something that is not a segment; it is left alone");
            }
            continue;
        };
        let path = dir.join(&name);
        let read = || {
            let file = disk.open(&path)?;
            let length = file.length()?;
            let mut header = [0; HEADER as usize];
            if length >= HEADER {
                file.read_at(0, &mut header)?;
            }
            std::io::Result::Ok((length, header))
        };
        let (length, header) = read().map_err(|e| StoreError::io("reading", &path, e))?;
        let header = match SegmentHeader::decode(&header) {
            Ok(header) if header.number == number => Some(header),
            Ok(_) | Err(NoHeader::Invalid) => None,
            Err(NoHeader::Version(found)) => {
                return Err(StoreError::Format { found: found.to_string(), expected: VERSION });
            }
        };
        found.push((name, number, length, header));
    }
    found.sort_by_key(|(_, number, ..)| *number);

    let mut chain: Vec<Segment> = Vec::new();
    // Before the last segment is found any number will do.
    let mut wanted = Wanted::Any;
    for (name, number, length, header) in found.into_iter().rev() {
        let is_wanted = match wanted {
            Wanted::Any => true,
            Wanted::Number(wanted) => wanted == number,
            Wanted::Unknown => continue,
            Wanted::None => false,
        };
        let needed = chain.last().is_none_or(|oldest| oldest.base > from);
        match header {
            _ if !is_wanted => strays.push(name),
            Some(header) => {
                let end = chain.last().map(|successor| successor.base);
                chain.push(Segment { number, base: header.base, end });
                wanted = header.predecessor.map_or(Wanted::None, Wanted::Number);
            }
            // Records are only written behind a header that is durable.
            None if needed && (length > HEADER || !chain.is_empty()) => {
                return Err(damaged(number, 0, "the header of the segment is not valid"));
            }
            // Older ones may still be of use to a person.
            None if !needed => wanted = Wanted::Unknown,
            None => strays.push(name),
        }
    }
    chain.reverse();
    match chain.first() {
        Some(oldest) if oldest.base > from => {
            let problem =
                format!("its predecessor is missing; records from position {from} on are needed");
            Err(damaged(oldest.number, 0, &problem))
        }
        None if from > 0 => Err(damaged(
            0,
            0,
            &format!("there is no journal; records from position {from} on are needed"),
        )),
        _ => Ok((chain, strays)),
    }
}

enum Wanted {
    Any,
    Number(u64),
    None,
    Unknown,
}

/// Reads the records of a chain from position `from` on, and finds out where it
/// ends.
pub(crate) fn replay(
    disk: &dyn Disk,
    dir: &Path,
    chain: &[Segment],
    from: u64,
    mut each: impl FnMut(Record) -> Result<(), StoreError>,
) -> Result<Tail, StoreError> {
    let mut tail = Tail {
        end: from,
        durable: from,
        in_doubt: VecDeque::new(),
        in_doubt_from: from,
        cut: None,
    };
    for segment in chain {
        if segment.end.is_some_and(|end| end <= from) {
            continue;
        }
        let path = dir.join(segment::file_name(segment.number));
        let open = || {
            let file = disk.open(&path)?;
            let length = file.length()?;
            std::io::Result::Ok((file, length))
        };
        let (file, length) = open().map_err(|e| StoreError::io("reading", &path, e))?;
        tail.durable_to(segment.base);
        let mut reader = Reader {
            file,
            length,
            path: &path,
            segment: *segment,
            buffer: Vec::new(),
            buffered_at: 0,
        };
        let mut position = segment.base;
        while Some(position) != segment.end {
            let record = match reader.record(position)? {
                Some(record) if segment.end.is_none_or(|end| record.header.end() <= end) => record,
                _ if segment.end.is_some() => {
                    return Err(damaged(
                        segment.number,
                        reader.offset(position),
                        "the record here is not valid",
                    ));
                }
                _ => break,
            };
            tail.durable_to(record.header.durable);
            let bytes = record.bytes.clone();
            let start = position;
            position = record.header.end();
            if position > from {
                if start < from {
                    return Err(damaged(
                        segment.number,
                        reader.offset(start),
                        "no record begins where one should",
                    ));
                }
                tail.in_doubt.push_back(bytes);
                tail.end = position;
                each(record)?;
            }
        }
        if segment.end.is_none() {
            tail.cut = reader.cut(position)?;
        }
    }
    Ok(tail)
}

impl Tail {
    /// All before this position is durable.
    fn durable_to(&mut self, durable: u64) {
        self.durable = self.durable.max(durable);
        while let Some(record) = self.in_doubt.front() {
            let end = self.in_doubt_from + record.len() as u64;
            if end > self.durable {
                break;
            }
            self.in_doubt_from = end;
            self.in_doubt.pop_front();
        }
    }

    /// Does what is known durable end where a record ends?
    pub(crate) fn is_sound(&self) -> bool {
        self.durable <= self.end && self.in_doubt_from == self.durable
    }
}

/// The error for stored bytes of the journal that are wrong.
pub(crate) fn damaged(number: u64, offset: u64, problem: &str) -> StoreError {
    StoreError::Damaged {
        segment: format!("journal/{}", segment::file_name(number)),
        offset,
        problem: problem.into(),
    }
}

struct Reader<'a> {
    file: Arc<dyn File>,
    length: u64,
    path: &'a Path,
    segment: Segment,
    buffer: Vec<u8>,
    buffered_at: u64,
}

impl Reader<'_> {
    /// Where a position lies in the file.
    fn offset(&self, position: u64) -> u64 {
        HEADER + (position - self.segment.base)
    }

    /// The record at a position; `None` if there is no valid one.
    fn record(&mut self, position: u64) -> Result<Option<Record>, StoreError> {
        let offset = self.offset(position);
        let longest_header = RECORD_HEADER + DomainName::LENGTH_MAX;
        let Some(header) = RecordHeader::decode(self.bytes(offset, longest_header)?) else {
            return Ok(None);
        };
        if header.position != position || offset + header.size() > self.length {
            return Ok(None);
        }
        let size = header.size() as usize;
        let start = header.length();
        let bytes = if size > CHUNK {
            let mut bytes = vec![0; size];
            self.file
                .read_at(offset, &mut bytes)
                .map_err(|e| StoreError::io("reading", self.path, e))?;
            Bytes::from(bytes)
        } else {
            Bytes::copy_from_slice(self.bytes(offset, size)?)
        };
        if !header.matches(&bytes[start..]) {
            return Ok(None);
        }
        Ok(Some(Record { place: (self.segment.number, offset), header, bytes }))
    }

    /// Up to `n` bytes from an offset on; fewer at the end of the file.
    fn bytes(&mut self, offset: u64, n: usize) -> Result<&[u8], StoreError> {
        let end = (offset + n as u64).min(self.length);
        let buffered_end = self.buffered_at + self.buffer.len() as u64;
        if offset < self.buffered_at || end > buffered_end {
            let wanted = (offset + n.max(CHUNK) as u64).min(self.length);
            self.buffer.resize(wanted.saturating_sub(offset) as usize, 0);
            self.file
                .read_at(offset, &mut self.buffer)
                .map_err(|e| StoreError::io("reading", self.path, e))?;
            self.buffered_at = offset;
        }
        let start = (offset - self.buffered_at) as usize;
        let end = end.saturating_sub(self.buffered_at) as usize;
        Ok(&self.buffer[start..end.max(start)])
    }

    /// Looks at what lies behind the last good record: is it a torn tail, or is there
    /// a later record that says that this was durable?
    fn cut(&mut self, position: u64) -> Result<Option<Cut>, StoreError> {
        let offset = self.offset(position);
        if self.length <= offset {
            return Ok(None);
        }
        let mut cut = Cut { bytes: self.length - offset, epochs: Vec::new() };
        let mut at = offset;
        while at < self.length {
            let bytes = self.bytes(at, CHUNK)?;
            let chunk = bytes.len() as u64;
            let Some(found) = bytes.windows(MAGIC.len()).position(|window| window == MAGIC) else {
                // The magic may lie across the end of the chunk.
                at += chunk.saturating_sub(MAGIC.len() as u64 - 1).max(1);
                continue;
            };
            at += found as u64;
            let header =
                RecordHeader::decode(self.bytes(at, RECORD_HEADER + DomainName::LENGTH_MAX)?);
            // A record that lies where it says is one, not bytes of a value.
            match header.filter(|header| self.offset(header.position.max(self.segment.base)) == at)
            {
                Some(header) if header.durable > position => {
                    return Err(damaged(
                        self.segment.number,
                        offset,
                        "the record here is not valid, though a later one says that it was durable",
                    ));
                }
                Some(header) => {
                    if header.epoch.0 > 0 {
                        cut.epochs.push((header.domain.clone(), header.epoch.0));
                    }
                    at += header.length() as u64;
                }
                None => at += 1,
            }
        }
        Ok(Some(cut))
    }
}
