use super::*;

const NOW: EventTime = EventTime(1_000);

fn values(records: NewRecords) -> Vec<String> {
    match records {
        NewRecords::List(list) => {
            list.iter().map(|r| String::from_utf8_lossy(&r.value).into_owned()).collect()
        }
        NewRecords::Batch(batch) => {
            (0..batch.len()).map(|i| String::from_utf8_lossy(batch.value(i)).into_owned()).collect()
        }
    }
}

#[test]
fn each_line_is_stored_as_its_exact_bytes() {
    let body = Bytes::from_static(b"{\"b\": 1,  \"a\":2.50}\n\n  [1]\r\n\"x\"");
    assert_eq!(values(lines(&body, NOW).unwrap()), ["{\"b\": 1,  \"a\":2.50}", "  [1]", "\"x\""]);
}

#[test]
fn a_line_that_is_not_json_is_named() {
    let problem = lines(&Bytes::from_static(b"1\n\nnope\n"), NOW).err().unwrap();
    assert_eq!(
        (problem.status, problem.code.as_str(), problem.errors[0].line),
        (400, "bad-json", Some(3))
    );
    assert!(lines(&Bytes::from_static(b"\"\xff\""), NOW).is_err());
}

#[test]
fn an_array_brings_keys_times_and_headers() {
    let body = br#"[{"key":"a","value":{"n": 1},"timestamp":-5,"headers":{"h":"x","m":["1","2"]}},
        {"key":7,"value":{"base64":"AP8="},"partition":2},{"value":null,"key":null}]"#;
    let records = array(&Bytes::from_static(body), NOW).unwrap();
    assert_eq!(records[0].key.as_deref(), Some(&b"a"[..]));
    assert_eq!(records[0].value, r#"{"n": 1}"#);
    assert_eq!(records[0].timestamp, EventTime(-5));
    let headers: Vec<_> =
        records[0].headers.iter().map(|(n, v)| (n.as_str(), v.as_ref())).collect();
    assert_eq!(headers, [("h", &b"x"[..]), ("m", b"1"), ("m", b"2")]);
    assert_eq!(records[1].key.as_deref(), Some(&b"7"[..]));
    assert_eq!(
        (records[1].value.as_ref(), records[1].partition),
        (&b"\x00\xff"[..], Some(Partition(2)))
    );
    assert_eq!(
        (&records[2].key, records[2].value.as_ref(), records[2].timestamp),
        (&None, &b"null"[..], NOW)
    );
}

#[test]
fn what_is_not_an_array_of_records_is_refused_with_its_place() {
    let refused = |body: &'static str| {
        let problem = array(&Bytes::from_static(body.as_bytes()), NOW).err().unwrap();
        (problem.status, problem.code, problem.errors[0].line)
    };
    assert_eq!(refused("[\n{\"value\":1},\n{\"valeu\":1}]"), (400, "bad-shape".into(), Some(3)));
    assert_eq!(refused("[{\"value\":1}"), (400, "bad-json".into(), Some(1)));
    assert_eq!(refused("{\"value\":1}"), (400, "bad-shape".into(), Some(1)));
    assert_eq!(refused("[{\"key\":\"a\"}]"), (400, "bad-shape".into(), Some(1)));
    assert_eq!(refused("[{\"key\":[1],\"value\":1}]"), (400, "bad-shape".into(), Some(1)));
    assert_eq!(refused(""), (400, "bad-json".into(), Some(1)));
}

#[test]
fn a_value_over_the_limit_names_it() {
    let problem = check_value(&vec![b' '; 5 << 20], 3).unwrap_err();
    assert_eq!((problem.status, problem.code.as_str()), (413, "too-large"));
    assert!(problem.detail.contains("4 MiB"), "{}", problem.detail);
}

#[test]
fn the_same_key_with_another_body_has_another_hash() {
    let mut headers = HeaderMap::new();
    headers.insert("idempotency-key", "k".parse().unwrap());
    let hash = |form: Form, body: &'static str| {
        dedupe(&headers, &form, &Bytes::from_static(body.as_bytes())).unwrap().unwrap().body_hash
    };
    assert_eq!(hash(Form::Lines, "1"), hash(Form::Lines, "1"));
    assert_ne!(hash(Form::Lines, "1"), hash(Form::Lines, "2"));
    assert_ne!(hash(Form::Lines, "1"), hash(Form::Raw(None), "1"));
    assert_ne!(
        hash(Form::Raw(Some(Bytes::from_static(b"1"))), "1"),
        hash(Form::Raw(Some(Bytes::new())), "11")
    );
}

#[test]
fn a_producer_needs_its_sequence() {
    let mut headers = HeaderMap::new();
    headers.insert("x-weir-producer", "p".parse().unwrap());
    assert_eq!(dedupe(&headers, &Form::Lines, &Bytes::new()).unwrap_err().code, "bad-header");
    headers.insert("x-weir-sequence", "x".parse().unwrap());
    assert!(dedupe(&headers, &Form::Lines, &Bytes::new()).is_err());
    headers.insert("x-weir-sequence", "7".parse().unwrap());
    let id = dedupe(&headers, &Form::Lines, &Bytes::new()).unwrap().unwrap().id;
    assert_eq!(id, DedupeId::Producer { producer: "p".into(), sequence: 7 });
}
