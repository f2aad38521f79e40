use super::*;

fn value_out(bytes: &[u8]) -> String {
    serde_json::to_string(&Value(Bytes::copy_from_slice(bytes))).unwrap()
}

fn value_in(text: &str) -> Vec<u8> {
    Value::from_json(text).unwrap().0.to_vec()
}

fn key_out(bytes: &[u8]) -> String {
    serde_json::to_string(&Key(Bytes::copy_from_slice(bytes))).unwrap()
}

fn key_in(text: &str) -> Option<Vec<u8>> {
    Key::from_json(text).unwrap().map(|k| k.0.to_vec())
}

#[test]
fn json_goes_out_as_its_own_text() {
    for text in [
        r#"{"b":1,"a":12345678901234567890123}"#,
        r#"[1, 2.50,  3e+1]"#,
        r#""tab\u0009""#,
        "null",
        "-0",
        r#"{"a":1,"a":2}"#,
    ] {
        assert_eq!(value_out(text.as_bytes()), text);
        assert_eq!(value_in(text), text.as_bytes());
    }
}

#[test]
fn what_is_not_json_goes_out_as_base64() {
    assert_eq!(value_out(b""), r#"{"base64":""}"#);
    assert_eq!(value_out(b"hello"), r#"{"base64":"aGVsbG8="}"#);
    assert_eq!(value_out(b"\xff\x00"), r#"{"base64":"/wA="}"#);
    assert_eq!(value_out(b"{\"a\":1} x"), r#"{"base64":"eyJhIjoxfSB4"}"#);
}

#[test]
fn json_of_the_shape_of_base64_comes_back_as_the_same_bytes() {
    for text in
        [r#"{"base64":"aGk="}"#, r#"{ "base64" : "not base64" }"#, r#"{"\u0062ase64":"aGk="}"#]
    {
        let out = value_out(text.as_bytes());
        assert!(out.starts_with(r#"{"base64":""#), "{out}");
        assert_eq!(value_in(&out), text.as_bytes());
    }
    for text in [
        r#"{"base64":1}"#,
        r#"{"base64":"a","x":1}"#,
        r#"[{"base64":"a"}]"#,
        r#"{"base64":"a","base64":"b"}"#,
    ] {
        assert_eq!(value_out(text.as_bytes()), text);
        assert_eq!(value_in(text), text.as_bytes());
    }
}

#[test]
fn bad_base64_in_a_request_is_refused() {
    assert!(Value::from_json(r#"{"base64":"**"}"#).is_err());
    assert!(Key::from_json(r#"{"base64":"**"}"#).is_err());
}

#[test]
fn keys_are_strings_scalars_or_base64() {
    assert_eq!(key_in(r#""a\"b""#), Some(b"a\"b".to_vec()));
    assert_eq!(key_in("5"), Some(b"5".to_vec()));
    assert_eq!(key_in("true"), Some(b"true".to_vec()));
    assert_eq!(key_in("null"), None);
    assert_eq!(key_in(r#""""#), Some(vec![]));
    assert_eq!(key_in(r#"{"base64":"/w=="}"#), Some(vec![0xff]));
    assert!(Key::from_json("[1]").is_err());
    assert!(Key::from_json(r#"{"a":1}"#).is_err());
    assert_eq!(key_out(b"caf\xc3\xa9"), "\"caf\u{e9}\"");
    assert_eq!(key_out(b"\xff"), r#"{"base64":"/w=="}"#);
}

#[test]
fn json_that_nests_too_deep_goes_out_as_base64() {
    let nested =
        |depth: usize, inner: &str| format!("{}{inner}{}", "[".repeat(depth), "]".repeat(depth));
    let brackets = format!(r#""{}\"{}""#, "[".repeat(200), "{".repeat(200));
    for text in [nested(128, "1"), nested(1, &brackets), format!("[{}[]]", "[],".repeat(300))] {
        assert_eq!(value_out(text.as_bytes()), text);
    }
    for text in [nested(129, "1"), nested(100_000, ""), nested(129, &brackets)] {
        let out = value_out(text.as_bytes());
        assert!(out.starts_with(r#"{"base64":""#), "{out}");
        assert_eq!(value_in(&out), text.as_bytes());
    }
}
