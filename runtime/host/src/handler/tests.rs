use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use weir_core::{
    description::Description,
    failure::{Failure, TrapKind},
    guest::{Cause, Guest, GuestEvent, Invocation, Reply, Request},
    ids::{EventTime, InvocationId},
};

use crate::{
    Limits,
    testing::{Fake, TestHost, describe, handler, handler_guest},
};

const ECHO: u32 = 0;
const CALL: u32 = 1;
const CALL_AND_TRAP: u32 = 2;
const PUT_AND_KEEP: u32 = 3;
const PUT_BY_KEPT: u32 = 4;
const CALL_AND_LOOP: u32 = 5;

fn description() -> Description {
    let names = ["echo", "call", "call-and-trap", "put-and-keep", "put-by-kept", "call-and-loop"];
    Description { handlers: names.map(|name| handler(name, false)).into(), ..describe() }
}

/// A guest, its effects, and the host that it lives in.
struct Stage {
    guest: Box<dyn Guest>,
    fake: Arc<Fake>,
    _host: TestHost,
}

fn stage() -> Stage {
    stage_of(&description(), Limits::default())
}

fn stage_of(description: &Description, limits: Limits) -> Stage {
    let host = TestHost::new();
    let (guest, fake) = host.instance(&handler_guest(description), limits);
    Stage { guest, fake, _host: host }
}

fn id(n: u128) -> InvocationId {
    InvocationId(n)
}

fn key(n: u128) -> Bytes {
    format!("key of {n}").into()
}

fn invocation(n: u128, handler: u32) -> Invocation {
    Invocation {
        id: id(n),
        handler,
        cause: Cause::Event,
        attempt: 1,
        key: key(n),
        value: format!("value of {n}").into(),
        timestamp: EventTime(7),
        headers: vec![("h".into(), "v".into())],
    }
}

fn called(n: u128, call: u32) -> GuestEvent {
    let request = Request {
        operator: "a".into(),
        handler: "b".into(),
        key: None,
        value: key(n),
        after_ms: None,
    };
    GuestEvent::Called { invocation: id(n), call, request }
}

fn ended(n: u128, value: impl Into<Bytes>) -> GuestEvent {
    let value = value.into();
    GuestEvent::Ended { invocation: id(n), result: Ok(Reply { value, ..Reply::default() }) }
}

#[test]
fn an_invocation_that_waits_for_nothing_ends_at_once() {
    let mut s = stage();
    s.guest.begin(invocation(1, ECHO));
    assert_eq!(s.guest.run().unwrap(), [ended(1, "value of 1")]);
    assert_eq!(s.guest.run().unwrap(), []);
}

#[test]
fn a_call_waits_for_its_answer() {
    let mut s = stage();
    s.guest.begin(invocation(1, CALL));
    assert_eq!(s.guest.run().unwrap(), [called(1, 0)]);
    assert_eq!(s.guest.run().unwrap(), []);
    s.guest.answer(id(1), 0, Ok("yes".into()));
    assert_eq!(s.guest.run().unwrap(), [ended(1, "yes")]);
    s.guest.begin(invocation(2, CALL));
    s.guest.run().unwrap();
    s.guest.answer(id(2), 0, Err(Failure::terminal("out-of-stock", "none left")));
    assert_eq!(s.guest.run().unwrap(), [ended(2, "out-of-stock")]);
}

#[test]
fn a_hundred_invocations_wait_in_one_instance_and_none_is_mixed_up() {
    let mut s = stage();
    (0..100).for_each(|n| s.guest.begin(invocation(n, CALL)));
    assert_eq!(s.guest.run().unwrap(), (0..100).map(|n| called(n, 0)).collect::<Vec<_>>());
    // 37 is prime to 100: every one is answered, in another order.
    for n in (0..100).map(|i| i * 37 % 100) {
        s.guest.answer(id(n), 0, Ok(format!("answer to {n}").into()));
        if n % 3 == 0 {
            continue;
        }
        for event in s.guest.run().unwrap() {
            let GuestEvent::Ended { invocation, result } = event else { panic!("{event:?}") };
            assert_eq!(result.unwrap().value, format!("answer to {}", invocation.0));
        }
    }
    assert!(s.guest.run().unwrap().len() <= 1);
}

#[test]
fn a_trap_names_its_culprit_and_takes_all() {
    let mut s = stage();
    (0..10).for_each(|n| s.guest.begin(invocation(n, if n == 5 { CALL_AND_TRAP } else { CALL })));
    s.guest.run().unwrap();
    [2, 5, 7].into_iter().for_each(|n| s.guest.answer(id(n), 0, Ok("yes".into())));
    let trap = s.guest.run().unwrap_err();
    assert_eq!((trap.kind, trap.culprit), (TrapKind::Trap, Some(id(5))));
    assert!(!trap.backtrace.is_empty());
    s.guest.begin(invocation(11, ECHO));
    assert!(s.guest.run().is_err());
}

