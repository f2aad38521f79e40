//! The components built from `tests/guests` and from the examples.

use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::process::target_dir;

/// Where `make guests` puts them: `WEIR_GUESTS`, or `target/guests`.
///
/// # Errors
/// If the target directory is not known.
pub fn path(name: &str) -> Result<PathBuf> {
    let folder = match std::env::var_os("WEIR_GUESTS") {
        Some(folder) => PathBuf::from(folder),
        None => target_dir()?.join("guests"),
    };
    Ok(folder.join(format!("{name}.wasm")))
}

/// The bytes of one.
///
/// # Errors
/// If it has not been built.
pub fn bytes(name: &str) -> Result<Vec<u8>> {
    let path = path(name)?;
    std::fs::read(&path)
        .with_context(|| format!("{} is not there: run `make guests` first", path.display()))
}
