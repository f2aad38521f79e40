use expect_test::{Expect, expect};

use super::*;

fn check(value: &str, expect: Expect) {
    let pointer: JsonPointer = "/at".parse().unwrap();
    expect.assert_eq(&match at(&pointer, format!(r#"{{"at":{value}}}"#).as_bytes()) {
        Ok(time) => time.to_string(),
        Err(reason) => reason.to_string(),
    });
}

#[test]
fn the_size_of_a_number_decides_its_unit() {
    check("1767182400", expect!["1767182400000"]);
    check("1767182400123", expect!["1767182400123"]);
    check("1767182400123999", expect!["1767182400123"]);
    check("1767182400123999999", expect!["1767182400123"]);
    check("99999999999", expect!["99999999999000"]);
    check("100000000000", expect!["100000000000"]);
    check("0", expect!["0"]);
}

#[test]
fn times_before_the_epoch_are_legal_and_rounded_down() {
    check("-1", expect!["-1000"]);
    check("-1767182400000001", expect!["-1767182400001"]);
    check(r#""1969-12-31T23:59:59.9995Z""#, expect!["-1"]);
}

#[test]
fn rfc_3339_is_read_with_any_offset() {
    check(r#""2026-01-31T12:00:00Z""#, expect!["1769860800000"]);
    check(r#""2026-01-31T13:00:00.123456+01:00""#, expect!["1769860800123"]);
    check(r#""2026-01-31 12:00:00Z""#, expect!["1769860800000"]);
}

#[test]
fn what_is_not_a_time_is_refused_with_a_reason() {
    check(
        r#""2026-01-31T12:00:00""#,
        expect![
            "no timestamp: `2026-01-31T12:00:00` is not an RFC 3339 time such as 2026-01-31T12:00:00Z"
        ],
    );
    check(
        r#""yesterday""#,
        expect!["no timestamp: `yesterday` is not an RFC 3339 time such as 2026-01-31T12:00:00Z"],
    );
    check("1.5", expect!["no timestamp: `1.5` is not a whole number since the Unix epoch"]);
    check("true", expect!["no timestamp: `true` is not a whole number since the Unix epoch"]);
    check(
        "99999999999999999999",
        expect!["no timestamp: `99999999999999999999` is not a whole number since the Unix epoch"],
    );
    check("null", expect!["no timestamp: there is a null"]);
    check("{}", expect!["no timestamp: there is an object or an array"]);
}
