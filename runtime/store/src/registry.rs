//! Modules and pipelines: rows of the domain `meta`, module bytes in files.
//!
//! ```text
//! module/NAME/VERSION       digest, size, time, metadata
//! pipeline/NAME             newest revision, time, status
//! revision/NAME/NUMBER      time, document          (number: u32, big-endian)
//! modules/HEX.wasm          the bytes, by digest
//! ```
//! What metadata, status and document mean is for the caller to know.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use bytes::Bytes;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use sha2::{Digest, Sha256};
use weir_core::ids::{Epoch, EventTime, ModuleDigest, ModuleName, PipelineName};

use crate::{
    Change, Commit, Disk, DomainName, Done, Store, StoreError,
    disk::{read_all, write_all},
    journal::record::Prepared,
    store::prepare,
};

pub(crate) const MODULE_PREFIX: &str = "module/";
pub(crate) const PIPELINE_PREFIX: &str = "pipeline/";
pub(crate) const REVISION_PREFIX: &str = "revision/";
/// First byte of each row: the version of its form.
const VERSION: u8 = 1;

/// Modules and pipelines of a store.
#[derive(Clone)]
pub struct Registry {
    store: Arc<Store>,
}

/// A module as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleEntry {
    /// Its name.
    pub name: ModuleName,
    /// Its version, as the uploader wrote it.
    pub version: String,
    /// The sha256 of the bytes as uploaded.
    pub digest: ModuleDigest,
    /// Size of the bytes.
    pub bytes: u64,
    /// When it was uploaded.
    pub uploaded: EventTime,
    /// What the caller keeps with it: opaque here.
    pub metadata: Bytes,
}

/// A pipeline as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PipelineEntry {
    /// Its name.
    pub name: PipelineName,
    /// Its newest revision, from 1.
    pub revision: u32,
    /// When it was created.
    pub created: EventTime,
    /// What the caller keeps with the pipeline over its revisions (whether it should
    /// run, its incarnation): opaque here.
    pub status: Bytes,
}

/// One revision of a pipeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revision {
    /// Its number, from 1.
    pub revision: u32,
    /// When it was stored.
    pub created: EventTime,
    /// What the caller stored: opaque here.
    pub document: Bytes,
}

/// Whether something was stored, or was there before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    /// It is new.
    New,
    /// The same was there.
    Known,
}

/// Called once with the outcome, on the thread that steps, or at once if the caller's
/// thread knows it.
pub type Answer<T> = Box<dyn FnOnce(Result<T, StoreError>) + Send>;

#[derive(Serialize, Deserialize)]
struct ModuleRow {
    digest: [u8; 32],
    bytes: u64,
    uploaded: i64,
    metadata: Bytes,
}

#[derive(Serialize, Deserialize)]
struct PipelineRow {
    revision: u32,
    created: i64,
    status: Bytes,
}

#[derive(Serialize, Deserialize)]
struct RevisionRow {
    created: i64,
    document: Bytes,
}

/// What a decision leads to: rows to change and the answer once they are durable, or
/// the answer without.
enum Decision<T> {
    Change(Vec<Change>, T),
    Answer(T),
}

impl Registry {
    /// The registry of a store.
    #[must_use]
    pub fn new(store: Arc<Store>) -> Self {
        Self { store }
    }

    /// Keeps a module. Its bytes are written and synced by the calling thread; the row
    /// follows as a commit. The same name, version and bytes again is
    /// [`Stored::Known`] (the first metadata stay); other bytes are `ModuleConflict`.
    pub fn put_module(
        &self,
        name: &ModuleName,
        version: &str,
        bytes: Bytes,
        metadata: Bytes,
        done: Answer<(ModuleEntry, Stored)>,
    ) {
        let digest = ModuleDigest(Sha256::digest(&bytes).into());
        let written = match self.module(name, version) {
            Ok(Some(known)) if known.digest != digest => Err(conflict(&known)),
            Ok(_) => self.write_bytes(&digest, &bytes),
            Err(error) => Err(error),
        };
        if let Err(error) = written {
            done(Err(error));
            return;
        }
        let entry = ModuleEntry {
            name: name.clone(),
            version: version.into(),
            digest,
            bytes: bytes.len() as u64,
            uploaded: self.store.clock.now().wall,
            metadata,
        };
        self.decide(done, move |registry| match registry.module(&entry.name, &entry.version)? {
            Some(known) if known.digest == entry.digest => {
                Ok(Decision::Answer((known, Stored::Known)))
            }
            Some(known) => Err(conflict(&known)),
            None => {
                // It may have been removed with its last other name, meanwhile.
                let path = module_path(&registry.store, &entry.digest);
                registry.store.disk.open(&path).map_err(|e| StoreError::io("reading", &path, e))?;
                let row = ModuleRow {
                    digest: entry.digest.0,
                    bytes: entry.bytes,
                    uploaded: entry.uploaded.0,
                    metadata: entry.metadata.clone(),
                };
                let key = module_key(&entry.name, &entry.version);
                Ok(Decision::Change(vec![put(key, &row)?], (entry, Stored::New)))
            }
        });
    }

