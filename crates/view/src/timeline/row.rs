//! The rows of a timeline.

use std::sync::Arc;

use agenthost_protocol::ids::{ToolCallId, TurnId};
use agenthost_protocol::number::Millis;
use agenthost_protocol::timestamp::Timestamp;
use agenthost_protocol::uri::Uri;
use serde::Serialize;

use super::plan::PlanEntry;
use crate::composer::AttachmentRow;
use crate::file_edit::EditSummary;
use crate::markdown::MarkdownBlock;
use crate::request::RequestCard;
use crate::usage::UsageRow;

/// The key of a row, unique in its chat: the id of the turn and the place in it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct RowKey(Arc<str>);

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TimelineRow {
    /// Key of the row, stable for the life of the chat.
    pub key: RowKey,
    /// Turn that the row belongs to.
    pub turn_id: TurnId,
    /// Content of the row.
    #[serde(flatten)]
    pub body: RowBody,
}

/// The content of a row.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum RowBody {
    /// The message that started the turn.
    Message {
        /// Actor that produced the message.
        from: MessageSource,
        /// The text: of users as plain text, of others as Markdown.
        blocks: Vec<Arc<MarkdownBlock>>,
        /// The text as it was sent.
        text: String,
        /// Attachments of the message.
        attachments: Vec<AttachmentRow>,
        /// Time at which the turn started.
        #[serde(skip_serializing_if = "Option::is_none")]
        at: Option<Timestamp>,
        /// Progress of the delivery, for messages of this client.
        #[serde(skip_serializing_if = "Option::is_none")]
        state: Option<MessageDelivery>,
    },
    /// Text of the answer.
    Text {
        /// The text as Markdown.
        blocks: Vec<Arc<MarkdownBlock>>,
        /// `true` while more text may follow.
        open: bool,
        /// `true` if the next row continues the text.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        continues: bool,
    },
    /// Reasoning of the model.
    Reasoning {
        /// The text as Markdown.
        blocks: Vec<Arc<MarkdownBlock>>,
        /// `true` while more text may follow.
        open: bool,
        /// First line of the text.
        summary: String,
    },
    /// A tool call of the agent.
    ToolCall(Box<ToolCallRow>),
    /// A plan of the agent.
    Plan {
        /// Entries in the order of the agent.
        entries: Vec<PlanEntry>,
    },
    /// Questions to the user.
    Form {
        /// The form with its current answers. Boxed, so that other rows are small.
        card: Box<RequestCard>,
        /// Resolution of the form; absent while it is open.
        #[serde(skip_serializing_if = "Option::is_none")]
        response: Option<FormOutcome>,
        /// Name of the client that answered.
        #[serde(skip_serializing_if = "Option::is_none")]
        answered_by: Option<String>,
    },
    /// A notice of the host or of the agent.
    Notice {
        /// The text as Markdown.
        blocks: Vec<Arc<MarkdownBlock>>,
    },
    /// The error that ended the turn.
    Error {
        /// Description of the error.
        message: String,
        /// `true` if the turn can be resumed.
        resumable: bool,
    },
    /// Content that is read by its URI.
    Resource {
        /// URI of the content.
        uri: Uri,
        /// MIME type of the content.
        #[serde(skip_serializing_if = "Option::is_none")]
        content_type: Option<String>,
    },
    TurnEnd {
        state: TurnOutcome,
        /// Duration of the turn, in milliseconds.
        #[serde(skip_serializing_if = "Option::is_none")]
        duration_ms: Option<Millis>,
        /// Token usage and cost of the turn.
        #[serde(skip_serializing_if = "Option::is_none")]
        usage: Option<Box<UsageRow>>,
    },
}

