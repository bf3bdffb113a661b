//! Helpers with which derived code decodes the fields of an object.
//!
//! Only [`decode_field`] and its variants are compiled for each type; the search for the fields is
//! shared, which keeps clients small.

use super::Wire;
use super::error::DecodeError;
use super::node::Node;

/// Finds the fields of an object by their names; fails for a duplicate field. Unknown fields are
/// ignored.
#[doc(hidden)]
pub fn find_fields<'d, const N: usize>(
    node: Node<'d>,
    names: &[&'static str; N],
) -> Result<[Option<Node<'d>>; N], DecodeError> {
    let mut found = [None; N];
    fill_fields(node, names, &mut found)?;
    Ok(found)
}

fn fill_fields<'d>(
    node: Node<'d>,
    names: &[&'static str],
    found: &mut [Option<Node<'d>>],
) -> Result<(), DecodeError> {
    // Peers mostly encode fields in their order, so the search continues after the last match.
    let mut next = 0;
    for (key, value) in node.entries()? {
        let (before, after) = names.split_at_checked(next).unwrap_or((names, &[]));
        let position = name_index(after, &key)
            .map(|index| index + next)
            .or_else(|| name_index(before, &key));
        let Some(position) = position else {
            continue;
        };
        if let (Some(slot), Some(name)) = (found.get_mut(position), names.get(position)) {
            if slot.replace(value).is_some() {
                return Err(DecodeError::given_twice().within(name));
            }
            next = position + 1;
        }
    }
    Ok(())
}

/// Returns the index of a name in a list.
#[doc(hidden)]
pub fn name_index(names: &[&'static str], name: &str) -> Option<usize> {
    names.iter().position(|known| *known == name)
}

/// Returns the index of a string that must be one of `names`.
#[doc(hidden)]
pub fn decode_name(node: Node<'_>, names: &[&'static str]) -> Result<usize, DecodeError> {
    let text = node.text()?;
    name_index(names, &text).ok_or_else(|| DecodeError::not_one_of(&text, names))
}

/// Returns the index of the variant of a closed union.
#[doc(hidden)]
pub fn decode_tag(
    node: Node<'_>,
    tag: &'static str,
    names: &[&'static str],
) -> Result<usize, DecodeError> {
    let value = node.tag(tag)?;
    name_index(names, &value).ok_or_else(|| DecodeError::not_one_of(&value, names).within(tag))
}

/// Decodes a field, or returns the value of an absent field.
#[doc(hidden)]
pub fn decode_field<T: Wire>(
    field: Option<Node<'_>>,
    name: &'static str,
) -> Result<T, DecodeError> {
    match field {
        Some(node) => T::decode(node).map_err(|error| error.within(name)),
        None => T::absent().ok_or_else(|| DecodeError::missing().within(name)),
    }
}

/// Like [`decode_field`], but returns the default of the type for an absent field.
#[doc(hidden)]
pub fn decode_field_or_default<T: Wire + Default>(
    field: Option<Node<'_>>,
    name: &'static str,
) -> Result<T, DecodeError> {
    match field {
        Some(_) => decode_field(field, name),
        None => Ok(T::default()),
    }
}

/// Returns a field, but fails for `null`. For fields whose absence has a significant effect:
/// `null` can be the result of a variable that was never set.
#[doc(hidden)]
pub fn reject_null<'d>(
    field: Option<Node<'d>>,
    name: &'static str,
) -> Result<Option<Node<'d>>, DecodeError> {
    match field {
        Some(node) if node.is_null() => {
            Err(DecodeError::expected("a value, or no field at all", node).within(name))
        }
        _ => Ok(field),
    }
}
