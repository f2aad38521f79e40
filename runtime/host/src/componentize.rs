//! From a core module with embedded WIT metadata to a component, as
//! `wasm-tools component new` does it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use wit_component::ComponentEncoder;

use crate::report::Problem;

/// # Errors
/// If the module cannot be made a component, the reason.
pub(crate) fn componentize(module: &[u8]) -> Result<Vec<u8>, Problem> {
    let encode = || ComponentEncoder::default().validate(true).module(module)?.encode();
    let failed = |message: String| {
        let help = if message.contains("wasi_snapshot_preview1") {
            "It imports WASI. Build it for wasm32-unknown-unknown, or make it a component with an adapter or \
             stubs for WASI before you upload it."
        } else {
            "Make it a component with the tools of your language and upload that."
        };
        Problem::new(
            "componentize",
            format!("The core module cannot be made a component: {message}."),
            help,
        )
    };
    match catch_unwind(AssertUnwindSafe(encode)) {
        Ok(Ok(component)) => Ok(component),
        Ok(Err(error)) => Err(failed(format!("{error:#}"))),
        Err(_) => Err(failed("its metadata is damaged".into())),
    }
}

/// Why a core module without metadata cannot be run.
pub(crate) fn no_metadata() -> Problem {
    Problem::new(
        "no-wit-metadata",
        "The file is a core module that does not say which interfaces it has.",
        "Build it with a Weir SDK, or embed the world with `wasm-tools component embed`.",
    )
}
