//! The hot path: a batch of events in, a batch of events out.

use std::cell::RefCell;

use crate::{
    Encode, Failure, Request, Result,
    describe::Description,
    host,
    request::Send,
    scope::{
        Entry, Meta, Scan,
        sealed::{Sealed, Stored},
    },
};

mod cache;

use cache::Caches;

/// A module with the `transform` face; written by [`transform!`](crate::transform).
pub trait Transform {
    /// What the module says of itself.
    fn describe() -> Description;

    /// Runs the function of the event's input port.
    ///
    /// # Errors
    /// Its failure, or `invalid-input`.
    fn event(event: &Event<'_>) -> Result<()>;
}

/// Events as columns: `transform.batch` of the contract.
#[derive(Debug, Default)]
#[allow(missing_docs)]
pub struct Batch {
    pub timestamps: Vec<i64>,
    pub keys: Vec<u8>,
    pub key_ends: Vec<u32>,
    pub values: Vec<u8>,
    pub value_ends: Vec<u32>,
    pub ports: Vec<u8>,
    pub keyless: Vec<u32>,
    /// Event, name, value.
    pub headers: Vec<(u32, String, Vec<u8>)>,
    pub utf8: bool,
}

/// What a batch gives away: `transform.output` of the contract.
#[derive(Debug, Default)]
#[allow(missing_docs)]
pub struct Output {
    pub timestamps: Vec<i64>,
    pub keys: Vec<u8>,
    pub key_ends: Vec<u32>,
    pub values: Vec<u8>,
    pub value_ends: Vec<u32>,
    pub ports: Vec<u8>,
    pub causes: Vec<u32>,
    /// Output, name, value.
    pub headers: Vec<(u32, String, Vec<u8>)>,
    pub failures: Vec<(u32, Failure)>,
    pub sends: Vec<(u32, Request)>,
}

/// One event of a batch, as its function sees it.
#[derive(Debug)]
pub struct Event<'a> {
    run: &'a Run,
    index: usize,
}

/// A batch in progress.
#[derive(Debug)]
struct Run {
    batch: Batch,
    output: RefCell<Output>,
    caches: RefCell<Caches>,
}

/// Runs a batch.
///
/// An event that fails is named in the output's failures, and the host then drops
/// everything else: so the rest of the batch runs on, to find the other events
/// that fail, and nothing is stored.
///
/// # Errors
/// A value that is to be stored cannot be written as JSON.
#[doc(hidden)]
pub fn process<T: Transform>(batch: Batch) -> Result<Output> {
    host::begin();
    let events = batch.value_ends.len();
    let output = Output {
        values: Vec::with_capacity(events * 32),
        value_ends: Vec::with_capacity(events),
        causes: Vec::with_capacity(events),
        ..Output::default()
    };
    let run = Run { batch, output: RefCell::new(output), caches: RefCell::default() };
    for index in 0..events {
        if let Err(failure) = T::event(&Event { run: &run, index }) {
            run.output.borrow_mut().failures.push((index as u32, failure));
        }
    }
    let output = run.output.into_inner();
    if output.failures.is_empty() {
        run.caches.into_inner().store()?;
    }
    Ok(output)
}

impl<'a> Event<'a> {
    /// The key as bytes; `None` if the event has none.
    #[must_use]
    pub fn key(&self) -> Option<&'a [u8]> {
        let key = slice(&self.run.batch.keys, &self.run.batch.key_ends, self.index);
        if key.is_empty() && self.is_keyless() { None } else { Some(key) }
    }

    /// The key as text.
    ///
    /// # Errors
    /// `no-key` or `invalid-key`, terminal.
    pub fn key_str(&self) -> Result<&'a str> {
        let key = self.key().ok_or_else(no_key)?;
        std::str::from_utf8(key)
            .map_err(|_| Failure::terminal("invalid-key", "the key is not UTF-8"))
    }

    /// The value as bytes.
    #[must_use]
    #[inline]
    pub fn value(&self) -> &'a [u8] {
        slice(&self.run.batch.values, &self.run.batch.value_ends, self.index)
    }

    /// Event time, in milliseconds since the Unix epoch.
    #[must_use]
    pub fn timestamp(&self) -> i64 {
        self.run.batch.timestamps.get(self.index).copied().unwrap_or_default()
    }

    /// The headers, in order.
    pub fn headers(&self) -> impl Iterator<Item = (&'a str, &'a [u8])> + use<'a> {
        let (headers, event) = (&self.run.batch.headers, self.index as u32);
        let from = headers.partition_point(|(of, ..)| *of < event);
        headers[from..]
            .iter()
            .take_while(move |(of, ..)| *of == event)
            .map(|(_, name, value)| (name.as_str(), value.as_slice()))
    }

    /// Sends to a handler of another operator, once this event is committed.
    pub fn send(&self, operator: &str, handler: &str, value: &impl Encode) -> Send<'_, Self> {
        Send::new(self, operator, handler, value)
    }

    #[doc(hidden)]
    #[must_use]
    #[inline]
    pub fn port(&self) -> u8 {
        self.run.batch.ports.get(self.index).copied().unwrap_or_default()
    }

    #[doc(hidden)]
    #[must_use]
    #[inline]
    pub fn utf8(&self) -> bool {
        self.run.batch.utf8
    }

    fn is_keyless(&self) -> bool {
        self.run.batch.keyless.binary_search(&(self.index as u32)).is_ok()
    }

    /// The event's index, for the host; it has a key.
    fn keyed(&self) -> Result<u32> {
        if self.key().is_some() { Ok(self.index as u32) } else { Err(no_key()) }
    }
}

