//! Calls and sends from outside (rule P5).

use std::time::Duration;

use bytes::Bytes;

use super::{Program, World, sends::stock};
use crate::{
    ids::InvocationId,
    ingress::{Idempotency, IngressKind, IngressRequest, RequestStatus, Response},
    message::{Message, Standing},
};

fn call(ticket: u64, handler: &str, idempotency: Option<(&str, u8)>) -> IngressRequest {
    IngressRequest {
        ticket,
        kind: IngressKind::Call { deadline: None },
        operator: "stock".into(),
        handler: handler.into(),
        key: Some(Bytes::from_static(b"sku")),
        value: Bytes::from_static(b"{}"),
        idempotency: idempotency
            .map(|(key, body)| Idempotency { key: key.into(), body: [body; 16] }),
    }
}

fn send(ticket: u64, delay: Option<Duration>) -> IngressRequest {
    IngressRequest { kind: IngressKind::Send { delay }, ..call(ticket, "ship", None) }
}

/// How far it is, once that may be told.
fn standing(world: &mut World, invocation: InvocationId) -> RequestStatus {
    world.responses.clear();
    world.with_ingress(|ingress, now| ingress.look(now, 99, invocation)).settle().commit();
    match world.responses[..] {
        [(99, Response::Standing { status, .. })] => status,
        ref other => panic!("{other:?}"),
    }
}

#[test]
fn an_outsider_is_answered_after_the_commit() {
    let mut world = World::new(vec![stock()]);
    world.request(call(1, "ship", None)).request(call(2, "broken", None)).settle();
    assert!(world.responses.is_empty());
    world.commit();
    assert!(
        matches!(&world.responses[0], (1, Response::Reply { value, .. }) if value == "shipped")
    );
    assert!(
        matches!(&world.responses[1], (2, Response::Failed { failure, .. }) if failure.code == "broken")
    );
    assert_eq!(world.counter("stock", "sku"), 1);
    world.finished();
}

#[test]
fn what_cannot_be_is_answered_at_once() {
    let mut world = World::new(vec![stock()]);
    world.request(IngressRequest { operator: "nobody".into(), ..call(1, "ship", None) });
    world
        .request(call(2, "nothing", None))
        .request(IngressRequest { key: None, ..call(3, "ship", None) });
    assert!(matches!(&world.responses[0], (1, Response::Unknown { .. })));
    assert!(matches!(&world.responses[1], (2, Response::Unknown { .. })));
    assert!(matches!(&world.responses[2], (3, Response::NoKey)));
    world.finished();
}

#[test]
fn a_repeat_gets_the_first_answer_also_after_a_crash() {
    let mut world = World::new(vec![stock()]);
    world
        .request(call(1, "ship", Some(("k", 1))))
        .request(call(2, "ship", Some(("k", 1))))
        .settle()
        .commit();
    world.request(call(3, "ship", Some(("k", 2)))).request(call(4, "ship", Some(("k", 1))));
    let replied: Vec<_> = world
        .responses
        .iter()
        .filter(|(_, r)| matches!(r, Response::Reply { .. }))
        .map(|(t, _)| *t)
        .collect();
    assert_eq!(replied, [1, 2, 4]);
    assert!(world.responses.contains(&(3, Response::Conflict)));
    world.crash().request(call(5, "ship", Some(("k", 1)))).settle();
    assert!(matches!(world.responses.last(), Some((5, Response::Reply { .. }))));
    world.rest();
    assert_eq!(world.counter("stock", "sku"), 1);
    // A day later the key is forgotten.
    world.now.wall.0 += 25 * 3_600_000;
    world.pass(61_000).finished();
}

#[test]
fn an_idempotent_call_under_way_survives_a_crash() {
    let mut world = World::new(vec![stock()]);
    world
        .hold(|message| matches!(message, Message::Ask(_)))
        .request(call(1, "ship", Some(("k", 1))))
        .settle()
        .commit();
    world.crash().request(call(2, "ship", Some(("k", 1)))).settle().commit();
    assert!(matches!(world.responses[..], [(2, Response::Reply { .. })]));
    assert_eq!(world.counter("stock", "sku"), 1);
    world.rest();
}

#[test]
fn a_call_whose_asker_died_with_the_process_leaves_nothing_behind() {
    let mut world = World::new(vec![stock()]);
    world
        .hold(|message| matches!(message, Message::Outcome { .. }))
        .request(call(1, "ship", None))
        .settle()
        .commit();
    assert_eq!(world.tables().get("answers"), Some(&1));
    world.crash().finished();
    assert_eq!(world.counter("stock", "sku"), 1);
}

#[test]
fn an_accepted_send_is_delivered_whatever_happens() {
    let mut world = World::new(vec![stock()]);
    world.hold(|message| matches!(message, Message::Ask(_))).request(send(1, None)).settle();
    assert!(world.responses.is_empty());
    world.commit();
    let Some((1, Response::Accepted { invocation })) = world.responses.first().cloned() else {
        panic!()
    };
    assert_eq!(standing(&mut world, invocation), RequestStatus::Pending);
    world.crash().settle().finished();
    assert_eq!(world.counter("stock", "sku"), 1);
}

