//! The engine's view of WebAssembly: modules of `weir-host` behind the trait
//! [`Modules`].

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use bytes::Bytes;
use weir_core::{guest::GuestFactory, ids::ModuleDigest};
use weir_engine::service::{Checked, Modules, Settings};
use weir_host::{Host, HostError, Limits, Module, OperatorSettings};

/// Checks and loads modules with a host.
pub(crate) struct HostModules {
    host: Arc<Host>,
    /// Those in use, so that their bytes need not be read again.
    loaded: Mutex<HashMap<ModuleDigest, Weak<Module>>>,
}

impl HostModules {
    pub(crate) fn new(host: Arc<Host>) -> Self {
        Self { host, loaded: Mutex::default() }
    }

    fn module(
        &self,
        digest: ModuleDigest,
        bytes: &dyn Fn() -> Result<Bytes, String>,
    ) -> Result<Arc<Module>, String> {
        let known = self
            .loaded
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&digest)
            .and_then(Weak::upgrade);
        if let Some(module) = known {
            return Ok(module);
        }
        let module = self.host.load(&bytes()?).map_err(|error| match error {
            HostError::Refused(report) => {
                let problems: Vec<_> =
                    report.problems.iter().map(|problem| problem.message.as_str()).collect();
                format!("the module is not accepted by this release: {}", problems.join(" "))
            }
            error => error.to_string(),
        })?;
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        loaded.retain(|_, module| module.strong_count() > 0);
        loaded.insert(digest, Arc::downgrade(&module));
        Ok(module)
    }
}

impl Modules for HostModules {
    fn check(&self, bytes: &Bytes) -> Checked {
        let mut report = self.host.check(bytes);
        let description = report.description.take().filter(|_| report.ok);
        // A report is plain data with text as keys: it has a form in JSON.
        Checked { report: serde_json::to_value(&report).unwrap_or_default(), description }
    }

    fn factory(
        &self,
        digest: ModuleDigest,
        bytes: &dyn Fn() -> Result<Bytes, String>,
        settings: &Settings,
    ) -> Result<Arc<dyn GuestFactory>, String> {
        let limits = &settings.limits;
        Ok(self.module(digest, bytes)?.factory(OperatorSettings {
            config: settings.config.as_deref().unwrap_or("null").to_owned(),
            limits: Limits {
                memory: limits.memory.0,
                cpu: limits.cpu,
                output_bytes: limits.output.0,
                ..Limits::default()
            },
        }))
    }
}
