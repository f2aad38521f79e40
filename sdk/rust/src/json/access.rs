//! What is inside of brackets, piece by piece.

use std::marker::PhantomData;

use serde::{
    Deserialize,
    de::{DeserializeSeed, Deserializer, EnumAccess, MapAccess, SeqAccess, VariantAccess, Visitor},
};

use super::{
    GiveUp,
    key::Key,
    parser::{Parsed, Parser},
};

/// The items of an array.
#[derive(Debug)]
pub(super) struct Items<'p, 'de> {
    parser: &'p mut Parser<'de>,
    first: bool,
}

impl<'p, 'de> Items<'p, 'de> {
    #[inline]
    pub(super) fn of(parser: &'p mut Parser<'de>) -> Self {
        Self { parser, first: true }
    }
}

impl<'de> SeqAccess<'de> for Items<'_, 'de> {
    type Error = GiveUp;

    #[inline]
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Parsed<Option<T::Value>> {
        if self.parser.peek() == b']' {
            return Ok(None);
        }
        if !std::mem::replace(&mut self.first, false) {
            self.parser.expect(b',')?;
            if self.parser.peek() == b']' {
                return Err(self.parser.give_up());
            }
        }
        let result = seed.deserialize(&mut *self.parser);
        self.parser.settle(result).map(Some)
    }
}

/// The members of an object.
#[derive(Debug)]
pub(super) struct Members<'p, 'de> {
    parser: &'p mut Parser<'de>,
    first: bool,
}

impl<'p, 'de> Members<'p, 'de> {
    #[inline]
    pub(super) fn of(parser: &'p mut Parser<'de>) -> Self {
        Self { parser, first: true }
    }
}

impl<'de> MapAccess<'de> for Members<'_, 'de> {
    type Error = GiveUp;

    #[inline(always)]
    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Parsed<Option<K::Value>> {
        if self.parser.peek() == b'}' {
            return Ok(None);
        }
        if !std::mem::replace(&mut self.first, false) {
            self.parser.expect(b',')?;
        }
        let key = Key::of(self.parser)?;
        let result = seed.deserialize(key);
        self.parser.settle(result).map(Some)
    }

    #[inline(always)]
    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Parsed<V::Value> {
        self.parser.expect(b':')?;
        let result = seed.deserialize(&mut *self.parser);
        self.parser.settle(result)
    }

    // As they are by default, but in line.
    #[inline(always)]
    fn next_key<K: Deserialize<'de>>(&mut self) -> Parsed<Option<K>> {
        self.next_key_seed(PhantomData)
    }

    #[inline(always)]
    fn next_value<V: Deserialize<'de>>(&mut self) -> Parsed<V> {
        self.next_value_seed(PhantomData)
    }
}

/// A variant as the one member of an object: `{"circle":{"radius":1}}`.
#[derive(Debug)]
pub(super) struct Tagged<'p, 'de> {
    parser: &'p mut Parser<'de>,
}

impl<'p, 'de> Tagged<'p, 'de> {
    pub(super) fn of(parser: &'p mut Parser<'de>) -> Self {
        Self { parser }
    }
}

impl<'de> EnumAccess<'de> for Tagged<'_, 'de> {
    type Error = GiveUp;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Parsed<(V::Value, Self)> {
        let key = Key::of(self.parser)?;
        let result = seed.deserialize(key);
        let variant = self.parser.settle(result)?;
        self.parser.expect(b':')?;
        Ok((variant, self))
    }
}

impl<'de> VariantAccess<'de> for Tagged<'_, 'de> {
    type Error = GiveUp;

    fn unit_variant(self) -> Parsed<()> {
        Deserialize::deserialize(self.parser)
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Parsed<T::Value> {
        let result = seed.deserialize(&mut *self.parser);
        self.parser.settle(result)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _len: usize, visitor: V) -> Parsed<V::Value> {
        self.parser.deserialize_seq(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Parsed<V::Value> {
        self.parser.deserialize_struct("", fields, visitor)
    }
}

/// A variant that is only its name: `"circle"`.
#[derive(Debug)]
pub(super) struct Untagged<'p, 'de> {
    parser: &'p mut Parser<'de>,
}

impl<'p, 'de> Untagged<'p, 'de> {
    pub(super) fn of(parser: &'p mut Parser<'de>) -> Self {
        Self { parser }
    }
}

impl<'de> EnumAccess<'de> for Untagged<'_, 'de> {
    type Error = GiveUp;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Parsed<(V::Value, Self)> {
        let result = seed.deserialize(&mut *self.parser);
        let variant = self.parser.settle(result)?;
        Ok((variant, self))
    }
}

impl<'de> VariantAccess<'de> for Untagged<'_, 'de> {
    type Error = GiveUp;

    fn unit_variant(self) -> Parsed<()> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, _seed: T) -> Parsed<T::Value> {
        Err(self.parser.give_up())
    }

    fn tuple_variant<V: Visitor<'de>>(self, _len: usize, _visitor: V) -> Parsed<V::Value> {
        Err(self.parser.give_up())
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        _visitor: V,
    ) -> Parsed<V::Value> {
        Err(self.parser.give_up())
    }
}
