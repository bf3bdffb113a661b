//! The arguments of a command beside its command line: what else the user decides upon.

use agenthost_protocol::chat::ToolCallHead;
use agenthost_protocol::wire::Json;

use crate::visible_text::visible_text;

/// The `_meta` key with the arguments of a command as the agent sent them.
const RAW_INPUT_META_KEY: &str = "rawInput";

/// Texts that the card shows in another place.
const SHOWN_ARGUMENTS: [&str; 1] = ["description"];

/// Names that agents give the folder of a command.
const FOLDER_ARGUMENTS: [&str; 6] = [
    "cwd",
    "workdir",
    "working_dir",
    "working_directory",
    "workingDirectory",
    "directory",
];

/// Returns the arguments of a command beside its command line, one `name: value` in each line.
/// The folder is left out if it is that of the chat.
pub(super) fn parameter_lines(head: &ToolCallHead, folder: Option<&str>) -> Option<String> {
    let raw = head.meta.as_ref()?.get(RAW_INPUT_META_KEY)?;
    let Json::Object(arguments) = raw else {
        return None;
    };
    let mut lines = Vec::new();
    for (name, value) in arguments.iter() {
        let is_of = |names: &[&str]| value.is_string() && names.contains(&name.as_str());
        let is_own_folder = is_of(&FOLDER_ARGUMENTS) && value.as_str() == folder;
        // A command may be a list of words.
        let is_shown = name == "command" || is_of(&SHOWN_ARGUMENTS);
        if is_shown || is_own_folder || is_empty(value) {
            continue;
        }
        match value {
            // The variables of an environment, mostly.
            Json::Object(fields) => {
                for (field, value) in fields.iter() {
                    lines.push(line_of(&format!("{name}.{field}"), value));
                }
            }
            value => lines.push(line_of(name, value)),
        }
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}

fn is_empty(value: &Json) -> bool {
    match value {
        Json::Null => true,
        Json::String(text) => text.is_empty(),
        Json::Array(items) => items.is_empty(),
        Json::Object(fields) => fields.is_empty(),
        Json::Bool(_) | Json::Number(_) => false,
    }
}

/// Returns `name: value` in one line: a text with line breaks is quoted, so that it can't look
/// like further arguments.
fn line_of(name: &str, value: &Json) -> String {
    let text = match value {
        Json::String(text) if !text.contains(['\n', '\r']) => text.clone(),
        other => other.to_string(),
    };
    let name = name.replace(['\n', '\r'], " ");
    visible_text(&format!("{name}: {text}"))
}
