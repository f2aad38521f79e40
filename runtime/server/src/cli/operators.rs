//! `weir new` and `weir build`.

use std::path::PathBuf;

use anyhow::{Context as _, Result};

use super::output::Output;
use crate::build::{self, Face};

#[derive(clap::Args)]
pub(super) struct NewArgs {
    /// The operator's name, which is also the folder's.
    name: String,
    /// The language.
    #[arg(long, value_parser = ["rust"], default_value = "rust")]
    lang: String,
    /// What it does: `transform` for one function per event, `handler` for calls and
    /// work that waits.
    #[arg(long, value_enum, default_value = "transform")]
    face: FaceArg,
    /// The folder to make it in.
    #[arg(long, default_value = ".")]
    dir: PathBuf,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum FaceArg {
    Transform,
    Handler,
}

#[derive(clap::Args)]
pub(super) struct BuildArgs {
    /// The operator's folder.
    #[arg(default_value = ".")]
    dir: PathBuf,
    /// Copy the component into this folder too.
    #[arg(long)]
    out: Option<PathBuf>,
    /// Share compiled dependencies with other operators in this folder.
    #[arg(long)]
    target_dir: Option<PathBuf>,
}

pub(super) fn new(args: &NewArgs, out: &Output) -> Result<()> {
    let face = match args.face {
        FaceArg::Transform => Face::Transform,
        FaceArg::Handler => Face::Handler,
    };
    let folder = args.dir.join(&args.name);
    build::new_operator(&args.name, face, &folder)?;
    let folder = folder.display().to_string();
    let made = serde_json::json!({ "folder": folder, "lang": args.lang });
    out.answer(made.to_string(), || {
        format!("{folder} is made. Next: cd {folder}, cargo test, weir build")
    });
    Ok(())
}

pub(super) fn build(args: &BuildArgs, out: &Output) -> Result<()> {
    let mut options = build::Options::default();
    if let Some(target) = &args.target_dir {
        options.target_dir = Some(target.clone());
    }
    let built = build::run(&args.dir, &options)?;
    let mut component = built.component.clone();
    if let Some(folder) = &args.out {
        std::fs::create_dir_all(folder)?;
        component = folder.join(built.component.file_name().context("the component has no name")?);
        std::fs::copy(&built.component, &component)?;
    }
    let component = component.display().to_string();
    let made = serde_json::json!({ "component": component }).to_string();
    out.answer(made, || component);
    Ok(())
}
