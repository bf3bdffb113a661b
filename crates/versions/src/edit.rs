//! Helpers that edit JSON objects.

use agenthost_protocol::common::SessionStatus;
use agenthost_protocol::wire::{Json, Object};

/// Removes fields from an object.
pub(crate) fn remove_fields(object: &mut Object, fields: &[&str]) {
    for field in fields {
        object.shift_remove(*field);
    }
}

/// Renames a field; the field moves to the end of the object.
pub(crate) fn rename_field(object: &mut Object, from: &str, to: &str) {
    if let Some(value) = object.shift_remove(from) {
        object.insert(to.to_owned(), value);
    }
}

/// Sets a field if it is absent.
pub(crate) fn set_default(object: &mut Object, field: &str, value: impl Into<Json>) {
    if !object.contains_key(field) {
        object.insert(field.to_owned(), value.into());
    }
}

/// Sets a field; replaces a previous value.
pub(crate) fn set_field(object: &mut Object, field: &str, value: impl Into<Json>) {
    object.insert(field.to_owned(), value.into());
}

/// Returns the value of a field, if it is a string.
pub(crate) fn text_field<'a>(object: &'a Object, field: &str) -> Option<&'a str> {
    object.get(field)?.as_str()
}

/// Replaces the value of a field, if it is the string `from`.
pub(crate) fn replace_text(object: &mut Object, field: &str, from: &str, to: &str) {
    if text_field(object, field) == Some(from) {
        set_field(object, field, to);
    }
}

/// Returns the object in a field for modification.
pub(crate) fn object_mut<'a>(object: &'a mut Object, field: &str) -> Option<&'a mut Object> {
    object.get_mut(field)?.as_object_mut()
}

/// Returns the array in a field for modification.
pub(crate) fn list_mut<'a>(object: &'a mut Object, field: &str) -> Option<&'a mut Vec<Json>> {
    object.get_mut(field)?.as_array_mut()
}

/// Removes a field and returns its value, if it is an object.
pub(crate) fn take_object(object: &mut Object, field: &str) -> Option<Object> {
    let Json::Object(taken) = object.shift_remove(field)? else {
        return None;
    };
    Some(taken)
}

/// Moves a field from one object to another, if it is present.
pub(crate) fn move_field(from: &mut Object, to: &mut Object, field: &str) {
    if let Some(value) = from.shift_remove(field) {
        to.insert(field.to_owned(), value);
    }
}

/// Iterates over the objects in an array field.
pub(crate) fn list_objects_mut<'a>(
    object: &'a mut Object,
    field: &str,
) -> impl Iterator<Item = &'a mut Object> {
    let list = object.get_mut(field).and_then(Json::as_array_mut);
    list.into_iter().flatten().filter_map(Json::as_object_mut)
}

/// Changes the activity in a status from input needed to in progress.
pub(crate) fn clear_input_needed(summary: &mut Object) {
    let bits = summary.get("status").and_then(Json::as_u64);
    let Some(bits) = bits.and_then(|bits| u32::try_from(bits).ok()) else {
        return;
    };
    let status = SessionStatus::from_bits(bits);
    if status.activity() == SessionStatus::INPUT_NEEDED {
        let status = status.with_activity(SessionStatus::IN_PROGRESS);
        set_field(summary, "status", status.bits());
    }
}
