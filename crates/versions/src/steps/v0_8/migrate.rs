//! Upgrades stored rows from 0.8 to 0.9.

use agenthost_protocol::uri::{Uri, default_chat_uri};
use agenthost_protocol::wire::{Json, Object};
use serde_json::json;

use super::up::set_origin;
use crate::edit::{list_mut, set_default, set_field, text_field};
use crate::rows::StoredRow;

pub(super) fn migrate_part(row: &StoredRow<'_>, name: &str, part: &mut Object) {
    match name {
        // The error becomes the last response part.
        "Turn" => {
            if let Some(error) = part.shift_remove("error")
                && let Some(parts) = list_mut(part, "responseParts")
            {
                parts.push(error_part(error));
            }
        }
        "ChatError" => {
            if let Some(error) = part.shift_remove("error") {
                set_field(part, "part", error_part(error));
            }
        }
        "TerminalState" | "TerminalInfo" => {
            let lifecycle = match part.shift_remove("exitCode") {
                Some(code) => json!({ "status": "exited", "exitCode": code }),
                None => json!({ "status": "running" }),
            };
            set_field(part, "lifecycle", lifecycle);
        }
        // The chat is unknown, so the default chat of the session is used.
        "TerminalClaim" => {
            if let Some(session) = text_field(part, "session").map(Uri::from) {
                set_default(part, "chat", default_chat_uri(&session).as_str());
            }
        }
        "Annotation" | "AnnotationUpdated" => {
            if let Some(session) = row.session
                && let Some(turn) = part.shift_remove("turnId")
            {
                set_origin(part, session, None, turn);
            }
        }
        _ => {}
    }
}

fn error_part(error: Json) -> Json {
    json!({ "kind": "error", "error": error })
}
