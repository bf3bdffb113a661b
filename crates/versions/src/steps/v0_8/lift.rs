//! What a host of 0.8 wrote down, as 0.9 does.

use agenthost_protocol::uri::{Uri, default_chat};
use agenthost_protocol::wire::{Json, Object};
use serde_json::json;

use super::up::set_origin;
use crate::edit::{default, list_mut, set, text};
use crate::rows::Row;

pub(super) fn part(row: &Row<'_>, name: &str, part: &mut Object) {
    match name {
        // An error is the last part of the response.
        "Turn" => {
            if let Some(error) = part.shift_remove("error")
                && let Some(parts) = list_mut(part, "responseParts")
            {
                parts.push(failed(error));
            }
        }
        "ChatError" => {
            if let Some(error) = part.shift_remove("error") {
                set(part, "part", failed(error));
            }
        }
        "TerminalState" | "TerminalInfo" => {
            let lifecycle = match part.shift_remove("exitCode") {
                Some(code) => json!({ "status": "exited", "exitCode": code }),
                None => json!({ "status": "running" }),
            };
            set(part, "lifecycle", lifecycle);
        }
        // Which chat it was is not known: the one that every session has.
        "TerminalClaim" => {
            if let Some(session) = text(part, "session").map(Uri::from) {
                default(part, "chat", default_chat(&session).as_str());
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

fn failed(error: Json) -> Json {
    json!({ "kind": "error", "error": error })
}
