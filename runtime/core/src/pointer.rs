//! JSON pointers (RFC 6901), and finding a scalar in JSON bytes without parsing
//! all of it.
//!
//! [`JsonPointer::scan`] steps over what it does not want: it neither checks nor
//! decodes it. What it finds it checks fully. Of names that occur twice in one
//! object the first counts.

mod scan;
#[cfg(test)]
mod tests;

use std::{borrow::Cow, fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// The most steps of a pointer.
const STEPS_MAX: usize = 32;

/// A parsed JSON pointer, such as `/order/lines/0/sku`. Empty: the whole value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct JsonPointer {
    steps: Box<[Box<str>]>,
}

/// Why a text is not a JSON pointer; said as what to write instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidPointer(&'static str);

/// What a scan found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found<'a> {
    /// A JSON string, without quotes and escapes.
    Text(Cow<'a, str>),
    /// A number or a boolean, as it is written: ASCII.
    Literal(&'a [u8]),
    /// Nothing that could be a key.
    Nothing(Absence),
}

/// Why a scan found nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Absence {
    /// The pointer leads nowhere.
    #[error("the value has nothing there")]
    Missing,
    /// There is a null.
    #[error("there is a null")]
    Null,
    /// There is an object or an array.
    #[error("there is an object or an array")]
    Composite,
    /// The bytes on the way, or at the place, are not JSON.
    #[error("the value is not valid JSON")]
    NotJson,
}

impl JsonPointer {
    /// Finds the scalar that the pointer leads to.
    ///
    /// Allocates only where a string has escapes. Takes time linear in the bytes
    /// up to the place, and never panics, whatever the bytes.
    #[must_use]
    pub fn scan<'a>(&self, json: &'a [u8]) -> Found<'a> {
        match scan::find(&self.steps, json) {
            Ok(found) => found,
            Err(absence) => Found::Nothing(absence),
        }
    }

    /// The steps, without escapes.
    pub fn steps(&self) -> impl Iterator<Item = &str> {
        self.steps.iter().map(|step| &**step)
    }
}

impl Found<'_> {
    /// The bytes of a key: the UTF-8 of a string, or the text of another scalar, so
    /// that `"5"` and `5` are one key.
    ///
    /// # Errors
    /// If there is nothing that could be a key.
    pub fn key(&self) -> Result<&[u8], Absence> {
        match self {
            Self::Text(text) => Ok(text.as_bytes()),
            Self::Literal(text) => Ok(text),
            Self::Nothing(absence) => Err(*absence),
        }
    }
}

impl FromStr for JsonPointer {
    type Err = InvalidPointer;
    fn from_str(text: &str) -> Result<Self, InvalidPointer> {
        if text.is_empty() {
            return Ok(Self::default());
        }
        let rest =
            text.strip_prefix('/').ok_or(InvalidPointer("begin with `/`, such as `/order_id`"))?;
        let steps = rest.split('/').map(unescape).collect::<Result<Box<[_]>, _>>()?;
        if steps.len() > STEPS_MAX {
            return Err(InvalidPointer("use at most 32 steps"));
        }
        Ok(Self { steps })
    }
}

fn unescape(step: &str) -> Result<Box<str>, InvalidPointer> {
    let mut text = String::with_capacity(step.len());
    let mut chars = step.chars();
    while let Some(c) = chars.next() {
        text.push(match c {
            '~' => match chars.next() {
                Some('0') => '~',
                Some('1') => '/',
                _ => {
                    return Err(InvalidPointer(
                        "write `~` in a name as `~0`, and `/` in a name as `~1`",
                    ));
                }
            },
            c => c,
        });
    }
    Ok(text.into())
}

impl TryFrom<String> for JsonPointer {
    type Error = InvalidPointer;
    fn try_from(text: String) -> Result<Self, InvalidPointer> {
        text.parse()
    }
}

impl From<JsonPointer> for String {
    fn from(pointer: JsonPointer) -> String {
        pointer.to_string()
    }
}

impl fmt::Display for JsonPointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.steps
            .iter()
            .try_for_each(|step| write!(f, "/{}", step.replace('~', "~0").replace('/', "~1")))
    }
}
