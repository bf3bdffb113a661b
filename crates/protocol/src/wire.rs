//! From text to types and back.
//!
//! Decoding takes two steps, so that a peer's mistake is always told apart:
//! [`Document::parse`] checks that the text is JSON within [`Limits`], then
//! [`Wire::decode`] checks that it is the type that was asked for. Errors name
//! the place: ``action.part.content: expected a string, found 42``.
//!
//! Encoding is `serde::Serialize`, written by the same `#[derive(Wire)]`:
//! optional fields are left out, never `null`.

mod document;
mod encode;
mod error;
mod field;
mod node;
mod parse;
mod primitives;
mod shape;
mod standalone;
mod unknown;

pub use agenthost_protocol_derive::Wire;
pub use document::{Document, Limits};
pub use encode::{EncodeFields, encode_object, write_field};
pub use error::{DecodeError, ParseError};
pub use field::{read_field, read_field_not_null, take_field};
pub use node::{Entries, Items, Node};
pub use shape::{FieldShape, NamedShape, Shape, TextKind, empty_object_shape, flatten_shape};
pub use standalone::{Standalone, Variant};
pub use unknown::Unknown;

/// Any JSON value, where the protocol leaves the shape to the peers.
pub type Json = serde_json::Value;

/// Any JSON object: `_meta`, configuration values, structured results.
pub type Object = serde_json::Map<String, Json>;

/// A type that travels between host and client.
///
/// Derive it; see [`derive@Wire`].
pub trait Wire: serde::Serialize + Sized {
    /// Reads the type from a JSON value, strictly.
    fn decode(node: Node<'_>) -> Result<Self, DecodeError>;

    /// What the absence of a field of this type means; `None` if it must be
    /// there.
    fn absent() -> Option<Self> {
        None
    }

    /// Whether a field with this value is left out when it is written.
    fn is_absent(&self) -> bool {
        false
    }

    /// The JSON this type reads and writes, for generators and checks.
    fn shape() -> Shape;
}

/// Parses and decodes one value in one go, within the default [`Limits`].
pub fn from_str<T: Wire>(text: &str) -> Result<T, FromStrError> {
    let document = Document::parse(text, Limits::default())?;
    Ok(T::decode(document.root())?)
}

/// A value as free JSON.
pub fn to_json<T: Wire>(value: &T) -> Json {
    // Wire types have string keys and finite numbers, so this can't fail.
    serde_json::to_value(value).unwrap_or_default()
}

/// Returns how many bytes a value has as JSON, without building the text.
pub fn encoded_len<T: serde::Serialize>(value: &T) -> usize {
    let mut counter = ByteCounter(0);
    // The writer accepts everything, and wire types have string keys and finite
    // numbers, so this can't fail. If it did, the value counts as too large.
    match serde_json::to_writer(&mut counter, value) {
        Ok(()) => counter.0,
        Err(_) => usize::MAX,
    }
}

/// A writer that counts bytes and discards them.
struct ByteCounter(usize);

impl std::io::Write for ByteCounter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 = self.0.saturating_add(bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Why [`from_str`] failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FromStrError {
    /// The text is not JSON, or beyond the limits.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// The JSON is not the type that was asked for.
    #[error(transparent)]
    Decode(#[from] DecodeError),
}
