//! Times for people: the API's milliseconds as RFC 3339 in UTC.

use serde_json::Value;

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// To the millisecond: `2026-01-31T12:00:00.250Z`.
pub(super) fn exact(ms: i64) -> String {
    format!("{}.{:03}Z", to_the_second(ms), ms.rem_euclid(1000))
}

/// To the second, `2026-01-31T12:00:00Z`; a dash for a field that holds no time.
pub(super) fn show(ms: &Value) -> String {
    ms.as_i64().map_or_else(|| "-".into(), |ms| format!("{}Z", to_the_second(ms)))
}

fn to_the_second(ms: i64) -> String {
    let (year, month, day) = date_of(ms.div_euclid(DAY_MS));
    let second = ms.rem_euclid(DAY_MS) / 1000;
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")
}

/// Year, month and day of a day since 1970-01-01, in the Gregorian calendar. Years
/// begin in March here, so that the leap day is the last one of a year.
fn date_of(day: i64) -> (i64, i64, i64) {
    const ERA_DAYS: i64 = 146_097; // 400 years
    const MARCH_OF_0: i64 = 719_468; // days from 0000-03-01 to 1970-01-01
    let day = day + MARCH_OF_0;
    let (era, day) = (day.div_euclid(ERA_DAYS), day.rem_euclid(ERA_DAYS));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (day, month) =
        (day - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    (era * 400 + year + i64::from(month <= 2), month, day)
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
