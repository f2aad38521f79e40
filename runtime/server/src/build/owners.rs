//! Whose crates a target directory holds.
//!
//! Cargo names what it makes of a crate in a folder by the crate's name and its place
//! in the workspace. In a target directory that several workspaces share, two crates
//! of one name look the same to it, and if the second one's sources are the older
//! ones, it takes what the first one became. So a directory keeps a note of the
//! folder that each crate was last built from, and a crate from another folder is
//! built anew.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};

/// The manifests of crates that come from folders, by crate name. One name may be
/// that of several.
pub(super) type Local = BTreeMap<String, BTreeSet<PathBuf>>;

/// A target directory, while a build has it: another build waits.
#[derive(Debug)]
pub(super) struct Claim {
    _lock: File,
}

/// Claims a target directory for a build of these crates, and lets `clean` remove
/// what it holds of others of their names.
///
/// # Errors
/// The directory cannot be written, or `clean` fails.
pub(super) fn claim(
    target_dir: &Path,
    crates: &Local,
    clean: impl FnOnce(&[&str]) -> Result<()>,
) -> Result<Claim> {
    let folder = target_dir.join("weir");
    fs::create_dir_all(&folder)
        .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let lock = folder.join("lock");
    let lock = File::create(&lock)
        .and_then(|file| file.lock().map(|()| file))
        .with_context(|| format!("cannot lock {}", lock.display()))?;
    let notes = folder.join("crates.json");
    // A note that cannot be read is none: everything is built anew.
    let mut owners: Local = fs::read(&notes)
        .ok()
        .and_then(|text| serde_json::from_slice(&text).ok())
        .unwrap_or_default();
    let foreign: Vec<&str> = crates
        .iter()
        .filter(|(name, manifests)| owners.get(*name) != Some(*manifests))
        .map(|(name, _)| name.as_str())
        .collect();
    if !foreign.is_empty() {
        clean(&foreign)?;
        owners.extend(crates.clone());
        fs::write(&notes, serde_json::to_vec_pretty(&owners)?)
            .with_context(|| format!("cannot write {}", notes.display()))?;
    }
    Ok(Claim { _lock: lock })
}
