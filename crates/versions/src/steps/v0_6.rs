//! 0.7 ↔ 0.6: from 0.7 on, there are several working directories, referenced tool input, and
//! side chats.
//!
//! Lost: all directories but the first, and changes of it in a subscribed session; the origin
//! of a side chat; the content of referenced tool input (the URI takes its place).

mod terminals;

use std::sync::Arc;

use agenthost_protocol::action::Action;
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::chat::{ChatSummary, ToolCall, ToolInput};
use agenthost_protocol::outcome::Outcome;
use agenthost_protocol::session::{ChatAdded, SessionAction};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::version::Release;
use agenthost_protocol::wire::{Json, Object};

use crate::document::{JsonCall, JsonDispatch, JsonEnvelope};
use crate::edit::{object_mut, remove_fields, rename_field, set_default, set_field, text_field};
use crate::rows::StoredRow;
use crate::state_source::TranslationContext;
use crate::step;
use crate::step::{PartFate, UpgradeRefusal};

pub(crate) struct StepV0_6;

/// Actions that 0.6 does not have. The directories that it shows are in the session list and
/// chat catalogue, which are updated separately.
const ACTIONS_SINCE_V0_7: &[&str] = &[
    "session/workingDirectorySet",
    "session/workingDirectoryRemoved",
    "chat/workingDirectorySet",
    "chat/workingDirectoryRemoved",
];

/// Parts with working directories.
const DIRECTORY_OWNERS: &[&str] = &[
    "SessionState",
    "SessionSummary",
    "PartialSessionSummary",
    "ChatState",
    "ChatSummary",
    "PartialChatSummary",
];

impl step::VersionStep for StepV0_6 {
    fn older_release(&self) -> Release {
        Release::V0_6
    }

    fn rewrite(&self, context: &TranslationContext<'_>, action: Action) -> Vec<Action> {
        match chat_without_directory(context, &action) {
            Some(summary) => {
                let added = SessionAction::ChatAdded(ChatAdded { summary });
                vec![Action::Session(added)]
            }
            None => vec![action],
        }
    }

    fn downgrade_part(
        &self,
        _at: &TranslationContext<'_>,
        name: &'static str,
        part: &mut Object,
    ) -> PartFate {
        match name {
            _ if DIRECTORY_OWNERS.contains(&name) => take_first_directory(part),
            "ToolCall" | "ToolCallConfirmation" | "ToolCallRunning" | "ToolCallAuthRequired" => {
                flatten_input(part);
                terminals::split_terminal_entries(part);
            }
            "ToolCallResult" | "ToolCallContentChanged" => terminals::split_terminal_entries(part),
            "ToolCallReady" => {
                flatten_input(part);
                remove_fields(part, &["contributor", "intention"]);
            }
            "ToolCallDelta" => set_default(part, "content", ""),
            "ChatOrigin" if text_field(part, "kind") == Some("sideChat") => {
                remove_fields(part, &["chat", "turnId", "selection"]);
                set_field(part, "kind", "user");
            }
            "Attachment" if text_field(part, "type") == Some("chat") => {
                set_field(part, "type", "resource");
                rename_field(part, "resource", "uri");
                remove_fields(part, &["endTurn"]);
            }
            "ToolResultContent" | "TerminalState" => remove_fields(part, &["isPty"]),
            "AgentCapabilities" => remove_fields(part, &["multipleWorkingDirectories"]),
            "MultipleChatsCapability" => remove_fields(part, &["sideChat"]),
            _ => {}
        }
        PartFate::Keep
    }

    fn downgrade_action(
        &self,
        context: &TranslationContext<'_>,
        mut envelope: JsonEnvelope,
    ) -> Vec<JsonEnvelope> {
        match envelope.action_type() {
            new if ACTIONS_SINCE_V0_7.contains(&new) => return Vec::new(),
            "chat/toolCallReady" => repeat_input(context, &mut envelope),
            "chat/toolCallConfirmed" => drop_edited_input(context, &mut envelope),
            _ => {}
        }
        vec![envelope]
    }

    fn upgrade_params(
        &self,
        _at: &TranslationContext<'_>,
        call: &mut JsonCall,
    ) -> Result<Vec<JsonDispatch>, UpgradeRefusal> {
        match call.method.as_str() {
            "createSession" => wrap_directory(&mut call.params),
            "createChat" => {
                if let Some(source) = object_mut(&mut call.params, "source") {
                    set_default(source, "kind", "fork");
                }
            }
            _ => {}
        }
        Ok(Vec::new())
    }

