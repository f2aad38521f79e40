//! The parser as serde's `Deserializer`.

use serde::{Deserializer, de::Visitor};

use super::{
    GiveUp,
    access::{Items, Members, Tagged, Untagged},
    scan, skip,
};

/// What values' results are while the parser may still give up.
pub(super) type Parsed<T> = Result<T, GiveUp>;

/// How many arrays and objects may be open at once, plus one: as in serde_json.
const DEPTH_MAX: u8 = 128;

type BySerdeJson<'de> = serde_json::Deserializer<serde_json::de::SliceRead<'de>>;

/// A position in a text.
#[derive(Debug)]
pub(super) struct Parser<'de> {
    text: &'de [u8],
    /// Is the text known to be UTF-8?
    utf8: bool,
    at: usize,
    depth_left: u8,
    /// Nothing that was read counts, even if someone has passed over the error.
    gave_up: bool,
}

/// A number of up to 16 digits, which fits in 64 bits with its sign.
struct Integer {
    negative: bool,
    absolute: u64,
}

impl Integer {
    #[inline]
    fn visit<'de, V: Visitor<'de>>(self, visitor: V) -> Parsed<V::Value> {
        match self {
            Self { negative: false, absolute } => visitor.visit_u64(absolute),
            Self { negative: true, absolute } => visitor.visit_i64(-(absolute as i64)),
        }
    }
}

impl<'de> Parser<'de> {
    #[inline]
    pub(super) fn of_str(text: &'de str) -> Self {
        Self { utf8: true, ..Self::of_slice(text.as_bytes()) }
    }

    #[inline]
    pub(super) fn of_slice(text: &'de [u8]) -> Self {
        Self { text, utf8: false, at: 0, depth_left: DEPTH_MAX, gave_up: false }
    }

    /// Was all of the text read, and does what was read count?
    #[inline]
    pub(super) fn ends(&mut self) -> bool {
        self.at = scan::space_end(self.text, self.at);
        self.at == self.text.len() && !self.gave_up
    }

    #[cold]
    #[inline(never)]
    pub(super) fn give_up(&mut self) -> GiveUp {
        self.gave_up = true;
        GiveUp
    }

    /// The next byte that is no white space; it is not taken. 0 at the end.
    #[inline(always)]
    pub(super) fn peek(&mut self) -> u8 {
        self.at = scan::space_end(self.text, self.at);
        scan::byte(self.text, self.at)
    }

    /// Takes the byte that was peeked.
    #[inline(always)]
    pub(super) fn take(&mut self) {
        self.at += 1;
    }

    /// Takes one certain byte, after white space.
    #[inline(always)]
    pub(super) fn expect(&mut self, byte: u8) -> Parsed<()> {
        if self.peek() == byte {
            self.take();
            Ok(())
        } else {
            Err(self.give_up())
        }
    }

    /// Makes sure that no white space comes next.
    #[inline]
    pub(super) fn now(&mut self) -> Parsed<&mut Self> {
        if scan::byte(self.text, self.at) > b' ' { Ok(self) } else { Err(self.give_up()) }
    }

    /// Takes a word.
    #[inline]
    fn word(&mut self, word: &[u8]) -> Parsed<()> {
        if self.text.get(self.at..).is_some_and(|rest| rest.starts_with(word)) {
            self.at += word.len();
            Ok(())
        } else {
            Err(self.give_up())
        }
    }

    /// Passes a visitor's result on. One that is an error undoes everything.
    #[inline(always)]
    pub(super) fn settle<T>(&mut self, result: Parsed<T>) -> Parsed<T> {
        if result.is_err() {
            self.give_up();
        }
        result
    }

