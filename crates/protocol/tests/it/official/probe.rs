//! Finds the fields of an official struct by its `Deserialize` implementation.

use serde::de::value::Error;
use serde::de::{Deserialize, Deserializer, Error as _, Visitor};

/// Returns the names of the fields of a struct; `None` if the type is something else.
pub(super) fn fields<T: for<'de> Deserialize<'de>>() -> Option<&'static [&'static str]> {
    let mut found = None;
    // Fails by design: the probe has no value.
    assert!(T::deserialize(Probe(&mut found)).is_err());
    found
}

struct Probe<'a>(&'a mut Option<&'static [&'static str]>);

impl<'de> Deserializer<'de> for Probe<'_> {
    type Error = Error;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        _visitor: V,
    ) -> Result<V::Value, Error> {
        *self.0 = Some(fields);
        Err(Error::custom("probed"))
    }

    fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, Error> {
        Err(Error::custom("not a struct"))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string
        bytes byte_buf option unit unit_struct newtype_struct seq tuple
        tuple_struct map enum identifier ignored_any
    }
}
