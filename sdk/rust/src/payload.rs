//! Values as bytes: JSON by serde, or the bytes as they are.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Failure, Result, json};

/// A value that is given on, or taken, as its bytes, whatever they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Raw<'a>(pub &'a [u8]);

/// As [`Raw`], owned: for replies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RawBuf(pub Vec<u8>);

/// Something that an event's or a call's value can be read as: every
/// `Deserialize` type (from JSON; it may borrow from the bytes), and [`Raw`].
pub trait Decode<'a>: Sized {
    /// Reads it. `utf8` says that the host has checked the bytes to be UTF-8.
    ///
    /// # Errors
    /// Terminal, with the code `invalid-input`.
    fn decode(bytes: &'a [u8], utf8: bool) -> Result<Self>;
}

impl<'a, T: Deserialize<'a>> Decode<'a> for T {
    #[inline]
    fn decode(bytes: &'a [u8], utf8: bool) -> Result<Self> {
        let bytes = if bytes.is_empty() { b"null" } else { bytes };
        let value = if utf8 {
            // SAFETY: the host sets `utf8` only if every value of the batch is valid
            // UTF-8 by itself; that is the contract of `transform.batch.utf8`.
            json::from_str(unsafe { std::str::from_utf8_unchecked(bytes) })
        } else {
            json::from_slice(bytes)
        };
        value.map_err(|error| Failure::terminal("invalid-input", error))
    }
}

impl<'a> Decode<'a> for Raw<'a> {
    fn decode(bytes: &'a [u8], _utf8: bool) -> Result<Self> {
        Ok(Self(bytes))
    }
}

impl Decode<'_> for RawBuf {
    fn decode(bytes: &[u8], _utf8: bool) -> Result<Self> {
        Ok(Self(bytes.into()))
    }
}

/// Something that can be given away as a value: every `Serialize` type (as JSON),
/// [`Raw`] and [`RawBuf`].
pub trait Encode {
    /// Appends its bytes.
    ///
    /// # Errors
    /// Terminal, with the code `invalid-output`; what was appended is not to be used.
    fn encode(&self, to: &mut Vec<u8>) -> Result<()>;

    /// Its bytes.
    ///
    /// # Errors
    /// As [`Encode::encode`].
    fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.encode(&mut bytes)?;
        Ok(bytes)
    }
}

impl<T: Serialize> Encode for T {
    #[inline]
    fn encode(&self, to: &mut Vec<u8>) -> Result<()> {
        json::append(to, self).map_err(|error| Failure::terminal("invalid-output", error))
    }
}

impl Encode for Raw<'_> {
    fn encode(&self, to: &mut Vec<u8>) -> Result<()> {
        to.extend_from_slice(self.0);
        Ok(())
    }
}

impl Encode for RawBuf {
    fn encode(&self, to: &mut Vec<u8>) -> Result<()> {
        to.extend_from_slice(&self.0);
        Ok(())
    }
}

/// The JSON Schema of a payload type, if it has one: every `JsonSchema` type has,
/// [`Raw`] and [`RawBuf`] have not.
pub trait Schema {
    /// The schema as JSON text.
    fn schema() -> Option<String>;
}

impl<T: JsonSchema> Schema for T {
    fn schema() -> Option<String> {
        serde_json::to_string(&schemars::schema_for!(T)).ok()
    }
}

impl Schema for Raw<'_> {
    fn schema() -> Option<String> {
        None
    }
}

impl Schema for RawBuf {
    fn schema() -> Option<String> {
        None
    }
}
