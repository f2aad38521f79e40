//! `weir build` and `weir new`: an operator's sources into a component.
//!
//! A build is: find a compiler for WebAssembly, let cargo make the core module,
//! encode it as a component. Nothing is downloaded but what cargo fetches.

mod cargo;
mod compiler;
mod component;
mod new;
mod owners;
#[cfg(test)]
mod tests;

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};

pub use new::{Face, new_operator};

/// How to build.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The folder for what cargo makes, shared by all operators that name it, so
    /// that the standard library and common crates are compiled once. By default
    /// `WEIR_TARGET_DIR`; else the operator's own, or, where the standard library
    /// has to be compiled too, one of this user's.
    pub target_dir: Option<PathBuf>,
}

/// What a build made.
#[derive(Clone, Debug)]
pub struct Built {
    /// The component: `weir/NAME.wasm` in the operator's target directory, or in
    /// [`Options::target_dir`] if that is given.
    pub component: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// How long it took.
    pub took: Duration,
}

/// Builds the operator in a folder. Cargo's output goes to standard error.
///
/// # Errors
/// There is no such folder; there is no compiler for WebAssembly, in which case the
/// error says what to install; the folder has no operator; it does not compile; or what it compiles to
/// is no operator.
pub fn run(dir: &Path, options: &Options) -> Result<Built> {
    #[expect(
        clippy::disallowed_methods,
        reason = "a build runs on a person's machine, outside any server"
    )]
    let began = Instant::now();
    if !dir.is_dir() {
        bail!("there is no folder {}: name the folder of an operator", dir.display());
    }
    let compiler = compiler::find(dir)?;
    let package = cargo::package(dir, &compiler)?;
    let chosen = options
        .target_dir
        .clone()
        .or_else(|| std::env::var_os("WEIR_TARGET_DIR").map(PathBuf::from));
    let module = cargo::build(dir, &package, &compiler, chosen.as_deref())?;
    let component = component::encode(&module)?;

    let folder = options.target_dir.as_ref().unwrap_or(&package.target_dir).join("weir");
    fs::create_dir_all(&folder)
        .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let path = folder.join(&package.name).with_extension("wasm");
    fs::write(&path, &component).with_context(|| format!("cannot write {}", path.display()))?;
    let (bytes, took) = (component.len() as u64, began.elapsed());
    eprintln!("{}: {} kB in {:.1} s", path.display(), bytes.div_ceil(1000), took.as_secs_f64());
    Ok(Built { component: path, bytes, took })
}
