//! What can go wrong in the host itself, as opposed to a guest.

use crate::report::Report;

/// Why the host could not start, or could not give a module.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// The module is not fit to run: the report says why and what to do.
    #[error("the module is refused: {}", .0.summary())]
    Refused(Box<Report>),
    /// The directory of compiled modules cannot be used.
    #[error("the directory of compiled modules cannot be used: {0}")]
    Cache(#[from] std::io::Error),
    /// WebAssembly cannot be run on this machine.
    #[error("WebAssembly cannot be run here: {0}")]
    Engine(String),
}
