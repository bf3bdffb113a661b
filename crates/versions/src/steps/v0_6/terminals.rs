//! Terminals in tool results: up to 0.6 one block has the terminal and another one the result
//! of its command.

use agenthost_protocol::wire::{Json, Object};

use crate::edit::{list_mut, move_field, set_field, take_object, text_field};

/// Type of the block with the result.
const TERMINAL_COMPLETE_TYPE: &str = "terminalComplete";

/// Fields of the result.
const END_FIELDS: &[&str] = &["exitCode", "preview", "truncated"];

/// Splits each terminal with a result into two blocks.
pub(super) fn split_terminal_entries(owner: &mut Object) {
    let Some(content) = list_mut(owner, "content") else {
        return;
    };
    let mut entries = Vec::with_capacity(content.len());
    for mut entry in content.drain(..) {
        let end = entry.as_object_mut().and_then(take_end);
        entries.push(entry);
        entries.extend(end);
    }
    *content = entries;
}

fn take_end(entry: &mut Object) -> Option<Json> {
    if text_field(entry, "type") != Some("terminal") {
        return None;
    }
    let mut result = take_object(entry, "result")?;
    let mut end = Object::new();
    set_field(&mut end, "type", TERMINAL_COMPLETE_TYPE);
    set_field(&mut end, "resource", text_field(entry, "resource")?);
    for field in END_FIELDS {
        move_field(&mut result, &mut end, field);
    }
    Some(Json::Object(end))
}

/// Joins the blocks of a terminal and its result. A result without its terminal becomes a
/// terminal block if it has a URI, otherwise a text block if it has a preview; else it is
/// dropped.
pub(super) fn join_terminal_entries(owner: &mut Object) {
    let Some(content) = list_mut(owner, "content") else {
        return;
    };
    let mut entries: Vec<Json> = Vec::with_capacity(content.len());
    for entry in content.drain(..) {
        match entry {
            Json::Object(end) if text_field(&end, "type") == Some(TERMINAL_COMPLETE_TYPE) => {
                let alone = attach_end(&mut entries, end);
                entries.extend(alone);
            }
            Json::Object(_)
            | Json::Null
            | Json::Bool(_)
            | Json::Number(_)
            | Json::String(_)
            | Json::Array(_) => entries.push(entry),
        }
    }
    *content = entries;
}

/// Adds a result to the terminal that it belongs to; if there is none, returns a block to add.
fn attach_end(entries: &mut [Json], mut end: Object) -> Option<Json> {
    let mut result = Object::new();
    for field in END_FIELDS {
        move_field(&mut end, &mut result, field);
    }
    let resource = text_field(&end, "resource");
    let terminals = entries.iter_mut().rev().filter_map(Json::as_object_mut);
    let mut open = terminals.filter(|entry| {
        text_field(entry, "type") == Some("terminal") && !entry.contains_key("result")
    });
    let own = open.find(|entry| resource.is_none() || text_field(entry, "resource") == resource);
    match (own, resource) {
        (Some(terminal), _) => {
            set_field(terminal, "result", Json::Object(result));
            None
        }
        (None, Some(resource)) => Some(serde_json::json!({
            "type": "terminal", "resource": resource, "title": "", "result": result,
        })),
        (None, None) => {
            let preview = result.shift_remove("preview")?;
            Some(serde_json::json!({ "type": "text", "text": preview }))
        }
    }
}
