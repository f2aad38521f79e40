//! Snapshots: all rows as of a journal position, in files of their own.
//!
//! Each is the one before merged with the journal since; the view is never read for
//! it. Two are kept, and the journal from the older one on, so that a damaged one
//! can be passed over.
//!
//! ```text
//! file     magic "WEIRSNAP", version, CRC32C of the other three, journal position,
//!          then frames
//! frame    length of payload, CRC32C of kind and payload, kind, payload
//! kind 1   what the store knows of itself at the position
//! kind 2   rows, ascending by domain and key: domain, key, value
//! kind 3   end: number of rows
//! ```

use std::{
    collections::{BTreeMap, HashMap},
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use weir_core::ids::TopicName;

use crate::{
    Change, Disk, DomainName, StoreError,
    codec::{Input, patch, put_block, put_name, read_u32, read_u64},
    disk::File,
    journal::{
        record::{BAD_BODY, Kind, Record},
        replay::{self, Segment},
    },
    meta::{Meta, TopicMeta},
};

const MAGIC: &[u8; 8] = b"WEIRSNAP";
const VERSION: u32 = 1;
const HEADER: usize = 24;
const FRAME_HEADER: usize = 12;
const META: u32 = 1;
const ROWS: u32 = 2;
const END: u32 = 3;
/// Rows are written in frames of about this size.
const FRAME_BYTES: usize = 128 << 10;

/// Where snapshots lie.
pub(crate) fn dir(root: &Path) -> PathBuf {
    root.join("snapshots")
}

/// Positions of the snapshots that are there, newest first.
pub(crate) fn list(disk: &dyn Disk, dir: &Path) -> Result<Vec<u64>, StoreError> {
    let names = disk.list(dir).map_err(|e| StoreError::io("listing", dir, e))?;
    let mut positions: Vec<u64> =
        names.iter().filter_map(|name| name.strip_suffix(".snap")?.parse().ok()).collect();
    positions.sort_unstable_by(|a, b| b.cmp(a));
    Ok(positions)
}

fn path(dir: &Path, position: u64) -> PathBuf {
    dir.join(format!("{position:020}.snap"))
}

/// Removes all but the two newest. Answers the position of the older one that is
/// kept, if there are two: the journal is needed from there on.
pub(crate) fn prune(disk: &dyn Disk, dir: &Path) -> Result<Option<u64>, StoreError> {
    let positions = list(disk, dir)?;
    for position in positions.iter().skip(2) {
        let path = path(dir, *position);
        disk.remove(&path).map_err(|e| StoreError::io("removing", &path, e))?;
    }
    Ok(positions.get(1).copied())
}

/// Makes the snapshot of a position from the newest good one before it and the
/// journal since.
pub(crate) fn make(
    disk: &dyn Disk,
    root: &Path,
    segments: &[Segment],
    position: u64,
) -> Result<(), StoreError> {
    let dir = dir(root);
    let older: Vec<u64> = list(disk, &dir)?.into_iter().filter(|older| *older < position).collect();
    for base in older {
        match merge(disk, root, Some(base), segments, position) {
            Err(StoreError::Damaged { segment, offset, problem })
                if segment.starts_with("snapshots/") =>
            {
                tracing::error!(
                    segment,
                    offset,
                    problem,
                    "a snapshot is damaged: using an older one"
                );
            }
            result => return result,
        }
    }
    merge(disk, root, None, segments, position)
}

fn merge(
    disk: &dyn Disk,
    root: &Path,
    base: Option<u64>,
    segments: &[Segment],
    position: u64,
) -> Result<(), StoreError> {
    let dir = dir(root);
    let mut base = base.map(|base| Reader::open(disk, &dir, base)).transpose()?;
    let (mut meta, from) =
        base.as_ref().map_or((Meta::default(), 0), |base| (base.meta.clone(), base.position));

    // The journal up to the position, and no further: the rest is being written.
    let mut chain: Vec<Segment> =
        segments.iter().copied().filter(|segment| segment.base < position).collect();
    if let Some(last) = chain.last_mut() {
        last.end = Some(last.end.unwrap_or(position).min(position));
    }
    // By domain; sorted only when each key is there once.
    let mut changes: BTreeMap<DomainName, HashMap<Vec<u8>, Option<Bytes>>> = BTreeMap::new();
    replay::replay(disk, &crate::journal::dir(root), &chain, from, |record| {
        let rows = fold(&mut meta, &record)?;
        if !rows.is_empty() {
            let of_domain = changes.entry(record.header.domain.clone()).or_default();
            of_domain.extend(rows.into_iter().map(|change| (change.key, change.value)));
        }
        Ok(())
    })?;
    let changes = changes.into_iter().flat_map(|(domain, rows)| {
        let mut rows: Vec<_> = rows.into_iter().collect();
        rows.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        rows.into_iter().map(move |(key, value)| ((domain.clone(), key), value))
    });

    let target = path(&dir, position);
    let temporary = target.with_extension("tmp");
    let io = |what: &str, e| StoreError::io(what, &target, e);
    let file = disk
        .append(&temporary)
        .and_then(|file| file.truncate(0).map(|()| file))
        .map_err(|e| io("creating", e))?;
    let written = (|| {
        let mut writer = Writer::begin(&*file, position, &meta).map_err(|e| io("writing", e))?;
        let mut changes = changes.peekable();
        let mut put = |domain: &DomainName, key: &[u8], value: Option<&Bytes>| match value {
            Some(value) => writer.row(domain, key, value).map_err(|e| io("writing", e)),
            None => Ok(()),
        };
        while let Some((domain, key, value)) = base.as_mut().map_or(Ok(None), Reader::row)? {
            let old = (domain, key);
            while let Some(((domain, key), value)) = changes.next_if(|(new, _)| *new < old) {
                put(&domain, &key, value.as_ref())?;
            }
            match changes.next_if(|(new, _)| *new == old) {
                Some((_, value)) => put(&old.0, &old.1, value.as_ref())?,
                None => put(&old.0, &old.1, Some(&value))?,
            }
        }
        for ((domain, key), value) in changes {
            put(&domain, &key, value.as_ref())?;
        }
        writer.finish().and_then(|()| file.sync()).map_err(|e| io("writing", e))?;
        disk.rename(&temporary, &target).map_err(|e| io("renaming", e))?;
        disk.sync_dir(&dir).map_err(|e| io("syncing", e))
    })();
    if written.is_err() {
        // Best effort: a leftover is overwritten.
        let _ = disk.remove(&temporary);
    }
    written
}

/// Takes a record into the fold, once, and answers its row changes.
fn fold(meta: &mut Meta, record: &Record) -> Result<Vec<Change>, StoreError> {
    let header = &record.header;
    if header.kind == Kind::Rest
        || !meta.on_epoch(&header.domain, header.epoch.0).map_err(|c| record.damaged(c.0))?
    {
        return Ok(Vec::new());
    }
    let body = record.body().ok_or_else(|| record.damaged(BAD_BODY))?;
    meta.on_rows(&header.domain, &body.rows).map_err(|c| record.damaged(c.0))?;
    for append in &body.appends {
        meta.on_append(&append.topic, append.partition.0, append.first, append.count)
            .map_err(|c| record.damaged(c.0))?;
    }
    Ok(body.rows)
}

#[derive(Serialize, Deserialize)]
struct StoredMeta {
    epochs: Vec<(DomainName, u64)>,
    topics: Vec<(TopicName, TopicMeta)>,
    next_topic: u64,
}

struct Writer<'a> {
    file: &'a dyn File,
    frame: Vec<u8>,
    rows: u64,
}

