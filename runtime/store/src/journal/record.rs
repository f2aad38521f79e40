//! The commit record.
//!
//! ```text
//! header   0  magic "WREC"
//!          4  CRC32C of the rest of the header
//!          8  kind: 1 commit, 2 rest
//!          9  length of the domain's name
//!         10  0
//!         12  length of the body
//!         16  CRC32C of the body
//!         20  0
//!         24  epoch
//!         32  position of this record
//!         40  position known durable when it was written
//!         48  name of the domain
//! body        length of the rows, number of appends
//!             appends: topic, partition, offset of the first record, number of
//!                      records, number of blocks, length of the blocks
//!             rows: length of key, length of value (all bits set: removed), key, value
//!             blocks of all appends
//! ```
//! The record is laid out when it is submitted. Positions, offsets and CRCs are
//! filled in when it is appended ([`Prepared::finish`]).

use bytes::Bytes;
use weir_core::ids::{Epoch, Offset, Partition, TopicName};

use crate::{
    Change, Commit, DomainName, StoreError,
    codec::{Input, patch, put_name, read_u32, read_u64},
    topics::block,
};

/// Length of the header without the name.
pub(crate) const HEADER: usize = 48;
/// Largest record: what replay must hold in memory.
pub(crate) const RECORD_BYTES_MAX: u64 = 1 << 30;
/// Largest key of a row.
const KEY_BYTES_MAX: u64 = 1 << 20;
pub(crate) const MAGIC: &[u8; 4] = b"WREC";
/// What is said of a body that can not be taken apart.
pub(crate) const BAD_BODY: &str = "the record is not laid out as it should be";
const REMOVED: u32 = u32::MAX;

/// What a record is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An epoch of a domain.
    Commit,
    /// Nothing: it says that all before it is durable.
    Rest,
}

/// What the header of a record says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RecordHeader {
    pub(crate) kind: Kind,
    pub(crate) domain: DomainName,
    pub(crate) epoch: Epoch,
    pub(crate) position: u64,
    pub(crate) durable: u64,
    pub(crate) body_length: u32,
    body_crc: u32,
}

impl RecordHeader {
    /// Reads the header at the start of the bytes; `None` if it is not one.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        if bytes.len() < HEADER || &bytes[..4] != MAGIC {
            return None;
        }
        let end = HEADER + bytes[9] as usize;
        if bytes.len() < end || read_u32(bytes, 4) != crc32c::crc32c(&bytes[8..end]) {
            return None;
        }
        let kind = match bytes[8] {
            1 => Kind::Commit,
            2 => Kind::Rest,
            _ => return None,
        };
        Some(Self {
            kind,
            domain: std::str::from_utf8(&bytes[HEADER..end]).ok()?.parse().ok()?,
            epoch: Epoch(read_u64(bytes, 24)),
            position: read_u64(bytes, 32),
            durable: read_u64(bytes, 40),
            body_length: read_u32(bytes, 12),
            body_crc: read_u32(bytes, 16),
        })
    }

    /// Length of the header.
    pub(crate) fn length(&self) -> usize {
        HEADER + self.domain.as_str().len()
    }

    /// Length of the whole record.
    pub(crate) fn size(&self) -> u64 {
        self.length() as u64 + u64::from(self.body_length)
    }

    /// The position after the record.
    pub(crate) fn end(&self) -> u64 {
        self.position + self.size()
    }

    /// Is this the body that belongs to the header?
    pub(crate) fn matches(&self, body: &[u8]) -> bool {
        body.len() == self.body_length as usize && crc32c::crc32c(body) == self.body_crc
    }
}

/// A record that waits for its place in the journal.
pub(crate) struct Prepared {
    pub(crate) domain: DomainName,
    pub(crate) epoch: Epoch,
    pub(crate) rows: Vec<Change>,
    pub(crate) appends: Vec<PreparedAppend>,
    /// The whole record.
    pub(crate) bytes: Vec<u8>,
    receipt_row: Option<ReceiptRow>,
}

/// An append of a prepared record.
pub(crate) struct PreparedAppend {
    pub(crate) topic: TopicName,
    pub(crate) partition: Partition,
    pub(crate) count: u32,
    /// Filled in when it is known.
    pub(crate) first: Offset,
    /// Number of records and length of each block.
    pub(crate) blocks: Vec<(u32, u32)>,
    /// Where the blocks lie in the record.
    pub(crate) bytes: std::ops::Range<usize>,
    first_at: usize,
}

/// A row whose value ends with the first offset of each append (8 bytes each,
/// big-endian): the dedupe entry of a request, stored with its answer.
struct ReceiptRow {
    index: usize,
    value: std::ops::Range<usize>,
    offsets_at: usize,
}

