//! The name of a member as serde's `Deserializer`: a string, in which a map's key
//! may be a number or a bool.

use serde::{Deserializer, de::Visitor, forward_to_deserialize_any};

use super::{
    GiveUp,
    parser::{Parsed, Parser},
};

/// A name, from its first quote on.
#[derive(Debug)]
pub(super) struct Key<'p, 'de> {
    parser: &'p mut Parser<'de>,
}

impl<'p, 'de> Key<'p, 'de> {
    #[inline]
    pub(super) fn of(parser: &'p mut Parser<'de>) -> Parsed<Self> {
        if parser.peek() == b'"' { Ok(Self { parser }) } else { Err(parser.give_up()) }
    }

    /// Reads what is between the quotes.
    fn inside<T>(self, read: impl FnOnce(&mut Parser<'de>) -> Parsed<T>) -> Parsed<T> {
        self.parser.take();
        let value = read(self.parser)?;
        self.parser.now()?.expect(b'"')?;
        Ok(value)
    }
}

macro_rules! inside {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Parsed<V::Value> {
            self.inside(|parser| parser.now()?.$method(visitor))
        }
    )*};
}

impl<'de> Deserializer<'de> for Key<'_, 'de> {
    type Error = GiveUp;

    #[inline]
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Parsed<V::Value> {
        self.parser.string(visitor)
    }

    inside! {
        deserialize_bool
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
        deserialize_f32 deserialize_f64
    }

    #[inline]
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Parsed<V::Value> {
        visitor.visit_some(self)
    }

    #[inline]
    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Parsed<V::Value> {
        if name.starts_with("$serde_json::") {
            return self.parser.deserialize_newtype_struct(name, visitor);
        }
        visitor.visit_newtype_struct(self)
    }

    #[inline]
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Parsed<V::Value> {
        self.parser.deserialize_enum(name, variants, visitor)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Parsed<V::Value> {
        self.parser.deserialize_bytes(visitor)
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Parsed<V::Value> {
        self.parser.deserialize_bytes(visitor)
    }

    forward_to_deserialize_any! {
        char str string unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}
