use bytes::Bytes;
use serde_json::json;

use super::{DeadLetter, SourcePosition};
use crate::{
    failure::{Failure, Trap, TrapKind},
    guest::Cause,
    ids::{Epoch, EventTime, InvocationId},
};

fn letter(key: &'static [u8], value: &'static [u8]) -> DeadLetter {
    DeadLetter {
        id: InvocationId::new(1, Epoch(2), 3, 4),
        operator: "orders".parse().unwrap(),
        module: "order@1.0.0".into(),
        digest: "sha256:00".into(),
        handler: "place".into(),
        cause: Cause::Event,
        key: Some(Bytes::from_static(key)),
        value: Bytes::from_static(value),
        timestamp: EventTime(5),
        headers: vec![("trace".into(), Bytes::from_static(b"t"))],
        position: Some(SourcePosition {
            source: "in".into(),
            topic: "orders".into(),
            partition: 1,
            offset: 2,
        }),
        attempts: 10,
        failure: Failure::transient("trap", "unreachable"),
        trap: Some(Trap {
            kind: TrapKind::Trap,
            message: "unreachable".into(),
            panic: Some("index out of bounds".into()),
            backtrace: vec!["place".into()],
            culprit: Some(InvocationId::new(u32::MAX, Epoch(2), 3, 4)),
        }),
        done: vec!["stock.reserve sku".into()],
        blocks_key: false,
        at: EventTime(6),
    }
}

#[test]
fn as_json_it_shows_what_it_is() {
    let json = serde_json::to_value(letter(b"o-1", br#"{"a":1}"#)).unwrap();
    assert_eq!(json["id"], "inv_00000001000000000002000300000004");
    assert_eq!((&json["key"], &json["value"]), (&json!("o-1"), &json!({"a": 1})));
    assert_eq!(json["headers"], json!([{"name": "trace", "value": "t"}]));
    assert_eq!(json["position"]["offset"], 2);
    assert_eq!(json["trap"]["panic"], "index out of bounds");
    assert_eq!(json["trap"]["culprit"], "inv_ffffffff000000000002000300000004");
    assert_eq!(json["done"], json!(["stock.reserve sku"]));
}

#[test]
fn bytes_that_are_no_text_are_base64_and_so_is_what_looks_like_that() {
    let shown = |key, value| {
        let json = serde_json::to_value(letter(key, value)).unwrap();
        (json["key"].clone(), json["value"].clone())
    };
    assert_eq!(shown(b"\xff", b"\xff"), (json!({"base64": "/w=="}), json!({"base64": "/w=="})));
    assert_eq!(shown(b"", b""), (json!(""), json!({"base64": ""})));
    assert_eq!(shown(b"1", b"not json").1, json!({"base64": "bm90IGpzb24="}));
    assert_eq!(
        shown(b"1", br#"{"base64":"AA=="}"#).1,
        json!({"base64": "eyJiYXNlNjQiOiJBQT09In0="})
    );
    let text = serde_json::to_string(&letter(b"k", b"12345678901234567890123")).unwrap();
    assert!(text.contains(r#""value":12345678901234567890123,"#), "bytes out are bytes in");
}
