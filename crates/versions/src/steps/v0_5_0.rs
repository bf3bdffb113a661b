//! 0.5.1 ↔ 0.5.0: from 0.5.1 on, earlier turns are loaded into the shared state, lists have
//! pages, and a session collects its open requests.
//!
//! A client of 0.5.0 requests earlier turns and receives them in the response
//! ([`crate::history`]), so it does not receive turns that other clients have loaded.
//!
//! Lost: the open requests of a session over all chats, the intention of a tool call, the
//! capabilities of an agent.

use agenthost_protocol::version::Release;
use agenthost_protocol::wire::{Json, Object};

use crate::document::{JsonCall, JsonDispatch, JsonEnvelope};
use crate::edit::{clear_input_needed, remove_fields, set_default, text_field};
use crate::state_source::TranslationContext;
use crate::step;
use crate::step::{PartFate, UpgradeRefusal};

pub(crate) struct StepV0_5_0;

/// Actions that 0.5.0 does not have.
const ACTIONS_SINCE_V0_5_1: &[&str] = &[
    "session/inputNeededSet",
    "session/inputNeededRemoved",
    "chat/turnsLoaded",
];

impl step::VersionStep for StepV0_5_0 {
    fn older_release(&self) -> Release {
        Release::V0_5_0
    }

    fn downgrade_part(
        &self,
        _at: &TranslationContext<'_>,
        name: &'static str,
        part: &mut Object,
    ) -> PartFate {
        match name {
            "ChatState" => remove_fields(part, &["turnsNextCursor"]),
            "SessionState" => strip_input_needed(part),
            "AgentInfo" => remove_fields(part, &["capabilities"]),
            "ToolCall" => remove_fields(part, &["intention"]),
            // All parts that can contain a content reference.
            "ContentRef" | "Attachment" | "ResponsePart" | "ToolResultContent" => {
                remove_fields(part, &["nonce"]);
            }
            "ChildCustomization" if text_field(part, "type") == Some("agent") => {
                remove_fields(part, &["model", "tools"]);
            }
            _ => {}
        }
        PartFate::Keep
    }

    fn downgrade_action(
        &self,
        _at: &TranslationContext<'_>,
        mut envelope: JsonEnvelope,
    ) -> Vec<JsonEnvelope> {
        if ACTIONS_SINCE_V0_5_1.contains(&envelope.action_type()) {
            return Vec::new();
        }
        if envelope.action_type() == "chat/toolCallStart" {
            remove_fields(&mut envelope.action, &["intention"]);
        }
        vec![envelope]
    }

    fn downgrade_result(&self, _at: &TranslationContext<'_>, method: &str, result: &mut Json) {
        let Json::Object(result) = result else {
            return;
        };
        match method {
            "listSessions" => remove_fields(result, &["nextCursor"]),
            "fetchTurns" => {
                set_default(result, "turns", Vec::<Json>::new());
                set_default(result, "hasMore", false);
            }
            _ => {}
        }
    }

    fn upgrade_params(
        &self,
        _at: &TranslationContext<'_>,
        call: &mut JsonCall,
    ) -> Result<Vec<JsonDispatch>, UpgradeRefusal> {
        // The format of the filter was never specified.
        if call.method == "listSessions" {
            remove_fields(&mut call.params, &["filter"]);
        }
        Ok(Vec::new())
    }
}

/// Removes the open requests. From 0.5.1 to 0.7, a client tool call among them makes the status
/// input needed; in 0.5.0 it does not.
fn strip_input_needed(session: &mut Object) {
    let Some(Json::Array(waiting)) = session.shift_remove("inputNeeded") else {
        return;
    };
    let is_work = |entry: &Json| {
        let kind = entry.get("kind").and_then(Json::as_str);
        kind == Some("toolClientExecution")
    };
    if !waiting.is_empty() && waiting.iter().all(is_work) {
        clear_input_needed(session);
    }
}