#[test]
fn the_limit_of_time_is_for_one_stretch() {
    let mut s =
        stage_of(&description(), Limits { cpu: Duration::from_millis(50), ..Limits::default() });
    s.guest.begin(invocation(1, CALL_AND_LOOP));
    s.guest.begin(invocation(2, CALL));
    s.guest.run().unwrap();
    s.guest.answer(id(1), 0, Ok("yes".into()));
    let trap = s.guest.run().unwrap_err();
    assert_eq!((trap.kind, trap.culprit), (TrapKind::Cpu, Some(id(1))));
}

#[test]
fn a_cancelled_invocation_is_not_heard_of_again() {
    let mut s = stage();
    s.guest.begin(invocation(1, CALL));
    s.guest.begin(invocation(2, CALL));
    s.guest.run().unwrap();
    s.guest.cancel(id(1));
    assert_eq!(s.guest.run().unwrap(), []);
    s.guest.answer(id(1), 0, Ok("too late".into()));
    assert_eq!(s.guest.run().unwrap(), []);
    // The next attempt has the same id and its own calls.
    s.guest.begin(invocation(1, CALL));
    assert_eq!(s.guest.run().unwrap(), [called(1, 0)]);
    s.guest.answer(id(1), 0, Ok("again".into()));
    s.guest.answer(id(2), 0, Ok("other".into()));
    assert_eq!(s.guest.run().unwrap(), [ended(1, "again"), ended(2, "other")]);
}

#[test]
fn an_invocation_cancelled_before_it_ran_never_runs() {
    let mut s = stage();
    s.guest.begin(invocation(1, ECHO));
    s.guest.cancel(id(1));
    assert_eq!(s.guest.run().unwrap(), []);
}

#[test]
fn answers_that_nobody_waits_for_are_ignored() {
    let mut s = stage();
    s.guest.answer(id(1), 0, Ok("what".into()));
    s.guest.begin(invocation(1, CALL));
    s.guest.answer(id(1), 1, Ok("which".into()));
    assert_eq!(s.guest.run().unwrap(), [called(1, 0)]);
    s.guest.answer(id(1), 0, Ok("yes".into()));
    s.guest.answer(id(1), 0, Ok("twice".into()));
    assert_eq!(s.guest.run().unwrap(), [ended(1, "yes")]);
}

#[test]
fn a_handle_that_was_kept_touches_nobody() {
    let mut s = stage();
    s.guest.begin(invocation(1, PUT_AND_KEEP));
    s.guest.begin(invocation(2, PUT_BY_KEPT));
    s.guest.begin(invocation(3, PUT_AND_KEEP));
    s.guest.run().unwrap();
    assert_eq!(
        s.fake.written(),
        [
            r#"invocation 1 cell 0 = Some(b"value of 1")"#,
            r#"invocation 3 cell 0 = Some(b"value of 3")"#
        ]
    );
}

#[test]
fn an_instance_that_keeps_too_many_handles_is_given_up() {
    let mut s = stage();
    // What is given to this guest is never freed: small, and memory for all.
    let run = (0..=super::TOMBSTONES_MAX as u128).try_for_each(|n| {
        s.guest.begin(invocation(n, PUT_AND_KEEP));
        s.guest.run().map(|_| ())
    });
    let trap = run.unwrap_err();
    assert_eq!(trap.kind, TrapKind::Misuse);
    assert!(trap.message.contains("10001 handles"), "{}", trap.message);
}

#[test]
fn a_read_only_handler_that_writes_is_stopped() {
    let mut description = description();
    description.handlers[PUT_AND_KEEP as usize].read_only = true;
    let mut s = stage_of(&description, Limits::default());
    s.guest.begin(invocation(1, PUT_AND_KEEP));
    let trap = s.guest.run().unwrap_err();
    assert_eq!((trap.kind, trap.culprit), (TrapKind::Misuse, Some(id(1))));
    assert_eq!(trap.message, "the handler is declared read-only and wrote state");
}

#[test]
fn too_large_a_reply_is_stopped_at_its_limit() {
    let mut s = stage_of(&description(), Limits { output_bytes: 9, ..Limits::default() });
    s.guest.begin(invocation(1, ECHO));
    let trap = s.guest.run().unwrap_err();
    assert_eq!((trap.kind, trap.culprit), (TrapKind::Output, Some(id(1))));
}
