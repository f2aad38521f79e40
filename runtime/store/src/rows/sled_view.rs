//! Rows in sled, in the directory `state/`: the only place that names sled.
//!
//! ```text
//! tree "rows"   DOMAIN 0x00 KEY -> value     (a domain name has no zero byte)
//! tree "view"   "version"  -> u32            checked at open
//!               "position" -> u64            journal position that is settled
//!               "mark"     -> bytes          the position once more, in another order
//! ```
//! sled is never the truth. Missing, broken or of another version, it is removed and
//! made anew; the caller fills it from a snapshot and the journal.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::{PoisonError, RwLock},
};

use bytes::Bytes;

use super::view::{Settled, View, Visit};
use crate::{DomainName, StoreError};

const VERSION: u32 = 1;

/// The view that the program ships with.
pub(crate) struct SledView {
    dir: PathBuf,
    cache_bytes: u64,
    open: RwLock<Option<Open>>,
}

#[derive(Clone)]
struct Open {
    db: sled::Db,
    rows: sled::Tree,
    view: sled::Tree,
}

impl SledView {
    /// Opens sled, or makes it anew and answers why.
    pub(crate) fn open(
        root: &Path,
        cache_bytes: u64,
    ) -> Result<(Self, Option<String>), StoreError> {
        let dir = root.join("state");
        let existed = dir.exists();
        let (open, why) = match try_open(&dir, cache_bytes).and_then(check) {
            Ok(open) => (open, (!existed).then(|| "it was missing".to_owned())),
            Err(problem) => (recreate(&dir, cache_bytes)?, Some(problem)),
        };
        Ok((Self { dir, cache_bytes, open: RwLock::new(Some(open)) }, why))
    }

    fn with<T>(&self, work: impl FnOnce(&Open) -> Result<T, sled::Error>) -> Result<T, StoreError> {
        let open = self.open.read().unwrap_or_else(PoisonError::into_inner).clone();
        let open = open.ok_or_else(|| failed("reading", "it is being made anew"))?;
        // sled asserts what it reads; damaged files have been seen to make it panic.
        catch_unwind(AssertUnwindSafe(|| work(&open)))
            .map_err(|_| failed("reading", "it panicked"))?
            .map_err(|error| failed("reading", &error.to_string()))
    }
}

fn failed(what: &str, problem: &str) -> StoreError {
    StoreError::Io {
        what: format!("{what} state/"),
        error: std::sync::Arc::new(std::io::Error::other(problem.to_owned())),
    }
}

fn try_open(dir: &Path, cache_bytes: u64) -> Result<Open, String> {
    let config = sled::Config::new()
        .path(dir)
        .cache_capacity(cache_bytes)
        .mode(sled::Mode::LowSpace)
        // Settling flushes; between settlings there is nothing new.
        .flush_every_ms(None);
    let open = catch_unwind(AssertUnwindSafe(|| {
        let db = config.open()?;
        Ok(Open { rows: db.open_tree("rows")?, view: db.open_tree("view")?, db })
    }));
    match open {
        Ok(Ok(open)) => Ok(open),
        Ok(Err(error)) => {
            let error: sled::Error = error;
            Err(format!("it could not be opened: {error}"))
        }
        Err(_) => Err("opening it panicked".to_owned()),
    }
}

/// Is it of this version?
fn check(open: Open) -> Result<Open, String> {
    let version =
        open.view.get("version").map_err(|error| format!("it could not be read: {error}"))?;
    match version {
        Some(version) if version.as_ref() == VERSION.to_be_bytes() => Ok(open),
        Some(_) => Err("it is of another version".to_owned()),
        None if open.rows.is_empty() => {
            open.view
                .insert("version", &VERSION.to_be_bytes())
                .map_err(|error| error.to_string())?;
            Ok(open)
        }
        None => Err("it has no version".to_owned()),
    }
}

fn recreate(dir: &Path, cache_bytes: u64) -> Result<Open, StoreError> {
    match std::fs::remove_dir_all(dir) {
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => {
            std::fs::remove_file(dir).map_err(|e| StoreError::io("removing", dir, e))?;
        }
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(StoreError::io("removing", dir, error));
        }
        _ => {}
    }
    try_open(dir, cache_bytes).and_then(check).map_err(|problem| failed("making", &problem))
}

fn row_key(domain: &DomainName, key: &[u8]) -> Vec<u8> {
    let mut row = Vec::with_capacity(domain.as_str().len() + 1 + key.len());
    row.extend_from_slice(domain.as_str().as_bytes());
    row.push(0);
    row.extend_from_slice(key);
    row
}

impl View for SledView {
    fn position(&self) -> Option<u64> {
        let read = self.with(|open| Ok((open.view.get("position")?, open.view.get("mark")?)));
        let (position, mark) = read.ok()?;
        let position = u64::from_be_bytes(position?.as_ref().try_into().ok()?);
        (mark?.as_ref() == position.to_le_bytes()).then_some(position)
    }

    fn get(&self, domain: &DomainName, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        let value = self.with(|open| open.rows.get(row_key(domain, key)))?;
        Ok(value.map(|value| Bytes::copy_from_slice(&value)))
    }

    fn scan(
        &self,
        domain: &DomainName,
        from: &[u8],
        to: Option<&[u8]>,
        visit: &mut Visit<'_>,
    ) -> Result<(), StoreError> {
        let start = row_key(domain, from);
        let end = match to {
            Some(to) => row_key(domain, to),
            None => [domain.as_str().as_bytes(), &[1]].concat(),
        };
        if end <= start {
            return Ok(());
        }
        let prefix = domain.as_str().len() + 1;
        self.with(|open| {
            for row in open.rows.range(start..end) {
                let (key, value) = row?;
                if !visit(key.get(prefix..).unwrap_or_default(), Bytes::copy_from_slice(&value)) {
                    break;
                }
            }
            Ok(())
        })
    }

    fn settle(
        &self,
        rows: &mut dyn Iterator<Item = Settled<'_>>,
        position: u64,
    ) -> Result<(), StoreError> {
        self.with(|open| {
            // One by one: sled keeps what a batch replaces until the batch is done, and
            // much of it for ever. What is half settled is settled again.
            for (domain, key, value) in rows {
                let key = row_key(domain, key);
                match value {
                    Some(value) => open.rows.insert(key, value.as_ref())?,
                    None => open.rows.remove(key)?,
                };
            }
            open.db.flush()?;
            let mut marks = sled::Batch::default();
            marks.insert("position", &position.to_be_bytes());
            marks.insert("mark", &position.to_le_bytes());
            open.view.apply_batch(marks)?;
            open.db.flush()?;
            Ok(())
        })
    }

    fn clear(&self) -> Result<(), StoreError> {
        let mut open = self.open.write().unwrap_or_else(PoisonError::into_inner);
        *open = None;
        *open = Some(recreate(&self.dir, self.cache_bytes)?);
        Ok(())
    }
}
