//! What the service keeps of a pipeline in the registry.

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use weir_core::plan::ModulePin;

use super::Error;

/// One revision: the file as it was written, and what its module references stood
/// for when it was applied.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Document {
    /// The text of the pipeline file.
    pub(super) file: String,
    /// The modules, pinned.
    pub(super) pins: Vec<ModulePin>,
}

/// What is kept beside the revisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Kept {
    /// What its owner wants it to do.
    pub(super) wanted: Wanted,
    /// New at each create; part of every invocation id.
    pub(super) incarnation: u32,
}

/// What the owner of a pipeline wants it to do. Survives restarts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Wanted {
    /// Run.
    Running,
    /// Be loaded and take nothing in.
    Paused,
    /// Not be loaded.
    Stopped,
}

pub(super) fn encode<T: Serialize>(value: &T) -> Result<bytes::Bytes, Error> {
    Ok(serde_json::to_vec(value).map_err(|e| Error::Defect(e.to_string()))?.into())
}

pub(super) fn decode<T: DeserializeOwned>(what: &str, bytes: &[u8]) -> Result<T, Error> {
    serde_json::from_slice(bytes).map_err(|e| Error::Defect(format!("{what} cannot be read: {e}")))
}