impl Sealed for Event<'_> {
    #[inline]
    fn counter(&self, cell: u32) -> Result<i64> {
        self.run.caches.borrow_mut().counters(cell)?.get(self.index)
    }

    #[inline]
    fn set_counter(&self, cell: u32, value: i64) -> Result<()> {
        self.run.caches.borrow_mut().counters(cell)?.set(self.index, value)
    }

    #[inline]
    fn update_counter(&self, cell: u32, change: impl FnOnce(i64) -> Result<i64>) -> Result<i64> {
        let mut caches = self.run.caches.borrow_mut();
        let counters = caches.counters(cell)?;
        let value = change(counters.get(self.index)?)?;
        counters.set(self.index, value)?;
        Ok(value)
    }

    fn value<T: Stored>(&self, cell: u32) -> Result<Option<T>> {
        self.run.caches.borrow_mut().values(cell)?.get(self.index)
    }

    fn set_value<T: Stored>(&self, cell: u32, value: Option<T>) -> Result<()> {
        self.run.caches.borrow_mut().values(cell)?.set(self.index, value)
    }

    fn update_value<T: Stored, R>(
        &self,
        cell: u32,
        change: impl FnOnce(&mut Option<T>) -> R,
    ) -> Result<R> {
        // Taken out and put back, so that the change may use other cells.
        let mut value = self.run.caches.borrow_mut().values(cell)?.take(self.index)?;
        let result = change(&mut value);
        self.set_value(cell, value)?;
        Ok(result)
    }

    fn map_get(&self, cell: u32, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(host::batch_map_get(self.keyed()?, cell, key))
    }

    fn map_put(&self, cell: u32, key: &[u8], value: &[u8]) -> Result<()> {
        host::batch_map_put(self.keyed()?, cell, key, value);
        Ok(())
    }

    fn map_remove(&self, cell: u32, key: &[u8]) -> Result<()> {
        host::batch_map_remove(self.keyed()?, cell, key);
        Ok(())
    }

    fn map_clear(&self, cell: u32) -> Result<()> {
        host::batch_remove(self.keyed()?, cell);
        Ok(())
    }

    fn map_scan(&self, cell: u32, scan: &Scan) -> Result<Vec<Entry>> {
        Ok(host::batch_map_scan(self.keyed()?, cell, scan))
    }

    #[inline]
    fn emit(
        &self,
        port: u8,
        meta: Meta,
        write: impl FnOnce(&mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        let output = &mut *self.run.output.borrow_mut();
        let start = output.values.len();
        if let Err(failure) = write(&mut output.values) {
            output.values.truncate(start);
            return Err(failure);
        }
        let nth = output.value_ends.len();
        output.value_ends.push(output.values.len() as u32);
        output.causes.push(self.index as u32);
        // A column stays empty as long as its default will do.
        if port != 0 || !output.ports.is_empty() {
            output.ports.resize(nth, 0);
            output.ports.push(port);
        }
        if meta.timestamp.is_some() || !output.timestamps.is_empty() {
            for i in output.timestamps.len()..nth {
                output.timestamps.push(self.run.batch.timestamps[output.causes[i] as usize]);
            }
            output.timestamps.push(meta.timestamp.unwrap_or_else(|| self.timestamp()));
        }
        if meta.key.is_some() || !output.key_ends.is_empty() {
            for i in output.key_ends.len()..nth {
                let cause = output.causes[i] as usize;
                output.keys.extend_from_slice(slice(
                    &self.run.batch.keys,
                    &self.run.batch.key_ends,
                    cause,
                ));
                output.key_ends.push(output.keys.len() as u32);
            }
            output.keys.extend_from_slice(meta.key.as_deref().or(self.key()).unwrap_or_default());
            output.key_ends.push(output.keys.len() as u32);
        }
        output
            .headers
            .extend(meta.headers.into_iter().map(|(name, value)| (nth as u32, name, value)));
        Ok(())
    }

    fn post(&self, request: Request) {
        self.run.output.borrow_mut().sends.push((self.index as u32, request));
    }
}

fn no_key() -> Failure {
    Failure::terminal("no-key", "the event has no key, so it has no state")
}

#[inline]
fn slice<'a>(bytes: &'a [u8], ends: &[u32], i: usize) -> &'a [u8] {
    let start = if i == 0 { 0 } else { ends[i - 1] as usize };
    &bytes[start..ends[i] as usize]
}
