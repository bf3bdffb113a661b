//! `Wire` implementations for primitive types, collections and pointers.

use std::hash::Hash;
use std::sync::Arc;

use indexmap::IndexMap;
use serde::Serialize;

use super::error::DecodeError;
use super::node::Node;
use super::shape::{Shape, TextKind};
use super::{Json, Object, Wire};

impl Wire for bool {
    fn decode(node: Node<'_>) -> Result<Self, DecodeError> {
        node.boolean()
    }

    fn shape() -> Shape {
        Shape::Boolean
    }
}

impl Wire for String {
    fn decode(node: Node<'_>) -> Result<Self, DecodeError> {
        node.text().map(Into::into)
    }

    fn shape() -> Shape {
        Shape::Text(TextKind::Free)
    }
}

/// Decodes an integer within bounds. JavaScript has one number type, so `12.0` and `1e3` are
/// integers, too; `12.7` is not.
fn decode_integer(node: Node<'_>, min: i128, max: i128) -> Result<i128, DecodeError> {
    let expected = || DecodeError::expected("a whole number", node);
    let source = node.number().ok_or_else(expected)?;
    let value = match source.parse::<i128>() {
        Ok(value) => value,
        Err(_) => {
            let value = source.parse::<f64>().map_err(|_| expected())?;
            if value.fract() != 0.0 {
                return Err(expected());
            }
            // A float that is too large for i128 saturates, and fails the bounds check below.
            value as i128
        }
    };
    if value < min {
        return Err(DecodeError::expected(
            &format!("a whole number of at least {min}"),
            node,
        ));
    }
    if value > max {
        return Err(DecodeError::expected(
            &format!("a whole number of at most {max}"),
            node,
        ));
    }
    Ok(value)
}

impl Wire for u64 {
    fn decode(node: Node<'_>) -> Result<Self, DecodeError> {
        let value = decode_integer(node, 0, i128::from(u64::MAX))?;
        u64::try_from(value).map_err(|_| DecodeError::expected("a whole number", node))
    }

    fn shape() -> Shape {
        Shape::Integer { least: 0 }
    }
}

impl Wire for i64 {
    fn decode(node: Node<'_>) -> Result<Self, DecodeError> {
        let value = decode_integer(node, i128::from(i64::MIN), i128::from(i64::MAX))?;
        i64::try_from(value).map_err(|_| DecodeError::expected("a whole number", node))
    }

    fn shape() -> Shape {
        Shape::Integer { least: i64::MIN }
    }
}

impl Wire for u32 {
    fn decode(node: Node<'_>) -> Result<Self, DecodeError> {
        let value = decode_integer(node, 0, i128::from(u32::MAX))?;
        u32::try_from(value).map_err(|_| DecodeError::expected("a whole number", node))
    }

    fn shape() -> Shape {
        Shape::Integer { least: 0 }
    }
}

impl Wire for Json {
    fn decode(node: Node<'_>) -> Result<Self, DecodeError> {
        Ok(node.to_json())
    }

    fn shape() -> Shape {
        Shape::Any
    }
}

impl Wire for Object {
    fn decode(node: Node<'_>) -> Result<Self, DecodeError> {
        node.entries()?;
        Ok(node.to_object())
    }

    fn shape() -> Shape {
        Shape::AnyObject
    }
}

impl<T: Wire> Wire for Option<T> {
    /// Decodes `null` as absent. The schema has no nullable fields, but JavaScript programs
    /// often write `null`; it is never encoded.
    fn decode(node: Node<'_>) -> Result<Self, DecodeError> {
        if node.is_null() {
            return Ok(None);
        }
        T::decode(node).map(Some)
    }

    fn absent() -> Option<Self> {
        Some(None)
    }

    fn is_absent(&self) -> bool {
        self.is_none()
    }

    fn shape() -> Shape {
        T::shape()
    }
}

impl<T: Wire> Wire for Vec<T> {
    fn decode(node: Node<'_>) -> Result<Self, DecodeError> {
        // A loop, because the code of the iterator adapters is larger for each type.
        let mut values = Vec::new();
        for item in node.items()? {
            let value = T::decode(item).map_err(|error| error.within_item(values.len()))?;
            values.push(value);
        }
        Ok(values)
    }

    fn shape() -> Shape {
        Shape::List(T::shape)
    }
}

impl<K, V> Wire for IndexMap<K, V>
where
    K: From<String> + Serialize + Hash + Eq,
    V: Wire,
{
    fn decode(node: Node<'_>) -> Result<Self, DecodeError> {
        let mut map = IndexMap::new();
        for (key, value) in node.entries()? {
            let value = V::decode(value).map_err(|error| error.within_key(&key))?;
            let key = key.into_owned();
            if map.insert(K::from(key.clone()), value).is_some() {
                return Err(DecodeError::given_twice().within_key(&key));
            }
        }
        Ok(map)
    }

    fn shape() -> Shape {
        Shape::Map(V::shape)
    }
}

macro_rules! pointer {
    ($($pointer:ident),*) => {$(
        impl<T: Wire> Wire for $pointer<T> {
            fn decode(node: Node<'_>) -> Result<Self, DecodeError> {
                T::decode(node).map($pointer::new)
            }

            fn shape() -> Shape {
                T::shape()
            }
        }
    )*};
}

pointer!(Box, Arc);
