//! What `weir new` writes and what `weir build` refuses.

use std::fs;

use super::{
    Face, Options, component, new_operator,
    owners::{Local, claim},
    run,
};

#[test]
fn a_new_operator_has_all_that_it_needs() {
    for (face, word) in [(Face::Transform, "transform!"), (Face::Handler, "handlers!")] {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().join("word-count");
        new_operator("word-count", face, &dir).unwrap();
        let source = fs::read_to_string(dir.join("src/lib.rs")).unwrap();
        assert!(
            source.contains(word) && source.contains("WordCount;") && !source.contains("{{"),
            "{source}"
        );
        for file in [
            "Cargo.toml",
            "README.md",
            ".gitignore",
            "weir-sdk/Cargo.toml",
            "weir-sdk/README.md",
            "weir-sdk/src/lib.rs",
            "weir-sdk/src/host/wasm.rs",
            "weir-sdk/worlds/handler/Cargo.toml",
            "weir-sdk/worlds/transform/src/lib.rs",
            "weir-sdk/wit/worlds.wit",
        ] {
            assert!(dir.join(file).is_file(), "{file}");
        }
    }
}

#[test]
fn a_new_operator_never_overwrites() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("notes"), "mine").unwrap();
    assert!(new_operator("word-count", Face::Transform, dir.path()).is_err());
}

#[test]
fn a_name_that_cargo_or_weir_refuses_is_refused_first() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["", "Word", "1st", "a_b", "a-", "serde", "../up"] {
        assert!(new_operator(name, Face::Transform, &dir.path().join("x")).is_err(), "{name}");
    }
}

#[test]
fn a_folder_without_an_operator_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let error = format!("{:#}", run(dir.path(), &Options::default()).unwrap_err());
    assert!(error.contains("Cargo.toml") || error.contains("no Rust compiler"), "{error}");
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let dir = tempfile::tempdir().unwrap().path().join("nosuch");
    let error = format!("{:#}", run(&dir, &Options::default()).unwrap_err());
    assert!(error.starts_with("there is no folder") && error.contains("nosuch"), "{error}");
}

#[test]
fn a_module_without_metadata_is_no_operator() {
    let error = component::encode(b"\0asm\x01\0\0\0").unwrap_err();
    assert!(format!("{error:#}").contains("is no operator"), "{error:#}");
    assert!(component::encode(b"text").is_err());
}

#[test]
fn a_crate_from_another_folder_is_built_anew() {
    let dir = tempfile::tempdir().unwrap();
    let crates = |crates: &[(&str, &str)]| -> Local {
        crates.iter().map(|(name, path)| ((*name).to_owned(), [path.into()].into())).collect()
    };
    let cleaned = |crates: &Local| {
        let mut cleaned = Vec::new();
        claim(dir.path(), crates, |names| {
            cleaned.extend(names.iter().map(|name| (*name).to_owned()));
            Ok(())
        })
        .unwrap();
        cleaned
    };
    let mine = crates(&[("sum", "/mine/sum"), ("sdk", "/sdk")]);
    let yours = crates(&[("sum", "/yours/sum"), ("sdk", "/sdk")]);
    assert_eq!(cleaned(&mine), ["sdk", "sum"]);
    assert!(cleaned(&mine).is_empty());
    assert_eq!(cleaned(&yours), ["sum"]);
    assert!(cleaned(&yours).is_empty());
    assert_eq!(cleaned(&mine), ["sum"]);
}

#[test]
fn what_was_not_cleaned_is_not_noted() {
    let dir = tempfile::tempdir().unwrap();
    let crates: Local = [("sum".to_owned(), ["/sum".into()].into())].into();
    assert!(claim(dir.path(), &crates, |_| anyhow::bail!("no")).is_err());
    let mut cleaned = false;
    claim(dir.path(), &crates, |_| {
        cleaned = true;
        Ok(())
    })
    .unwrap();
    assert!(cleaned);
}
