//! A single variant of a union as a type of its own.

use std::ops::Deref;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::Wire;
use super::encode::{EncodeFields, encode_object};
use super::error::DecodeError;
use super::node::Node;
use super::shape::{FieldShape, Shape};

/// A struct that is the payload of exactly one variant of a union.
pub trait Variant: Wire + EncodeFields {
    /// Name of the field that identifies the variant.
    const TAG: &'static str;
    /// Value of the tag for this variant.
    const NAME: &'static str;
    /// Shape of the tag field.
    const TAG_SHAPE: fn() -> Shape = || Shape::Choice {
        values: const { &[Self::NAME] },
        open: false,
    };
}

/// A value that must be one particular variant of a union. The tag is checked and encoded as
/// for the whole union.
#[derive(Debug, Clone, PartialEq)]
pub struct Standalone<T>(pub T);

impl<T> Deref for Standalone<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Variant> Wire for Standalone<T> {
    fn decode(node: Node<'_>) -> Result<Self, DecodeError> {
        let tag = node.tag(T::TAG)?;
        if tag != T::NAME {
            return Err(DecodeError::not_one_of(&tag, &[T::NAME]).within(T::TAG));
        }
        T::decode(node).map(Standalone)
    }

    fn shape() -> Shape {
        let mut shape = T::shape();
        if let Shape::Object { fields, .. } = &mut shape {
            fields.insert(0, FieldShape::new(T::TAG, T::TAG_SHAPE));
        }
        shape
    }
}

impl<T: Variant> EncodeFields for Standalone<T> {
    fn encode_fields<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        map.serialize_entry(T::TAG, T::NAME)?;
        self.0.encode_fields(map)
    }
}

impl<T: Variant> Serialize for Standalone<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        encode_object(self, serializer)
    }
}