    /// A module by name and version.
    ///
    /// # Errors
    /// If the row can not be read.
    pub fn module(
        &self,
        name: &ModuleName,
        version: &str,
    ) -> Result<Option<ModuleEntry>, StoreError> {
        let key = module_key(name, version);
        let row = self.store.get(&DomainName::meta(), &key)?;
        row.map(|row| module_entry(&key, &row)).transpose()
    }

    /// All names and versions that stand for these bytes.
    ///
    /// # Errors
    /// If a row can not be read.
    pub fn modules_of(&self, digest: &ModuleDigest) -> Result<Vec<ModuleEntry>, StoreError> {
        Ok(self.modules()?.into_iter().filter(|module| module.digest == *digest).collect())
    }

    /// All modules, by name and version text.
    ///
    /// # Errors
    /// If a row can not be read.
    pub fn modules(&self) -> Result<Vec<ModuleEntry>, StoreError> {
        self.with_prefix(MODULE_PREFIX)?.iter().map(|(key, row)| module_entry(key, row)).collect()
    }

    /// Writes and syncs the bytes of a module, on this thread. Bytes that no row names
    /// do no harm.
    ///
    /// # Errors
    /// `Full`, `Io`.
    pub fn write_bytes(&self, digest: &ModuleDigest, bytes: &[u8]) -> Result<(), StoreError> {
        if self.module_bytes(digest).is_ok() {
            return Ok(());
        }
        let path = module_path(&self.store, digest);
        write_all(&*self.store.disk, &path, bytes).map_err(|e| StoreError::io("writing", &path, e))
    }

