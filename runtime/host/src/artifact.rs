//! Compiled modules on disk.
//!
//! One file per module and engine: a mark, the sha256 of all that follows, the
//! length of what is known about the module, that as JSON, and the compiled code.
//! The name carries the digest of the module and a hash of wasmtime's version and
//! settings, so an artifact of another build is never found. A file that does not
//! check out is as good as none: the module is compiled again.
//!
//! The directory is trusted as the program itself is: the code in it is run as it
//! stands. The checksum finds damage, not malice.

use std::{
    fs,
    hash::{Hash, Hasher},
    io::{self, Write},
    path::{Path, PathBuf},
};

use rustc_hash::FxHasher;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use wasmtime::{Engine, component::Component};
use weir_core::{description::Description, ids::ModuleDigest};

use crate::engine::Kind;

const MARK: &[u8; 8] = b"weirart1";
const CHECKSUM: usize = 32;
const HEAD: usize = MARK.len() + CHECKSUM + 4;

/// What is known about a compiled module.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Facts {
    pub(crate) kind: Kind,
    pub(crate) size: u64,
    pub(crate) compile_ms: u64,
    pub(crate) memory_floor: u64,
    pub(crate) description: Description,
}

/// The directory of compiled modules.
pub(crate) struct Artifacts {
    dir: PathBuf,
    /// Of each engine that may have made one.
    builds: Vec<(Kind, u64)>,
}

impl Artifacts {
    /// Opens the directory, or makes it.
    pub(crate) fn open<'a>(
        dir: &Path,
        engines: impl Iterator<Item = (Kind, &'a Engine)>,
    ) -> io::Result<Self> {
        fs::create_dir_all(dir)?;
        let build = |(kind, engine): (Kind, &Engine)| {
            let mut hasher = FxHasher::default();
            engine.precompile_compatibility_hash().hash(&mut hasher);
            (kind, hasher.finish())
        };
        let artifacts = Self { dir: dir.to_owned(), builds: engines.map(build).collect() };
        artifacts.sweep()?;
        Ok(artifacts)
    }

    /// Removes what a crash left half written, and what other builds have compiled.
    fn sweep(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.dir)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let current = self.builds.iter().any(|(_, build)| name.ends_with(&suffix(*build)));
            if (name.ends_with(".cwasm") && !current) || name.contains(".tmp-") {
                fs::remove_file(&path)?;
            }
        }
        Ok(())
    }

    /// Finds a module, and the bytes of its code.
    pub(crate) fn find(&self, digest: ModuleDigest) -> Option<(Facts, Vec<u8>)> {
        self.builds.iter().find_map(|(kind, build)| {
            let path = self.path(digest, *build);
            let bytes = fs::read(&path).ok()?;
            let found = open(&bytes).filter(|(facts, _)| facts.kind == *kind);
            if found.is_none() {
                tracing::warn!(path = %path.display(), "a compiled module is damaged; it is compiled again");
            }
            found.map(|(facts, code)| (facts, code.to_vec()))
        })
    }

    /// Keeps a module. Written beside, synced and renamed: a crash leaves either
    /// nothing or the whole.
    pub(crate) fn keep(&self, digest: ModuleDigest, facts: &Facts, code: &[u8]) -> io::Result<()> {
        let Some((_, build)) = self.builds.iter().find(|(kind, _)| *kind == facts.kind) else {
            return Ok(());
        };
        let path = self.path(digest, *build);
        let temporary = path.with_extension(format!(
            "tmp-{}-{:?}",
            std::process::id(),
            std::thread::current().id()
        ));
        let written = fs::File::create(&temporary).and_then(|mut file| {
            file.write_all(&seal(facts, code)?)?;
            file.sync_all()
        });
        let kept = written.and_then(|()| fs::rename(&temporary, &path));
        if kept.is_err() {
            // The error that matters is the one before.
            let _ = fs::remove_file(&temporary);
        }
        kept
    }

    fn path(&self, digest: ModuleDigest, build: u64) -> PathBuf {
        let name = digest.to_string().replace("sha256:", "");
        self.dir.join(name + &suffix(build))
    }
}

/// How the names of a build's artifacts end.
fn suffix(build: u64) -> String {
    format!("-{build:016x}.cwasm")
}

/// Makes compiled code runnable.
///
/// # Errors
/// If it is of another build of wasmtime.
pub(crate) fn load(engine: &Engine, code: &[u8]) -> wasmtime::Result<Component> {
    #[expect(
        unsafe_code,
        reason = "compiled code is run as it stands; it comes from our own compiler, and its checksum was right"
    )]
    // SAFETY: `code` was made by `precompile_component` of an engine with the same
    // settings, in this process or kept by it in its own directory.
    unsafe {
        Component::deserialize(engine, code)
    }
}

fn seal(facts: &Facts, code: &[u8]) -> io::Result<Vec<u8>> {
    let facts = serde_json::to_vec(facts)?;
    let length = u32::try_from(facts.len()).map_err(io::Error::other)?;
    let mut body = Vec::with_capacity(HEAD + facts.len() + code.len());
    body.extend_from_slice(&length.to_le_bytes());
    body.extend_from_slice(&facts);
    body.extend_from_slice(code);
    let checksum = Sha256::digest(&body);
    let mut bytes = Vec::with_capacity(HEAD + body.len());
    bytes.extend_from_slice(MARK);
    bytes.extend_from_slice(&checksum);
    bytes.extend_from_slice(&body);
    Ok(bytes)
}

fn open(bytes: &[u8]) -> Option<(Facts, &[u8])> {
    let rest = bytes.strip_prefix(MARK)?;
    let (checksum, body) = rest.split_at_checked(CHECKSUM)?;
    if Sha256::digest(body)[..] != *checksum {
        return None;
    }
    let (length, body) = body.split_first_chunk::<4>()?;
    let (facts, code) = body.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    Some((serde_json::from_slice(facts).ok()?, code))
}

#[cfg(test)]
mod tests;
