//! The file layer: everything that the store keeps goes through [`Disk`], so that
//! the simulation can lose, tear and refuse it. (The exception is sled, which can
//! be rebuilt from what went through here.)

#[cfg(feature = "faults")]
mod held;
mod real;
pub mod sim;

use std::{io, path::Path, sync::Arc};

pub use real::RealDisk;
pub use sim::SimDisk;

/// A file system with exactly the operations that a journal needs.
///
/// Nothing is durable until it is synced: bytes by [`File::sync`], the existence
/// and the name of a file by [`Disk::sync_dir`] of its directory.
pub trait Disk: Send + Sync {
    /// Creates a directory and its parents. Existing ones are no error. Parents are
    /// synced.
    ///
    /// # Errors
    /// What the system says.
    fn create_dir(&self, path: &Path) -> io::Result<()>;

    /// Opens a file for reading and appending, creating it if it is missing.
    ///
    /// # Errors
    /// What the system says.
    fn append(&self, path: &Path) -> io::Result<Arc<dyn File>>;

    /// Opens a file for reading.
    ///
    /// # Errors
    /// `NotFound` if it is missing.
    fn open(&self, path: &Path) -> io::Result<Arc<dyn File>>;

    /// Names of the files and directories in a directory, sorted.
    ///
    /// # Errors
    /// `NotFound` if it is missing.
    fn list(&self, dir: &Path) -> io::Result<Vec<String>>;

    /// Renames a file within its directory, replacing what has the new name.
    ///
    /// # Errors
    /// What the system says.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// `NotFound` if it is missing.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Removes a directory with all that is in it. A missing one is no error.
    ///
    /// # Errors
    /// What the system says.
    fn remove_dir(&self, path: &Path) -> io::Result<()>;

    /// Makes the entries of a directory durable.
    ///
    /// # Errors
    /// What the system says; the entries are then in doubt.
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;

    /// Takes the lock that a file stands for and writes `owner` into it. It is held
    /// until the answer is dropped or the process ends, however it ends.
    ///
    /// # Errors
    /// The outer one is what the system says; the inner one is the owner that holds
    /// the lock.
    fn lock(&self, path: &Path, owner: &str) -> io::Result<Result<Lock, String>>;
}

/// Held as long as it lives.
pub type Lock = Box<dyn std::any::Any + Send + Sync>;

/// An open file. Reads see what was appended, synced or not.
pub trait File: Send + Sync {
    /// Writes at the end.
    ///
    /// # Errors
    /// `StorageFull` and others; some of the bytes may have been written.
    fn append(&self, bytes: &[u8]) -> io::Result<()>;

    /// Makes all bytes durable.
    ///
    /// # Errors
    /// What was not durable before is lost or not; a second try would answer
    /// nothing, so the file must be given up.
    fn sync(&self) -> io::Result<()>;

    /// Fills the buffer from a place in the file.
    ///
    /// # Errors
    /// `UnexpectedEof` if the file ends before.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()>;

    /// Cuts the file to a length.
    ///
    /// # Errors
    /// What the system says.
    fn truncate(&self, length: u64) -> io::Result<()>;

    /// Its length in bytes.
    ///
    /// # Errors
    /// What the system says.
    fn length(&self) -> io::Result<u64>;
}

/// Reads a whole file.
///
/// # Errors
/// `NotFound`, or what the system says.
pub fn read_all(disk: &dyn Disk, path: &Path) -> io::Result<Vec<u8>> {
    let file = disk.open(path)?;
    let mut bytes = vec![0; usize::try_from(file.length()?).map_err(io::Error::other)?];
    file.read_at(0, &mut bytes)?;
    Ok(bytes)
}

/// Puts a whole file in place: all of it or, after a crash, nothing. Written under
/// a temporary name, synced, renamed, and the directory synced.
///
/// # Errors
/// What the system says; the name then stands for what it stood for before.
pub fn write_all(disk: &dyn Disk, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let temporary = path.with_extension("tmp");
    let written = (|| {
        let file = disk.append(&temporary)?;
        file.truncate(0)?;
        file.append(bytes)?;
        file.sync()?;
        disk.rename(&temporary, path)
    })();
    if let Err(error) = written {
        // Best effort: a leftover is overwritten by the next try.
        let _ = disk.remove(&temporary);
        return Err(error);
    }
    disk.sync_dir(path.parent().unwrap_or(Path::new(".")))
}
