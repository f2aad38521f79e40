//! Who has the data directory open, and of which format it is.

use std::{io, path::Path};

use crate::{
    Disk, StoreError,
    disk::{Lock, read_all, write_all},
};

/// Version of the layout of the directory and of every file in it.
pub(crate) const FORMAT: u32 = 2;

/// Takes the lock of a data directory.
///
/// # Errors
/// `Locked`, naming the process that has it.
pub(crate) fn take(disk: &dyn Disk, root: &Path) -> Result<Lock, StoreError> {
    let path = root.join("lock");
    let owner = format!("process {}", std::process::id());
    match disk.lock(&path, &owner) {
        Ok(Ok(lock)) => Ok(lock),
        Ok(Err(by)) => Err(StoreError::Locked { by }),
        Err(error) => Err(StoreError::io("locking", &path, error)),
    }
}

/// Checks the format of a data directory, or writes it into a new one.
///
/// # Errors
/// `Format`: nothing was touched.
pub(crate) fn check_format(disk: &dyn Disk, root: &Path) -> Result<(), StoreError> {
    let path = root.join("format");
    let refused = |found: String| Err(StoreError::Format { found, expected: FORMAT });
    match read_all(disk, &path) {
        Ok(bytes) => {
            let text = String::from_utf8_lossy(&bytes);
            match text.strip_prefix("weir ").map(str::trim) {
                Some(version) if version.parse() == Ok(FORMAT) => Ok(()),
                Some(version) => refused(version.chars().take(20).collect()),
                None => refused("unknown".into()),
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let names = disk.list(root).map_err(|e| StoreError::io("listing", root, e))?;
            if names
                .iter()
                .any(|name| ["journal", "snapshots", "topics", "state"].contains(&name.as_str()))
            {
                return refused("none".into());
            }
            write_all(disk, &path, format!("weir {FORMAT}\n").as_bytes())
                .map_err(|e| StoreError::io("writing", &path, e))
        }
        Err(error) => Err(StoreError::io("reading", &path, error)),
    }
}
