//! What cells, outputs and sends need of the thing they act for: an event of a
//! transform's batch, or an invocation of a handler.

use serde::{Serialize, de::DeserializeOwned};

use crate::{Request, Result};

/// An [`Event`](crate::Event) or a [`Ctx`](crate::Ctx): whose state is meant, and
/// what causes an output.
///
/// Operators use it through cells, outputs and sends; it has no use of its own
/// and cannot be implemented elsewhere.
pub trait Scope: sealed::Sealed {}

impl<S: sealed::Sealed> Scope for S {}

/// An entry of a map cell, as bytes.
pub(crate) type Entry = (Vec<u8>, Vec<u8>);

/// A range of a map cell, as bytes.
#[derive(Clone, Debug, Default)]
pub struct Scan {
    /// Inclusive.
    pub(crate) start: Option<Vec<u8>>,
    /// Exclusive.
    pub(crate) end: Option<Vec<u8>>,
    /// From the end to the start.
    pub(crate) backwards: bool,
    /// At most so many, and at most 1,024.
    pub(crate) limit: u32,
}

/// Where an output goes that does not simply follow what caused it.
#[derive(Clone, Debug, Default)]
pub struct Meta {
    pub(crate) key: Option<Vec<u8>>,
    pub(crate) timestamp: Option<i64>,
    pub(crate) headers: Vec<(String, Vec<u8>)>,
}

impl Meta {
    /// As what caused it: its key, its timestamp, no headers.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Under another key.
    #[must_use]
    pub fn key(mut self, key: impl AsRef<[u8]>) -> Self {
        self.key = Some(key.as_ref().into());
        self
    }

    /// At another event time, in milliseconds since the Unix epoch.
    #[must_use]
    pub fn timestamp(mut self, milliseconds: i64) -> Self {
        self.timestamp = Some(milliseconds);
        self
    }

    /// With a header.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl AsRef<[u8]>) -> Self {
        self.headers.push((name.into(), value.as_ref().into()));
        self
    }
}

pub(crate) mod sealed {
    use super::{DeserializeOwned, Entry, Meta, Request, Result, Scan, Serialize};

    /// The operations themselves.
    pub trait Sealed {
        fn counter(&self, cell: u32) -> Result<i64>;
        fn set_counter(&self, cell: u32, value: i64) -> Result<()>;
        /// Changes it by the function and gives the new number.
        fn update_counter(&self, cell: u32, change: impl FnOnce(i64) -> Result<i64>)
        -> Result<i64>;

        fn value<T: Stored>(&self, cell: u32) -> Result<Option<T>>;
        fn set_value<T: Stored>(&self, cell: u32, value: Option<T>) -> Result<()>;
        /// Takes the value out, lets it be changed, and puts it back.
        fn update_value<T: Stored, R>(
            &self,
            cell: u32,
            change: impl FnOnce(&mut Option<T>) -> R,
        ) -> Result<R>;

        fn map_get(&self, cell: u32, key: &[u8]) -> Result<Option<Vec<u8>>>;
        fn map_put(&self, cell: u32, key: &[u8], value: &[u8]) -> Result<()>;
        fn map_remove(&self, cell: u32, key: &[u8]) -> Result<()>;
        fn map_clear(&self, cell: u32) -> Result<()>;
        fn map_scan(&self, cell: u32, scan: &Scan) -> Result<Vec<Entry>>;

        fn emit(
            &self,
            port: u8,
            meta: Meta,
            write: impl FnOnce(&mut Vec<u8>) -> Result<()>,
        ) -> Result<()>;
        fn post(&self, request: Request);
    }

    /// What a [`Value`](crate::Value) may hold.
    pub trait Stored: Serialize + DeserializeOwned + Clone + 'static {}
    impl<T: Serialize + DeserializeOwned + Clone + 'static> Stored for T {}
}
