//! Reading and writing numbers and bytes: little-endian, as all files here.

/// Reads from the front of bytes; every method answers `None` past the end.
pub(crate) struct Input<'a>(pub(crate) &'a [u8]);

impl<'a> Input<'a> {
    pub(crate) fn bytes(&mut self, n: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(head)
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.bytes(1).map(|b| b[0])
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.bytes(4).map(|b| read_u32(b, 0))
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.bytes(8).map(|b| read_u64(b, 0))
    }

    /// Bytes behind their length.
    pub(crate) fn block(&mut self) -> Option<&'a [u8]> {
        let n = self.u32()?;
        self.bytes(n as usize)
    }

    /// Text behind its length of one byte.
    pub(crate) fn name(&mut self) -> Option<&'a str> {
        let n = self.u8()?;
        std::str::from_utf8(self.bytes(n.into())?).ok()
    }

    /// Text behind its length of four bytes.
    pub(crate) fn text(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.block()?).ok()
    }
}

/// The number at a place that the caller knows to be there.
pub(crate) fn read_u32(bytes: &[u8], at: usize) -> u32 {
    let mut number = [0; 4];
    number.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(number)
}

/// The number at a place that the caller knows to be there.
pub(crate) fn read_u64(bytes: &[u8], at: usize) -> u64 {
    let mut number = [0; 8];
    number.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(number)
}

/// Puts a number at a place that was left for it.
pub(crate) fn patch(bytes: &mut [u8], at: usize, number: &[u8]) {
    bytes[at..at + number.len()].copy_from_slice(number);
}

/// Appends bytes behind their length.
pub(crate) fn put_block(to: &mut Vec<u8>, bytes: &[u8]) {
    to.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    to.extend_from_slice(bytes);
}

/// Appends a name of at most 255 bytes behind its length.
pub(crate) fn put_name(to: &mut Vec<u8>, name: &str) {
    to.push(name.len() as u8);
    to.extend_from_slice(name.as_bytes());
}
