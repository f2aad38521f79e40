//! `weir new`: the sources of an operator that builds anywhere.
//!
//! The SDK comes along as source, with the WIT, so that nothing but crates.io is
//! needed to build, and an operator keeps the SDK that it was written for.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, bail};
use rust_embed::RustEmbed;

/// Which face the new operator has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Face {
    /// One function per event, in batches.
    Transform,
    /// Handlers, which may wait for calls.
    Handler,
}

#[derive(RustEmbed)]
#[folder = "../../sdk/rust/src"]
struct SdkSources;

#[derive(RustEmbed)]
#[folder = "../../sdk/rust/worlds"]
struct SdkWorlds;

#[derive(RustEmbed)]
#[folder = "../../wit"]
struct Wit;

const SDK_MANIFEST: &str = include_str!("../../../../sdk/rust/Cargo.toml");
const SDK_README: &str = include_str!("../../../../sdk/rust/README.md");
/// Where the SDK is written to, in the operator's folder.
const SDK: &str = "weir-sdk";

const MANIFEST: &str = include_str!("template/Cargo.toml.in");
const GITIGNORE: &str = "/target\n";

/// Writes a new operator into a folder, which is made: sources, a test, README,
/// the SDK.
///
/// # Errors
/// The name is no module name, the folder is there already and not empty, or it
/// cannot be written.
pub fn new_operator(name: &str, face: Face, dir: &Path) -> Result<()> {
    check_name(name)?;
    if dir.is_dir() && fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_some()) {
        bail!("{} is there already, and not empty", dir.display());
    }
    let (source, readme) = match face {
        Face::Transform => {
            (include_str!("template/transform.rs"), include_str!("template/transform.md"))
        }
        Face::Handler => (include_str!("template/handler.rs"), include_str!("template/handler.md")),
    };
    let fill = |text: &str| text.replace("{{name}}", name).replace("{{type}}", &type_name(name));
    write(dir, "Cargo.toml", fill(MANIFEST).as_bytes())?;
    write(dir, ".gitignore", GITIGNORE.as_bytes())?;
    write(dir, "README.md", fill(readme).as_bytes())?;
    write(dir, "src/lib.rs", fill(source).as_bytes())?;

    write(dir, &format!("{SDK}/Cargo.toml"), SDK_MANIFEST.as_bytes())?;
    write(dir, &format!("{SDK}/README.md"), SDK_README.as_bytes())?;
    for (file, data) in sdk_files() {
        write(dir, &file, &data)?;
    }
    Ok(())
}

/// The SDK's files, by path in the operator's folder.
fn sdk_files() -> impl Iterator<Item = (String, Vec<u8>)> {
    fn under<E: RustEmbed>(folder: &'static str) -> impl Iterator<Item = (String, Vec<u8>)> {
        E::iter().filter_map(move |file| {
            let data = E::get(&file)?.data.into_owned();
            Some((format!("{SDK}/{folder}/{file}"), data))
        })
    }
    under::<SdkSources>("src").chain(under::<SdkWorlds>("worlds")).chain(under::<Wit>("wit"))
}

fn write(dir: &Path, file: &str, data: &[u8]) -> Result<()> {
    let path: PathBuf = dir.join(file);
    let folder = path.parent().unwrap_or(dir);
    fs::create_dir_all(folder)
        .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    fs::write(&path, data).with_context(|| format!("cannot write {}", path.display()))
}

/// A name is a module's and a crate's: both rules hold.
fn check_name(name: &str) -> Result<()> {
    let begins = name.starts_with(|c: char| c.is_ascii_lowercase());
    let rest = name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    if !begins || !rest || name.len() > 63 || name.ends_with('-') {
        bail!("`{name}` is no name for an operator: use a-z, 0-9 and `-`, and begin with a letter");
    }
    const TAKEN: [&str; 6] = ["weir-sdk", "serde", "schemars", "core", "std", "test"];
    if TAKEN.contains(&name) {
        bail!("`{name}` is the name of a crate that every operator uses: take another");
    }
    Ok(())
}

/// `word-count` as `WordCount`.
fn type_name(name: &str) -> String {
    name.split('-')
        .map(|part| {
            let mut chars = part.chars();
            chars
                .next()
                .map(|first| first.to_ascii_uppercase())
                .into_iter()
                .chain(chars)
                .collect::<String>()
        })
        .collect()
}