    fn upgrade_part(&self, name: &'static str, part: &mut Object) -> PartFate {
        if matches!(name, "ToolCallResult" | "ToolCallContentChanged") {
            terminals::join_terminal_entries(part);
        }
        PartFate::Keep
    }

    fn migrate_part(
        &self,
        _row: &StoredRow<'_>,
        name: &'static str,
        part: &mut Object,
    ) -> PartFate {
        match name {
            _ if DIRECTORY_OWNERS.contains(&name) => wrap_directory(part),
            "ToolCall" | "ToolCallResult" | "ToolCallContentChanged" => {
                terminals::join_terminal_entries(part)
            }
            _ => {}
        }
        PartFate::Keep
    }
}

/// Returns the entry of a chat whose last directory is removed. A partial update can't remove a
/// field, but an action with the whole entry can.
fn chat_without_directory(
    context: &TranslationContext<'_>,
    action: &Action,
) -> Option<Arc<ChatSummary>> {
    let Action::Session(SessionAction::ChatUpdated(update)) = action else {
        return None;
    };
    let directories = update.changes.working_directories.as_ref();
    if !directories.is_some_and(Vec::is_empty) {
        return None;
    }
    let mut after = context.state_before?.clone();
    let (Outcome::Applied, ChannelState::Session(session)) = (after.reduce(action), after) else {
        return None;
    };
    let mut chats = session.chats.iter();
    chats.find(|chat| chat.resource == update.chat).cloned()
}

fn wrap_directory(part: &mut Object) {
    if let Some(directory) = part.shift_remove("workingDirectory") {
        set_default(part, "workingDirectories", Json::Array(vec![directory]));
    }
}

fn take_first_directory(part: &mut Object) {
    let directories = part.shift_remove("workingDirectories");
    if let Some(first) = directories.as_ref().and_then(|list| list.get(0)) {
        set_field(part, "workingDirectory", first.clone());
    }
}

/// Replaces referenced tool input by its URI, because tool input is text in 0.6.
fn flatten_input(part: &mut Object) {
    let address = object_mut(part, "toolInput").and_then(|input| input.shift_remove("uri"));
    if let Some(address) = address {
        set_field(part, "toolInput", address);
    }
}

/// Repeats the tool input in the action. In 0.6 a call loses its input if `toolCallReady` has
/// none; in 0.7 it keeps the previous one.
fn repeat_input(context: &TranslationContext<'_>, envelope: &mut JsonEnvelope) {
    if !envelope.action.contains_key("toolInput")
        && let Some(input) = input_after(context, envelope)
    {
        let text = match &input {
            ToolInput::Inline(text) => text.as_str(),
            ToolInput::Referenced(content) => content.uri.as_str(),
        };
        set_field(&mut envelope.action, "toolInput", text);
    }
}

/// Removes edited input if the tool input is referenced: it is not edited by this action in
/// 0.7, but would be in 0.6.
fn drop_edited_input(context: &TranslationContext<'_>, envelope: &mut JsonEnvelope) {
    let input = input_after(context, envelope);
    if matches!(input, Some(ToolInput::Referenced(_))) {
        remove_fields(&mut envelope.action, &["editedToolInput"]);
    }
}

/// Returns the input of the tool call after the action.
fn input_after(context: &TranslationContext<'_>, envelope: &JsonEnvelope) -> Option<ToolInput> {
    let chat = context
        .states
        .chat(&Uri::from(envelope.channel.as_deref()?))?;
    let active = chat.active_turn.as_deref()?;
    let call = active
        .response_parts
        .call(text_field(&envelope.action, "toolCallId")?)?;
    let parameters = match call {
        ToolCall::PendingConfirmation(call) => &call.parameters,
        ToolCall::Running(call) => &call.parameters,
        ToolCall::AuthRequired(call) => &call.parameters,
        ToolCall::PendingResultConfirmation(call) => &call.parameters,
        ToolCall::Completed(call) => &call.parameters,
        ToolCall::Cancelled(call) => &call.parameters,
        ToolCall::Streaming(_) | ToolCall::Unknown(_) => return None,
    };
    parameters.tool_input.clone()
}
