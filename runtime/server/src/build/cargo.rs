//! Runs cargo: which package a folder has, and its core module.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;

use super::{
    compiler::{Compiler, TARGET},
    owners::{self, Local},
};

/// The flags that every crate of an operator is compiled with. They are always the
/// same, since others would compile the standard library again. The one here lets
/// the SDK give randomness to crates that ask for it.
const RUSTFLAGS: &str = r#"--cfg getrandom_backend="custom""#;

/// The package of a folder.
#[derive(Clone, Debug)]
pub(super) struct Package {
    /// Its name.
    pub(super) name: String,
    /// The target directory that it has by itself.
    pub(super) target_dir: PathBuf,
    /// It and all that it depends on by a path.
    local: Local,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Described>,
    target_directory: PathBuf,
}

#[derive(Deserialize)]
struct Described {
    name: String,
    manifest_path: PathBuf,
    /// The registry or repository that it is from; none for a folder.
    source: Option<String>,
    targets: Vec<Target>,
}

#[derive(Deserialize)]
struct Target {
    crate_types: Vec<String>,
}

/// A line of cargo's JSON output; only those that tell of made files matter.
#[derive(Deserialize)]
struct Message {
    reason: String,
    manifest_path: Option<PathBuf>,
    #[serde(default)]
    filenames: Vec<PathBuf>,
}

/// Reads which package a folder has.
pub(super) fn package(dir: &Path, compiler: &Compiler) -> Result<Package> {
    let manifest = dir.join("Cargo.toml");
    if !manifest.is_file() {
        bail!(
            "{} has no Cargo.toml: name an operator's folder, or make one with `weir new`",
            dir.display()
        );
    }
    let manifest = manifest.canonicalize()?;
    let output = Command::new(&compiler.cargo)
        .args(["metadata", "--format-version", "1", "--filter-platform", TARGET])
        .current_dir(dir)
        .stderr(Stdio::inherit())
        .output()
        .context("cargo cannot be run")?;
    if !output.status.success() {
        bail!("cargo cannot read {}", manifest.display());
    }
    let Metadata { packages, target_directory } =
        serde_json::from_slice(&output.stdout).context("cargo's answer cannot be read")?;
    let mut local = Local::new();
    for package in packages.iter().filter(|package| package.source.is_none()) {
        let manifests = local.entry(package.name.clone()).or_default();
        manifests.insert(package.manifest_path.clone());
    }
    let found = packages.into_iter().find(|package| package.manifest_path == manifest);
    let Some(Described { name, targets, .. }) = found else {
        bail!("{} is a workspace: name the folder of one of its operators", dir.display());
    };
    if !targets.iter().flat_map(|target| &target.crate_types).any(|of| of == "cdylib") {
        bail!(
            "{} makes no WebAssembly module: add these lines to it\n  [lib]\n  crate-type = [\"cdylib\", \"rlib\"]",
            manifest.display()
        );
    }
    Ok(Package { name, target_dir: target_directory, local })
}

/// Compiles a package and gives the core module's bytes.
pub(super) fn build(
    dir: &Path,
    package: &Package,
    compiler: &Compiler,
    target_dir: Option<&Path>,
) -> Result<Vec<u8>> {
    let own = || compiler.build_std.as_ref().and_then(|_| own_target_dir());
    let target_dir =
        target_dir.map(Path::to_owned).or_else(own).unwrap_or_else(|| package.target_dir.clone());
    std::fs::create_dir_all(&target_dir)
        .with_context(|| format!("cannot make the folder {}", target_dir.display()))?;
    let target_dir = target_dir.canonicalize()?;
    let _claim = owners::claim(&target_dir, &package.local, |crates| {
        clean(dir, compiler, &target_dir, crates)
    })?;

    let mut command = Command::new(&compiler.cargo);
    command
        // One crate type whatever the manifest has: dependencies are compiled in another
        // way for a library, so operators with and without one could not share them.
        .args(["rustc", "--lib", "--crate-type", "cdylib", "--release", "--target", TARGET])
        .args(["--message-format", "json-render-diagnostics"])
        .args(["--package", &package.name])
        .arg("--target-dir")
        .arg(&target_dir)
        .current_dir(dir)
        .env("RUSTC", &compiler.rustc)
        .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS", RUSTFLAGS)
        // These would take the place of the flags above.
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove("CARGO_BUILD_TARGET")
        .stderr(Stdio::inherit());
    if let Some(linker) = &compiler.build_std {
        command
            .arg("-Zbuild-std=std,panic_abort")
            // Debian's compiler is a stable one, which allows this only so.
            .env("RUSTC_BOOTSTRAP", "1")
            .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker);
    }
    let output = command.output().context("cargo cannot be run")?;
    if !output.status.success() {
        bail!("{} does not compile: see above", package.name);
    }
    let manifest = dir.join("Cargo.toml").canonicalize()?;
    let made = String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| serde_json::from_str::<Message>(line).ok())
        .filter(|message| {
            message.reason == "compiler-artifact"
                && message.manifest_path.as_ref() == Some(&manifest)
        })
        .flat_map(|message| message.filenames)
        .find(|file| file.extension().is_some_and(|extension| extension == "wasm"))
        .context("cargo made no WebAssembly module")?;
    std::fs::read(&made).with_context(|| format!("cannot read {}", made.display()))
}

/// Removes what was made of crates of these names, from whatever folder.
fn clean(dir: &Path, compiler: &Compiler, target_dir: &Path, crates: &[&str]) -> Result<()> {
    let status = Command::new(&compiler.cargo)
        .args(["clean", "--quiet", "--release", "--target", TARGET, "--target-dir"])
        .arg(target_dir)
        .args(crates.iter().flat_map(|name| ["--package", name]))
        .current_dir(dir)
        .env("RUSTC", &compiler.rustc)
        .status()
        .context("cargo cannot be run")?;
    if !status.success() {
        bail!("cargo cannot clean {}", target_dir.display());
    }
    Ok(())
}

/// A target directory of this user, for operators whose build compiles the standard
/// library, unless another was asked for.
fn own_target_dir() -> Option<PathBuf> {
    if std::env::var_os("CARGO_TARGET_DIR").is_some() {
        return None;
    }
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache
        .or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache")))?;
    Some(cache.join("weir").join("target"))
}
