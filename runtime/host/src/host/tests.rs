use std::fs;

use weir_core::description::{Description, Face};
use wit_component::ComponentEncoder;

use crate::{
    HostError, Limits,
    report::{ImportStatus, Report},
    testing::{
        TestHost, batch, describe, handler, handler_guest, module_of, open, transform_guest,
    },
};

const PASS: &str =
    "(func $process (param $batch i32) (result i32) (call $pass (local.get $batch)))";

fn pass() -> Vec<u8> {
    transform_guest(&describe(), "", PASS)
}

fn check(bytes: &[u8]) -> Report {
    TestHost::new().host.check(bytes)
}

/// The code of the only problem.
fn code(bytes: &[u8]) -> String {
    let report = check(bytes);
    assert!(!report.ok);
    assert_eq!(report.problems.len(), 1, "{:?}", report.problems);
    let problem = &report.problems[0];
    assert!(problem.message.ends_with('.') && problem.help.is_some(), "{problem:?}");
    problem.code.clone()
}

#[test]
fn a_fit_module_is_reported_whole() {
    let report = check(&pass());
    assert_eq!(report.problems, []);
    assert!(report.ok);
    assert_eq!(report.faces, [Face::Transform]);
    assert_eq!((report.language.as_deref(), report.sdk.as_deref()), (Some("wat"), Some("wat 1")));
    assert_eq!(report.memory_floor, Some(2 * 65_536));
    assert_eq!(
        report.description.unwrap(),
        Description { faces: vec![Face::Transform], ..describe() }
    );
    assert!(report.imports.iter().all(|import| import.status == ImportStatus::Granted));
}

