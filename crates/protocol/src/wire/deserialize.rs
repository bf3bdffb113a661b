//! Decodes wire types that are parts of a JSON text which serde reads.

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::Wire;
use super::document::{Document, Limits};

/// Decodes a value as [`Wire::decode`] does. The input of the deserializer must be a `str`: the
/// text of the value is not copied.
pub fn deserialize<'de, D: Deserializer<'de>, T: Wire>(deserializer: D) -> Result<T, D::Error> {
    let raw = <&RawValue>::deserialize(deserializer)?;
    let document = Document::parse(raw.get(), Limits::STATE).map_err(Error::custom)?;
    T::decode(document.root()).map_err(Error::custom)
}
