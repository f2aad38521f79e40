use std::time::Duration;

use weir_core::failure::{Trap, TrapKind};

use crate::{
    Limits,
    testing::{TestHost, batch, describe, transform_guest},
};

const IMPORTS: &str = r#"
    (import "weir:operator/log@0.1.0" "write" (func $log (param i32 i32 i32)))
    (import "weir:operator/context@0.1.0" "config" (func $config (param i32)))
    (import "weir:operator/batch-state@0.1.0" "load" (func $load (param i32 i32)))
    (import "weir:operator/batch-state@0.1.0" "store" (func $store (param i32 i32 i32 i32 i32 i32 i32)))
    (import "weir:operator/batch-state@0.1.0" "put" (func $put (param i32 i32 i32 i32)))
    (import "weir:operator/batch-state@0.1.0" "map-put" (func $map-put (param i32 i32 i32 i32 i32 i32)))"#;

fn guest(body: &str) -> Vec<u8> {
    transform_guest(
        &describe(),
        IMPORTS,
        &format!(
            r#"(data (i32.const 0) "panicked at the disco") (func $process (param $batch i32) (result i32) {body})"#
        ),
    )
}

/// The trap of a guest whose `process` has this body, on a batch of two events of
/// which the second has no key.
fn trap(body: &str, limits: Limits) -> Trap {
    let host = TestHost::new();
    let (mut guest, _) = host.instance(&guest(body), limits);
    let batch = batch(&[(Some("k"), "one"), (None, "two")]);
    let trap = guest.process(&batch).unwrap_err();
    assert!(guest.process(&batch).is_err(), "an instance is of no use after a trap");
    trap
}

fn message(body: &str) -> (TrapKind, String) {
    let trap = trap(body, Limits::default());
    (trap.kind, trap.message)
}

#[test]
fn what_is_given_on_takes_its_defaults_from_its_cause() {
    let host = TestHost::new();
    let (mut guest, _) =
        host.instance(&guest("(call $pass (local.get $batch))"), Limits::default());
    let mut input = (*batch(&[(Some("a"), "one"), (None, "two"), (Some(""), "three")])).clone();
    input.hash_keys();
    let input = std::sync::Arc::new(input);
    for _ in 0..3 {
        let output = guest.process(&input).unwrap().unwrap();
        assert_eq!(output.causes, [0, 1, 2]);
        assert_eq!(output.batch.ports, [0, 0, 0]);
        assert_eq!(output.batch.key(1), None);
        assert_eq!(output.batch.key(2), Some(&b""[..]));
        let ports = Vec::new();
        assert_eq!(weir_core::batch::Batch { ports, ..output.batch }, *input);
    }
}

#[test]
fn a_trap_tells_the_panic_and_the_frames() {
    let trap = trap(
        "(call $log (i32.const 3) (i32.const 0) (i32.const 21)) unreachable",
        Limits::default(),
    );
    assert_eq!(trap.kind, TrapKind::Trap);
    assert_eq!(trap.panic.as_deref(), Some("panicked at the disco"));
    assert_eq!(trap.backtrace, ["process"]);
    assert_eq!(trap.culprit, None);
}

#[test]
fn an_endless_loop_ends_at_the_limit() {
    let limits = Limits { cpu: Duration::from_millis(50), ..Limits::default() };
    let trap = trap("(loop $ever (br $ever)) unreachable", limits);
    assert_eq!(
        (trap.kind, trap.message.as_str()),
        (TrapKind::Cpu, "it ran for more than 50 ms without a pause")
    );
}

#[test]
fn memory_ends_at_the_limit() {
    let grow = "(block $full (loop $more
            (br_if $full (i32.eq (memory.grow (i32.const 16)) (i32.const -1))) (br $more))) unreachable";
    let trap = trap(grow, Limits { memory: 4 << 20, ..Limits::default() });
    assert_eq!(trap.kind, TrapKind::Memory);
    assert!(trap.message.contains("4194304"), "{}", trap.message);
}