#[test]
fn a_report_is_json_in_the_shape_of_the_interface() {
    let mut report = check(&pass());
    report.compile_ms = Some(1);
    let mut json = serde_json::to_value(&report).unwrap();
    json["digest"] = "sha256:..".into();
    json["size"] = 1.into();
    expect_test::expect![[r#"{"ok":true,"size":1,"digest":"sha256:..","language":"wat","sdk":"wat 1","faces":["transform"],"handlers":[],"ports":{"inputs":[{"name":"in"}],"outputs":[{"name":"out"},{"name":"late"}]},"cells":[{"name":"count","kind":"value","version":1},{"name":"seen","kind":"map","version":1}],"imports":[{"name":"weir:operator/types@0.1.0","status":"granted","help":null}],"memory_floor":131072,"compile_ms":1,"problems":[]}"#]]
        .assert_eq(&json.to_string());
}

#[test]
fn a_component_is_as_good_as_a_module_of_which_one_can_be_made() {
    let component = ComponentEncoder::default().module(&pass()).unwrap().encode().unwrap();
    assert!(check(&component).ok);
}

#[test]
fn a_handler_face_is_fit_too() {
    let description = Description { handlers: vec![handler("echo", false)], ..describe() };
    let report = check(&handler_guest(&description));
    assert_eq!(report.problems, []);
    assert_eq!(report.faces, [Face::Handler]);
    assert_eq!(report.handlers[0].name, "echo");
}

#[test]
fn files_that_are_no_module_are_refused() {
    assert_eq!(code(b""), "empty");
    assert_eq!(code(b"<html>"), "not-wasm");
    assert_eq!(code(&vec![0; (1 << 20) + 1]), "too-large");
    assert_eq!(code(&pass()[..100]), "truncated");
    assert_eq!(
        code(&wat::parse_str("(module (func (export \"run\")))").unwrap()),
        "no-wit-metadata"
    );
}

#[test]
fn metadata_that_does_not_fit_the_module_is_refused() {
    let bytes = module_of("(module)", "export weir:operator/descriptor@0.1.0;");
    assert_eq!(code(&bytes), "componentize");
    let mut bytes = wat::parse_str("(module)").unwrap();
    bytes.extend_from_slice(b"\0\x12\x0ecomponent-type\0\0\0");
    assert_eq!(code(&bytes), "componentize");
}

#[test]
fn a_module_of_another_world_is_refused() {
    let bytes = module_of(r#"(module (func (export "x")))"#, "export x: func();");
    assert_eq!(code(&bytes), "wrong-world");
}

#[test]
fn wasi_is_refused_import_by_import() {
    let component = wat::parse_str(
        r#"(component
            (import "wasi:cli/stdout@0.2.3" (instance))
            (import "wasi:random/random@0.2.3" (instance))
            (instance $i)
            (export "weir:operator/descriptor@0.1.0" (instance $i))
            (export "weir:operator/transform@0.1.0" (instance $i)))"#,
    )
    .unwrap();
    let report = check(&component);
    let problems: Vec<_> = report.problems.iter().map(|problem| problem.code.as_str()).collect();
    assert_eq!(problems, ["unknown-import", "unknown-import"]);
    assert_eq!(report.faces, [Face::Transform]);
    assert_eq!(report.imports.len(), 2);
}

#[test]
fn interfaces_with_other_types_are_refused() {
    let component = wat::parse_str(
        r#"(component
            (instance $i)
            (export "weir:operator/descriptor@0.1.0" (instance $i))
            (export "weir:operator/transform@0.1.0" (instance $i)))"#,
    )
    .unwrap();
    assert_eq!(code(&component), "wrong-world");
}

#[test]
fn a_description_that_breaks_a_rule_is_refused() {
    let mut description = describe();
    description.outputs[1].name = "Out".into();
    assert_eq!(code(&transform_guest(&description, "", PASS)), "descriptor-invalid");
}

#[test]
fn a_module_that_cannot_describe_itself_is_refused() {
    let start = r#"(func $boom unreachable) (start $boom)"#;
    assert_eq!(
        code(&transform_guest(&describe(), "", &format!("{PASS}{start}"))),
        "descriptor-trap"
    );
}

#[test]
fn a_module_that_needs_too_much_memory_is_refused() {
    let hungry = PASS.to_owned()
        + "(func $grow (drop (memory.grow (i32.const 8192))) (if (i32.lt_u (memory.size) (i32.const 8192)) (then unreachable)))
           (start $grow)";
    assert_eq!(code(&transform_guest(&describe(), "", &hungry)), "memory-floor");
    let component = wat::parse_str("(component (core module (memory 16384)))").unwrap();
    let report = check(&component);
    assert_eq!(report.memory_floor, Some(1 << 30));
    assert!(report.problems.iter().any(|problem| problem.code == "memory-floor"));
}

#[test]
fn what_the_compiler_does_not_know_is_refused() {
    // Valid by the newest drafts, but not enabled.
    let threads = PASS.to_owned() + "(memory $shared 1 1 shared)";
    assert_eq!(code(&transform_guest(&describe(), "", &threads)), "compile-failed");
}

#[test]
fn a_function_that_would_take_too_long_to_compile_is_refused() {
    let long = format!("{PASS}(func {})", "nop ".repeat(1 << 19));
    let mut report = check(&transform_guest(&describe(), "", &long));
    assert!(report.ok);
    let longer = format!("{PASS}(func {})", "(drop (i32.const 1000000)) ".repeat(1 << 18));
    report = TestHost::open(4 << 20).host.check(&transform_guest(&describe(), "", &longer));
    assert_eq!(report.problems[0].code, "function-too-large");
}

#[test]
fn loading_refuses_what_checking_refuses() {
    let host = TestHost::new();
    match host.host.load(b"nothing") {
        Err(HostError::Refused(report)) => assert_eq!(report.problems[0].code, "not-wasm"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_module_is_compiled_once() {
    let host = TestHost::new();
    let bytes = pass();
    assert!(host.host.check(&bytes).ok);
    let first = host.load(&bytes);
    assert!(first.cached());
    let second = host.load(&bytes);
    assert!(std::sync::Arc::ptr_eq(&first, &second));
    // Another process over the same directory finds it too.
    let other = open(host.dir.path(), 1 << 20);
    let found = other.load(&bytes).unwrap();
    assert!(found.cached());
    assert_eq!((found.description(), found.digest()), (first.description(), first.digest()));
    let (mut guest, _) = host.instance(&bytes, Limits::default());
    assert_eq!(guest.process(&batch(&[(None, "x")])).unwrap().unwrap().batch.len(), 1);
}

#[test]
fn a_damaged_artifact_is_compiled_again() {
    let host = TestHost::new();
    let bytes = pass();
    assert!(!host.load(&bytes).cached());
    let path = fs::read_dir(host.dir.path()).unwrap().next().unwrap().unwrap().path();
    let mut artifact = fs::read(&path).unwrap();
    let middle = artifact.len() / 2;
    artifact[middle] ^= 1;
    fs::write(&path, &artifact).unwrap();
    assert!(!host.load(&bytes).cached());
    assert!(host.load(&bytes).cached());
    assert_eq!(fs::read_dir(host.dir.path()).unwrap().count(), 1);
}

#[test]
fn what_is_of_no_more_use_is_swept_out() {
    let host = TestHost::new();
    host.load(&pass());
    let of_other_build = host.dir.path().join("abc-0123456789abcdef.cwasm");
    fs::write(&of_other_build, "old").unwrap();
    fs::write(host.dir.path().join("abc.tmp-1"), "half").unwrap();
    fs::write(host.dir.path().join("notes"), "mine").unwrap();
    open(host.dir.path(), 1 << 20);
    assert!(!of_other_build.exists());
    assert_eq!(fs::read_dir(host.dir.path()).unwrap().count(), 2);
}
