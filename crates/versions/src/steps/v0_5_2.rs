//! 0.6 ↔ 0.5.2: from 0.6 on, open input requests are in the response, turns have times, tool
//! calls can wait for a token, and there are risk assessments.
//!
//! Up to 0.5.2 open input requests are in the field `inputRequests` of the chat, and become
//! response parts only when they are answered.
//!
//! Lost: the start time and duration of turns, risk assessments, and that a call waits for a
//! token: it appears as running.

mod calls;
pub(crate) mod pending_input;

use agenthost_protocol::action::Action;
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::chat::ChatAction;
use agenthost_protocol::timestamp::Timestamp;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::version::Release;
use agenthost_protocol::wire::{Json, Object};

use crate::document::{JsonCall, JsonDispatch, JsonEnvelope};
use crate::edit::{
    clear_input_needed, object_mut, remove_fields, rename_field, set_default, set_field, text_field,
};
use crate::rows::StoredRow;
use crate::state_source::TranslationContext;
use crate::step;
use crate::step::{PartFate, UpgradeRefusal};

pub(crate) struct StepV0_5_2;

/// A placeholder that is never a valid start time: the host replaces it by its own clock.
const UNKNOWN_TIME: &str = "1970-01-01T00:00:00.000Z";

impl step::VersionStep for StepV0_5_2 {
    fn older_release(&self) -> Release {
        Release::V0_5_2
    }

    fn rewrite(&self, context: &TranslationContext<'_>, action: Action) -> Vec<Action> {
        let Some(ChannelState::Chat(before)) = context.state_before else {
            return vec![action];
        };
        if let Action::Chat(ChatAction::ToolCallReady(ready)) = action {
            return calls::rewrite_ready(before, ready);
        }
        if let Action::Chat(ChatAction::ToolCallComplete(done)) = action {
            return calls::rewrite_complete(before, done);
        }
        vec![action]
    }

    fn downgrade_part(
        &self,
        context: &TranslationContext<'_>,
        name: &'static str,
        part: &mut Object,
    ) -> PartFate {
        match name {
            "Turn" => {
                remove_fields(part, &["startedAt", "duration"]);
                pending_input::take_open_requests(part);
            }
            "ActiveTurn" => remove_fields(part, &["startedAt"]),
            "ChatState" => pending_input::move_requests_to_chat(part),
            "ToolCall" => calls::downgrade_call(part),
            "ToolCallConfirmation" => remove_fields(part, &["riskAssessment"]),
            "McpServerState" => remove_fields(part, &["oauthClient"]),
            "Changeset" => remove_fields(part, &["capabilities"]),
            "ResponsePart" if text_field(part, "kind") == Some("systemNotification") => {
                remove_fields(part, &["_meta"]);
            }
            "SessionState" => pending_input::strip_authentication(part),
            "SessionSummary" => {
                let session = text_field(part, "resource").map(Uri::from);
                if session.is_some_and(|session| {
                    pending_input::waits_only_for_token(context, &session, None)
                }) {
                    clear_input_needed(part);
                }
            }
            _ => {}
        }
        PartFate::Keep
    }

    fn downgrade_action(
        &self,
        context: &TranslationContext<'_>,
        mut envelope: JsonEnvelope,
    ) -> Vec<JsonEnvelope> {
        if envelope.action_type() == "chat/responsePart" {
            pending_input::part_to_request(&mut envelope.action);
        }
        match envelope.action_type() {
            "chat/turnStarted" => remove_fields(&mut envelope.action, &["startedAt"]),
            "chat/turnComplete" | "chat/turnCancelled" | "chat/error" => {
                remove_fields(&mut envelope.action, &["duration"]);
            }
            "chat/toolCallReady" => remove_fields(&mut envelope.action, &["riskAssessment"]),
            "chat/toolCallAuthRequired" | "chat/toolCallAuthResolved" => return Vec::new(),
            "chat/inputRequested" if !has_active_turn(context, &envelope) => return Vec::new(),
            "session/inputNeededSet" | "session/inputNeededRemoved" => {
                return pending_input::downgrade_input_needed(context, envelope);
            }
            "session/chatAdded" => {
                let chat = object_mut(&mut envelope.action, "summary")
                    .and_then(|summary| text_field(summary, "resource"))
                    .map(Uri::from);
                pending_input::fix_chat_status(context, &mut envelope, chat, "summary");
            }
            "session/chatUpdated" => {
                let chat = text_field(&envelope.action, "chat").map(Uri::from);
                pending_input::fix_chat_status(context, &mut envelope, chat, "changes");
            }
            "changeset/filesReviewChanged" => {
                set_field(
                    &mut envelope.action,
                    "type",
                    "changeset/filesReviewedChanged",
                );
                rename_field(&mut envelope.action, "files", "fileIds");
            }
            _ => {}
        }
        vec![envelope]
    }

    fn downgrade_notification(
        &self,
        context: &TranslationContext<'_>,
        mut call: JsonCall,
    ) -> Vec<JsonCall> {
        if call.method == "root/sessionSummaryChanged" {
            let session = text_field(&call.params, "session").map(Uri::from);
            if session
                .is_some_and(|session| pending_input::waits_only_for_token(context, &session, None))
                && let Some(changes) = object_mut(&mut call.params, "changes")
            {
                clear_input_needed(changes);
            }
        }
        vec![call]
    }

    fn upgrade_dispatch(
        &self,
        _at: &TranslationContext<'_>,
        dispatch: &mut JsonDispatch,
    ) -> Result<(), UpgradeRefusal> {
        upgrade_action(&mut dispatch.action, UNKNOWN_TIME);
        Ok(())
    }

    fn migrate_part(&self, row: &StoredRow<'_>, name: &'static str, part: &mut Object) -> PartFate {
        match name {
            "ActiveTurn" => {
                set_default(
                    part,
                    "startedAt",
                    Timestamp::from_millis(row.written_at).as_str(),
                );
            }
            "ChatState" => pending_input::move_requests_into_turn(part),
            _ => {}
        }
        PartFate::Keep
    }

    fn migrate_action(&self, row: &StoredRow<'_>, action: &mut Object) {
        upgrade_action(action, Timestamp::from_millis(row.written_at).as_str());
    }
}

/// Upgrades an action of a client or a stored one. `began` is the start time of a turn.
fn upgrade_action(action: &mut Object, began: &str) {
    match text_field(action, "type") {
        Some("chat/turnStarted") => set_default(action, "startedAt", began),
        Some("chat/turnComplete" | "chat/turnCancelled" | "chat/error") => {
            set_default(action, "duration", 0);
        }
        Some("changeset/filesReviewedChanged") => {
            set_field(action, "type", "changeset/filesReviewChanged");
            rename_field(action, "fileIds", "files");
        }
        _ => {}
    }
}

/// Returns `true` if a turn is active. Later clients ignore an input request without an active
/// turn; clients up to 0.5.2 would show it forever. The state after the action decides, because
/// a resumed turn was not active before.
fn has_active_turn(context: &TranslationContext<'_>, envelope: &JsonEnvelope) -> bool {
    let channel = envelope.channel.as_deref().map(Uri::from);
    let after = channel.and_then(|channel| context.states.state(&channel));
    let state = after.as_ref().or(context.state_before);
    let chat = state.and_then(ChannelState::as_chat);
    chat.is_none_or(|chat| chat.active_turn.is_some())
}

/// Returns `true` if the part is an unanswered input request.
fn is_open_request(part: &Object) -> bool {
    let response = part.get("response").is_none_or(Json::is_null);
    text_field(part, "kind") == Some("inputRequest") && response
}
