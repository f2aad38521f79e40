//! Modules.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use weir_core::description::Face;
use weir_engine::service::{Module, Uploaded};

/// A module of the registry.
#[derive(Debug, Serialize, ToSchema)]
pub struct ModuleSummary {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// `sha256:` and the hash of its bytes as uploaded.
    pub digest: String,
    /// Size in bytes.
    pub size: u64,
    /// Milliseconds since the Unix epoch.
    pub created_at: i64,
    /// Source language; absent if it does not say.
    pub language: Option<String>,
    /// The faces that it exports.
    #[schema(value_type = Vec<String>)]
    pub faces: Vec<Face>,
}

/// A module with the report of its check.
#[derive(Debug, Serialize, ToSchema)]
pub struct ModuleDetail {
    /// The module.
    #[serde(flatten)]
    pub summary: ModuleSummary,
    /// What the check found.
    #[schema(value_type = Report)]
    pub report: Value,
}

/// A page of modules.
#[derive(Debug, Serialize, ToSchema)]
pub struct ModuleList {
    /// By name, then version.
    pub modules: Vec<ModuleSummary>,
    /// Give it as `after` for the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A module that was stored.
#[derive(Debug, Serialize, ToSchema)]
pub struct Stored {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its digest.
    pub digest: String,
    /// What the check found.
    #[schema(value_type = Report)]
    pub report: Value,
}

/// What a check of module bytes found. Only documents the shape; the host makes it.
#[derive(Debug, Serialize, ToSchema)]
pub struct Report {
    /// Is it accepted?
    pub ok: bool,
    /// Size in bytes.
    pub size: u64,
    /// `sha256:` and the hash of the bytes.
    pub digest: String,
    /// Source language, if it says.
    pub language: Option<String>,
    /// Name and version of the SDK.
    pub sdk: Option<String>,
    /// The faces that it exports.
    pub faces: Vec<String>,
    /// Its handlers: name, doc, whether read-only.
    pub handlers: Vec<Value>,
    /// `inputs` and `outputs`, each with name and schema.
    #[schema(value_type = Object)]
    pub ports: Value,
    /// Its state cells: name, kind, version.
    pub cells: Vec<Value>,
    /// Its imports: name, `granted | grantable | refused`, and what to do.
    pub imports: Vec<Value>,
    /// Bytes of memory that an instance has at least.
    pub memory_floor: Option<u64>,
    /// Milliseconds that its compilation took.
    pub compile_ms: Option<u64>,
    /// Why it is not accepted, each with code, message and help.
    pub problems: Vec<Value>,
}

impl From<&Module> for ModuleSummary {
    fn from(module: &Module) -> Self {
        let language = &module.description.language;
        Self {
            name: module.name.to_string(),
            version: module.version.to_string(),
            digest: module.digest.to_string(),
            size: module.size,
            created_at: module.created_at.0,
            language: (!language.is_empty()).then(|| language.clone()),
            faces: module.description.faces.clone(),
        }
    }
}

impl From<Module> for ModuleDetail {
    fn from(module: Module) -> Self {
        Self { summary: ModuleSummary::from(&module), report: module.report }
    }
}

impl From<Uploaded> for Stored {
    fn from(uploaded: Uploaded) -> Self {
        let module = uploaded.module;
        Self {
            name: module.name.to_string(),
            version: module.version.to_string(),
            digest: module.digest.to_string(),
            report: module.report,
        }
    }
}
