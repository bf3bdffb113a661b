//! The fields of an object, as the derive reads them.

use super::Wire;
use super::error::DecodeError;
use super::node::Node;

/// Decodes a field into its slot; refuses a second one of the same name.
#[doc(hidden)]
pub fn read_field<T: Wire>(
    slot: &mut Option<T>,
    name: &'static str,
    node: Node<'_>,
) -> Result<(), DecodeError> {
    if slot.is_some() {
        return Err(DecodeError::given_twice().within(name));
    }
    *slot = Some(T::decode(node).map_err(|error| error.within(name))?);
    Ok(())
}

/// The same for a field whose absence means so much that `null`, which may
/// stand for a variable that was never set, is refused.
#[doc(hidden)]
pub fn read_field_not_null<T: Wire>(
    slot: &mut Option<T>,
    name: &'static str,
    node: Node<'_>,
) -> Result<(), DecodeError> {
    if node.is_null() {
        return Err(DecodeError::expected("a value, or no field at all", node).within(name));
    }
    read_field(slot, name, node)
}

/// Takes a field from its slot, or what its absence means.
#[doc(hidden)]
pub fn take_field<T: Wire>(slot: Option<T>, name: &'static str) -> Result<T, DecodeError> {
    slot.or_else(T::absent)
        .ok_or_else(|| DecodeError::missing().within(name))
}
