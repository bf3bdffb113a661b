//! 0.5.1 ↔ 0.5.0: older turns are loaded for everyone, lists have pages, a
//! session collects what it waits for.
//!
//! A client of 0.5.0 asks for older turns and gets them in the answer
//! ([`crate::history`]), so it is not told what others have loaded.
//!
//! Lost: what a session waits for over all chats, what a call is for, what an
//! agent can do.

use agenthost_protocol::version::Release;
use agenthost_protocol::wire::{Json, Object};

use crate::document::{Call, Dispatch, Envelope};
use crate::edit::{default, remove, stop_waiting, text};
use crate::step::{self, Fate, Refused};
use crate::world::Moment;

pub(crate) struct Step;

/// Actions that 0.5.0 has nothing like.
const NEW: &[&str] = &[
    "session/inputNeededSet",
    "session/inputNeededRemoved",
    "chat/turnsLoaded",
];

impl step::Step for Step {
    fn older(&self) -> Release {
        Release::V0_5_0
    }

    fn part(&self, _at: &Moment<'_>, name: &'static str, part: &mut Object) -> Fate {
        match name {
            "ChatState" => remove(part, &["turnsNextCursor"]),
            "SessionState" => forget_waiting(part),
            "AgentInfo" => remove(part, &["capabilities"]),
            "ToolCall" => remove(part, &["intention"]),
            // Content that is elsewhere, in all the places where it can be.
            "ContentRef" | "Attachment" | "ResponsePart" | "ToolResultContent" => {
                remove(part, &["nonce"]);
            }
            "ChildCustomization" if text(part, "type") == Some("agent") => {
                remove(part, &["model", "tools"]);
            }
            _ => {}
        }
        Fate::Keep
    }

    fn action(&self, _at: &Moment<'_>, mut envelope: Envelope) -> Vec<Envelope> {
        if NEW.contains(&envelope.kind()) {
            return Vec::new();
        }
        if envelope.kind() == "chat/toolCallStart" {
            remove(&mut envelope.action, &["intention"]);
        }
        vec![envelope]
    }

    fn result(&self, _at: &Moment<'_>, method: &str, result: &mut Json) {
        let Json::Object(result) = result else {
            return;
        };
        match method {
            "listSessions" => remove(result, &["nextCursor"]),
            "fetchTurns" => {
                default(result, "turns", Vec::<Json>::new());
                default(result, "hasMore", false);
            }
            _ => {}
        }
    }

    fn params(&self, _at: &Moment<'_>, call: &mut Call) -> Result<Vec<Dispatch>, Refused> {
        // Nobody ever said what a filter looks like.
        if call.method == "listSessions" {
            remove(&mut call.params, &["filter"]);
        }
        Ok(Vec::new())
    }
}

/// Nothing is collected. Newer clients take a tool that they are to run for a
/// wait for the user, because it is in there; these do not.
fn forget_waiting(session: &mut Object) {
    let Some(Json::Array(waiting)) = session.shift_remove("inputNeeded") else {
        return;
    };
    let is_work = |entry: &Json| {
        let kind = entry.get("kind").and_then(Json::as_str);
        kind == Some("toolClientExecution")
    };
    if !waiting.is_empty() && waiting.iter().all(is_work) {
        stop_waiting(session);
    }
}
