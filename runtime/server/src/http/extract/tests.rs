use super::*;

#[test]
fn a_key_in_a_query_may_be_any_bytes() {
    let of = |query: &str| {
        query_bytes(&format!("/x?{query}").parse().unwrap(), "key").map(|b| b.to_vec())
    };
    assert_eq!(of("a=1&key=a%2Fb+c"), Some(b"a/b c".to_vec()));
    assert_eq!(of("key=%FF%00"), Some(vec![0xff, 0]));
    assert_eq!(of("key="), Some(vec![]));
    assert_eq!(of("key"), Some(vec![]));
    assert_eq!(of("keys=1"), None);
    assert_eq!(of("key=100%"), Some(b"100%".to_vec()));
    assert_eq!(of("key=base64:/w=="), Some(vec![0xff]));
    assert_eq!(of("key=base64:aGk="), Some(b"base64:aGk=".to_vec()));
}

#[test]
fn a_key_in_a_path_is_its_last_part() {
    let of = |path: &str| last_segment(&path.parse().unwrap()).to_vec();
    assert_eq!(of("/state/a%2Fb"), b"a/b");
    assert_eq!(of("/state/"), b"");
    assert_eq!(of("/state/a+b?x=y"), b"a+b");
}

#[test]
fn json_errors_name_their_place() {
    let problem =
        json::<std::collections::BTreeMap<String, u32>>(&Bytes::from_static(b"{\n \"a\": x}"))
            .unwrap_err();
    assert_eq!((problem.status, problem.code.as_str()), (400, "bad-json"));
    assert_eq!((problem.errors[0].line, problem.errors[0].column), (Some(2), Some(7)));
}

#[test]
fn a_page_has_at_most_a_thousand_items() {
    assert_eq!(page_size(None, 100).unwrap(), 100);
    assert_eq!(page_size(Some(5_000), 100).unwrap(), 1_000);
    assert!(page_size(Some(0), 100).is_err());
}
