use bytes::Bytes;
use wasmtime::component::Resource;
use weir_core::{
    guest::{Cause, Invocation},
    ids::{EventTime, InvocationId},
};

use super::{CALLS_OPEN_MAX, Handle, Invocations, NoCall, Run};

const ID: InvocationId = InvocationId(1);

fn begin(invocations: &mut Invocations) -> (Run, Resource<Handle>) {
    let invocation = Invocation {
        id: ID,
        handler: 0,
        cause: Cause::Event,
        attempt: 1,
        key: Bytes::new(),
        value: Bytes::new(),
        timestamp: EventTime(0),
        headers: Vec::new(),
    };
    invocations.begin(&invocation, false).unwrap()
}

#[test]
fn calls_are_numbered_in_the_order_in_which_they_are_made() {
    let mut invocations = Invocations::default();
    let (_, handle) = begin(&mut invocations);
    let numbers: Vec<_> = (0..3).map(|_| invocations.call(&handle).unwrap().1).collect();
    assert_eq!(numbers, [0, 1, 2]);
}

#[test]
fn calls_that_are_open_at_the_end_are_cancelled() {
    let mut invocations = Invocations::default();
    let (run, handle) = begin(&mut invocations);
    let (_, _, mut outcome) = invocations.call(&handle).unwrap();
    assert_eq!(invocations.end(run), Some(ID));
    assert_eq!(outcome.try_recv().unwrap().unwrap().unwrap_err().code, "cancelled");
    assert_eq!(invocations.call(&handle).unwrap_err(), NoCall::Closed);
}

#[test]
fn a_place_is_given_again_only_when_its_handle_is_dropped() {
    let mut invocations = Invocations::default();
    let (run, kept) = begin(&mut invocations);
    invocations.end(run);
    assert_eq!(invocations.tombstones(), 1);
    let (_, next) = begin(&mut invocations);
    assert_ne!(next.rep(), kept.rep());
    assert!(invocations.open(&kept).is_none());
    invocations.dropped(&kept);
    assert_eq!(invocations.tombstones(), 0);
    assert!(invocations.open(&next).is_some());
}

#[test]
fn a_handle_may_be_dropped_before_the_end() {
    let mut invocations = Invocations::default();
    let (run, handle) = begin(&mut invocations);
    let (_, call, _outcome) = invocations.call(&handle).unwrap();
    invocations.dropped(&handle);
    assert!(invocations.answer(ID, call, Ok(Bytes::new())));
    assert_eq!(invocations.end(run), Some(ID));
    assert_eq!(invocations.tombstones(), 0);
}

#[test]
fn an_end_after_a_cancellation_says_nothing() {
    let mut invocations = Invocations::default();
    let (first, handle) = begin(&mut invocations);
    invocations.dropped(&handle);
    assert!(invocations.cancel(ID));
    let (second, _) = begin(&mut invocations);
    // The second one may have the place of the first.
    assert_eq!(invocations.end(first), None);
    assert_eq!(invocations.end(second), Some(ID));
}

#[test]
fn open_calls_are_limited_and_dropped_ones_do_not_count() {
    let mut invocations = Invocations::default();
    let (_, handle) = begin(&mut invocations);
    for _ in 0..2 * CALLS_OPEN_MAX {
        drop(invocations.call(&handle).unwrap());
    }
    let open: Vec<_> = (0..CALLS_OPEN_MAX).map(|_| invocations.call(&handle).unwrap()).collect();
    assert_eq!(invocations.call(&handle).unwrap_err(), NoCall::TooMany);
    drop(open);
    assert!(invocations.call(&handle).is_ok());
}
