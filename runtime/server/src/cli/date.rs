//! Times for people: the API's milliseconds as RFC 3339 in UTC.

use jiff::Timestamp;
use serde_json::Value;

/// To the millisecond: `2026-01-31T12:00:00.250Z`.
pub(super) fn exact(ms: i64) -> String {
    time(ms).strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

/// To the second, `2026-01-31T12:00:00Z`; a dash for a field that holds no time.
pub(super) fn show(ms: &Value) -> String {
    let to_the_second = |ms| time(ms).strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    ms.as_i64().map_or_else(|| "-".into(), to_the_second)
}

/// The nearest that has a date.
fn time(ms: i64) -> Timestamp {
    let bound = if ms < 0 { Timestamp::MIN } else { Timestamp::MAX };
    Timestamp::from_millisecond(ms).unwrap_or(bound)
}

#[cfg(test)]
mod tests {
    use super::{exact, show};

    #[test]
    fn milliseconds_are_dates() {
        for (ms, date) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (951_868_800_000, "2000-03-01T00:00:00.000Z"),
            (1_709_208_000_250, "2024-02-29T12:00:00.250Z"),
            (1_767_225_599_999, "2025-12-31T23:59:59.999Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (-62_135_596_800_000, "0001-01-01T00:00:00.000Z"),
        ] {
            assert_eq!(exact(ms), date);
        }
    }

    #[test]
    fn every_integer_is_shown() {
        assert!(exact(i64::MAX).ends_with('Z') && exact(i64::MIN).ends_with('Z'));
        assert_eq!(show(&serde_json::json!(1_709_208_000_250_i64)), "2024-02-29T12:00:00Z");
        assert_eq!(show(&serde_json::Value::Null), "-");
    }
}
