//! Finds a Rust compiler that makes WebAssembly.
//!
//! Best is one that has the target `wasm32-unknown-unknown` installed, as rustup
//! gives it. Else one that has the sources of its standard library beside it, which
//! is then compiled too: Debian's `rustc-web` with `rust-web-src`, or rustup's
//! component `rust-src`. Such a compiler may lack a linker for WebAssembly; any
//! `rust-lld` or `wasm-ld` will do.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Result, bail};

/// The only target that operators are built for: no system interface, so a
/// component asks for nothing but what Weir gives.
pub(super) const TARGET: &str = "wasm32-unknown-unknown";

const ADVICE: &str = "\
no Rust compiler for WebAssembly was found. Install one of these, and build again:
  with rustup:        rustup target add wasm32-unknown-unknown
  on Debian, Ubuntu:  apt-get install rustc-web rust-web-src cargo-web lld";

/// A cargo and what to tell it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Compiler {
    /// The cargo to run.
    pub(super) cargo: PathBuf,
    /// The compiler that it is to use.
    pub(super) rustc: PathBuf,
    /// Where the standard library is compiled too: the linker.
    pub(super) build_std: Option<PathBuf>,
}

/// What a compiler says of itself.
#[derive(Clone, Debug)]
struct Found {
    rustc: PathBuf,
    cargo: PathBuf,
    sysroot: PathBuf,
    host: String,
}

/// Finds the best compiler for a folder, in which rustup may choose one.
pub(super) fn find(dir: &Path) -> Result<Compiler> {
    let places: [(&str, &str); 2] = [("rustc", "cargo"), ("/usr/bin/rustc", "/usr/bin/cargo")];
    let found: Vec<Found> =
        places.into_iter().filter_map(|(rustc, cargo)| ask(dir, rustc, cargo)).collect();
    if let Some(ready) = found.iter().find(|found| found.has_target()) {
        let (cargo, rustc) = (ready.cargo.clone(), ready.rustc.clone());
        return Ok(Compiler { cargo, rustc, build_std: None });
    }
    let linker = found.iter().find_map(Found::linker).or_else(system_linker);
    let with_sources = found.iter().find(|found| found.has_sources());
    match (with_sources, linker) {
        (Some(found), Some(linker)) => {
            let (cargo, rustc) = (found.cargo.clone(), found.rustc.clone());
            Ok(Compiler { cargo, rustc, build_std: Some(linker) })
        }
        (Some(found), None) => bail!(
            "{} can compile for WebAssembly, but there is no linker for it: apt-get install lld",
            found.rustc.display()
        ),
        (None, _) => bail!(ADVICE),
    }
}

/// Asks a compiler for its place and its host; none if it cannot be run.
fn ask(dir: &Path, rustc: &str, cargo: &str) -> Option<Found> {
    let answer = |args: &[&str]| {
        let output = Command::new(rustc).args(args).current_dir(dir).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let sysroot = PathBuf::from(answer(&["--print", "sysroot"])?.trim());
    let version = answer(&["-vV"])?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "))?.to_owned();
    let runs = Command::new(cargo)
        .arg("-V")
        .current_dir(dir)
        .output()
        .is_ok_and(|output| output.status.success());
    runs.then(|| Found { rustc: rustc.into(), cargo: cargo.into(), sysroot, host })
}

impl Found {
    fn rustlib(&self) -> PathBuf {
        self.sysroot.join("lib/rustlib")
    }

    fn has_target(&self) -> bool {
        self.rustlib().join(TARGET).join("lib").is_dir()
    }

    fn has_sources(&self) -> bool {
        self.rustlib().join("src/rust/library/Cargo.lock").is_file()
    }

    fn linker(&self) -> Option<PathBuf> {
        let linker = self.rustlib().join(&self.host).join("bin/rust-lld");
        linker.is_file().then_some(linker)
    }
}

/// A linker that the system has: the newest, where its name tells a version.
fn system_linker() -> Option<PathBuf> {
    let names = ["rust-lld".to_owned(), "wasm-ld".to_owned()];
    let versions = (14..40).rev().map(|version| format!("wasm-ld-{version}"));
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    names.into_iter().chain(versions).find_map(|name| {
        folders.iter().map(|folder| folder.join(&name)).find(|file| file.is_file())
    })
}
