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

use crate::document::{Call, Dispatch, Envelope};
use crate::edit::{default, object_mut, remove, rename, set, text};
use crate::rows::Row;
use crate::step::{self, Fate, Refused};
use crate::world::Moment;

pub(crate) struct Step;

/// Actions that 0.6 has nothing like. What it shows of directories is in the
/// lists of sessions and chats, which change along.
const NEW: &[&str] = &[
    "session/workingDirectorySet",
    "session/workingDirectoryRemoved",
    "chat/workingDirectorySet",
    "chat/workingDirectoryRemoved",
];

/// What has working directories.
const HAVE_DIRECTORIES: &[&str] = &[
    "SessionState",
    "SessionSummary",
    "PartialSessionSummary",
    "ChatState",
    "ChatSummary",
    "PartialChatSummary",
];

impl step::Step for Step {
    fn older(&self) -> Release {
        Release::V0_6
    }

    fn reword(&self, at: &Moment<'_>, action: Action) -> Vec<Action> {
        match without_directory(at, &action) {
            Some(summary) => {
                let added = SessionAction::ChatAdded(ChatAdded { summary });
                vec![Action::Session(added)]
            }
            None => vec![action],
        }
    }

    fn part(&self, _at: &Moment<'_>, name: &'static str, part: &mut Object) -> Fate {
        match name {
            _ if HAVE_DIRECTORIES.contains(&name) => take_first_directory(part),
            "ToolCall" | "ToolCallConfirmation" | "ToolCallRunning" | "ToolCallAuthRequired" => {
                write_input(part);
                terminals::split(part);
            }
            "ToolCallResult" | "ToolCallContentChanged" => terminals::split(part),
            "ToolCallReady" => {
                write_input(part);
                remove(part, &["contributor", "intention"]);
            }
            "ToolCallDelta" => default(part, "content", ""),
            "ChatOrigin" if text(part, "kind") == Some("sideChat") => {
                remove(part, &["chat", "turnId", "selection"]);
                set(part, "kind", "user");
            }
            "Attachment" if text(part, "type") == Some("chat") => {
                set(part, "type", "resource");
                rename(part, "resource", "uri");
                remove(part, &["endTurn"]);
            }
            "ToolResultContent" | "TerminalState" => remove(part, &["isPty"]),
            "AgentCapabilities" => remove(part, &["multipleWorkingDirectories"]),
            "MultipleChatsCapability" => remove(part, &["sideChat"]),
            _ => {}
        }
        Fate::Keep
    }

    fn action(&self, at: &Moment<'_>, mut envelope: Envelope) -> Vec<Envelope> {
        match envelope.kind() {
            new if NEW.contains(&new) => return Vec::new(),
            "chat/toolCallReady" => repeat_input(at, &mut envelope),
            "chat/toolCallConfirmed" => check_edited_input(at, &mut envelope),
            _ => {}
        }
        vec![envelope]
    }

    fn params(&self, _at: &Moment<'_>, call: &mut Call) -> Result<Vec<Dispatch>, Refused> {
        match call.method.as_str() {
            "createSession" => list_directory(&mut call.params),
            "createChat" => {
                if let Some(source) = object_mut(&mut call.params, "source") {
                    default(source, "kind", "fork");
                }
            }
            _ => {}
        }
        Ok(Vec::new())
    }

    fn part_up(&self, name: &'static str, part: &mut Object) -> Fate {
        if matches!(name, "ToolCallResult" | "ToolCallContentChanged") {
            terminals::join(part);
        }
        Fate::Keep
    }

    fn lift(&self, _row: &Row<'_>, name: &'static str, part: &mut Object) -> Fate {
        match name {
            _ if HAVE_DIRECTORIES.contains(&name) => list_directory(part),
            "ToolCall" | "ToolCallResult" | "ToolCallContentChanged" => terminals::join(part),
            _ => {}
        }
        Fate::Keep
    }
}

/// The entry of a chat whose last directory is taken away. A change can't take
/// a field away, but the whole entry can be written anew.
fn without_directory(at: &Moment<'_>, action: &Action) -> Option<Arc<ChatSummary>> {
    let Action::Session(SessionAction::ChatUpdated(update)) = action else {
        return None;
    };
    let directories = update.changes.working_directories.as_ref();
    if !directories.is_some_and(Vec::is_empty) {
        return None;
    }
    let mut after = at.before?.clone();
    let (Outcome::Applied, ChannelState::Session(session)) = (after.reduce(action), after) else {
        return None;
    };
    let mut chats = session.chats.iter();
    chats.find(|chat| chat.resource == update.chat).cloned()
}

fn list_directory(part: &mut Object) {
    if let Some(directory) = part.shift_remove("workingDirectory") {
        default(part, "workingDirectories", Json::Array(vec![directory]));
    }
}

fn take_first_directory(part: &mut Object) {
    let directories = part.shift_remove("workingDirectories");
    if let Some(first) = directories.as_ref().and_then(|list| list.get(0)) {
        set(part, "workingDirectory", first.clone());
    }
}

/// Input is text. If it is kept elsewhere, the text says where.
fn write_input(part: &mut Object) {
    let address = object_mut(part, "toolInput").and_then(|input| input.shift_remove("uri"));
    if let Some(address) = address {
        set(part, "toolInput", address);
    }
}

/// In 0.6 a call that says it is ready has no input but what it says then; in
/// 0.7 it keeps what it had.
fn repeat_input(at: &Moment<'_>, envelope: &mut Envelope) {
    if !envelope.action.contains_key("toolInput")
        && let Some(input) = input_after(at, envelope)
    {
        let text = match &input {
            ToolInput::Inline(text) => text.as_str(),
            ToolInput::Referenced(content) => content.uri.as_str(),
        };
        set(&mut envelope.action, "toolInput", text);
    }
}

/// Input that is kept elsewhere can't be edited by saying so; in 0.6 it would
/// be.
fn check_edited_input(at: &Moment<'_>, envelope: &mut Envelope) {
    let input = input_after(at, envelope);
    if matches!(input, Some(ToolInput::Referenced(_))) {
        remove(&mut envelope.action, &["editedToolInput"]);
    }
}

/// The input of the call that an action is about, after it.
fn input_after(at: &Moment<'_>, envelope: &Envelope) -> Option<ToolInput> {
    let chat = at.world.chat(&Uri::from(envelope.channel.as_deref()?))?;
    let active = chat.active_turn.as_deref()?;
    let call = active
        .response_parts
        .call(text(&envelope.action, "toolCallId")?)?;
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
