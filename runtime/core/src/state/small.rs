//! Bytes that are stored in place when they are few.

/// How many bytes fit in place.
const PLACE: usize = 22;

/// Immutable bytes; 24 bytes in size.
#[derive(Clone, Debug)]
pub(crate) enum Small {
    /// In place: so many of them.
    Inline(u8, [u8; PLACE]),
    /// Elsewhere.
    Heap(Box<[u8]>),
}

impl Small {
    /// Copies bytes.
    pub(crate) fn new(bytes: &[u8]) -> Self {
        if bytes.len() <= PLACE {
            let mut place = [0; PLACE];
            place[..bytes.len()].copy_from_slice(bytes);
            Self::Inline(bytes.len() as u8, place)
        } else {
            Self::Heap(bytes.into())
        }
    }

    /// The bytes.
    pub(crate) fn as_slice(&self) -> &[u8] {
        match self {
            Self::Inline(length, place) => &place[..usize::from(*length)],
            Self::Heap(bytes) => bytes,
        }
    }

    /// Puts other bytes in their place, without allocating if the length allows.
    pub(crate) fn set(&mut self, bytes: &[u8]) {
        match self {
            Self::Heap(old) if old.len() == bytes.len() => old.copy_from_slice(bytes),
            _ => *self = Self::new(bytes),
        }
    }
}
