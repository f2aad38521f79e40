//! Open topic files: a bounded number, so that many topics do not use up the
//! process's file handles.

use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use crate::{Disk, disk::File};

/// Files by path, the least recently used closed first.
pub(crate) struct Files {
    pub(crate) disk: Arc<dyn Disk>,
    /// How many are kept open.
    most: usize,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    files: HashMap<PathBuf, (Arc<dyn File>, u64)>,
    turn: u64,
}

impl Files {
    /// With at most so many files open.
    pub(crate) fn new(disk: Arc<dyn Disk>, most: usize) -> Self {
        Self { disk, most, open: Mutex::default() }
    }

    /// The file, for reading and appending; created if it is missing.
    pub(crate) fn get(&self, path: &Path) -> io::Result<Arc<dyn File>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.turn += 1;
        let turn = open.turn;
        if let Some((file, used)) = open.files.get_mut(path) {
            *used = turn;
            return Ok(file.clone());
        }
        let file = self.disk.append(path)?;
        if open.files.len() >= self.most {
            let oldest =
                open.files.iter().min_by_key(|(_, (_, used))| *used).map(|(path, _)| path.clone());
            oldest.map(|path| open.files.remove(&path));
        }
        open.files.insert(path.into(), (file.clone(), turn));
        Ok(file)
    }

    /// Closes all files under a directory.
    pub(crate) fn close_under(&self, dir: &Path) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.files.retain(|path, _| !path.starts_with(dir));
    }
}
