//! `weir push` and `weir modules`.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use reqwest::{Body, Method, StatusCode};
use serde_json::{Value, json};

use super::{
    client::{Client, encode},
    output::{Output, show},
    progress,
};

#[derive(clap::Args)]
pub(super) struct PushArgs {
    /// The component, or a core module with WIT metadata.
    file: PathBuf,
    /// Its name; by default the file's, without a version.
    #[arg(long)]
    name: Option<String>,
    /// Its version; by default that in the file's name (`order-1.2.0.wasm`), else 0.1.0.
    #[arg(long)]
    version: Option<String>,
    /// Only check it, store nothing.
    #[arg(long)]
    check: bool,
}

#[derive(clap::Args)]
pub(super) struct ModulesArgs {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(clap::Subcommand)]
enum Command {
    /// List the modules.
    List,
    /// Show a module with its report.
    Show(Module),
    /// Delete a module that no pipeline uses.
    Delete(Module),
}

#[derive(clap::Args)]
struct Module {
    /// Its name.
    name: String,
    /// Its version.
    version: String,
}

impl Module {
    fn path(&self) -> String {
        format!("/modules/{}/{}", encode(&self.name), encode(&self.version))
    }
}

/// Name and version as a file's name tells them.
fn named(stem: &str) -> (String, Option<String>) {
    match stem.rsplit_once('-') {
        Some((name, version)) if version.split('.').count() == 3 => {
            (name.to_owned(), Some(version.to_owned()))
        }
        _ => (stem.replace('_', "-"), None),
    }
}

pub(super) async fn push(client: &Client, args: &PushArgs, out: &Output) -> Result<()> {
    let bytes = std::fs::read(&args.file)
        .with_context(|| format!("{} cannot be read", args.file.display()))?;
    let stem = args.file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let (file_name, file_version) = named(stem);
    let name = args.name.clone().unwrap_or(file_name);
    let version = args.version.clone().or(file_version).unwrap_or_else(|| "0.1.0".into());

    let path = if args.check {
        "/modules/check".to_owned()
    } else {
        format!("/modules?name={}&version={}", encode(&name), encode(&version))
    };
    let length = bytes.len() as u64;
    let bar = progress::bytes("upload", length);
    let shown = bar.clone();
    let chunks: Vec<Result<Vec<u8>, std::io::Error>> =
        bytes.chunks(256 * 1024).map(|chunk| Ok(chunk.to_vec())).collect();
    let stream = futures::stream::iter(chunks.into_iter().inspect(move |chunk| {
        shown.inc(chunk.as_ref().map_or(0, Vec::len) as u64);
        if shown.position() >= length {
            shown.set_message("check and compile");
        }
    }));
    let request = client
        .request(Method::POST, &path)
        .header("content-type", "application/wasm")
        .header("content-length", length)
        .body(Body::wrap_stream(stream));
    let answer = client.ask(request).await;
    bar.finish_and_clear();
    let answer = answer?;
    let read: Value = answer.read()?;
    let report = if args.check { &read } else { &read["report"] };
    out.answer(answer.json(), || {
        let head = if args.check {
            format!("{name}: {}", if report["ok"] == true { "good" } else { "refused" })
        } else {
            // The same bytes again are no new module.
            let there = if answer.status == StatusCode::OK { "  already there" } else { "" };
            format!("{name}@{version}  {}{there}", show(&read["digest"]))
        };
        format!("{head}\n{}", summary(report))
    });
    if args.check && report["ok"] != true {
        bail!("the module would be refused");
    }
    Ok(())
}

fn summary(report: &Value) -> String {
    let names = |list: &Value| {
        let names: Vec<String> = list
            .as_array()
            .into_iter()
            .flatten()
            .map(|item| item["name"].as_str().map_or_else(|| show(item), str::to_owned))
            .collect();
        if names.is_empty() { "-".into() } else { names.join(", ") }
    };
    let mut text = format!(
        "  {} bytes, {}, faces: {}\n  handlers: {}\n  inputs: {}  outputs: {}\n  cells: {}",
        report["size"],
        show(&report["language"]),
        names(&report["faces"]),
        names(&report["handlers"]),
        names(&report["ports"]["inputs"]),
        names(&report["ports"]["outputs"]),
        names(&report["cells"]),
    );
    // What is refused was not compiled.
    if let Some(ms) = report["compile_ms"].as_u64() {
        text.push_str(&format!("\n  compiled in {ms} ms"));
    }
    for problem in report["problems"].as_array().into_iter().flatten() {
        text.push_str(&format!(
            "\n  {}: {}\n      {}",
            show(&problem["code"]),
            show(&problem["message"]),
            show(&problem["help"])
        ));
    }
    text
}

pub(super) async fn modules(client: &Client, args: &ModulesArgs, out: &Output) -> Result<()> {
    match &args.command {
        None | Some(Command::List) => list(client, out).await,
        Some(Command::Show(module)) => detail(client, module, out).await,
        Some(Command::Delete(module)) => delete(client, module, out).await,
    }
}

async fn list(client: &Client, out: &Output) -> Result<()> {
    let modules = client.pages("/modules", "modules").await?;
    out.list(&modules, ["NAME", "VERSION", "LANGUAGE", "SIZE", "DIGEST"], |module: &Value| {
        let digest = show(&module["digest"]);
        [
            show(&module["name"]),
            show(&module["version"]),
            show(&module["language"]),
            show(&module["size"]),
            digest.chars().take("sha256:".len() + 12).collect(),
        ]
    })
}

async fn detail(client: &Client, module: &Module, out: &Output) -> Result<()> {
    let answer = client.get(&module.path()).await?;
    let read: Value = answer.read()?;
    out.answer(answer.json(), || {
        let [name, version, digest] = ["name", "version", "digest"].map(|field| show(&read[field]));
        format!("{name}@{version}  {digest}\n{}", summary(&read["report"]))
    });
    Ok(())
}

async fn delete(client: &Client, module: &Module, out: &Output) -> Result<()> {
    client.ask(client.request(Method::DELETE, &module.path())).await?;
    let deleted = format!("{}@{}", module.name, module.version);
    out.answer(json!({ "deleted": deleted }).to_string(), || format!("{deleted} deleted"));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::named;

    #[test]
    fn a_file_name_tells_name_and_version() {
        let both = |name: &str, version: &str| (name.to_owned(), Some(version.to_owned()));
        assert_eq!(named("order-1.2.0"), both("order", "1.2.0"));
        assert_eq!(named("two-parts-1.2.0"), both("two-parts", "1.2.0"));
        assert_eq!(named("two-parts"), ("two-parts".to_owned(), None));
        assert_eq!(named("under_score"), ("under-score".to_owned(), None));
    }
}
