//! 0.7 ↔ 0.6: several directories, tool input that is kept elsewhere, side
//! chats.
//!
//! Lost: all directories but the first, and changes of it in a session that
//! the client follows; where a side chat comes from; what tool input is, if
//! it is kept elsewhere (there is its address).

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

/// Actions that 0.6 has nothing like. What it shows of directories is in the
/// lists of sessions and chats, which change along.
const ACTIONS_SINCE_V0_7: &[&str] = &[
    "session/workingDirectorySet",
    "session/workingDirectoryRemoved",
    "chat/workingDirectorySet",
    "chat/workingDirectoryRemoved",
];

/// What has working directories.
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

/// The entry of a chat whose last directory is taken away. A change can't take
/// a field away, but the whole entry can be written anew.
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

/// Input is text. If it is kept elsewhere, the text says where.
fn flatten_input(part: &mut Object) {
    let address = object_mut(part, "toolInput").and_then(|input| input.shift_remove("uri"));
    if let Some(address) = address {
        set_field(part, "toolInput", address);
    }
}

/// In 0.6 a call that says it is ready has no input but what it says then; in
/// 0.7 it keeps what it had.
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

/// Input that is kept elsewhere can't be edited by saying so; in 0.6 it would
/// be.
fn drop_edited_input(context: &TranslationContext<'_>, envelope: &mut JsonEnvelope) {
    let input = input_after(context, envelope);
    if matches!(input, Some(ToolInput::Referenced(_))) {
        remove_fields(&mut envelope.action, &["editedToolInput"]);
    }
}

/// The input of the call that an action is about, after it.
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
