//! Entries by position.

use std::marker::PhantomData;

use serde::{Serialize, de::DeserializeOwned};

use super::{Declared, MapKey, decode, encode, scan_all};
use crate::{Result, Schema, Scope, describe::CellKind, scope::Scan};

/// Entries by position, from 0. Values are stored as JSON, positions as 8 bytes,
/// big-endian.
pub struct List<T> {
    pub(super) cell: u32,
    of: PhantomData<fn() -> T>,
}

impl<T> List<T> {
    #[doc(hidden)]
    #[must_use]
    pub const fn at(cell: u32) -> Self {
        Self { cell, of: PhantomData }
    }
}

impl<T: Serialize + DeserializeOwned> List<T> {
    /// How many entries there are.
    ///
    /// # Errors
    /// As for every cell: see [the module](crate::cells).
    pub fn len(self, scope: &impl Scope) -> Result<u64> {
        let last =
            scope.map_scan(self.cell, &Scan { backwards: true, limit: 1, ..Scan::default() })?;
        last.first().map_or(Ok(0), |(position, _)| Ok(u64::from_bytes(position)? + 1))
    }

    /// Is there none?
    ///
    /// # Errors
    /// As for every cell.
    pub fn is_empty(self, scope: &impl Scope) -> Result<bool> {
        Ok(self.len(scope)? == 0)
    }

    /// The entry at a position, if there is one.
    ///
    /// # Errors
    /// As for every cell.
    pub fn get(self, scope: &impl Scope, position: u64) -> Result<Option<T>> {
        scope.map_get(self.cell, &position.to_bytes())?.map(|bytes| decode(&bytes)).transpose()
    }

    /// Puts an entry in place of one that there is; gives whether there was.
    ///
    /// # Errors
    /// As for every cell.
    pub fn set(self, scope: &impl Scope, position: u64, value: &T) -> Result<bool> {
        let there = position < self.len(scope)?;
        if there {
            scope.map_put(self.cell, &position.to_bytes(), &encode(value)?)?;
        }
        Ok(there)
    }

    /// Adds an entry at the end and gives its position.
    ///
    /// # Errors
    /// As for every cell.
    pub fn push(self, scope: &impl Scope, value: &T) -> Result<u64> {
        let position = self.len(scope)?;
        scope.map_put(self.cell, &position.to_bytes(), &encode(value)?)?;
        Ok(position)
    }

    /// Takes the last entry away.
    ///
    /// # Errors
    /// As for every cell.
    pub fn pop(self, scope: &impl Scope) -> Result<Option<T>> {
        let Some(position) = self.len(scope)?.checked_sub(1) else { return Ok(None) };
        let value = self.get(scope, position)?;
        scope.map_remove(self.cell, &position.to_bytes())?;
        Ok(value)
    }

    /// All entries, in order.
    ///
    /// # Errors
    /// As for every cell.
    pub fn all(self, scope: &impl Scope) -> Result<Vec<T>> {
        scan_all(scope, self.cell, Scan::default())?
            .into_iter()
            .map(|(_, value)| decode(&value))
            .collect()
    }

    /// Removes every entry.
    ///
    /// # Errors
    /// As for every cell.
    pub fn clear(self, scope: &impl Scope) -> Result<()> {
        scope.map_clear(self.cell)
    }
}

impl<T: Schema> Declared for List<T> {
    const KIND: CellKind = CellKind::List;

    fn schema() -> Option<String> {
        T::schema()
    }
}
