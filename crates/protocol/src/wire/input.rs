//! Types that are only decoded.

use super::error::DecodeError;
use super::field::name_index;
use super::node::Node;
use super::{Document, FromStrError, Limits, Wire};

/// A type that is decoded from JSON: a [`Wire`] type, or a command of a page, which is never
/// encoded. Usually derived.
pub trait Input: Sized {
    /// Decodes the type from a JSON value.
    fn read(node: Node<'_>) -> Result<Self, DecodeError>;

    /// Returns the value of an absent field of this type; `None` if the field is required.
    fn absent_input() -> Option<Self> {
        None
    }
}

impl<T: Wire> Input for T {
    fn read(node: Node<'_>) -> Result<Self, DecodeError> {
        T::decode(node)
    }

    fn absent_input() -> Option<Self> {
        T::absent()
    }
}

impl Input for usize {
    fn read(node: Node<'_>) -> Result<Self, DecodeError> {
        let value = u64::decode(node)?;
        usize::try_from(value).map_err(|_| DecodeError::expected("a smaller number", node))
    }
}

/// Parses and decodes an input within the limits of a state.
pub fn read_input<T: Input>(text: &str) -> Result<T, FromStrError> {
    let document = Document::parse(text, Limits::STATE)?;
    Ok(T::read(document.root())?)
}

/// Returns the index of the only field of an object in a list of names, and its value.
#[doc(hidden)]
pub fn read_variant<'d>(
    node: Node<'d>,
    names: &[&'static str],
) -> Result<(usize, Node<'d>), DecodeError> {
    let mut entries = node.entries()?;
    match (entries.next(), entries.next()) {
        (Some((name, value)), None) => match name_index(names, &name) {
            Some(index) => Ok((index, value)),
            None => Err(DecodeError::not_one_of(&name, names)),
        },
        _ => Err(DecodeError::expected("an object with one field", node)),
    }
}

/// Decodes a field, or returns the value of an absent field.
#[doc(hidden)]
pub fn read_field<T: Input>(field: Option<Node<'_>>, name: &'static str) -> Result<T, DecodeError> {
    match field {
        Some(node) => T::read(node).map_err(|error| error.within(name)),
        None => T::absent_input().ok_or_else(|| DecodeError::missing().within(name)),
    }
}
