//! Terminals in the results of tools: up to 0.6 one entry says where the
//! output is, and another how the command ended.

use agenthost_protocol::wire::{Json, Object};

use crate::edit::{list_mut, move_field, set_field, take_object, text_field};

/// What the entry about the end is called.
const TERMINAL_COMPLETE_TYPE: &str = "terminalComplete";

/// What is known about the end.
const END_FIELDS: &[&str] = &["exitCode", "preview", "truncated"];

/// Makes two entries of each terminal whose command has ended.
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

/// Makes one entry of a terminal and its end. An end without its terminal is
/// told as far as there is something to read.
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

/// Puts an end to the terminal it belongs to; gives what to add otherwise.
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