    /// The bytes of a module, checked against the digest.
    ///
    /// # Errors
    /// `Unknown` if they are not there; `Damaged` if they are not what was stored.
    pub fn module_bytes(&self, digest: &ModuleDigest) -> Result<Bytes, StoreError> {
        let path = module_path(&self.store, digest);
        let bytes = read_all(&*self.store.disk, &path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                StoreError::Unknown { what: "module", name: digest.to_string() }
            }
            _ => StoreError::io("reading", &path, error),
        })?;
        let found: [u8; 32] = Sha256::digest(&bytes).into();
        if found != digest.0 {
            return Err(StoreError::Damaged {
                segment: format!(
                    "modules/{}",
                    path.file_name().unwrap_or_default().to_string_lossy()
                ),
                offset: 0,
                problem: "the bytes are not those of the module: upload it again".into(),
            });
        }
        Ok(bytes.into())
    }

    /// Removes the bytes of a module. Missing ones are no error.
    ///
    /// # Errors
    /// `Io`.
    pub fn remove_bytes(&self, digest: &ModuleDigest) -> Result<(), StoreError> {
        let path = module_path(&self.store, digest);
        match self.store.disk.remove(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(StoreError::io("removing", &path, error))
            }
            _ => Ok(()),
        }
    }

    /// Removes a name and version; the bytes go with the last one. Whether it is in use
    /// is for the caller to know. Answers false if there was none.
    pub fn delete_module(&self, name: &ModuleName, version: &str, done: Answer<bool>) {
        let (name, version) = (name.clone(), version.to_owned());
        let registry = self.clone();
        let of_module = module_key(&name, &version);
        let done: Answer<Option<ModuleDigest>> = Box::new(move |result| {
            if let Ok(Some(digest)) = &result
                && registry.modules_of(digest).is_ok_and(|modules| modules.is_empty())
                && let Err(error) = registry.remove_bytes(digest)
            {
                tracing::warn!(%digest, %error, "could not remove the bytes of a module: they only take space");
            }
            done(result.map(|digest| digest.is_some()));
        });
        self.decide(done, move |registry| {
            Ok(match registry.module(&name, &version)? {
                Some(known) => Decision::Change(
                    vec![Change { key: of_module, value: None }],
                    Some(known.digest),
                ),
                None => Decision::Answer(None),
            })
        });
    }

    /// Stores a new revision of a pipeline. A new pipeline begins with this status; of
    /// a known one `status` replaces the old one if it is given.
    pub fn put_pipeline(
        &self,
        name: &PipelineName,
        document: Bytes,
        status: Option<Bytes>,
        done: Answer<PipelineEntry>,
    ) {
        let name = name.clone();
        let now = self.store.clock.now().wall;
        self.decide(done, move |registry| {
            let entry = match registry.pipeline(&name)? {
                Some(known) => PipelineEntry {
                    revision: known.revision + 1,
                    status: status.unwrap_or_else(|| known.status.clone()),
                    ..known
                },
                None => PipelineEntry {
                    name,
                    revision: 1,
                    created: now,
                    status: status.unwrap_or_default(),
                },
            };
            let revision = RevisionRow { created: now.0, document };
            let rows = vec![
                put_pipeline(&entry)?,
                put(revision_key(&entry.name, entry.revision), &revision)?,
            ];
            Ok(Decision::Change(rows, entry))
        });
    }

    /// Replaces the status of a pipeline. `Unknown` if there is none.
    pub fn set_pipeline_status(
        &self,
        name: &PipelineName,
        status: Bytes,
        done: Answer<PipelineEntry>,
    ) {
        let name = name.clone();
        self.decide(done, move |registry| {
            let known = registry.pipeline(&name)?;
            let known = known
                .ok_or_else(|| StoreError::Unknown { what: "pipeline", name: name.to_string() })?;
            let entry = PipelineEntry { status, ..known };
            Ok(Decision::Change(vec![put_pipeline(&entry)?], entry))
        });
    }

    /// A pipeline.
    ///
    /// # Errors
    /// If the row can not be read.
    pub fn pipeline(&self, name: &PipelineName) -> Result<Option<PipelineEntry>, StoreError> {
        let key = format!("{PIPELINE_PREFIX}{name}");
        let row = self.store.get(&DomainName::meta(), key.as_bytes())?;
        row.map(|row| pipeline_entry(key.as_bytes(), &row)).transpose()
    }

    /// All pipelines, by name.
    ///
    /// # Errors
    /// If a row can not be read.
    pub fn pipelines(&self) -> Result<Vec<PipelineEntry>, StoreError> {
        self.with_prefix(PIPELINE_PREFIX)?
            .iter()
            .map(|(key, row)| pipeline_entry(key, row))
            .collect()
    }

    /// One revision of a pipeline.
    ///
    /// # Errors
    /// If the row can not be read.
    pub fn revision(
        &self,
        name: &PipelineName,
        revision: u32,
    ) -> Result<Option<Revision>, StoreError> {
        let key = revision_key(name, revision);
        let row = self.store.get(&DomainName::meta(), &key)?;
        row.map(|row| revision_entry(&key, &row)).transpose()
    }

    /// All revisions of a pipeline, oldest first.
    ///
    /// # Errors
    /// If a row can not be read.
    pub fn revisions(&self, name: &PipelineName) -> Result<Vec<Revision>, StoreError> {
        let rows = self.with_prefix(&format!("{REVISION_PREFIX}{name}/"))?;
        rows.iter().map(|(key, row)| revision_entry(key, row)).collect()
    }

    /// Removes a pipeline and its revisions. Rows of its domain are left: see
    /// [`Store::clear_domain`]. Answers false if there was none.
    pub fn delete_pipeline(&self, name: &PipelineName, done: Answer<bool>) {
        let name = name.clone();
        self.decide(done, move |registry| {
            let key = format!("{PIPELINE_PREFIX}{name}").into_bytes();
            if registry.pipeline(&name)?.is_none() {
                return Ok(Decision::Answer(false));
            }
            let revisions = registry.with_prefix(&format!("{REVISION_PREFIX}{name}/"))?;
            let keys = std::iter::once(key).chain(revisions.into_iter().map(|(key, _)| key));
            Ok(Decision::Change(keys.map(|key| Change { key, value: None }).collect(), true))
        });
    }

    /// Queues a decision over what is committed when its turn comes.
    fn decide<T: Send + 'static>(
        &self,
        done: Answer<T>,
        decide: impl FnOnce(&Registry) -> Result<Decision<T>, StoreError> + Send + 'static,
    ) {
        let registry = self.clone();
        self.store.decide(Box::new(move |store| -> Option<(Prepared, Done)> {
            let decision = match store {
                Ok(_) => decide(&registry),
                Err(error) => Err(error),
            };
            match decision {
                Ok(Decision::Change(rows, answer)) => {
                    let commit = Commit {
                        domain: DomainName::meta(),
                        epoch: Epoch(0),
                        rows,
                        appends: Vec::new(),
                    };
                    prepare(commit, Box::new(move |result| done(result.map(|_| answer))))
                }
                Ok(Decision::Answer(answer)) => {
                    done(Ok(answer));
                    None
                }
                Err(error) => {
                    done(Err(error));
                    None
                }
            }
        }));
    }

    fn with_prefix(&self, prefix: &str) -> Result<crate::Rows, StoreError> {
        // Prefixes end with `/`; the byte after it is `0`.
        let mut end = prefix.as_bytes().to_vec();
        if let Some(last) = end.last_mut() {
            *last += 1;
        }
        self.store.scan_all(&DomainName::meta(), prefix.as_bytes(), Some(&end)).collect()
    }
}