#[test]
fn an_instance_needs_its_first_memory_within_the_limit() {
    let host = TestHost::new();
    let module = host.load(&guest("(call $pass (local.get $batch))"));
    let limits = Limits { memory: 64 << 10, ..Limits::default() };
    let factory = module.factory(crate::OperatorSettings { limits, ..Default::default() });
    let trap = factory
        .instantiate(std::sync::Arc::new(crate::testing::Fake::default()))
        .map(|_| ())
        .unwrap_err();
    assert_eq!(trap.kind, TrapKind::Memory);
}

#[test]
fn deep_recursion_is_a_trap() {
    let body = "(drop (call $process (local.get $batch))) (call $process (local.get $batch))";
    assert_eq!(message(body).0, TrapKind::Trap);
}

#[test]
fn garbage_is_named() {
    // Each spoils one column of an output that is right otherwise.
    let spoil = |code: &str| {
        let body = format!(
            "(local $o i32) (local.set $o (call $pass (local.get $batch))) {code} (local.get $o)"
        );
        let (kind, message) = message(&body);
        assert_eq!(kind, TrapKind::Garbage, "{message}");
        message
    };
    let word =
        |at: u32, value: i32| format!("(i32.store offset={at} (local.get $o) (i32.const {value}))");
    assert_eq!(spoil(&word(56, 1)), "`causes` has 1 elements for 2 outputs");
    assert_eq!(
        spoil("(i32.store offset=4 (i32.load offset=52 (local.get $o)) (i32.const 2))"),
        "`causes` names event 2: the batch has 2"
    );
    assert_eq!(
        spoil("(i32.store (i32.load offset=52 (local.get $o)) (i32.const 7))"),
        "`causes` does not ascend"
    );
    assert_eq!(
        spoil("(i32.store (i32.load offset=36 (local.get $o)) (i32.const 7))"),
        "`value-ends` does not ascend"
    );
    assert_eq!(spoil(&word(32, 5)), "`value-ends` ends at 6, its bytes at 5");
    assert_eq!(
        spoil(&format!("{}{}", word(4, 64), word(8, 1))),
        "`timestamps` has 1 elements for 2 outputs"
    );
    assert_eq!(
        spoil(&format!("{}{}", word(44, 64), word(48, 1))),
        "`ports` has 1 elements for 2 outputs"
    );
    assert_eq!(
        spoil(&format!(
            "(i32.store (i32.const 64) (i32.const 0x0505)) {}{}",
            word(44, 64),
            word(48, 2)
        )),
        "an output is for port 5: the module declares 2 outputs"
    );
    assert_eq!(
        spoil(&format!("{}{}", word(12, 0), word(16, 3))),
        "`keys` has bytes, but `key-ends` is empty"
    );
    // A list that is not in memory breaks the rules of the component model.
    assert!(spoil(&word(28, -8)).contains("out of bounds"));
}

#[test]
fn too_large_an_output_is_stopped_at_its_limit() {
    let trap =
        trap("(call $pass (local.get $batch))", Limits { output_bytes: 5, ..Limits::default() });
    assert_eq!(trap.kind, TrapKind::Output);
    assert!(trap.message.contains("and may be 5: give away less"), "{}", trap.message);
}

#[test]
fn a_failure_of_the_whole_batch_is_no_trap() {
    let body = "(i32.store (i32.const 64) (i32.const 1)) (i32.store (i32.const 68) (i32.const 1))
        (i32.store (i32.const 72) (i32.const 0)) (i32.store (i32.const 76) (i32.const 8))
        (i32.store (i32.const 80) (i32.const 9)) (i32.store (i32.const 84) (i32.const 2)) (i32.const 64)";
    let host = TestHost::new();
    let (mut guest, _) = host.instance(&guest(body), Limits::default());
    let failure = guest.process(&batch(&[(None, "x")])).unwrap().unwrap_err();
    assert_eq!(failure, weir_core::failure::Failure::terminal("panicked", "at"));
}

