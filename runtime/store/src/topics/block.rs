//! A block: up to [`RECORDS_MAX`] records in columns, as topic files hold them.
//!
//! ```text
//! header   0  magic "WBLK"
//!          4  CRC32C of bytes 8..40
//!          8  offset of the first record
//!         16  number of records
//!         20  length of the payload
//!         24  CRC32C of the payload
//!         28  0
//!         32  largest timestamp
//! payload     lengths of values, keys, headers; number of events without key
//!             timestamps, key ends, value ends, events without key
//!             headers: event, name, value
//!             keys, values
//! ```
//! The commit record carries the very same bytes: only the first offset and the
//! CRC of the header are filled in when it is appended to the journal.

use weir_core::batch::{Batch, BatchHeader};

use crate::codec::{Input, patch, put_block, read_u32, read_u64};

/// Length of a block's header.
pub(crate) const HEADER: usize = 40;
/// Most records in a block: what a reader must read and check to get one.
pub(crate) const RECORDS_MAX: usize = 256;
/// A block is ended by the record that makes it larger.
const BYTES_MAX: usize = 128 << 10;
const MAGIC: &[u8; 4] = b"WBLK";

/// What the header of a block says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockHeader {
    pub(crate) first: u64,
    pub(crate) count: u32,
    pub(crate) length: u32,
    crc: u32,
    pub(crate) timestamp_max: i64,
}

impl BlockHeader {
    /// Reads a header; `None` if it is not one.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        if bytes.len() < HEADER
            || &bytes[..4] != MAGIC
            || read_u32(bytes, 4) != crc32c::crc32c(&bytes[8..HEADER])
        {
            return None;
        }
        Some(Self {
            first: read_u64(bytes, 8),
            count: read_u32(bytes, 16),
            length: read_u32(bytes, 20),
            crc: read_u32(bytes, 24),
            timestamp_max: read_u64(bytes, 32) as i64,
        })
    }

    /// Length of the whole block.
    pub(crate) fn size(&self) -> usize {
        HEADER + self.length as usize
    }

    /// The offset after the last record.
    pub(crate) fn next(&self) -> u64 {
        self.first + u64::from(self.count)
    }

    /// Is this the payload that belongs to the header?
    pub(crate) fn matches(&self, payload: &[u8]) -> bool {
        payload.len() == self.length as usize && crc32c::crc32c(payload) == self.crc
    }
}

/// Sets the offset of the first record, in a header that [`encode`] wrote.
pub(crate) fn set_first(header: &mut [u8], first: u64) {
    patch(header, 8, &first.to_le_bytes());
    let crc = crc32c::crc32c(&header[8..HEADER]);
    patch(header, 4, &crc.to_le_bytes());
}

/// Appends all events of a batch as blocks, with offsets from 0. Answers the
/// number of events and length of each.
pub(crate) fn encode(batch: &Batch, to: &mut Vec<u8>) -> Vec<(u32, u32)> {
    let mut blocks = Vec::new();
    let mut from = 0;
    while from < batch.len() {
        let mut until = from;
        let mut bytes = 0;
        while until < batch.len() && until - from < RECORDS_MAX && bytes < BYTES_MAX {
            bytes += batch.key_bytes(until).len() + batch.value(until).len();
            until += 1;
        }
        let start = to.len();
        encode_one(batch, from, until, to);
        blocks.push(((until - from) as u32, (to.len() - start) as u32));
        from = until;
    }
    blocks
}

fn encode_one(batch: &Batch, from: usize, until: usize, to: &mut Vec<u8>) {
    let keys = range(&batch.key_ends, from, until);
    let values = range(&batch.value_ends, from, until);
    let keyless_from = batch.keyless.partition_point(|e| (*e as usize) < from);
    let keyless_until = batch.keyless.partition_point(|e| (*e as usize) < until);
    let keyless = &batch.keyless[keyless_from..keyless_until];
    let timestamps = &batch.timestamps[from..until];

    let start = to.len();
    to.extend_from_slice(&[0; HEADER]);
    to.extend_from_slice(&((values.len()) as u32).to_le_bytes());
    to.extend_from_slice(&((keys.len()) as u32).to_le_bytes());
    let headers_length = to.len();
    to.extend_from_slice(&0u32.to_le_bytes());
    to.extend_from_slice(&(keyless.len() as u32).to_le_bytes());
    put_numbers(to, timestamps.iter().map(|t| t.to_le_bytes()));
    put_numbers(
        to,
        batch.key_ends[from..until].iter().map(|e| (e - keys.start as u32).to_le_bytes()),
    );
    put_numbers(
        to,
        batch.value_ends[from..until].iter().map(|e| (e - values.start as u32).to_le_bytes()),
    );
    put_numbers(to, keyless.iter().map(|e| (e - from as u32).to_le_bytes()));
    let headers = to.len();
    let first_header = batch.headers.partition_point(|h| (h.event as usize) < from);
    for header in batch.headers[first_header..].iter().take_while(|h| (h.event as usize) < until) {
        to.extend_from_slice(&(header.event - from as u32).to_le_bytes());
        put_block(to, header.name.as_bytes());
        put_block(to, &header.value);
    }
    let length = (to.len() - headers) as u32;
    patch(to, headers_length, &length.to_le_bytes());
    to.extend_from_slice(&batch.keys[keys]);
    to.extend_from_slice(&batch.values[values]);

    let payload = start + HEADER;
    let length = (to.len() - payload) as u32;
    let crc = crc32c::crc32c(&to[payload..]);
    let timestamp_max = timestamps.iter().copied().max().unwrap_or(i64::MIN);
    patch(to, start, MAGIC);
    patch(to, start + 16, &((until - from) as u32).to_le_bytes());
    patch(to, start + 20, &length.to_le_bytes());
    patch(to, start + 24, &crc.to_le_bytes());
    patch(to, start + 32, &timestamp_max.to_le_bytes());
    set_first(&mut to[start..payload], 0);
}

