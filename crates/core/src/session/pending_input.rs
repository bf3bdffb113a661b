//! Derives the input needed of a session from its chats.
//!
//! Every open input request and every blocked tool call of a chat has an entry in `inputNeeded`
//! of its session, so that a client can respond without loading the chat (AGG-1). Entries are
//! always computed and compared, never edited one by one, so none can be stale.

use std::sync::Arc;

use agenthost_protocol::chat::{
    ChatAction, ChatState, ResponsePart, ToolCall, ToolCallContributor,
};
use agenthost_protocol::ids::{InputNeededId, TurnId};
use agenthost_protocol::session::{
    InputNeededRemoved, InputNeededSet, SessionAction, SessionChatInput, SessionInputBase,
    SessionInputRequest, SessionState, SessionToolAuthentication, SessionToolClientExecution,
    SessionToolConfirmation, ToolCallConfirmation,
};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::Standalone;

use crate::host::Host;
use crate::host::effect::Effects;

impl Host {
    /// Updates the input needed of a session for one of its chats. A removed chat needs no
    /// input.
    pub(crate) fn sync_input_needed(&mut self, session: &Uri, chat: &Uri, out: &mut Effects) {
        let wanted = self.chat(chat).map_or(Vec::new(), input_requests);
        let Some(state) = self.session(session) else {
            return;
        };
        let mut actions = Vec::new();
        let mut begun = Vec::new();
        for entry in entries(state).filter(|entry| entry.chat() == Some(chat)) {
            let still = wanted.iter().any(|other| other.key() == entry.key());
            if let (false, Some(key)) = (still, entry.key()) {
                let id = InputNeededId::from(key);
                actions.push(SessionAction::InputNeededRemoved(InputNeededRemoved { id }));
            }
        }
        for entry in wanted {
            if !entries(state).any(|present| *present == entry) {
                let key = entry.key();
                let new = !entries(state).any(|present| present.key() == key);
                let request = Arc::new(entry);
                if let (true, SessionInputRequest::ToolClientExecution(_)) = (new, &*request) {
                    begun.push(Arc::clone(&request));
                }
                actions.push(SessionAction::InputNeededSet(InputNeededSet { request }));
            }
        }
        for action in actions {
            self.originate(session, action, out);
        }
        for call in begun {
            self.start_call_timeout(session, call, out);
        }
    }
}

/// Returns `true` if an action can change the input needed. Streamed deltas can't, and they are
/// by far the most frequent actions.
pub(crate) fn affects_input_needed(action: &ChatAction) -> bool {
    !matches!(
        action,
        ChatAction::Delta(_)
            | ChatAction::Reasoning(_)
            | ChatAction::ToolCallDelta(_)
            | ChatAction::Usage(_)
            | ChatAction::ActivityChanged(_)
            | ChatAction::ResponsePart(_)
    )
}

fn entries(session: &SessionState) -> impl Iterator<Item = &SessionInputRequest> {
    session.input_needed.iter().flat_map(|list| list.items())
}

/// Returns the input requests of a chat, in the order of the response parts.
fn input_requests(chat: &ChatState) -> Vec<SessionInputRequest> {
    let Some(turn) = &chat.active_turn else {
        return Vec::new();
    };
    let parts = turn.response_parts.items();
    parts
        .filter_map(|part| match part {
            ResponsePart::ToolCall(part) => {
                blocked_call(&chat.summary.resource, &turn.id, &part.tool_call)
            }
            ResponsePart::InputRequest(part) if part.response.is_none() => {
                let request = part.request.clone();
                Some(SessionInputRequest::ChatInput(SessionChatInput {
                    base: request_base("input", &chat.summary.resource, request.id.as_str()),
                    request,
                }))
            }
            ResponsePart::InputRequest(_)
            | ResponsePart::Markdown(_)
            | ResponsePart::ContentRef(_)
            | ResponsePart::Reasoning(_)
            | ResponsePart::SystemNotification(_)
            | ResponsePart::Error(_)
            | ResponsePart::Unknown(_) => None,
        })
        .collect()
}

fn blocked_call(chat: &Uri, turn: &TurnId, call: &ToolCall) -> Option<SessionInputRequest> {
    let id = call.head()?.tool_call_id.as_str();
    let turn_id = turn.clone();
    let confirmation = |tool_call| {
        SessionInputRequest::ToolConfirmation(Box::new(SessionToolConfirmation {
            base: request_base("confirm", chat, id),
            turn_id: turn.clone(),
            tool_call,
        }))
    };
    match call {
        ToolCall::PendingConfirmation(call) => Some(confirmation(
            ToolCallConfirmation::PendingConfirmation(call.clone()),
        )),
        ToolCall::PendingResultConfirmation(call) => Some(confirmation(
            ToolCallConfirmation::PendingResultConfirmation(call.clone()),
        )),
        ToolCall::Running(call) => match &call.head.contributor {
            Some(ToolCallContributor::Client(owner)) => Some(
                SessionInputRequest::ToolClientExecution(Box::new(SessionToolClientExecution {
                    base: request_base("execute", chat, id),
                    turn_id,
                    client_id: owner.client_id.clone(),
                    tool_call: Standalone(call.clone()),
                })),
            ),
            Some(ToolCallContributor::Mcp(_) | ToolCallContributor::Unknown(_)) | None => None,
        },
        ToolCall::AuthRequired(call) => Some(SessionInputRequest::ToolAuthentication(Box::new(
            SessionToolAuthentication {
                base: request_base("authenticate", chat, id),
                turn_id,
                tool_call: Standalone(call.clone()),
            },
        ))),
        ToolCall::Streaming(_)
        | ToolCall::Completed(_)
        | ToolCall::Cancelled(_)
        | ToolCall::Unknown(_) => None,
    }
}

/// Returns the base of an entry. Its id contains the chat, so it is unique in the session.
fn request_base(kind: &str, chat: &Uri, id: &str) -> SessionInputBase {
    SessionInputBase {
        id: InputNeededId::from(format!("{kind}:{id}@{chat}")),
        chat: chat.clone(),
    }
}
