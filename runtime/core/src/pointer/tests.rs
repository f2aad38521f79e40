use expect_test::{Expect, expect};
use proptest::prelude::*;
use serde_json::Value;

use super::*;

fn check(pointer: &str, json: &str, expect: Expect) {
    let pointer: JsonPointer = pointer.parse().unwrap();
    expect.assert_eq(&match pointer.scan(json.as_bytes()).key() {
        Ok(key) => format!("key {}", String::from_utf8_lossy(key)),
        Err(absence) => absence.to_string(),
    });
}

#[test]
fn a_string_and_a_number_of_the_same_text_are_one_key() {
    check("/id", r#"{"id": "5"}"#, expect!["key 5"]);
    check("/id", r#"{"id": 5}"#, expect!["key 5"]);
}

#[test]
fn scalars_are_keys_as_they_are_written() {
    check("/a", r#"{"a":1.50e+3}"#, expect!["key 1.50e+3"]);
    check("/a", r#"{"a":-0}"#, expect!["key -0"]);
    check("/a", r#"{"a":true}"#, expect!["key true"]);
    check("/a", r#"{"a":false }"#, expect!["key false"]);
    check("/a", r#"{"a":""}"#, expect!["key "]);
    check("", r#" "whole" "#, expect!["key whole"]);
    check("", "7", expect!["key 7"]);
}

#[test]
fn escapes_are_decoded_in_values_and_names() {
    check("/a", r#"{"a":"x\"y\\z\u00e9\ud83d\ude00\n"}"#, expect!["key x\"y\\zé😀\n"]);
    check("/a b", r#"{"a":1,"a\u0020b":2}"#, expect!["key 2"]);
    check("/a~1b~0", r#"{"a/b~":"found"}"#, expect!["key found"]);
    check("/", r#"{"":"empty name"}"#, expect!["key empty name"]);
}

#[test]
fn what_is_in_the_way_is_stepped_over() {
    check(
        "/k",
        r#"{"s":"{\"k\":1}]","o":{"k":2,"a":[{"k":"]"}]},"n":-1.5,"b":null,"k":3}"#,
        expect!["key 3"],
    );
    check("/a/2/b", r#"{"a":[[1,[2]],{"b":0},{"c":1,"b":"deep"}]}"#, expect!["key deep"]);
    check("/a/0", "{\n\t\"a\" : [ 1 , 2 ]\r\n}", expect!["key 1"]);
}

#[test]
fn nothing_is_found_for_a_reason() {
    check("/a", r#"{"b":1}"#, expect!["the value has nothing there"]);
    check("/a", "{}", expect!["the value has nothing there"]);
    check("/a/b", r#"{"a":"text"}"#, expect!["the value has nothing there"]);
    check("/a/b", r#"{"a":7}"#, expect!["the value has nothing there"]);
    check("/0", "[]", expect!["the value has nothing there"]);
    check("/1", "[0]", expect!["the value has nothing there"]);
    check("/00", "[0]", expect!["the value has nothing there"]);
    check("/-", "[0]", expect!["the value has nothing there"]);
    check("/99999999999999999999999", "[0]", expect!["the value has nothing there"]);
    check("/a", r#"{"a":null}"#, expect!["there is a null"]);
    check("/a", r#"{"a":{}}"#, expect!["there is an object or an array"]);
    check("", "[1]", expect!["there is an object or an array"]);
}

#[test]
fn bytes_that_are_not_json_are_told_apart() {
    for json in [
        "",
        " ",
        "{",
        "{\"a\"",
        "{\"a\":",
        "{\"a\":}",
        "{\"a\":\"x",
        "{\"a\":\"x\\",
        "{\"a\":nul}",
        "{\"a\":01}",
        "{\"a\":1.}",
        "{\"a\":+1}",
        "{\"a\":.5}",
        "{\"a\":1e}",
        "{\"b\" 1}",
        "{\"a\":\"\\x\"}",
        "{\"a\":\"\\ud800\"}",
        "{\"a\":\"\n\"}",
        "hello",
    ] {
        check("/a", json, expect!["the value is not valid JSON"]);
    }
    let pointer: JsonPointer = "/a".parse().unwrap();
    assert_eq!(pointer.scan(b"{\"a\":\"\xff\"}"), Found::Nothing(Absence::NotJson));
}

#[test]
fn of_a_name_that_occurs_twice_the_first_counts() {
    check("/a", r#"{"a":1,"a":2}"#, expect!["key 1"]);
}

#[test]
fn a_pointer_is_shown_as_it_was_written() {
    for text in ["", "/", "/a", "/a/0/b~0c~1d", "/ü"] {
        assert_eq!(text.parse::<JsonPointer>().unwrap().to_string(), text);
    }
    for text in ["a", "/a~", "/a~2", "#/a", &"/a".repeat(33)] {
        assert!(text.parse::<JsonPointer>().is_err(), "{text}");
    }
}

#[test]
fn depth_costs_no_stack() {
    let depth = 1_000_000;
    let json = format!(r#"{{"deep":{}{},"a":1}}"#, "[".repeat(depth), "]".repeat(depth));
    check("/a", &json, expect!["key 1"]);
}

/// Any JSON, with names that collide and need escapes.
fn any_json() -> impl Strategy<Value = Value> {
    let name = prop_oneof!["[ab/~\"\\\\]{0,2}", "\\PC{0,12}"];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((name.clone(), inner), 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// The pointers of every place in a value.
fn places(value: &Value, here: String, into: &mut Vec<String>) {
    match value {
        Value::Array(elements) => {
            for (i, element) in elements.iter().enumerate() {
                places(element, format!("{here}/{i}"), into);
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                places(
                    member,
                    format!("{here}/{}", name.replace('~', "~0").replace('/', "~1")),
                    into,
                );
            }
        }
        _ => {}
    }
    into.push(here);
}

proptest! {
    #[test]
    fn a_scan_finds_what_a_full_parse_finds(value in any_json(), pretty in any::<bool>()) {
        let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
        let mut all = vec!["/a".to_owned(), "/0/b".into(), "/nowhere".into()];
        places(&value, String::new(), &mut all);
        for place in all {
            let Ok(pointer) = place.parse::<JsonPointer>() else { continue };
            let found = pointer.scan(text.as_bytes());
            let expected = match value.pointer(&place) {
                None => Err(Absence::Missing),
                Some(Value::Null) => Err(Absence::Null),
                Some(Value::Array(_) | Value::Object(_)) => Err(Absence::Composite),
                Some(Value::String(text)) => Ok(text.clone().into_bytes()),
                Some(other) => Ok(other.to_string().into_bytes()),
            };
            prop_assert_eq!(found.key().map(<[u8]>::to_vec), expected, "{} in {}", place, text);
        }
    }

    #[test]
    fn odd_bytes_never_panic(
        bytes in prop::collection::vec(prop_oneof![
            prop::sample::select(&b"{}[]\",:\\ 0a-.eu\xff\x00ntf"[..]), any::<u8>()
        ], 0..80),
    ) {
        for pointer in ["", "/a", "/0", "/a/0/a", "/\""] {
            let _ = pointer.parse::<JsonPointer>().unwrap().scan(&bytes);
        }
    }

    #[test]
    fn a_cut_or_changed_event_never_panics(value in any_json(), cut in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = serde_json::to_vec(&value).unwrap();
        let at = cut.index(bytes.len());
        let pointer: JsonPointer = "/a/0".parse().unwrap();
        let _ = pointer.scan(&bytes[..at]);
        bytes[at] = byte;
        let _ = pointer.scan(&bytes);
    }

    #[test]
    fn any_pointer_text_is_read_or_refused(text in "\\PC{0,20}") {
        if let Ok(pointer) = text.parse::<JsonPointer>() {
            prop_assert_eq!(pointer.to_string(), text);
        }
    }
}
