//! Reads and writes JSON as serde_json does, but faster where a type has only some of
//! the members of the text.
//!
//! In reading it is serde_json's twin in what it gives: the same values, and where
//! there is an error, that very error. This is by construction, and costs a second
//! run of the type's `Deserialize` where there is one. The [parser](parser::Parser)
//! here knows the common forms only. A float, a string with escapes and the like it
//! hands to serde_json as a part of the text; and at the first sign of anything wrong
//! it gives up, and serde_json reads the whole text again and says what is wrong.
//!
//! What makes it fast in WebAssembly, where each turn of a loop pays for a check of
//! the time limit and a `usize` has four bytes: strings and digits are looked at
//! eight bytes at a time ([`scan`]), and a member that the type does not have is
//! [skipped](skip) without a call per token. It is checked to be JSON nevertheless.
//! Writing is serde_json's own, into [pieces](write) that need no call of the host.

mod access;
mod key;
mod parser;
mod scan;
mod skip;
#[cfg(test)]
mod tests;
mod write;

use std::fmt;

use serde::{Deserialize, Serialize, de};

use parser::Parser;
use write::Pieces;

/// Reads a value.
///
/// # Errors
/// As [`serde_json::from_str`].
#[inline]
pub(crate) fn from_str<'de, T: Deserialize<'de>>(text: &'de str) -> serde_json::Result<T> {
    read(Parser::of_str(text)).map_or_else(|| again(text.as_bytes()), Ok)
}

/// Reads a value. Strings that are read are checked to be UTF-8.
///
/// # Errors
/// As [`serde_json::from_slice`].
#[inline]
pub(crate) fn from_slice<'de, T: Deserialize<'de>>(text: &'de [u8]) -> serde_json::Result<T> {
    read(Parser::of_slice(text)).map_or_else(|| again(text), Ok)
}

/// Appends a value.
///
/// # Errors
/// As [`serde_json::to_writer`].
#[inline]
pub(crate) fn append<T: Serialize + ?Sized>(to: &mut Vec<u8>, value: &T) -> serde_json::Result<()> {
    serde_json::to_writer(Pieces(to), value)
}

#[inline]
fn read<'de, T: Deserialize<'de>>(mut parser: Parser<'de>) -> Option<T> {
    let value = T::deserialize(&mut parser).ok()?;
    parser.ends().then_some(value)
}

/// By `from_slice` for a str too: one copy of the code is enough, and looking for a
/// bool as a key, `from_str` may go on from within a character.
#[cold]
#[inline(never)]
fn again<'de, T: Deserialize<'de>>(text: &'de [u8]) -> serde_json::Result<T> {
    serde_json::from_slice(text)
}

/// This parser cannot say what the text is: serde_json has to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GiveUp;

impl fmt::Display for GiveUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("invalid JSON")
    }
}

impl std::error::Error for GiveUp {}

impl de::Error for GiveUp {
    /// The message is not kept: serde_json will come to the same.
    #[cold]
    fn custom<T: fmt::Display>(_message: T) -> Self {
        Self
    }
}
