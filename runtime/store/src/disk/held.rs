//! A real disk that holds writes in the process's memory until they are synced, so
//! that `kill -9` loses what a power failure would lose (rule J5). Only in builds with
//! the feature `faults`, and only if `WEIR_FAULT` names it; never shipped.
//!
//! Names of files and cuts are not held: those are the simulated disk's to lose.

use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{Disk, File, Lock, RealDisk};

/// The word in `WEIR_FAULT` (a list with commas) that turns this on.
const HOLD_WRITES: &str = "hold-writes";

/// The disk. All handles of a file share what is held.
pub(super) struct HeldDisk {
    real: RealDisk,
    files: Mutex<HashMap<PathBuf, Arc<HeldFile>>>,
}

struct HeldFile(Mutex<Held>);

struct Held {
    file: Arc<dyn File>,
    written: u64,
    held: Vec<u8>,
}

impl HeldDisk {
    /// The disk, if `WEIR_FAULT` asks for it.
    pub(super) fn from_environment() -> Option<Self> {
        let faults = std::env::var("WEIR_FAULT").unwrap_or_default();
        let wanted = faults.split(',').any(|fault| fault.trim() == HOLD_WRITES);
        wanted.then(|| {
            tracing::warn!(
                "writes are held in memory until they are synced: this build and WEIR_FAULT say so"
            );
            Self::new()
        })
    }

    pub(super) fn new() -> Self {
        Self { real: RealDisk, files: Mutex::default() }
    }

    fn files(&self) -> MutexGuard<'_, HashMap<PathBuf, Arc<HeldFile>>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Disk for HeldDisk {
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.real.create_dir(path)
    }

    fn append(&self, path: &Path) -> io::Result<Arc<dyn File>> {
        let mut files = self.files();
        if let Some(file) = files.get(path) {
            return Ok(file.clone());
        }
        let file = self.real.append(path)?;
        let held = Held { written: file.length()?, file, held: Vec::new() };
        let file = Arc::new(HeldFile(Mutex::new(held)));
        files.insert(path.into(), file.clone());
        Ok(file)
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn File>> {
        match self.files().get(path) {
            Some(file) => Ok(file.clone()),
            None => self.real.open(path),
        }
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        self.real.list(dir)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut files = self.files();
        self.real.rename(from, to)?;
        files.remove(to);
        if let Some(file) = files.remove(from) {
            files.insert(to.into(), file);
        }
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.files().remove(path);
        self.real.remove(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.files().retain(|file, _| !file.starts_with(path));
        self.real.remove_dir(path)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.real.sync_dir(dir)
    }

    fn lock(&self, path: &Path, owner: &str) -> io::Result<Result<Lock, String>> {
        self.real.lock(path, owner)
    }
}

impl HeldFile {
    fn held(&self) -> MutexGuard<'_, Held> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl File for HeldFile {
    fn append(&self, bytes: &[u8]) -> io::Result<()> {
        self.held().held.extend_from_slice(bytes);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        let mut held = self.held();
        let bytes = std::mem::take(&mut held.held);
        held.file.append(&bytes)?;
        held.written += bytes.len() as u64;
        held.file.sync()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let held = self.held();
        let from_file = held.written.saturating_sub(offset).min(buffer.len() as u64) as usize;
        let (first, second) = buffer.split_at_mut(from_file);
        held.file.read_at(offset, first)?;
        let start = (offset + from_file as u64).saturating_sub(held.written) as usize;
        let found = held.held.get(start..).and_then(|rest| rest.get(..second.len()));
        second.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn truncate(&self, length: u64) -> io::Result<()> {
        let mut held = self.held();
        if length >= held.written {
            let kept = length - held.written;
            held.held.truncate(kept as usize);
            return Ok(());
        }
        held.held.clear();
        held.file.truncate(length)?;
        held.written = length;
        Ok(())
    }

    fn length(&self) -> io::Result<u64> {
        let held = self.held();
        Ok(held.written + held.held.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_synced_is_only_in_memory() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        let disk = HeldDisk::new();
        let file = disk.append(&path).unwrap();
        file.append(b"hello ").unwrap();
        file.sync().unwrap();
        file.append(b"world").unwrap();
        let mut bytes = [0; 8];
        disk.open(&path).unwrap().read_at(3, &mut bytes).unwrap();
        assert_eq!(&bytes, b"lo world");
        assert!(file.read_at(4, &mut bytes).is_err());
        assert_eq!(std::fs::read(&path).unwrap(), b"hello ");
        file.truncate(8).unwrap();
        file.sync().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"hello wo");
        file.truncate(2).unwrap();
        assert_eq!(file.length().unwrap(), 2);
    }
}