impl<'a> Writer<'a> {
    fn begin(file: &'a dyn File, position: u64, meta: &Meta) -> io::Result<Self> {
        let mut header = [0; HEADER];
        patch(&mut header, 0, MAGIC);
        patch(&mut header, 8, &VERSION.to_le_bytes());
        patch(&mut header, 16, &position.to_le_bytes());
        let crc = header_crc(&header);
        patch(&mut header, 12, &crc.to_le_bytes());
        file.append(&header)?;
        let stored = StoredMeta {
            epochs: meta.epochs.iter().map(|(domain, epoch)| (domain.clone(), *epoch)).collect(),
            topics: meta.topics.iter().map(|(name, topic)| (name.clone(), topic.clone())).collect(),
            next_topic: meta.next_topic,
        };
        let mut writer = Self { file, frame: Vec::new(), rows: 0 };
        writer.frame = postcard::to_stdvec(&stored).map_err(io::Error::other)?;
        writer.end_frame(META)?;
        Ok(writer)
    }

    fn row(&mut self, domain: &DomainName, key: &[u8], value: &[u8]) -> io::Result<()> {
        put_name(&mut self.frame, domain.as_str());
        put_block(&mut self.frame, key);
        put_block(&mut self.frame, value);
        self.rows += 1;
        if self.frame.len() >= FRAME_BYTES { self.end_frame(ROWS) } else { Ok(()) }
    }

    fn finish(mut self) -> io::Result<()> {
        if !self.frame.is_empty() {
            self.end_frame(ROWS)?;
        }
        self.frame = self.rows.to_le_bytes().to_vec();
        self.end_frame(END)
    }