impl Prepared {
    /// Lays out a commit. `receipt` is a row to add, whose value is completed with
    /// the offsets that the appends get.
    pub(crate) fn new(
        commit: Commit,
        receipt: Option<(Vec<u8>, Vec<u8>)>,
    ) -> Result<Self, StoreError> {
        let Commit { domain, epoch, mut rows, appends } = commit;
        let offsets_at = receipt.as_ref().map_or(0, |(_, value)| value.len());
        let receipt_index = receipt.map(|(key, mut value)| {
            value.resize(offsets_at + 8 * appends.len(), 0);
            rows.push(Change { key, value: Some(value.into()) });
            rows.len() - 1
        });
        let size = size(&rows, &appends);
        check(size, RECORD_BYTES_MAX, "a commit")?;
        if let Some(key) = rows.iter().map(|row| row.key.len() as u64).max() {
            check(key, KEY_BYTES_MAX, "a key")?;
        }

        let mut bytes = Vec::with_capacity(size as usize);
        bytes.extend_from_slice(&[0; HEADER]);
        bytes.extend_from_slice(domain.as_str().as_bytes());
        let body = bytes.len();
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(&(appends.len() as u32).to_le_bytes());
        let mut prepared = Vec::with_capacity(appends.len());
        for append in &appends {
            put_name(&mut bytes, append.topic.as_str());
            bytes.extend_from_slice(&append.partition.0.to_le_bytes());
            prepared.push(PreparedAppend {
                topic: append.topic.clone(),
                partition: append.partition,
                count: append.records.len() as u32,
                first: Offset(0),
                blocks: Vec::new(),
                bytes: 0..0,
                first_at: bytes.len(),
            });
            bytes.extend_from_slice(&[0; 8]);
            bytes.extend_from_slice(&(append.records.len() as u32).to_le_bytes());
            bytes.extend_from_slice(&[0; 8]);
        }
        let rows_start = bytes.len();
        let mut receipt_row = None;
        for (index, row) in rows.iter().enumerate() {
            bytes.extend_from_slice(&(row.key.len() as u32).to_le_bytes());
            bytes.extend_from_slice(
                &row.value.as_ref().map_or(REMOVED, |value| value.len() as u32).to_le_bytes(),
            );
            bytes.extend_from_slice(&row.key);
            let value_start = bytes.len();
            bytes.extend_from_slice(row.value.as_deref().unwrap_or_default());
            if receipt_index == Some(index) {
                receipt_row =
                    Some(ReceiptRow { index, value: value_start..bytes.len(), offsets_at });
            }
        }
        let rows_length = (bytes.len() - rows_start) as u32;
        patch(&mut bytes, body, &rows_length.to_le_bytes());
        for (prepared, append) in prepared.iter_mut().zip(&appends) {
            let start = bytes.len();
            prepared.blocks = block::encode(&append.records, &mut bytes);
            prepared.bytes = start..bytes.len();
            let at = prepared.first_at + 12;
            patch(&mut bytes, at, &(prepared.blocks.len() as u32).to_le_bytes());
            patch(&mut bytes, at + 4, &(prepared.bytes.len() as u32).to_le_bytes());
        }
        check(bytes.len() as u64, RECORD_BYTES_MAX, "a commit")?;
        patch(&mut bytes, 0, MAGIC);
        bytes[8] = 1;
        bytes[9] = domain.as_str().len() as u8;
        let body_length = (bytes.len() - body) as u32;
        patch(&mut bytes, 12, &body_length.to_le_bytes());
        Ok(Self { domain, epoch, rows, appends: prepared, bytes, receipt_row })
    }

    /// Fills in the epoch, the positions, and the offsets that the appends were
    /// given; then the record may be written.
    pub(crate) fn finish(&mut self, epoch: Epoch, position: u64, durable: u64) {
        self.epoch = epoch;
        for append in &self.appends {
            let mut first = append.first.0;
            patch(&mut self.bytes, append.first_at, &first.to_le_bytes());
            let mut at = append.bytes.start;
            for (count, length) in &append.blocks {
                block::set_first(&mut self.bytes[at..at + block::HEADER], first);
                first += u64::from(*count);
                at += *length as usize;
            }
        }
        if let Some(receipt) = &self.receipt_row {
            for (i, append) in self.appends.iter().enumerate() {
                let at = receipt.value.start + receipt.offsets_at + 8 * i;
                patch(&mut self.bytes, at, &append.first.0.to_be_bytes());
            }
            self.rows[receipt.index].value =
                Some(Bytes::copy_from_slice(&self.bytes[receipt.value.clone()]));
        }
        finish_header(&mut self.bytes, self.domain.as_str().len(), epoch, position, durable);
    }
}

