//! The header of a journal segment.
//!
//! ```text
//!  0  magic "WEIRJRNL"
//!  8  format version
//! 12  0
//! 16  number of the segment
//! 24  position of its first record: there its predecessor ends
//! 32  number of its predecessor; all bits set: none
//! 40  CRC32C of bytes 0..40
//! 44  0
//! ```
//! A position counts bytes of records over all segments; headers of segments are
//! not counted.

use crate::codec::{patch, read_u32, read_u64};

/// Length of the header.
pub(crate) const HEADER: u64 = 48;
/// Version of segments and records.
pub(crate) const VERSION: u32 = 1;
const MAGIC: &[u8; 8] = b"WEIRJRNL";
const NONE: u64 = u64::MAX;

/// What the header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SegmentHeader {
    pub(crate) number: u64,
    pub(crate) base: u64,
    pub(crate) predecessor: Option<u64>,
}

/// Why a header can not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoHeader {
    /// The bytes are not a header.
    Invalid,
    /// It is of another version.
    Version(u32),
}

impl SegmentHeader {
    pub(crate) fn encode(&self) -> [u8; HEADER as usize] {
        let mut bytes = [0; HEADER as usize];
        patch(&mut bytes, 0, MAGIC);
        patch(&mut bytes, 8, &VERSION.to_le_bytes());
        patch(&mut bytes, 16, &self.number.to_le_bytes());
        patch(&mut bytes, 24, &self.base.to_le_bytes());
        patch(&mut bytes, 32, &self.predecessor.unwrap_or(NONE).to_le_bytes());
        let crc = crc32c::crc32c(&bytes[..40]);
        patch(&mut bytes, 40, &crc.to_le_bytes());
        bytes
    }

    pub(crate) fn decode(bytes: &[u8; HEADER as usize]) -> Result<Self, NoHeader> {
        if &bytes[..8] != MAGIC || read_u32(bytes, 40) != crc32c::crc32c(&bytes[..40]) {
            return Err(NoHeader::Invalid);
        }
        match read_u32(bytes, 8) {
            VERSION => {}
            other => return Err(NoHeader::Version(other)),
        }
        let predecessor = Some(read_u64(bytes, 32)).filter(|number| *number != NONE);
        Ok(Self { number: read_u64(bytes, 16), base: read_u64(bytes, 24), predecessor })
    }
}

/// Name of the file of a segment.
pub(crate) fn file_name(number: u64) -> String {
    format!("{number:010}.log")
}

/// The number in such a name.
pub(crate) fn parse_name(name: &str) -> Option<u64> {
    name.strip_suffix(".log")?.parse().ok()
}
