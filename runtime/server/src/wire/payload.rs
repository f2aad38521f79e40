//! Keys and values in JSON.
//!
//! A key is a JSON string if its bytes are UTF-8, else `{"base64": ".."}`. A
//! value is its own JSON text if it is valid JSON, else `{"base64": ".."}`; a
//! JSON value of exactly that shape is given as base64 too, so that bytes out
//! are the bytes that went in, and so is one that nests deeper than most parsers
//! go: one odd record must not spoil the whole page. Text is passed through, never parsed and printed
//! again: numbers keep their digits and objects their order.

use std::borrow::Cow;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::IgnoredAny, ser::SerializeMap};
use serde_json::value::RawValue;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{ObjectBuilder, OneOfBuilder, RefOr, Schema, Type},
};

/// How deep a value may nest to be given as JSON.
const DEPTH_MAX: usize = 128;

/// The bytes of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key(pub Bytes);

/// The bytes of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value(pub Bytes);

/// Why a member is not a key or a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotBytes(&'static str);

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Base64<'a> {
    #[serde(borrow)]
    base64: Cow<'a, str>,
}

impl Key {
    /// The key that a JSON text stands for: a string its UTF-8, another scalar
    /// its text, `{"base64": ".."}` the bytes; `null` is no key.
    ///
    /// # Errors
    /// If it is an array or another object.
    pub fn from_json(text: &str) -> Result<Option<Self>, NotBytes> {
        let text = text.trim_matches(is_json_space);
        Ok(Some(Self(match text.as_bytes().first() {
            Some(b'n') => return Ok(None),
            Some(b'"') => {
                let text: String = serde_json::from_str(text)
                    .map_err(|_| NotBytes("the key is not a valid JSON string"))?;
                text.into_bytes().into()
            }
            Some(b'[' | b'{') => from_base64_object(text)?.ok_or(NotBytes(
                "a key is a string, another scalar, or an object with the one member `base64`",
            ))?,
            _ => Bytes::copy_from_slice(text.as_bytes()),
        })))
    }

    /// The form in a path or a query: the text, or `base64:..` where it is no UTF-8.
    #[must_use]
    pub fn to_text(&self) -> String {
        match std::str::from_utf8(&self.0) {
            Ok(text) => text.into(),
            Err(_) => format!("base64:{}", BASE64_STANDARD.encode(&self.0)),
        }
    }
}

impl Value {
    /// The value that a JSON text stands for: its bytes as they are, without
    /// space around them, or what `{"base64": ".."}` holds.
    ///
    /// # Errors
    /// If it is of that shape and no base64.
    pub fn from_json(text: &str) -> Result<Self, NotBytes> {
        let text = text.trim_matches(is_json_space);
        match from_base64_object(text)? {
            Some(bytes) => Ok(Self(bytes)),
            None => Ok(Self(Bytes::copy_from_slice(text.as_bytes()))),
        }
    }

    /// Its JSON text, or `None` if it must be given as base64.
    #[must_use]
    pub fn as_json(&self) -> Option<&RawValue> {
        let text = std::str::from_utf8(&self.0).ok()?;
        let raw: &RawValue = serde_json::from_str(text).ok()?;
        (!looks_like_base64(raw.get()) && !is_deep(raw.get())).then_some(raw)
    }
}

/// Is this one JSON value, with nothing but space around it?
#[must_use]
pub fn is_json(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok_and(|text| serde_json::from_str::<IgnoredAny>(text).is_ok())
}

fn is_json_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}

/// Does it nest deeper than parsers of the answer can be expected to follow? Expects
/// JSON.
fn is_deep(text: &str) -> bool {
    let opens = |byte: u8| matches!(byte, b'[' | b'{');
    if text.bytes().filter(|byte| opens(*byte)).count() <= DEPTH_MAX {
        return false;
    }
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for byte in text.bytes() {
        if in_string {
            in_string = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
        } else if opens(byte) {
            depth += 1;
            if depth > DEPTH_MAX {
                return true;
            }
        } else {
            in_string = byte == b'"';
            depth = depth.saturating_sub(usize::from(matches!(byte, b']' | b'}')));
        }
    }
    false
}

/// An object with the one member `base64`, a string. Long values of another shape
/// cost no second parse: the text must begin so.
fn looks_like_base64(text: &str) -> bool {
    text.strip_prefix('{')
        .is_some_and(|rest| rest.trim_start_matches(is_json_space).starts_with('"'))
        && serde_json::from_str::<Base64<'_>>(text).is_ok()
}

fn from_base64_object(text: &str) -> Result<Option<Bytes>, NotBytes> {
    if !text.starts_with('{') {
        return Ok(None);
    }
    match serde_json::from_str::<Base64<'_>>(text) {
        Ok(object) => match BASE64_STANDARD.decode(object.base64.as_bytes()) {
            Ok(bytes) => Ok(Some(bytes.into())),
            Err(_) => Err(NotBytes("`base64` does not hold standard base64 with padding")),
        },
        Err(_) => Ok(None),
    }
}

fn base64<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
    let mut map = to.serialize_map(Some(1))?;
    map.serialize_entry("base64", &BASE64_STANDARD.encode(bytes))?;
    map.end()
}

impl Serialize for Key {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(&self.0) {
            Ok(text) => to.serialize_str(text),
            Err(_) => base64(&self.0, to),
        }
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.as_json() {
            Some(raw) => raw.serialize(to),
            None => base64(&self.0, to),
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(from)?;
        Self::from_json(raw.get()).map_err(serde::de::Error::custom)
    }
}

/// A key that may be missing or `null`.
pub(crate) fn optional_key<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Key>, D::Error> {
    let raw = <&RawValue>::deserialize(from)?;
    Key::from_json(raw.get()).map_err(serde::de::Error::custom)
}

fn base64_schema() -> ObjectBuilder {
    ObjectBuilder::new()
        .property("base64", ObjectBuilder::new().schema_type(Type::String).build())
        .required("base64")
}

impl PartialSchema for Key {
    fn schema() -> RefOr<Schema> {
        OneOfBuilder::new()
            .item(ObjectBuilder::new().schema_type(Type::String))
            .item(base64_schema())
            .description(Some("A JSON string if the key's bytes are UTF-8, else its base64."))
            .into()
    }
}

impl ToSchema for Key {}

impl PartialSchema for Value {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(utoipa::openapi::schema::SchemaType::AnyValue)
            .description(Some(
                "The value's own JSON text if it is valid JSON, else `{\"base64\": \"..\"}`. \
                 A JSON value of exactly that shape, or nested deeper than 128, is given as \
                 base64 too.",
            ))
            .into()
    }
}

impl ToSchema for Value {}

#[cfg(test)]
mod tests;