fn put_numbers<const N: usize>(to: &mut Vec<u8>, numbers: impl ExactSizeIterator<Item = [u8; N]>) {
    let start = to.len();
    to.resize(start + N * numbers.len(), 0);
    for (place, number) in to[start..].as_chunks_mut::<N>().0.iter_mut().zip(numbers) {
        *place = number;
    }
}

fn range(ends: &[u32], from: usize, until: usize) -> std::ops::Range<usize> {
    let end = |i: usize| if i == 0 { 0 } else { ends[i - 1] as usize };
    end(from)..end(until)
}

/// The columns of a payload whose CRC was checked.
pub(crate) struct Columns<'a> {
    timestamps: &'a [[u8; 8]],
    key_ends: &'a [[u8; 4]],
    value_ends: &'a [[u8; 4]],
    keyless: &'a [[u8; 4]],
    headers: &'a [u8],
    keys: &'a [u8],
    values: &'a [u8],
}

impl<'a> Columns<'a> {
    /// Finds the columns; `None` if they do not fit together.
    pub(crate) fn decode(count: u32, payload: &'a [u8]) -> Option<Self> {
        let n = count as usize;
        let mut input = Input(payload);
        let values = input.u32()? as usize;
        let keys = input.u32()? as usize;
        let headers = input.u32()? as usize;
        let keyless = input.u32()? as usize;
        let columns = Self {
            timestamps: input.bytes(n.checked_mul(8)?)?.as_chunks().0,
            key_ends: input.bytes(n.checked_mul(4)?)?.as_chunks().0,
            value_ends: input.bytes(n.checked_mul(4)?)?.as_chunks().0,
            keyless: input.bytes(keyless.checked_mul(4)?)?.as_chunks().0,
            headers: input.bytes(headers)?,
            keys: input.bytes(keys)?,
            values: input.bytes(values)?,
        };
        let ordered = |ends: &[[u8; 4]], length: usize| {
            let mut last = 0;
            ends.iter().all(|end| {
                let end = u32::from_le_bytes(*end);
                std::mem::replace(&mut last, end) <= end
            }) && last as usize == length
        };
        (n > 0
            && input.0.is_empty()
            && ordered(columns.key_ends, keys)
            && ordered(columns.value_ends, values))
        .then_some(columns)
    }

    /// Bytes of keys and values of one record.
    pub(crate) fn bytes_of(&self, i: usize) -> usize {
        let length = |ends: &[[u8; 4]]| end(ends, i + 1) - end(ends, i);
        length(self.key_ends) + length(self.value_ends)
    }

    /// Bytes of keys and values of all records.
    pub(crate) fn bytes(&self) -> usize {
        self.keys.len() + self.values.len()
    }

    /// Adds the records `from..until` to a batch. `None` if the headers are not
    /// right or the batch would be too large for its columns.
    pub(crate) fn append_to(&self, batch: &mut Batch, from: usize, until: usize) -> Option<()> {
        let base = batch.len();
        let (keys_from, keys_until) = (end(self.key_ends, from), end(self.key_ends, until));
        let (values_from, values_until) = (end(self.value_ends, from), end(self.value_ends, until));
        u32::try_from(batch.values.len() + self.values.len()).ok()?;
        u32::try_from(batch.keys.len() + self.keys.len()).ok()?;
        // Ends move from "in the block" to "in the batch".
        let keys = (batch.keys.len() as u32).wrapping_sub(keys_from as u32);
        let values = (batch.values.len() as u32).wrapping_sub(values_from as u32);
        batch
            .timestamps
            .extend(self.timestamps[from..until].iter().map(|t| i64::from_le_bytes(*t)));
        batch.key_ends.extend(
            self.key_ends[from..until].iter().map(|e| u32::from_le_bytes(*e).wrapping_add(keys)),
        );
        batch.value_ends.extend(
            self.value_ends[from..until]
                .iter()
                .map(|e| u32::from_le_bytes(*e).wrapping_add(values)),
        );
        batch.keys.extend_from_slice(&self.keys[keys_from..keys_until]);
        batch.values.extend_from_slice(&self.values[values_from..values_until]);
        for event in self.keyless {
            let event = u32::from_le_bytes(*event) as usize;
            if (from..until).contains(&event) {
                batch.keyless.push((base + event - from) as u32);
            }
        }
        let mut input = Input(self.headers);
        while !input.0.is_empty() {
            let event = input.u32()? as usize;
            let name = input.text()?;
            let value = input.block()?;
            if (from..until).contains(&event) {
                let event = (base + event - from) as u32;
                batch.headers.push(BatchHeader { event, name: name.into(), value: value.into() });
            }
        }
        Some(())
    }
}

fn end(ends: &[[u8; 4]], i: usize) -> usize {
    if i == 0 { 0 } else { u32::from_le_bytes(ends[i - 1]) as usize }
}

/// Number of records and length of each of several blocks, end to end.
pub(crate) fn lengths(mut blocks: &[u8]) -> Option<Vec<(u32, u32)>> {
    let mut lengths = Vec::new();
    while !blocks.is_empty() {
        let header = BlockHeader::decode(blocks)?;
        lengths.push((header.count, u32::try_from(header.size()).ok()?));
        blocks = blocks.get(header.size()..)?;
    }
    Some(lengths)
}
