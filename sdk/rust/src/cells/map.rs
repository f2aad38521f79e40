//! Entries by key, in order.

use std::{marker::PhantomData, ops::RangeBounds};

use serde::{Serialize, de::DeserializeOwned};

use super::{Declared, bounds, decode, encode, scan_all};
use crate::{Failure, Result, Schema, Scope, describe::CellKind, scope::Scan};

/// Entries by key, in order of the keys' bytes. Values are stored as JSON, keys as
/// [`MapKey`] says.
pub struct Map<K, V> {
    pub(super) cell: u32,
    of: PhantomData<fn() -> (K, V)>,
}

impl<K, V> Map<K, V> {
    #[doc(hidden)]
    #[must_use]
    pub const fn at(cell: u32) -> Self {
        Self { cell, of: PhantomData }
    }
}

impl<K: MapKey, V: Serialize + DeserializeOwned> Map<K, V> {
    /// The entry under a key.
    ///
    /// # Errors
    /// As for every cell: see [the module](crate::cells).
    pub fn get(self, scope: &impl Scope, key: &K) -> Result<Option<V>> {
        scope.map_get(self.cell, &key.to_bytes())?.map(|bytes| decode(&bytes)).transpose()
    }

    /// Puts an entry in place of the old one.
    ///
    /// # Errors
    /// As for every cell; and `invalid-output` for a value that JSON cannot hold.
    pub fn put(self, scope: &impl Scope, key: &K, value: &V) -> Result<()> {
        scope.map_put(self.cell, &key.to_bytes(), &encode(value)?)
    }

    /// Removes an entry. That there is none is fine.
    ///
    /// # Errors
    /// As for every cell.
    pub fn remove(self, scope: &impl Scope, key: &K) -> Result<()> {
        scope.map_remove(self.cell, &key.to_bytes())
    }

    /// Removes every entry.
    ///
    /// # Errors
    /// As for every cell.
    pub fn clear(self, scope: &impl Scope) -> Result<()> {
        scope.map_clear(self.cell)
    }

    /// The entries of a range of keys, in order: `..` for all.
    ///
    /// # Errors
    /// As for every cell.
    pub fn range(self, scope: &impl Scope, range: impl RangeBounds<K>) -> Result<Vec<(K, V)>> {
        let (start, end) = bounds(&range);
        scan_all(scope, self.cell, Scan { start, end, ..Scan::default() })?
            .into_iter()
            .map(|(key, value)| Ok((K::from_bytes(&key)?, decode(&value)?)))
            .collect()
    }
}

impl<K: MapKey, V: Schema> Declared for Map<K, V> {
    const KIND: CellKind = CellKind::Map;

    fn schema() -> Option<String> {
        V::schema()
    }
}

/// A key of a map cell: bytes whose order is the order of the entries.
pub trait MapKey: Sized {
    /// The key as bytes.
    fn to_bytes(&self) -> Vec<u8>;

    /// The key that these bytes are.
    ///
    /// # Errors
    /// `invalid-state` (terminal) if they are none.
    fn from_bytes(bytes: &[u8]) -> Result<Self>;
}

/// As its UTF-8.
impl MapKey for String {
    fn to_bytes(&self) -> Vec<u8> {
        self.as_bytes().into()
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        String::from_utf8(bytes.into()).map_err(|_| invalid("a map key that is not UTF-8"))
    }
}

/// As they are.
impl MapKey for Vec<u8> {
    fn to_bytes(&self) -> Vec<u8> {
        self.clone()
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Ok(bytes.into())
    }
}

/// As 8 bytes, big-endian.
impl MapKey for u64 {
    fn to_bytes(&self) -> Vec<u8> {
        self.to_be_bytes().into()
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        bytes
            .try_into()
            .map(u64::from_be_bytes)
            .map_err(|_| invalid("a map key that is not 8 bytes"))
    }
}

/// As 8 bytes, big-endian, with the sign turned over, so that -1 is before 0.
impl MapKey for i64 {
    fn to_bytes(&self) -> Vec<u8> {
        (self.cast_unsigned() ^ 1 << 63).to_bytes()
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Ok((u64::from_bytes(bytes)? ^ 1 << 63).cast_signed())
    }
}

fn invalid(what: &str) -> Failure {
    Failure::terminal("invalid-state", what)
}