/// The record that says that all before it is durable.
pub(crate) fn rest(position: u64) -> Vec<u8> {
    let domain = DomainName::meta();
    let mut bytes = vec![0; HEADER];
    patch(&mut bytes, 0, MAGIC);
    bytes[8] = 2;
    bytes[9] = domain.as_str().len() as u8;
    bytes.extend_from_slice(domain.as_str().as_bytes());
    finish_header(&mut bytes, domain.as_str().len(), Epoch(0), position, position);
    bytes
}

fn finish_header(bytes: &mut [u8], name: usize, epoch: Epoch, position: u64, durable: u64) {
    let body = HEADER + name;
    let crc = crc32c::crc32c(&bytes[body..]);
    patch(bytes, 16, &crc.to_le_bytes());
    patch(bytes, 24, &epoch.0.to_le_bytes());
    patch(bytes, 32, &position.to_le_bytes());
    patch(bytes, 40, &durable.to_le_bytes());
    let crc = crc32c::crc32c(&bytes[8..body]);
    patch(bytes, 4, &crc.to_le_bytes());
}

fn size(rows: &[Change], appends: &[crate::Append]) -> u64 {
    let rows = rows.iter().map(|row| 8 + row.key.len() + row.value.as_ref().map_or(0, Bytes::len));
    let appends = appends.iter().map(|append| {
        let headers = append.records.headers.iter().map(|h| 12 + h.name.len() + h.value.len());
        let blocks = append.records.len() / 64 + 2;
        128 + append.records.bytes()
            + 20 * append.records.len()
            + 64 * blocks
            + headers.sum::<usize>()
    });
    (HEADER + DomainName::LENGTH_MAX + 8) as u64
        + rows.chain(appends).map(|n| n as u64).sum::<u64>()
}

fn check(size: u64, limit: u64, what: &'static str) -> Result<(), StoreError> {
    if size > limit { Err(StoreError::TooLarge { what, size, limit }) } else { Ok(()) }
}

/// A record that was read.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    /// Number of its segment, and where it begins there.
    pub(crate) place: (u64, u64),
    pub(crate) header: RecordHeader,
    /// The whole record, shared.
    pub(crate) bytes: Bytes,
}

/// What a commit record holds.
pub(crate) struct Body {
    pub(crate) rows: Vec<Change>,
    pub(crate) appends: Vec<AppendedBlocks>,
}

/// An append of a record that was read.
pub(crate) struct AppendedBlocks {
    pub(crate) topic: TopicName,
    pub(crate) partition: Partition,
    pub(crate) first: u64,
    pub(crate) count: u32,
    pub(crate) blocks: Bytes,
}

impl Record {
    /// The error for a record that can not be, though its CRC is right.
    pub(crate) fn damaged(&self, problem: &str) -> StoreError {
        super::replay::damaged(self.place.0, self.place.1, problem)
    }

    /// Takes the body apart; `None` if it is not laid out as it should be.
    pub(crate) fn body(&self) -> Option<Body> {
        let start = self.header.length();
        let mut input = Input(self.bytes.get(start..)?);
        let rows_length = input.u32()? as usize;
        let count = input.u32()?;
        let mut appends = Vec::new();
        for _ in 0..count {
            let topic: TopicName = input.name()?.parse().ok()?;
            let partition = Partition(input.u32()?);
            let first = input.u64()?;
            let count = input.u32()?;
            let _blocks = input.u32()?;
            let length = input.u32()? as usize;
            appends.push((
                AppendedBlocks { topic, partition, first, count, blocks: Bytes::new() },
                length,
            ));
        }
        let mut rows_input = Input(input.bytes(rows_length)?);
        let mut rows = Vec::new();
        while !rows_input.0.is_empty() {
            let key = rows_input.u32()? as usize;
            let value = rows_input.u32()?;
            let key = rows_input.bytes(key)?.to_vec();
            // Copied, so that a small row does not keep a large record in memory.
            let value = match value {
                REMOVED => None,
                length => Some(Bytes::copy_from_slice(rows_input.bytes(length as usize)?)),
            };
            rows.push(Change { key, value });
        }
        let appends = appends.into_iter().map(|(mut append, length)| {
            append.blocks = self.bytes.slice_ref(input.bytes(length)?);
            Some(append)
        });
        let appends = appends.collect::<Option<Vec<_>>>()?;
        input.0.is_empty().then_some(Body { rows, appends })
    }
}

/// A finished record, as replay would read it.
#[cfg(test)]
pub(crate) fn read_back(bytes: &[u8]) -> Option<Record> {
    let header = RecordHeader::decode(bytes)?;
    header.matches(&bytes[header.length()..]).then(|| Record {
        place: (0, 0),
        header,
        bytes: Bytes::copy_from_slice(bytes),
    })
}