/// Makes the directory of the bytes, and removes half-written ones.
pub(crate) fn open(disk: &dyn Disk, root: &Path) -> Result<(), StoreError> {
    let dir = root.join("modules");
    disk.create_dir(&dir).map_err(|e| StoreError::io("creating", &dir, e))?;
    let names = disk.list(&dir).map_err(|e| StoreError::io("listing", &dir, e))?;
    for path in names.iter().filter(|name| name.ends_with(".tmp")).map(|name| dir.join(name)) {
        disk.remove(&path).map_err(|e| StoreError::io("removing", &path, e))?;
    }
    Ok(())
}

fn conflict(known: &ModuleEntry) -> StoreError {
    let (name, version) = (known.name.to_string(), known.version.clone());
    StoreError::ModuleConflict { name, version, digest: known.digest }
}

fn module_path(store: &Store, digest: &ModuleDigest) -> PathBuf {
    let text = digest.to_string();
    store.root.join("modules").join(format!("{}.wasm", text.trim_start_matches("sha256:")))
}

fn module_key(name: &ModuleName, version: &str) -> Vec<u8> {
    format!("{MODULE_PREFIX}{name}/{version}").into_bytes()
}

fn revision_key(name: &PipelineName, revision: u32) -> Vec<u8> {
    [format!("{REVISION_PREFIX}{name}/").as_bytes(), &revision.to_be_bytes()].concat()
}

fn put_pipeline(entry: &PipelineEntry) -> Result<Change, StoreError> {
    let row = PipelineRow {
        revision: entry.revision,
        created: entry.created.0,
        status: entry.status.clone(),
    };
    put(format!("{PIPELINE_PREFIX}{}", entry.name).into_bytes(), &row)
}

fn put(key: Vec<u8>, row: &impl Serialize) -> Result<Change, StoreError> {
    let value = postcard::to_extend(row, vec![VERSION]).map_err(|_| unreadable(&key))?;
    Ok(Change { key, value: Some(value.into()) })
}

fn read<T: DeserializeOwned>(key: &[u8], row: &[u8]) -> Result<T, StoreError> {
    let row = row.split_first().filter(|(version, _)| **version == VERSION);
    row.and_then(|(_, row)| postcard::from_bytes(row).ok()).ok_or_else(|| unreadable(key))
}

fn unreadable(key: &[u8]) -> StoreError {
    let problem = "the row can not be read".into();
    StoreError::Damaged {
        segment: format!("meta:{}", String::from_utf8_lossy(key)),
        offset: 0,
        problem,
    }
}

fn module_entry(key: &[u8], row: &[u8]) -> Result<ModuleEntry, StoreError> {
    let names = std::str::from_utf8(key)
        .ok()
        .and_then(|key| key.strip_prefix(MODULE_PREFIX)?.split_once('/'));
    let (name, version) = names.ok_or_else(|| unreadable(key))?;
    let row: ModuleRow = read(key, row)?;
    Ok(ModuleEntry {
        name: name.parse().map_err(|_| unreadable(key))?,
        version: version.into(),
        digest: ModuleDigest(row.digest),
        bytes: row.bytes,
        uploaded: EventTime(row.uploaded),
        metadata: row.metadata,
    })
}

fn pipeline_entry(key: &[u8], row: &[u8]) -> Result<PipelineEntry, StoreError> {
    let name = std::str::from_utf8(key)
        .ok()
        .and_then(|key| key.strip_prefix(PIPELINE_PREFIX)?.parse().ok());
    let row: PipelineRow = read(key, row)?;
    Ok(PipelineEntry {
        name: name.ok_or_else(|| unreadable(key))?,
        revision: row.revision,
        created: EventTime(row.created),
        status: row.status,
    })
}

fn revision_entry(key: &[u8], row: &[u8]) -> Result<Revision, StoreError> {
    let number =
        key.last_chunk().copied().map(u32::from_be_bytes).ok_or_else(|| unreadable(key))?;
    let row: RevisionRow = read(key, row)?;
    Ok(Revision { revision: number, created: EventTime(row.created), document: row.document })
}

#[cfg(test)]
mod tests;
