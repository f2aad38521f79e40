//! The wall between the service and whatever can run a module.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;
use weir_core::{description::Description, guest::GuestFactory, ids::ModuleDigest, plan::Limits};

/// Checks modules and makes instances of them. Every method may block for as long
/// as a compilation takes; the service calls them on threads that may.
pub trait Modules: Send + Sync {
    /// Checks uploaded bytes, without keeping anything.
    fn check(&self, bytes: &Bytes) -> Checked;

    /// A factory for one operator.
    ///
    /// `bytes` is called only if the module is not loaded yet.
    ///
    /// # Errors
    /// A sentence that says why the module cannot be run so.
    fn factory(
        &self,
        digest: ModuleDigest,
        bytes: &dyn Fn() -> Result<Bytes, String>,
        settings: &Settings,
    ) -> Result<Arc<dyn GuestFactory>, String>;
}

/// What a check found.
#[derive(Clone, Debug)]
pub struct Checked {
    /// For people and programs: size, digest, language, faces, ports, cells,
    /// imports, memory floor, compile time, `problems[]`.
    pub report: Value,
    /// What the module says of itself; `None`: it is not accepted, and the report
    /// says why.
    pub description: Option<Description>,
}

/// What an operator gives the instances of its module.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The configuration as JSON text.
    pub config: Option<Arc<str>>,
    /// Limits of each instance.
    pub limits: Limits,
}
