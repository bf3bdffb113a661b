//! Helpers with which derived code decodes the fields of an object.

use super::Wire;
use super::error::DecodeError;
use super::node::Node;

/// Decodes a field into its slot; fails for a duplicate field.
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

/// Like [`read_field`], but fails for `null`. For fields whose absence has a significant
/// effect: `null` can be the result of a variable that was never set.
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

/// Returns the decoded field, or the value of an absent field.
#[doc(hidden)]
pub fn take_field<T: Wire>(slot: Option<T>, name: &'static str) -> Result<T, DecodeError> {
    slot.or_else(T::absent)
        .ok_or_else(|| DecodeError::missing().within(name))
}
