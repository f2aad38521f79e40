//! Typed state cells.
//!
//! A cell belongs to the key of the event or invocation in hand, which is why
//! every method takes it: `STOCK.get(ctx)`. Writes count only if the handler, or
//! the event's function, returns ok. Cells are declared by
//! [`transform!`](crate::transform) and [`handlers!`](crate::handlers); the name
//! of the constant in lower case is the name of the cell.
//!
//! Every method fails where its key is missing (`no-key`, terminal) or where the
//! stored bytes are not what the type says (`invalid-state`, terminal).

use std::{fmt, marker::PhantomData, ops::RangeBounds};

use serde::{Serialize, de::DeserializeOwned};

use crate::{
    Failure, Result, Schema, Scope,
    describe::{Cell, CellKind, CellOptions},
    json,
    scope::{Scan, sealed::Stored},
};

mod list;
mod map;

pub use list::List;
pub use map::{Map, MapKey};

/// A cell type: how it is described and tied to its index.
pub trait Declared: Copy {
    /// The cell with this index in the module's description.
    #[doc(hidden)]
    const KIND: CellKind;

    /// The schema of its values.
    #[doc(hidden)]
    fn schema() -> Option<String>;

    /// Its description.
    #[doc(hidden)]
    #[must_use]
    fn describe(name: String, options: CellOptions) -> Cell {
        Cell { name, kind: Self::KIND, options, schema: Self::schema() }
    }
}

/// A number, 0 until it is changed. Stored as 8 bytes, big-endian.
#[derive(Clone, Copy, Debug)]
pub struct Counter {
    cell: u32,
}

impl Counter {
    #[doc(hidden)]
    #[must_use]
    pub const fn at(cell: u32) -> Self {
        Self { cell }
    }

    /// The number.
    ///
    /// # Errors
    /// As for every cell: see the [module](self).
    #[inline]
    pub fn get(self, scope: &impl Scope) -> Result<i64> {
        scope.counter(self.cell)
    }

    /// Adds to it, or takes from it, and gives the new number.
    ///
    /// # Errors
    /// As for every cell; and `overflow` (terminal).
    #[inline]
    pub fn add(self, scope: &impl Scope, change: i64) -> Result<i64> {
        scope.update_counter(self.cell, |value| {
            value
                .checked_add(change)
                .ok_or_else(|| Failure::terminal("overflow", "a counter passed what 64 bits hold"))
        })
    }

    /// Sets it.
    ///
    /// # Errors
    /// As for every cell.
    #[inline]
    pub fn set(self, scope: &impl Scope, value: i64) -> Result<()> {
        scope.set_counter(self.cell, value)
    }
}

impl Declared for Counter {
    const KIND: CellKind = CellKind::Counter;

    fn schema() -> Option<String> {
        i64::schema()
    }
}

/// One value. Stored as JSON.
pub struct Value<T> {
    cell: u32,
    of: PhantomData<fn() -> T>,
}

impl<T> Value<T> {
    #[doc(hidden)]
    #[must_use]
    pub const fn at(cell: u32) -> Self {
        Self { cell, of: PhantomData }
    }
}

impl<T: Serialize + DeserializeOwned + Clone + 'static> Value<T> {
    /// The value, if it was put.
    ///
    /// # Errors
    /// As for every cell: see the [module](self).
    #[inline]
    pub fn get(self, scope: &impl Scope) -> Result<Option<T>> {
        scope.value(self.cell)
    }

    /// Puts a value in place of the old one.
    ///
    /// # Errors
    /// As for every cell; and `invalid-output` for a value that JSON cannot hold.
    #[inline]
    pub fn put(self, scope: &impl Scope, value: T) -> Result<()> {
        scope.set_value(self.cell, Some(value))
    }

    /// Removes it.
    ///
    /// # Errors
    /// As for every cell.
    #[inline]
    pub fn remove(self, scope: &impl Scope) -> Result<()> {
        scope.set_value::<T>(self.cell, None)
    }

    /// Changes it in place, from its default if there is none, and gives what the
    /// change gives.
    ///
    /// # Errors
    /// As for [`Value::put`].
    #[inline]
    pub fn update<R>(self, scope: &impl Scope, change: impl FnOnce(&mut T) -> R) -> Result<R>
    where
        T: Default,
    {
        scope.update_value(self.cell, |value: &mut Option<T>| change(value.get_or_insert_default()))
    }
}

impl<T: Stored + Schema> Declared for Value<T> {
    const KIND: CellKind = CellKind::Value;

    fn schema() -> Option<String> {
        T::schema()
    }
}

/// The typed cells are plain indexes: copied freely.
macro_rules! plain {
    ($($cell:ident<$($of:ident),+>)*) => {$(
        impl<$($of),+> Clone for $cell<$($of),+> {
            fn clone(&self) -> Self {
                *self
            }
        }
        impl<$($of),+> Copy for $cell<$($of),+> {}
        impl<$($of),+> fmt::Debug for $cell<$($of),+> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($cell)).field("cell", &self.cell).finish()
            }
        }
    )*};
}

plain!(Value<T> Map<K, V> List<T>);

/// Reads stored JSON.
pub(crate) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    json::from_slice(bytes).map_err(|error| Failure::terminal("invalid-state", error))
}

/// Writes JSON to store.
pub(crate) fn encode<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    json::append(&mut bytes, value).map_err(|error| Failure::terminal("invalid-output", error))?;
    Ok(bytes)
}

/// Reads a stored counter.
pub(crate) fn decode_counter(bytes: &[u8]) -> Result<i64> {
    if bytes.is_empty() {
        return Ok(0);
    }
    bytes.try_into().map(i64::from_be_bytes).map_err(|_| {
        Failure::terminal("invalid-state", format!("a counter of {} bytes", bytes.len()))
    })
}

/// The bounds of a range of keys as `start <= key < end`.
fn bounds<K: MapKey>(range: &impl RangeBounds<K>) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
    use std::ops::Bound;
    // The key that follows another in the order of bytes is the same with a 0 after.
    let after = |key: &K| {
        let mut bytes = key.to_bytes();
        bytes.push(0);
        bytes
    };
    let start = match range.start_bound() {
        Bound::Included(key) => Some(key.to_bytes()),
        Bound::Excluded(key) => Some(after(key)),
        Bound::Unbounded => None,
    };
    let end = match range.end_bound() {
        Bound::Included(key) => Some(after(key)),
        Bound::Excluded(key) => Some(key.to_bytes()),
        Bound::Unbounded => None,
    };
    (start, end)
}

/// All entries of a range, page by page.
fn scan_all<S: Scope>(scope: &S, cell: u32, mut scan: Scan) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
    const PAGE: u32 = 1024;
    let mut entries = Vec::new();
    scan.limit = PAGE;
    loop {
        let page = scope.map_scan(cell, &scan)?;
        let full = page.len() == PAGE as usize;
        if let Some((last, _)) = page.last() {
            let mut next = last.clone();
            next.push(0);
            scan.start = Some(next);
        }
        entries.extend(page);
        if !full {
            return Ok(entries);
        }
    }
}
