//! Where serde_json writes to.

use std::io::{self, Write};

/// From this length on, a piece is copied at once.
const SHORT_MAX: usize = 32;

/// Appends to a vector, in short pieces.
///
/// serde_json writes a value as many small pieces. In WebAssembly the copy of a
/// piece whose length is not known to the compiler is a call of the host, however
/// short the piece: so those are put together from copies of 1, 2, 4, 8 and 16 bytes.
pub(super) struct Pieces<'a>(pub(super) &'a mut Vec<u8>);

impl Write for Pieces<'_> {
    #[inline]
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        self.write_all(piece).map(|()| piece.len())
    }

    // In line, so that brackets and the like become one store.
    #[inline(always)]
    fn write_all(&mut self, piece: &[u8]) -> io::Result<()> {
        match piece {
            [byte] => self.0.push(*byte),
            _ => self.long(piece),
        }
        Ok(())
    }

    #[inline]
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Pieces<'_> {
    fn long(&mut self, piece: &[u8]) {
        if piece.len() >= SHORT_MAX {
            return self.0.extend_from_slice(piece);
        }
        self.0.reserve(piece.len());
        let rest = self.part::<16>(piece);
        let rest = self.part::<8>(rest);
        let rest = self.part::<4>(rest);
        let rest = self.part::<2>(rest);
        self.part::<1>(rest);
    }

    /// Appends the first bytes, if there are so many, and gives the rest.
    #[inline(always)]
    fn part<'p, const BYTES: usize>(&mut self, piece: &'p [u8]) -> &'p [u8] {
        match piece.split_first_chunk::<BYTES>() {
            Some((first, rest)) => {
                self.0.extend_from_slice(first);
                rest
            }
            None => piece,
        }
    }
}