    /// Steps over a value and gives its text.
    #[inline(always)]
    fn skip(&mut self) -> Parsed<&'de [u8]> {
        self.peek();
        let start = self.at;
        match skip::value(self.text, start) {
            Some(end) => {
                self.at = end;
                Ok(&self.text[start..end])
            }
            None => Err(self.give_up()),
        }
    }

    /// Opens a bracket that was peeked, for what is inside.
    #[inline(always)]
    fn within<T>(&mut self, close: u8, inside: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        self.depth_left -= 1;
        if self.depth_left == 0 {
            return Err(self.give_up());
        }
        self.take();
        let result = inside(self);
        self.depth_left += 1;
        let value = self.settle(result)?;
        self.expect(close)?;
        Ok(value)
    }
}

/// Values of each kind, from where their first byte was peeked.
impl<'de> Parser<'de> {
    #[inline]
    fn seq<V: Visitor<'de>>(&mut self, visitor: V) -> Parsed<V::Value> {
        self.within(b']', |parser| visitor.visit_seq(Items::of(parser)))
    }

    #[inline]
    fn map<V: Visitor<'de>>(&mut self, visitor: V) -> Parsed<V::Value> {
        self.within(b'}', |parser| visitor.visit_map(Members::of(parser)))
    }

    /// A string that is asked for as text.
    #[inline]
    pub(super) fn string<V: Visitor<'de>>(&mut self, visitor: V) -> Parsed<V::Value> {
        let start = self.at + 1;
        let end = scan::plain_end(self.text, start);
        if scan::byte(self.text, end) != b'"' {
            return self.by_serde_json(|text| text.deserialize_str(visitor));
        }
        self.at = end + 1;
        let bytes = &self.text[start..end];
        let string = if self.utf8 {
            // SAFETY: the text is UTF-8, and so is its part between two quotes, which
            // are characters of one byte.
            unsafe { std::str::from_utf8_unchecked(bytes) }
        } else {
            std::str::from_utf8(bytes).map_err(|_| self.give_up())?
        };
        let result = visitor.visit_borrowed_str(string);
        self.settle(result)
    }

    /// A number that is asked for as one.
    #[inline]
    fn number<V: Visitor<'de>>(&mut self, visitor: V) -> Parsed<V::Value> {
        match self.integer() {
            Some(integer) => self.settle(integer.visit(visitor)),
            None => self.by_serde_json(|text| text.deserialize_f64(visitor)),
        }
    }

    /// Takes an integer of up to 16 digits, if that is what begins here.
    #[inline]
    fn integer(&mut self) -> Option<Integer> {
        let negative = scan::byte(self.text, self.at) == b'-';
        let start = self.at + usize::from(negative);
        let end = scan::digits_end(self.text, start);
        let plain = match end - start {
            // -0 is a float.
            1 => !(negative && scan::byte(self.text, start) == b'0'),
            2..=16 => scan::byte(self.text, start) != b'0',
            _ => false,
        };
        if !plain || matches!(scan::byte(self.text, end), b'.' | b'e' | b'E') {
            return None;
        }
        self.at = end;
        Some(Integer { negative, absolute: scan::integer(self.text, start, end) })
    }

    /// Lets serde_json read the value that begins here.
    #[inline(never)]
    fn by_serde_json<T>(
        &mut self,
        read: impl FnOnce(&mut BySerdeJson<'de>) -> serde_json::Result<T>,
    ) -> Parsed<T> {
        let mut text = serde_json::Deserializer::from_slice(self.skip()?);
        let value = read(&mut text).map_err(|_| self.give_up())?;
        text.end().map_err(|_| self.give_up())?;
        Ok(value)
    }
}

