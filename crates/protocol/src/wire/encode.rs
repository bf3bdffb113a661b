//! Helpers with which derived code encodes the fields of an object.

use std::sync::Arc;

use serde::Serializer;
use serde::ser::SerializeMap;

use super::Wire;

/// A type whose JSON is an object, and whose fields can be part of a larger one.
pub trait EncodeFields {
    /// Encodes the fields into an open object.
    fn encode_fields<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error>;
}

impl<T: EncodeFields> EncodeFields for Box<T> {
    fn encode_fields<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        (**self).encode_fields(map)
    }
}

impl<T: EncodeFields> EncodeFields for Arc<T> {
    fn encode_fields<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        (**self).encode_fields(map)
    }
}

/// Encodes an object with the fields of `value`.
#[doc(hidden)]
pub fn encode_object<T: EncodeFields, S: Serializer>(
    value: &T,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(None)?;
    value.encode_fields(&mut map)?;
    map.end()
}

/// Encodes a field, unless its value is absent.
#[doc(hidden)]
pub fn write_field<T: Wire, M: SerializeMap>(
    map: &mut M,
    name: &'static str,
    value: &T,
) -> Result<(), M::Error> {
    if value.is_absent() {
        return Ok(());
    }
    map.serialize_entry(name, value)
}
