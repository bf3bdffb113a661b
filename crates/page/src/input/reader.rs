//! Reads inputs with the parser of the protocol: a second parser would be a large part of the
//! WebAssembly file.

use std::borrow::Cow;
use std::fmt;

use agenthost_protocol::wire::{DecodeError, Document, Entries, Items, Limits, Node};
use serde::de::value::CowStrDeserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error, IntoDeserializer,
    MapAccess, SeqAccess, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

/// The error of a text that is not an input. It has no description: the worker is built together
/// with the core, and the descriptions of all inputs would be a large part of the file.
#[derive(Debug, thiserror::Error)]
#[error("not an input")]
pub(crate) struct InputError;

impl Error for InputError {
    fn custom<T: fmt::Display>(_: T) -> Self {
        InputError
    }
}

impl From<DecodeError> for InputError {
    fn from(_: DecodeError) -> Self {
        InputError
    }
}

/// Decodes an input of the worker.
pub(crate) fn read_input<T: DeserializeOwned>(text: &str) -> Result<T, InputError> {
    let document = Document::parse(text, Limits::STATE).map_err(|_| InputError)?;
    T::deserialize(InputNode(document.root()))
}

/// A value of an input.
#[derive(Clone, Copy)]
struct InputNode<'d>(Node<'d>);

impl<'de> Deserializer<'de> for InputNode<'de> {
    type Error = InputError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InputError> {
        if self.0.is_null() {
            visitor.visit_unit()
        } else if self.0.is_text() {
            visitor.visit_string(self.0.text()?.into_owned())
        } else if self.0.is_object() {
            self.deserialize_map(visitor)
        } else if self.0.is_array() {
            let items = self.0.items()?;
            visitor.visit_seq(InputItems(items))
        } else if let Some(number) = self.0.number() {
            if let Ok(number) = number.parse() {
                visitor.visit_i64(number)
            } else if let Ok(number) = number.parse() {
                visitor.visit_u64(number)
            } else {
                visitor.visit_f64(number.parse().map_err(|_| InputError)?)
            }
        } else {
            visitor.visit_bool(self.0.boolean()?)
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InputError> {
        let entries = self.0.entries()?;
        visitor.visit_map(InputEntries {
            entries,
            value: None,
        })
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, InputError> {
        self.deserialize_map(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, InputError> {
        if self.0.is_null() {
            visitor.visit_none()
        } else {
            visitor.visit_some(self)
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, InputError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, InputError> {
        if self.0.is_text() {
            return visitor.visit_enum(IntoDeserializer::<InputError>::into_deserializer(
                self.0.text()?,
            ));
        }
        let mut entries = self.0.entries()?;
        match (entries.next(), entries.next()) {
            (Some((name, payload)), None) => visitor.visit_enum(InputVariant {
                name,
                payload: InputNode(payload),
            }),
            _ => Err(InputError),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct identifier ignored_any
    }
}

/// The items of an array.
struct InputItems<'d>(Items<'d>);

impl<'de> SeqAccess<'de> for InputItems<'de> {
    type Error = InputError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, InputError> {
        let item = self.0.next();
        item.map(|item| seed.deserialize(InputNode(item)))
            .transpose()
    }
}

/// The fields of an object.
struct InputEntries<'d> {
    entries: Entries<'d>,
    /// Value of the last key.
    value: Option<Node<'d>>,
}

impl<'de> MapAccess<'de> for InputEntries<'de> {
    type Error = InputError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, InputError> {
        let Some((key, value)) = self.entries.next() else {
            return Ok(None);
        };
        self.value = Some(value);
        let key: CowStrDeserializer<'_, InputError> = key.into_deserializer();
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, InputError> {
        match self.value.take() {
            Some(value) => seed.deserialize(InputNode(value)),
            None => Err(InputError),
        }
    }
}

/// A variant with its payload.
struct InputVariant<'d> {
    name: Cow<'d, str>,
    payload: InputNode<'d>,
}

impl<'de> EnumAccess<'de> for InputVariant<'de> {
    type Error = InputError;
    type Variant = InputNode<'de>;

    fn variant_seed<V: DeserializeSeed<'de>>(
        self,
        seed: V,
    ) -> Result<(V::Value, InputNode<'de>), InputError> {
        let name: CowStrDeserializer<'_, InputError> = self.name.into_deserializer();
        Ok((seed.deserialize(name)?, self.payload))
    }
}

impl<'de> VariantAccess<'de> for InputNode<'de> {
    type Error = InputError;

    fn unit_variant(self) -> Result<(), InputError> {
        Err(InputError)
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(
        self,
        seed: T,
    ) -> Result<T::Value, InputError> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, InputError> {
        self.deserialize_any(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, InputError> {
        self.deserialize_map(visitor)
    }
}