macro_rules! numbers {
    ($($method:ident)*) => {$(
        #[inline]
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Parsed<V::Value> {
            match self.peek() {
                b'0'..=b'9' | b'-' => self.number(visitor),
                _ => Err(self.give_up()),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for &mut Parser<'de> {
    type Error = GiveUp;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Parsed<V::Value> {
        match self.peek() {
            b'"' => self.string(visitor),
            b'0'..=b'9' | b'-' => match self.integer() {
                Some(integer) => self.settle(integer.visit(visitor)),
                // With its feature `arbitrary_precision`, this is no float.
                None => self.by_serde_json(|text| text.deserialize_any(visitor)),
            },
            b'{' => self.map(visitor),
            b'[' => self.seq(visitor),
            b'n' => self.deserialize_unit(visitor),
            _ => self.deserialize_bool(visitor),
        }
    }

    #[inline]
    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Parsed<V::Value> {
        let value = self.peek() == b't';
        self.word(if value { b"true" } else { b"false" })?;
        let result = visitor.visit_bool(value);
        self.settle(result)
    }

    numbers! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64
        deserialize_f64
    }

    // With its feature `float_roundtrip`, serde_json reads an f32 in its own way.
    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Parsed<V::Value> {
        self.peek();
        self.by_serde_json(|text| text.deserialize_f32(visitor))
    }

    fn deserialize_i128<V: Visitor<'de>>(self, visitor: V) -> Parsed<V::Value> {
        self.peek();
        self.by_serde_json(|text| text.deserialize_i128(visitor))
    }

    fn deserialize_u128<V: Visitor<'de>>(self, visitor: V) -> Parsed<V::Value> {
        self.peek();
        self.by_serde_json(|text| text.deserialize_u128(visitor))
    }

    #[inline]
    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Parsed<V::Value> {
        self.deserialize_str(visitor)
    }

    #[inline]
    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Parsed<V::Value> {
        if self.peek() == b'"' { self.string(visitor) } else { Err(self.give_up()) }
    }

    #[inline]
    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Parsed<V::Value> {
        self.deserialize_str(visitor)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Parsed<V::Value> {
        match self.peek() {
            b'"' => self.by_serde_json(|text| text.deserialize_bytes(visitor)),
            b'[' => self.seq(visitor),
            _ => Err(self.give_up()),
        }
    }

    #[inline]
    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Parsed<V::Value> {
        self.deserialize_bytes(visitor)
    }

    #[inline]
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Parsed<V::Value> {
        let result = if self.peek() == b'n' {
            self.word(b"null")?;
            visitor.visit_none()
        } else {
            visitor.visit_some(&mut *self)
        };
        self.settle(result)
    }

    #[inline]
    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Parsed<V::Value> {
        self.peek();
        self.word(b"null")?;
        let result = visitor.visit_unit();
        self.settle(result)
    }

    #[inline]
    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Parsed<V::Value> {
        self.deserialize_unit(visitor)
    }

    #[inline]
    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Parsed<V::Value> {
        // The name by which serde_json knows its own `RawValue`.
        if name.starts_with("$serde_json::") {
            self.peek();
            return self.by_serde_json(|text| text.deserialize_newtype_struct(name, visitor));
        }
        let result = visitor.visit_newtype_struct(&mut *self);
        self.settle(result)
    }

    #[inline]
    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Parsed<V::Value> {
        if self.peek() == b'[' { self.seq(visitor) } else { Err(self.give_up()) }
    }

    #[inline]
    fn deserialize_tuple<V: Visitor<'de>>(self, _len: usize, visitor: V) -> Parsed<V::Value> {
        self.deserialize_seq(visitor)
    }

    #[inline]
    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _len: usize,
        visitor: V,
    ) -> Parsed<V::Value> {
        self.deserialize_seq(visitor)
    }

    #[inline]
    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Parsed<V::Value> {
        if self.peek() == b'{' { self.map(visitor) } else { Err(self.give_up()) }
    }

    #[inline]
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Parsed<V::Value> {
        match self.peek() {
            b'{' => self.map(visitor),
            b'[' => self.seq(visitor),
            _ => Err(self.give_up()),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Parsed<V::Value> {
        match self.peek() {
            b'"' => {
                let result = visitor.visit_enum(Untagged::of(self));
                self.settle(result)
            }
            b'{' => self.within(b'}', |parser| visitor.visit_enum(Tagged::of(parser))),
            _ => Err(self.give_up()),
        }
    }

    #[inline]
    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Parsed<V::Value> {
        self.deserialize_str(visitor)
    }

    #[inline(always)]
    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Parsed<V::Value> {
        self.skip()?;
        let result = visitor.visit_unit();
        self.settle(result)
    }
}
