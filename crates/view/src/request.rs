//! Cards of open requests: approvals, forms and sign-ins.
//!
//! A card has all information for an answer: the whole command, the edits, the options of the
//! agent. The timeline and the inbox show the same cards, so their keys are the same.

mod approval;
mod form;
mod parameters;

use std::sync::Arc;

use agenthost_protocol::chat::{InputRequest, ToolCall, ToolCallAuthRequired};
use agenthost_protocol::ids::{ConfirmationOptionId, InputRequestId, ToolCallId, TurnId};
use agenthost_protocol::session::{SessionInputRequest, SessionState, ToolCallConfirmation};
use agenthost_protocol::uri::Uri;
use serde::Serialize;

pub use approval::{CallInput, call_command, call_input};
pub use form::{ChoiceRow, QuestionKind, QuestionRow};

use crate::customizations::TokenRequirement;
use crate::file_edit::EditSummary;
use crate::location::path_of;
use crate::markdown::MarkdownBlock;
use crate::title::plain_title;
use crate::visible_text::visible_order;

/// An open request to the user.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum RequestCard {
    /// A tool call that waits for approval.
    Approval(Box<ApprovalCard>),
    /// Questions, or a page to visit.
    Form(FormCard),
    /// A tool call that needs a token.
    SignIn(SignInCard),
}

/// A tool call whose run or result waits for approval.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalCard {
    /// Key of the card, the same in the timeline and in the inbox.
    pub key: String,
    /// URI of the session channel.
    pub session: Uri,
    /// URI of the chat to send the answer to.
    pub chat: Uri,
    /// Turn with the tool call.
    pub turn_id: TurnId,
    pub call_id: ToolCallId,
    /// Machine-readable name of the tool.
    pub tool: String,
    /// Title of the request as plain text.
    pub title: String,
    /// Description by the host: all information for the decision.
    pub details: Vec<Arc<MarkdownBlock>>,
    /// Purpose of the call, as the agent describes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intention: Option<String>,
    /// The whole command line, if the call runs a command. Hidden characters are escaped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The whole arguments, indented, if the call runs no command. Hidden characters are escaped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// The command line or the arguments as they are, if they have hidden characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Further arguments of the command, such as its folder, environment and time limit: one
    /// `name: value` in each line. Hidden characters are escaped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameters: Option<String>,
    /// URI of the arguments, if they are too large for the state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_uri: Option<Uri>,
    /// Text that the call has returned, if its result waits. Hidden characters are escaped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// Path of the folder in which the chat works.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// Title of the worker chat that asks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
    /// Assessment of the risk as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub risk: Option<String>,
    /// Safety score from 0 (unsafe) to 1 (safe).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub safety: Option<f64>,
    /// File changes that the call would make, or has made.
    pub edits: Vec<EditSummary>,
    /// `true` if the agent asks with more text than the card has: it can't be decided upon.
    pub truncated: bool,
    /// Possible answers; at least one denies.
    pub options: Vec<RequestOption>,
    /// Subject of the approval.
    pub phase: ApprovalPhase,
    /// `true` if the user may change the arguments.
    pub editable: bool,
}

/// The subject of an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ApprovalPhase {
    /// The call waits before it runs.
    Call,
    /// The call has ended, and its result waits.
    Result,
}

/// A possible answer to an approval.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestOption {
    /// Id of the option of the agent; absent for an answer without `selectedOptionId`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<ConfirmationOptionId>,
    /// Display name of the answer.
    pub label: String,
    /// Effect of the answer.
    pub kind: RequestOptionKind,
}

/// The effect of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum RequestOptionKind {
    /// The answer approves the call.
    Approve,
    /// The answer denies the call.
    Deny,
}

/// Questions to the user, or a page to visit.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FormCard {
    /// Key of the card, the same in the timeline and in the inbox.
    pub key: String,
    /// URI of the session channel.
    pub session: Uri,
    /// URI of the chat to send the answer to.
    pub chat: Uri,
    pub request_id: InputRequestId,
    /// Title of the worker chat that asks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
    /// Explanation for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Page that the user should visit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<Uri>,
    /// Questions in display order.
    pub questions: Vec<QuestionRow>,
}

/// A tool call that is paused until its MCP server has a token.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SignInCard {
    /// Key of the card, the same in the timeline and in the inbox.
    pub key: String,
    /// URI of the session channel.
    pub session: Uri,
    /// URI of the chat with the tool call.
    pub chat: Uri,
    pub call_id: ToolCallId,
    /// Title of the tool call as plain text.
    pub title: String,
    /// Token that the server requires.
    pub token: TokenRequirement,
}

/// The place of a request: the chat, and the names that describe the chat to the user.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestScope {
    /// URI of the session channel.
    pub session: Uri,
    /// URI of the chat with the request.
    pub chat: Uri,
    /// Path of the folder in which the chat works.
    pub folder: Option<String>,
    /// Title of the chat, if a tool call spawned it.
    pub worker: Option<String>,
}

