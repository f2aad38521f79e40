//! Files of the operating system.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    os::unix::fs::FileExt,
    path::Path,
    sync::Arc,
};

use super::{Disk, File, Lock};

/// The file system of the machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealDisk;

impl RealDisk {
    /// The disk that the process should use: this one or, in a build with the
    /// feature `faults` and as `WEIR_FAULT` says, one that loses what was not synced.
    #[must_use]
    pub fn from_environment() -> Arc<dyn Disk> {
        #[cfg(feature = "faults")]
        if let Some(held) = super::held::HeldDisk::from_environment() {
            return Arc::new(held);
        }
        Arc::new(Self)
    }
}

impl Disk for RealDisk {
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        if path.is_dir() {
            return Ok(());
        }
        match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => {
                self.create_dir(parent)?;
                create_one(path)?;
                self.sync_dir(parent)
            }
            _ => create_one(path),
        }
    }

    fn append(&self, path: &Path) -> io::Result<Arc<dyn File>> {
        let file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
        Ok(Arc::new(RealFile(file)))
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn File>> {
        Ok(Arc::new(RealFile(fs::File::open(path)?)))
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(dir)? {
            // What is not UTF-8 is not ours.
            names.extend(entry?.file_name().into_string());
        }
        names.sort();
        Ok(names)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        match fs::remove_dir_all(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            result => result,
        }
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        fs::File::open(dir)?.sync_all()
    }

    fn lock(&self, path: &Path, owner: &str) -> io::Result<Result<Lock, String>> {
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        match file.try_lock() {
            Ok(()) => {
                file.set_len(0)?;
                file.write_all(owner.as_bytes())?;
                Ok(Ok(Box::new(file)))
            }
            Err(fs::TryLockError::WouldBlock) => {
                let holder = fs::read_to_string(path).unwrap_or_default();
                Ok(Err(if holder.trim().is_empty() {
                    "another process".into()
                } else {
                    holder.trim().into()
                }))
            }
            Err(fs::TryLockError::Error(error)) => Err(error),
        }
    }
}

fn create_one(path: &Path) -> io::Result<()> {
    match fs::create_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        result => result,
    }
}

struct RealFile(fs::File);

impl File for RealFile {
    fn append(&self, bytes: &[u8]) -> io::Result<()> {
        (&self.0).write_all(bytes)
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.0.read_exact_at(buffer, offset)
    }

    fn truncate(&self, length: u64) -> io::Result<()> {
        self.0.set_len(length)
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }
}