#[test]
fn a_delayed_send_can_be_cancelled_before_its_time() {
    let mut world = World::new(vec![stock()]);
    world
        .hold(|message| matches!(message, Message::Ask(_)))
        .request(send(1, Some(Duration::from_secs(9))))
        .settle()
        .commit();
    let Some((1, Response::Accepted { invocation })) = world.responses.first().cloned() else {
        panic!()
    };
    world
        .with_ingress(|ingress, now| ingress.cancel(now, 2, invocation))
        .let_go()
        .pass(10_000)
        .finished();
    assert_eq!(world.counter("stock", "sku"), 0);
}

#[test]
fn a_send_that_its_target_holds_can_be_cancelled_too() {
    let mut world = World::new(vec![stock()]);
    let named = Some(Idempotency { key: "k".into(), body: [0; 16] });
    let delayed = send(1, Some(Duration::from_secs(9)));
    world
        .request(IngressRequest { idempotency: named, ..delayed })
        .settle()
        .commit()
        .settle()
        .commit();
    let Some((1, Response::Accepted { invocation })) = world.responses.first().cloned() else {
        panic!()
    };
    assert_eq!(standing(&mut world, invocation), RequestStatus::Sent(Standing::Delayed));
    assert_eq!(world.figures("stock").delayed, 1);
    world.responses.clear();
    world.with_ingress(|ingress, now| ingress.cancel(now, 2, invocation)).settle();
    assert!(world.responses.is_empty(), "it is told when a commit holds it");
    world.commit();
    assert!(matches!(world.responses[..], [(2, Response::Accepted { .. })]));
    assert_eq!(standing(&mut world, invocation), RequestStatus::Cancelled);
    world.crash().settle().pass(10_000).rest();
    assert_eq!((world.counter("stock", "sku"), world.figures("stock").waiting), (0, 0));
    assert_eq!(standing(&mut world, invocation), RequestStatus::Cancelled);
    // Cancelled again, or after its end, it leaves nothing behind.
    world.with_ingress(|ingress, now| ingress.cancel(now, 3, invocation)).rest();
    assert_eq!(world.tables().keys().copied().collect::<Vec<_>>(), ["requests"]);
}

#[test]
fn a_send_that_has_ended_says_so_and_is_not_cancelled() {
    let mut world = World::new(vec![stock()]);
    let named = Some(Idempotency { key: "k".into(), body: [0; 16] });
    world.request(IngressRequest { idempotency: named, ..send(1, None) }).settle().commit().rest();
    let Some((1, Response::Accepted { invocation })) = world.responses.first().cloned() else {
        panic!()
    };
    let ended = RequestStatus::Sent(Standing::Ended);
    assert_eq!(standing(&mut world, invocation), ended);
    world.responses.clear();
    world.with_ingress(|ingress, now| ingress.cancel(now, 2, invocation)).settle().commit();
    assert!(matches!(world.responses[..], [(2, Response::Accepted { .. })]));
    assert_eq!(standing(&mut world, invocation), ended);
    assert_eq!(world.counter("stock", "sku"), 1);
    world.rest();
    assert_eq!(world.tables().keys().copied().collect::<Vec<_>>(), ["requests"]);
}

#[test]
fn a_send_is_cancelled_while_word_of_its_taking_is_on_its_way() {
    let mut world = World::new(vec![stock()]);
    let named = Some(Idempotency { key: "k".into(), body: [0; 16] });
    let delayed = send(1, Some(Duration::from_secs(9)));
    world
        .hold(|message| matches!(message, Message::Taken { .. }))
        .request(IngressRequest { idempotency: named, ..delayed })
        .settle()
        .commit();
    let Some((1, Response::Accepted { invocation })) = world.responses.first().cloned() else {
        panic!()
    };
    world.responses.clear();
    world.with_ingress(|ingress, now| ingress.cancel(now, 2, invocation)).let_go().settle();
    assert!(world.responses.is_empty());
    world.commit();
    assert!(matches!(world.responses[..], [(2, Response::Accepted { .. })]));
    assert_eq!(standing(&mut world, invocation), RequestStatus::Cancelled);
    world.pass(10_000).rest();
    assert_eq!(world.counter("stock", "sku"), 0);
}

#[test]
fn a_call_from_outside_has_a_deadline() {
    let stuck = Program::new("stock").on("ship", |_| Err(super::Stop::Wait));
    let mut world = World::new(vec![stuck]);
    world.request(call(1, "ship", None)).settle().pass(121_000).settle().commit();
    assert!(
        matches!(&world.responses[..], [(1, Response::Failed { failure, .. })] if failure.code == "deadline")
    );
    world.finished();
}