impl RequestScope {
    /// Returns the scope of a chat of a session.
    pub fn of_chat(uri: &Uri, session: &SessionState, chat: &Uri) -> Self {
        let summary = session.chats.items().find(|other| other.resource == *chat);
        let own = summary.and_then(|summary| summary.working_directories.as_ref());
        let folders = own.or(session.metadata.working_directories.as_ref());
        let folder = folders.and_then(|folders| folders.first());
        let worker = summary.filter(|summary| crate::chat_list::is_worker(summary));
        RequestScope {
            session: uri.clone(),
            chat: chat.clone(),
            folder: folder.map(|folder| visible_order(&path_of(folder))),
            worker: worker.map(|summary| visible_order(&summary.title)),
        }
    }
}

impl RequestCard {
    /// Returns the key of the card.
    pub fn key(&self) -> &str {
        match self {
            RequestCard::Approval(card) => &card.key,
            RequestCard::Form(card) => &card.key,
            RequestCard::SignIn(card) => &card.key,
        }
    }

    /// Returns the chat of the request.
    pub fn chat(&self) -> &Uri {
        match self {
            RequestCard::Approval(card) => &card.chat,
            RequestCard::Form(card) => &card.chat,
            RequestCard::SignIn(card) => &card.chat,
        }
    }

    /// Returns the card of a tool call that waits for the user.
    pub fn of_call(scope: &RequestScope, turn: &TurnId, call: &ToolCall) -> Option<Self> {
        let approval = match call {
            ToolCall::PendingConfirmation(call) => ApprovalCard::of_call(scope, turn, call),
            ToolCall::PendingResultConfirmation(call) => ApprovalCard::of_result(scope, turn, call),
            ToolCall::AuthRequired(call) => {
                return Some(RequestCard::SignIn(SignInCard::of_call(scope, turn, call)));
            }
            ToolCall::Streaming(_)
            | ToolCall::Running(_)
            | ToolCall::Completed(_)
            | ToolCall::Cancelled(_)
            | ToolCall::Unknown(_) => return None,
        };
        Some(RequestCard::Approval(Box::new(approval)))
    }

    /// Returns the card of an input request.
    pub fn of_input(scope: &RequestScope, request: &InputRequest) -> Self {
        RequestCard::Form(FormCard::of_input(scope, request))
    }

    /// Returns the card of an open request of a session; `None` for a request that does not wait
    /// for the user, or of an unknown kind.
    pub fn of_entry(scope: &RequestScope, entry: &SessionInputRequest) -> Option<Self> {
        let approval = match entry {
            SessionInputRequest::ChatInput(entry) => {
                return Some(Self::of_input(scope, &entry.request));
            }
            SessionInputRequest::ToolConfirmation(entry) => match &entry.tool_call {
                ToolCallConfirmation::PendingConfirmation(call) => {
                    ApprovalCard::of_call(scope, &entry.turn_id, call)
                }
                ToolCallConfirmation::PendingResultConfirmation(call) => {
                    ApprovalCard::of_result(scope, &entry.turn_id, call)
                }
                ToolCallConfirmation::Unknown(_) => return None,
            },
            SessionInputRequest::ToolAuthentication(entry) => {
                let card = SignInCard::of_call(scope, &entry.turn_id, &entry.tool_call);
                return Some(RequestCard::SignIn(card));
            }
            SessionInputRequest::ToolClientExecution(_) | SessionInputRequest::Unknown(_) => {
                return None;
            }
        };
        Some(RequestCard::Approval(Box::new(approval)))
    }

    /// Returns the open requests of a session that wait for the user, in the order of the host.
    pub fn of_session(uri: &Uri, session: &SessionState) -> Vec<Self> {
        let open = session.input_needed.iter().flat_map(|open| open.items());
        let cards = open.filter_map(|entry| {
            let scope = RequestScope::of_chat(uri, session, entry.chat()?);
            Self::of_entry(&scope, entry)
        });
        cards.collect()
    }
}

impl SignInCard {
    fn of_call(scope: &RequestScope, turn: &TurnId, call: &ToolCallAuthRequired) -> Self {
        SignInCard {
            key: call_key("signIn", scope, turn, &call.head.tool_call_id),
            session: scope.session.clone(),
            chat: scope.chat.clone(),
            call_id: call.head.tool_call_id.clone(),
            title: plain_title(&call.parameters.invocation_message),
            token: TokenRequirement::of_challenge(&call.auth),
        }
    }
}

/// Returns the key of a card about a tool call. Ids are opaque, so the chat is the last part:
/// the URI can contain any character.
fn call_key(kind: &str, scope: &RequestScope, turn: &TurnId, call: &ToolCallId) -> String {
    format!("{kind} {turn} {call} {}", scope.chat)
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
