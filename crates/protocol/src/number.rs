//! Milliseconds and floating-point numbers.

use serde::{Deserialize, Serialize, Serializer};

use crate::wire::{DecodeError, Json, Node, Shape, Wire};

/// A duration or point in time, in whole milliseconds.
///
/// JavaScript clocks have fractions, so a fraction is rounded when it is decoded; it does not
/// make the whole action malformed (CRT-17).
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Millis(pub i64);

impl Wire for Millis {
    fn decode(node: Node<'_>) -> Result<Self, DecodeError> {
        let expected = || DecodeError::expected("a number of milliseconds", node);
        let source = node.number().ok_or_else(expected)?;
        if let Ok(whole) = source.parse() {
            return Ok(Millis(whole));
        }
        let rounded = source.parse::<f64>().map_err(|_| expected())?.round();
        // 2^63 as a double: the smallest value above the range of `i64`.
        if rounded.abs() >= 9_223_372_036_854_775_808.0 {
            return Err(expected());
        }
        Ok(Millis(rounded as i64))
    }

    fn shape() -> Shape {
        Shape::Milliseconds
    }
}

/// A finite number. Encoded as JavaScript does: `5`, not `5.0`.
#[derive(Debug, Clone, Copy, Default, PartialEq, PartialOrd)]
pub struct Number(pub f64);

impl Wire for Number {
    fn decode(node: Node<'_>) -> Result<Self, DecodeError> {
        node.number()
            .and_then(|source| source.parse::<f64>().ok())
            .map(Number)
            .ok_or_else(|| DecodeError::expected("a number", node))
    }

    fn shape() -> Shape {
        Shape::Number
    }
}

impl Number {
    /// Returns the number as an integer, if it is one and not too large for a double.
    fn to_integer(self) -> Option<i64> {
        // 2^53: up to this value every integer is exactly representable as a double.
        let is_exact = self.0.fract() == 0.0 && self.0.abs() <= 9_007_199_254_740_992.0;
        is_exact.then_some(self.0 as i64)
    }
}

impl From<Number> for Json {
    fn from(number: Number) -> Self {
        number
            .to_integer()
            .map_or_else(|| Json::from(number.0), Json::from)
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.to_integer() {
            Some(integer) => serializer.serialize_i64(integer),
            None => serializer.serialize_f64(self.0),
        }
    }
}
