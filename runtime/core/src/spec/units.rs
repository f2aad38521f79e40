//! Durations and byte sizes as people write them: `50ms`, `5s`, `64MiB`.

use std::{fmt, str::FromStr, time::Duration};

use serde::{Deserialize, Serialize};

/// Why a text is not a duration or a byte size; said as what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidUnit(&'static str);

/// The longest duration that a file may name.
const DURATION_MAX: Duration = Duration::from_secs(10 * 366 * 86_400);

const DURATION_RULE: &str =
    "write a whole number and one of ms, s, m, h or d, such as `50ms` or `5s`";
const SIZE_RULE: &str = "write a whole number and one of B, KiB, MiB or GiB, such as `64MiB`";

/// Reads a duration: a whole number and `ms`, `s`, `m`, `h` or `d`.
///
/// # Errors
/// If it is written otherwise or longer than ten years.
pub fn parse_duration(text: &str) -> Result<Duration, InvalidUnit> {
    let (number, unit) = split(text).ok_or(InvalidUnit(DURATION_RULE))?;
    let unit_ms = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err(InvalidUnit(DURATION_RULE)),
    };
    number
        .checked_mul(unit_ms)
        .map(Duration::from_millis)
        .filter(|duration| *duration <= DURATION_MAX)
        .ok_or(InvalidUnit("write a duration of at most ten years"))
}

/// The form that [`parse_duration`] reads, in the largest unit that fits.
#[must_use]
pub fn format_duration(duration: Duration) -> String {
    let ms = duration.as_millis();
    let units = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s")];
    match units.into_iter().find(|(unit, _)| ms > 0 && ms.is_multiple_of(*unit)) {
        Some((unit, name)) => format!("{}{name}", ms / unit),
        None if ms == 0 => "0s".into(),
        None => format!("{ms}ms"),
    }
}

/// A number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ByteSize(pub u64);

impl ByteSize {
    /// So many MiB.
    #[must_use]
    pub const fn mib(n: u64) -> Self {
        Self(n << 20)
    }
}

impl FromStr for ByteSize {
    type Err = InvalidUnit;
    fn from_str(text: &str) -> Result<Self, InvalidUnit> {
        let (number, unit) = split(text).ok_or(InvalidUnit(SIZE_RULE))?;
        let shift = match unit {
            "B" => 0,
            "KiB" => 10,
            "MiB" => 20,
            "GiB" => 30,
            _ => return Err(InvalidUnit(SIZE_RULE)),
        };
        number
            .checked_mul(1 << shift)
            .filter(|bytes| *bytes <= 1 << 40)
            .map(Self)
            .ok_or(InvalidUnit("write a size of at most 1024GiB"))
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            n if n != 0 && n % (1 << 30) == 0 => write!(f, "{}GiB", n >> 30),
            n if n != 0 && n % (1 << 20) == 0 => write!(f, "{}MiB", n >> 20),
            n if n != 0 && n % (1 << 10) == 0 => write!(f, "{}KiB", n >> 10),
            n => write!(f, "{n}B"),
        }
    }
}

fn split(text: &str) -> Option<(u64, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at_checked(digits)?;
    Some((number.parse().ok()?, unit.trim_start_matches(' ')))
}

/// Durations as whole milliseconds in stored and served forms.
pub(crate) mod millis {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(duration: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        u64::deserialize(from).map(Duration::from_millis)
    }
}