#[test]
fn state_is_loaded_and_stored_for_the_batch() {
    let host = TestHost::new();
    // Loads cell 0 and stores what it got under slot 0.
    let body = "(call $load (i32.const 0) (i32.const 64))
        (i32.store (i32.const 96) (i32.const 0))
        (call $store (i32.const 0) (i32.const 96) (i32.const 1)
            (i32.load (i32.const 72)) (i32.load (i32.const 76)) (i32.load (i32.const 80)) (i32.load (i32.const 84)))
        (call $put (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 8))
        (call $map-put (i32.const 0) (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 1) (i32.const 2))
        (call $pass (local.get $batch))";
    let (mut guest, fake) = host.instance(&guest(body), Limits::default());
    guest.process(&batch(&[(Some("k"), "one"), (None, "two")])).unwrap().unwrap();
    assert_eq!(
        fake.written(),
        [
            "load 0",
            r#"store 0 [0] b"seven" [5]"#,
            r#"event 0 cell 0 = Some(b"panicked")"#,
            r#"event 0 cell 1 b"p" = Some(b"an")"#,
        ]
    );
}

#[test]
fn misuse_of_state_is_named() {
    let misuse = |code: &str| {
        let (kind, message) = message(&format!("{code} (call $pass (local.get $batch))"));
        assert_eq!(kind, TrapKind::Misuse, "{message}");
        message
    };
    let put = |event: u32, cell: u32, length: u32| {
        format!(
            "(call $put (i32.const {event}) (i32.const {cell}) (i32.const 0) (i32.const {length}))"
        )
    };
    assert_eq!(misuse(&put(0, 9, 1)), "there is no cell 9: the module declares 2");
    assert_eq!(
        misuse(&put(0, 1, 1)),
        "the cell `seen` is a Map: its entries are read and written one by one"
    );
    assert_eq!(misuse(&put(2, 0, 1)), "there is no event 2: the batch has 2");
    assert_eq!(misuse(&put(1, 0, 1)), "event 1 has no key, so it has no state");
    let grow = "(drop (memory.grow (i32.const 32)))";
    assert_eq!(
        misuse(&format!("{grow}{}", put(0, 0, (1 << 20) + 1))),
        "a value has 1048577 bytes and may have 1048576"
    );
    assert_eq!(
        misuse(
            "(call $map-put (i32.const 0) (i32.const 1) (i32.const 0) (i32.const 1025) (i32.const 0) (i32.const 0))"
        ),
        "the key of an entry has 1025 bytes and may have 1024"
    );
    assert_eq!(
        misuse(
            "(call $store (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 0) (i32.const 0))"
        ),
        "0 values for 1 slots"
    );
}

#[test]
fn more_log_lines_than_allowed_are_dropped() {
    let host = TestHost::new();
    let line = "(call $log (i32.const 1) (i32.const 0) (i32.const 8))";
    let body = format!("{line}{line}{line}{line} (call $pass (local.get $batch))");
    let (mut guest, fake) =
        host.instance(&guest(&body), Limits { log_bytes: 16, ..Limits::default() });
    guest.process(&batch(&[(None, "x")])).unwrap().unwrap();
    assert_eq!(
        fake.written(),
        [
            "Info: panicked",
            "Info: panicked",
            "Warn: more log lines in one go than allowed: the rest is dropped"
        ]
    );
}

#[test]
fn the_configuration_is_at_hand() {
    let host = TestHost::new();
    let body = "(call $config (i32.const 64))
        (call $log (i32.const 0) (i32.load (i32.const 64)) (i32.load (i32.const 68)))
        (call $pass (local.get $batch))";
    let (mut guest, fake) = host.instance(&guest(body), Limits::default());
    guest.process(&batch(&[(None, "x")])).unwrap().unwrap();
    assert_eq!(fake.written(), [r#"Debug: {"a":1}"#]);
}

#[test]
fn a_module_without_the_face_does_not_process() {
    let host = TestHost::new();
    let description = weir_core::description::Description {
        handlers: vec![crate::testing::handler("echo", false)],
        ..describe()
    };
    let (mut guest, _) =
        host.instance(&crate::testing::handler_guest(&description), Limits::default());
    assert!(
        guest.process(&batch(&[(None, "x")])).unwrap_err().message.contains("no transform face")
    );
}
