//! The registry of modules: immutable bytes by name and version.

use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use weir_core::{
    description::Description,
    ids::{EventTime, ModuleDigest, ModuleName},
};
use weir_store::{ModuleEntry, Stored};

use super::{Engine, Error, ask, blocking};

/// A module of the registry.
#[derive(Clone, Debug)]
pub struct Module {
    /// Its name.
    pub name: ModuleName,
    /// Its version.
    pub version: semver::Version,
    /// The sha256 of its bytes as uploaded.
    pub digest: ModuleDigest,
    /// Size of the bytes.
    pub size: u64,
    /// When it was uploaded.
    pub created_at: EventTime,
    /// The report of its check.
    pub report: Value,
    /// What it says of itself.
    pub description: Arc<Description>,
}

/// An upload that was taken.
#[derive(Clone, Debug)]
pub struct Uploaded {
    /// The module.
    pub module: Module,
    /// Was it not there before?
    pub new: bool,
}

/// What the service keeps with a module's row.
#[derive(Serialize, Deserialize)]
struct Metadata {
    report: Value,
    description: Description,
}

impl Module {
    fn from_entry(entry: ModuleEntry) -> Result<Self, Error> {
        let damaged = |why: String| {
            Error::Defect(format!(
                "the row of module {}@{} cannot be read: {why}",
                entry.name, entry.version
            ))
        };
        let metadata: Metadata =
            serde_json::from_slice(&entry.metadata).map_err(|e| damaged(e.to_string()))?;
        let version = entry.version.parse().map_err(|e: semver::Error| damaged(e.to_string()))?;
        Ok(Self {
            name: entry.name,
            version,
            digest: entry.digest,
            size: entry.bytes,
            created_at: entry.uploaded,
            report: metadata.report,
            description: Arc::new(metadata.description),
        })
    }
}

impl Engine {
    /// Checks bytes without keeping them; the answer is the report.
    ///
    /// # Errors
    /// If the check itself was lost.
    pub async fn check_module(&self, bytes: Bytes) -> Result<Value, Error> {
        let modules = self.modules.clone();
        Ok(blocking(move || modules.check(&bytes)).await?.report)
    }

    /// Checks bytes and keeps them under a name and a version. The same again is
    /// no error.
    ///
    /// # Errors
    /// [`Error::InvalidModule`], [`Error::ModuleConflict`], or of the store.
    pub async fn upload_module(
        &self,
        name: ModuleName,
        version: semver::Version,
        bytes: Bytes,
    ) -> Result<Uploaded, Error> {
        // A repeat, or a conflict, need not be compiled to be known.
        if let Some(known) = self.registry.module(&name, &version.to_string())? {
            let hashed = bytes.clone();
            let digest = ModuleDigest(blocking(move || Sha256::digest(&hashed)).await?.into());
            return match known.digest == digest {
                true => Ok(Uploaded { module: Module::from_entry(known)?, new: false }),
                false => Err(Error::ModuleConflict {
                    name: name.to_string(),
                    version: version.to_string(),
                    digest: known.digest.to_string(),
                }),
            };
        }
        let (modules, checked_bytes) = (self.modules.clone(), bytes.clone());
        let checked = blocking(move || modules.check(&checked_bytes)).await?;
        let Some(description) = checked.description else {
            return Err(Error::InvalidModule(checked.report));
        };
        let metadata = serde_json::to_vec(&Metadata { report: checked.report, description })
            .map_err(|e| Error::Defect(e.to_string()))?;
        let registry = self.registry.clone();
        let version = version.to_string();
        let (sender, answer) = tokio::sync::oneshot::channel();
        blocking(move || {
            registry.put_module(
                &name,
                &version,
                bytes,
                metadata.into(),
                Box::new(move |result| {
                    let _ = sender.send(result);
                }),
            );
        })
        .await?;
        let (entry, stored) = answer.await.map_err(|_| super::store_is_closed())??;
        let module = Module::from_entry(entry)?;
        if stored == Stored::New {
            tracing::info!(module = %format!("{}@{}", module.name, module.version), digest = %module.digest, "module stored");
        }
        Ok(Uploaded { module, new: stored == Stored::New })
    }

    /// Modules in order of name, then version; after `after`, at most `limit`.
    ///
    /// # Errors
    /// Of the store.
    pub fn list_modules(
        &self,
        after: Option<(ModuleName, semver::Version)>,
        limit: usize,
    ) -> Result<Vec<Module>, Error> {
        let mut modules = self.all_modules()?;
        modules.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
        modules.retain(|m| {
            after.as_ref().is_none_or(|after| (&m.name, &m.version) > (&after.0, &after.1))
        });
        modules.truncate(limit);
        Ok(modules)
    }

    /// One module.
    ///
    /// # Errors
    /// [`Error::NotFound`], or of the store.
    pub fn module(&self, name: &ModuleName, version: &semver::Version) -> Result<Module, Error> {
        self.registry
            .module(name, &version.to_string())?
            .map(Module::from_entry)
            .transpose()?
            .ok_or_else(|| Error::not_found("module", format!("{name}@{version}")))
    }

    /// The bytes of a module as they were uploaded.
    ///
    /// # Errors
    /// [`Error::NotFound`], or of the store.
    pub async fn module_bytes(
        &self,
        name: &ModuleName,
        version: &semver::Version,
    ) -> Result<(ModuleDigest, Bytes), Error> {
        let digest = self.module(name, version)?.digest;
        let registry = self.registry.clone();
        Ok((digest, blocking(move || registry.module_bytes(&digest)).await??))
    }

    /// Removes a module that no pipeline uses.
    ///
    /// # Errors
    /// [`Error::ModuleInUse`], [`Error::NotFound`], or of the store.
    pub async fn delete_module(
        &self,
        name: &ModuleName,
        version: &semver::Version,
    ) -> Result<(), Error> {
        let _deploys = self.deploys.write().await;
        let module = self.module(name, version)?;
        let by = self.users_of_module(name, version);
        if !by.is_empty() {
            return Err(Error::ModuleInUse {
                module: format!("{}@{}", module.name, module.version),
                by,
            });
        }
        ask(|done| self.registry.delete_module(name, &version.to_string(), done)).await?;
        tracing::info!(module = %format!("{name}@{version}"), "module deleted");
        Ok(())
    }

    fn users_of_module(&self, name: &ModuleName, version: &semver::Version) -> Vec<String> {
        let uses = |pipeline: &super::pipeline::Pipeline| {
            pipeline.plan().is_some_and(|plan| {
                plan.operators()
                    .any(|(_, o)| o.module.name == *name && o.module.version == *version)
            })
        };
        self.all()
            .iter()
            .filter(|pipeline| uses(pipeline))
            .map(|pipeline| pipeline.name.to_string())
            .collect()
    }

    pub(super) fn all_modules(&self) -> Result<Vec<Module>, Error> {
        self.registry.modules()?.into_iter().map(Module::from_entry).collect()
    }
}