    fn end_frame(&mut self, kind: u32) -> io::Result<()> {
        let mut header = Vec::with_capacity(FRAME_HEADER + self.frame.len());
        header.extend_from_slice(&(self.frame.len() as u32).to_le_bytes());
        header.extend_from_slice(&frame_crc(kind, &self.frame).to_le_bytes());
        header.extend_from_slice(&kind.to_le_bytes());
        header.append(&mut self.frame);
        self.file.append(&header)
    }
}

fn header_crc(header: &[u8; HEADER]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&header[..12]), &header[16..])
}

fn frame_crc(kind: u32, payload: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&kind.to_le_bytes()), payload)
}

/// Reads a snapshot from front to back.
pub(crate) struct Reader {
    file: Arc<dyn File>,
    path: PathBuf,
    at: u64,
    length: u64,
    pub(crate) position: u64,
    pub(crate) meta: Meta,
    frame: Bytes,
    rows: u64,
    ended: bool,
}

impl Reader {
    /// Opens a snapshot and reads all but its rows.
    pub(crate) fn open(disk: &dyn Disk, dir: &Path, position: u64) -> Result<Self, StoreError> {
        let path = path(dir, position);
        let io = |e| StoreError::io("reading", &path, e);
        let file = disk.open(&path).map_err(io)?;
        let length = file.length().map_err(io)?;
        let mut reader = Self {
            file,
            path: path.clone(),
            at: HEADER as u64,
            length,
            position,
            meta: Meta::default(),
            frame: Bytes::new(),
            rows: 0,
            ended: false,
        };
        if length < HEADER as u64 {
            return Err(reader.damaged("the file is too short"));
        }
        let mut header = [0; HEADER];
        reader.file.read_at(0, &mut header).map_err(io)?;
        if &header[..8] != MAGIC
            || read_u32(&header, 12) != header_crc(&header)
            || read_u64(&header, 16) != position
        {
            return Err(reader.damaged("this is not the snapshot that its name says"));
        }
        if read_u32(&header, 8) != VERSION {
            return Err(StoreError::Format {
                found: read_u32(&header, 8).to_string(),
                expected: VERSION,
            });
        }
        let (kind, payload) = reader.next_frame()?;
        let stored: Option<StoredMeta> =
            (kind == META).then(|| postcard::from_bytes(&payload).ok()).flatten();
        let stored = stored.ok_or_else(|| reader.damaged("its first frame can not be read"))?;
        reader.meta = Meta {
            epochs: stored.epochs.into_iter().collect(),
            topics: stored.topics.into_iter().collect(),
            next_topic: stored.next_topic,
        };
        Ok(reader)
    }

    /// The next row; `None` at the end.
    pub(crate) fn row(&mut self) -> Result<Option<(DomainName, Vec<u8>, Bytes)>, StoreError> {
        while self.frame.is_empty() {
            if self.ended {
                return Ok(None);
            }
            match self.next_frame()? {
                (ROWS, payload) => self.frame = payload,
                (END, payload) if payload.as_ref() == self.rows.to_le_bytes() => self.ended = true,
                _ => return Err(self.damaged("a frame is missing")),
            }
        }
        let mut input = Input(&self.frame);
        let row = (|| {
            let domain: DomainName = input.name()?.parse().ok()?;
            let key = input.block()?.to_vec();
            // Copied, so that a row does not keep its frame in memory.
            let value = Bytes::copy_from_slice(input.block()?);
            Some((domain, key, value))
        })();
        let rest = self.frame.len() - input.0.len();
        let row = row.ok_or_else(|| self.damaged("a row can not be read"))?;
        self.frame = self.frame.slice(rest..);
        self.rows += 1;
        Ok(Some(row))
    }

    fn next_frame(&mut self) -> Result<(u32, Bytes), StoreError> {
        let mut header = [0; FRAME_HEADER];
        let payload_at = self.at + FRAME_HEADER as u64;
        if payload_at > self.length {
            return Err(self.damaged("the file ends too early"));
        }
        let io = |e| StoreError::io("reading", &self.path, e);
        self.file.read_at(self.at, &mut header).map_err(io)?;
        let size = read_u32(&header, 0);
        if payload_at + u64::from(size) > self.length {
            return Err(self.damaged("the file ends too early"));
        }
        let mut payload = vec![0; size as usize];
        self.file.read_at(payload_at, &mut payload).map_err(io)?;
        let kind = read_u32(&header, 8);
        if frame_crc(kind, &payload) != read_u32(&header, 4) {
            return Err(self.damaged("the frame here is not valid"));
        }
        self.at = payload_at + u64::from(size);
        Ok((kind, payload.into()))
    }

    fn damaged(&self, problem: &str) -> StoreError {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        StoreError::Damaged {
            segment: format!("snapshots/{name}"),
            offset: self.at,
            problem: problem.into(),
        }
    }
}

#[cfg(test)]
mod tests;