/// A tool call of the agent.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCallRow {
    /// Id of the tool call, unique in the turn.
    pub call_id: ToolCallId,
    /// Display name of the tool.
    pub name: String,
    /// Description of the operation as plain text.
    pub title: String,
    pub status: CallStatus,
    /// Purpose of the call, as the agent describes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intention: Option<String>,
    /// The whole command line, if the call runs a command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The whole arguments, indented, if the call runs no command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// URI of the arguments, if they are too large for the state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_uri: Option<Uri>,
    /// Display name of the MCP server or client that executes the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contributor: Option<String>,
    /// URI of the MCP App that shows the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub app: Option<String>,
    /// Content that the call has produced so far.
    pub content: Vec<CallContent>,
    /// Open request of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<RequestCard>,
    /// Decision that permitted the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<CallDecision>,
    /// Label of the option that the user selected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selected_option: Option<String>,
    /// Name of the client that answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answered_by: Option<String>,
    /// Kind of the cancellation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<CallOutcome>,
    /// Explanation of a failure or cancellation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The status of a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum CallStatus {
    /// The model is generating the arguments.
    Streaming,
    /// The call or its result waits for approval.
    Waiting,
    /// The call is running now.
    Running,
    /// The call waits for a token.
    AuthRequired,
    /// The call has ended successfully.
    Completed,
    /// The call has ended with an error.
    Failed,
    /// The call was denied or skipped.
    Cancelled,
}

/// The decision that permitted a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum CallDecision {
    /// The call required no approval.
    NotNeeded,
    /// A user approved the call.
    User,
    /// A setting approves such calls.
    Setting,
}

/// The kind of a cancellation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum CallOutcome {
    /// A user denied the call.
    Denied,
    /// The call was skipped, or its turn ended.
    Skipped,
    /// A user denied the result.
    ResultDenied,
}

/// A block of content of a tool call.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum CallContent {
    /// A block of text.
    Text {
        /// The text, shown verbatim.
        text: String,
    },
    /// A change to a file.
    Edit {
        /// The change without the contents.
        edit: EditSummary,
    },
    /// A terminal that clients can subscribe to.
    Terminal {
        /// URI of the terminal channel.
        uri: Uri,
        /// Display name of the terminal.
        title: String,
        /// Exit code of the command, if it has ended.
        #[serde(skip_serializing_if = "Option::is_none")]
        exit_code: Option<i64>,
        /// An excerpt of the output.
        #[serde(skip_serializing_if = "Option::is_none")]
        preview: Option<String>,
        /// `true` if the command has ended.
        ended: bool,
    },
    /// A worker chat that clients can subscribe to.
    Worker {
        /// URI of the chat channel.
        chat: Uri,
        /// Display name of the worker.
        title: String,
        /// Machine-readable name of the agent.
        #[serde(skip_serializing_if = "Option::is_none")]
        agent: Option<String>,
        /// Task of the worker.
        #[serde(skip_serializing_if = "Option::is_none")]
        description: Option<String>,
    },
    /// Content that is read by its URI.
    Resource {
        /// URI of the content.
        uri: Uri,
        /// MIME type of the content.
        #[serde(skip_serializing_if = "Option::is_none")]
        content_type: Option<String>,
    },
    /// Data that is embedded in the result.
    Embedded {
        /// MIME type of the bytes.
        content_type: String,
        /// The bytes, encoded in base64.
        data: String,
    },
}

/// The actor that produced a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum MessageSource {
    /// A user of a client.
    User,
    Agent,
    /// A tool, for example with the prompt of a worker.
    Tool,
    /// A run of an automation.
    Automation,
    /// The host, or an actor of an unknown kind.
    System,
}

/// The progress of a message of this client. A message that the host rejected has no row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum MessageDelivery {
    /// The message was sent, and the host has not confirmed it.
    Sent,
    /// The host has confirmed the message.
    Confirmed,
}

/// The resolution of a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum FormOutcome {
    /// The user submitted the answers.
    Accept,
    /// The user declined to answer.
    Decline,
    /// The user dismissed the form.
    Cancel,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum TurnOutcome {
    /// The agent completed the turn.
    Complete,
    /// The turn was cancelled.
    Cancelled,
    /// The turn failed with an error.
    Error,
}

impl RowKey {
    pub(super) fn new(turn: &TurnId, place: &str) -> Self {
        RowKey(format!("{turn}/{place}").into())
    }

    /// Returns the key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
