use weir_core::description::Face;

use super::World;
use crate::{engine::Kind, report::ImportStatus};

fn world(imports: &[&str], exports: &[&str]) -> World {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    World { imports: owned(imports), exports: owned(exports) }
}

fn codes(imports: &[&str], exports: &[&str]) -> Vec<String> {
    world(imports, exports).problems().into_iter().map(|problem| problem.code).collect()
}

const DESCRIPTOR: &str = "weir:operator/descriptor@0.1.0";
const TRANSFORM: &str = "weir:operator/transform@0.1.0";
const HANDLER: &str = "weir:operator/handler@0.1.0";

#[test]
fn a_face_that_runs_is_enough() {
    assert_eq!(codes(&[], &[DESCRIPTOR, TRANSFORM]), [""; 0]);
    assert_eq!(codes(&[], &[DESCRIPTOR, HANDLER, "weir:operator/migrate@0.1.0", "x:y/z"]), [""; 0]);
    let both = world(&[], &[DESCRIPTOR, HANDLER, TRANSFORM]);
    assert_eq!(both.faces(), [Face::Transform, Face::Handler]);
}

#[test]
fn other_worlds_are_named() {
    assert_eq!(codes(&[], &[]), ["wrong-world"]);
    assert_eq!(codes(&[], &[DESCRIPTOR]), ["wrong-world"]);
    assert_eq!(codes(&[], &[TRANSFORM]), ["wrong-world"]);
    let command = world(&[], &["wasi:cli/run@0.2.3"]).problems();
    assert_eq!(
        command[0].message,
        "It exports no face of an operator. It exports `wasi:cli/run@0.2.3`. That is a command, not an operator."
    );
}

#[test]
fn another_version_of_the_contract_is_named_as_such() {
    let newer = world(
        &["weir:operator/log@0.2.0"],
        &["weir:operator/descriptor@0.2.0", "weir:operator/handler@0.2.0"],
    );
    let problems = newer.problems();
    assert!(problems.iter().all(|problem| problem.code == "wrong-version"), "{problems:?}");
    assert_eq!(
        problems[0].message,
        "It uses `weir:operator/log@0.2.0`: this host speaks weir:operator@0.1.0, not 0.2.0."
    );
}

#[test]
fn what_this_version_does_not_run_yet_is_refused() {
    assert_eq!(codes(&[], &[DESCRIPTOR, "weir:operator/aggregate@0.1.0"]), ["unstable-face"]);
    assert_eq!(
        codes(&[], &[DESCRIPTOR, "weir:operator/blocking-handler@0.1.0"]),
        ["unstable-face"]
    );
    assert_eq!(codes(&["weir:operator/timers@0.1.0"], &[DESCRIPTOR, HANDLER]), ["unstable-import"]);
    assert_eq!(
        codes(&["weir:operator/blocking-calls@0.1.0"], &[DESCRIPTOR, HANDLER]),
        ["unstable-import"]
    );
}

#[test]
fn every_unknown_import_is_named_with_what_to_do() {
    let wasi = world(
        &[
            "wasi:filesystem/types@0.2.3",
            "wasi:random/random@0.2.3",
            "env",
            "weir:operator/state@0.1.0",
        ],
        &[DESCRIPTOR, HANDLER],
    );
    let problems = wasi.problems();
    assert_eq!(problems.len(), 3);
    assert!(problems.iter().all(|problem| problem.code == "unknown-import"));
    assert!(problems[0].help.as_deref().unwrap().contains("no files"));
    assert!(problems[1].help.as_deref().unwrap().contains("weir:operator/context"));
    let statuses: Vec<_> = wasi.imports().iter().map(|import| import.status).collect();
    let refused = ImportStatus::Refused;
    assert_eq!(statuses, [refused, refused, refused, ImportStatus::Granted]);
}

#[test]
fn only_what_waits_needs_the_concurrent_engine() {
    assert_eq!(
        world(&["weir:operator/state@0.1.0"], &[DESCRIPTOR, TRANSFORM]).kind(),
        Kind::Synchronous
    );
    assert_eq!(world(&[], &[DESCRIPTOR, TRANSFORM, HANDLER]).kind(), Kind::Concurrent);
    assert_eq!(
        world(&["weir:operator/calls@0.1.0"], &[DESCRIPTOR, TRANSFORM]).kind(),
        Kind::Concurrent
    );
}
