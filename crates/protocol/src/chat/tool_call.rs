//! Tool calls and their states.
//!
//! ```text
//! streaming ──► pending-confirmation ◄──► running ◄──► auth-required
//!     └─────────────► running ──► pending-result-confirmation
//!                        └──────────────┴──► completed | cancelled
//! ```

use std::sync::Arc;

use super::message::Message;
use super::tool_result::{ToolCallResult, ToolResultContent};
use crate::common::{ContentRef, FileEditCollection, McpAuthRequirement, Meta};
use crate::ids::{ClientId, ConfirmationOptionId, CustomizationId, ToolCallId};
use crate::number::Number;
use crate::text::MaybeMarkdown;
use crate::wire::{DecodeError, Node, Shape, Unknown, Variant, Wire};

/// A tool call, by its status.
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(tag = "status", case = "kebab")]
pub enum ToolCall {
    /// The model is still generating the arguments.
    Streaming(ToolCallStreaming),
    /// The call waits for approval before it may run.
    PendingConfirmation(ToolCallPendingConfirmation),
    /// The call is running.
    Running(ToolCallRunning),
    /// The call is paused until its MCP server has a token.
    AuthRequired(ToolCallAuthRequired),
    /// The call has ended; its result waits for approval before it may be used.
    PendingResultConfirmation(ToolCallPendingResultConfirmation),
    /// The call has ended, successfully or with an error.
    Completed(ToolCallCompleted),
    /// The call was denied or skipped, its result was denied, or its turn ended first.
    Cancelled(ToolCallCancelled),
    /// A status that a later protocol version defines.
    #[wire(unknown)]
    Unknown(Unknown),
}

/// Fields that a tool call has in every status.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ToolCallHead {
    /// Id of the tool call, unique in the turn.
    pub tool_call_id: ToolCallId,
    /// Machine-readable name of the tool. Clients use it at most as a label.
    pub tool_name: String,
    /// Display name of the tool.
    pub display_name: String,
    /// Purpose of the call.
    pub intention: Option<String>,
    /// Peer that executes the call; absent means the host.
    pub contributor: Option<ToolCallContributor>,
    /// Extension data (`_meta`) that the protocol does not define.
    pub meta: Option<Meta>,
}

/// Fields that a tool call has once its arguments are complete.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ToolCallParameters {
    /// Description of the operation that the call performs.
    pub invocation_message: MaybeMarkdown,
    /// Arguments of the call.
    pub tool_input: Option<ToolInput>,
}

/// Fields that a tool call has once it was approved.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ToolCallApproval {
    /// Reason for the approval.
    pub confirmed: ConfirmationReason,
    /// Option that the user selected, if the host offered options.
    pub selected_option: Option<ConfirmationOption>,
}

/// A tool call whose arguments the model is still generating.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ToolCallStreaming {
    /// Fields that a tool call has in every status.
    #[wire(flatten)]
    pub head: ToolCallHead,
    /// Arguments received so far.
    pub partial_input: Option<String>,
    /// Preliminary description of the operation.
    pub invocation_message: Option<MaybeMarkdown>,
}

/// A tool call that waits for approval, before it runs or during its run.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ToolCallPendingConfirmation {
    /// Fields that a tool call has in every status.
    #[wire(flatten)]
    pub head: ToolCallHead,
    /// Arguments and description of the call.
    #[wire(flatten)]
    pub parameters: ToolCallParameters,
    /// Data for the confirmation dialog.
    #[wire(flatten)]
    pub question: ToolCallQuestion,
}

/// Data for the confirmation dialog of a tool call.
#[derive(Debug, Clone, Default, PartialEq, Wire)]
pub struct ToolCallQuestion {
    /// Title of the confirmation dialog.
    pub confirmation_title: Option<MaybeMarkdown>,
    /// Assessment of the risk of the call.
    pub risk_assessment: Option<RiskAssessment>,
    /// File changes that the call would make.
    pub edits: Option<FileEditCollection>,
    /// `true` if the user may edit the arguments before approval.
    pub editable: Option<bool>,
    /// Options to choose from, instead of approve and deny.
    pub options: Option<Vec<ConfirmationOption>>,
}

impl ToolCallQuestion {
    /// Fills the absent fields from an earlier confirmation dialog.
    #[must_use]
    pub(crate) fn or(self, before: ToolCallQuestion) -> Self {
        ToolCallQuestion {
            confirmation_title: self.confirmation_title.or(before.confirmation_title),
            risk_assessment: self.risk_assessment.or(before.risk_assessment),
            edits: self.edits.or(before.edits),
            editable: self.editable.or(before.editable),
            options: self.options.or(before.options),
        }
    }
}

/// A tool call that is running.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ToolCallRunning {
    /// Fields that a tool call has in every status.
    #[wire(flatten)]
    pub head: ToolCallHead,
    /// Arguments and description of the call.
    #[wire(flatten)]
    pub parameters: ToolCallParameters,
    /// Reason for the approval, and the selected option.
    #[wire(flatten)]
    pub approval: ToolCallApproval,
    /// Content that the call has produced so far.
    pub content: Option<Vec<ToolResultContent>>,
}

impl Variant for ToolCallRunning {
    const TAG: &'static str = "status";
    const NAME: &'static str = "running";
}

/// A tool call that is paused until its MCP server has a token. Only calls to MCP servers can
/// have this status.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ToolCallAuthRequired {
    /// Fields that a tool call has in every status.
    #[wire(flatten)]
    pub head: ToolCallHead,
    /// Arguments and description of the call.
    #[wire(flatten)]
    pub parameters: ToolCallParameters,
    /// Reason for the approval, and the selected option.
    #[wire(flatten)]
    pub approval: ToolCallApproval,
    /// Authentication requirement of the server. Never contains a token.
    pub auth: McpAuthRequirement,
    /// Content that the call had produced before the pause.
    pub content: Option<Vec<ToolResultContent>>,
}

impl Variant for ToolCallAuthRequired {
    const TAG: &'static str = "status";
    const NAME: &'static str = "auth-required";
}

/// A tool call that has ended and whose result waits for approval.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ToolCallPendingResultConfirmation {
    /// Fields that a tool call has in every status.
    #[wire(flatten)]
    pub head: ToolCallHead,
    /// Arguments and description of the call.
    #[wire(flatten)]
    pub parameters: ToolCallParameters,
    /// Result that waits for approval.
    #[wire(flatten)]
    pub result: ToolCallResult,
    /// Reason for the approval, and the selected option.
    #[wire(flatten)]
    pub approval: ToolCallApproval,
}

/// A tool call that has ended, successfully or with an error.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ToolCallCompleted {
    /// Fields that a tool call has in every status.
    #[wire(flatten)]
    pub head: ToolCallHead,
    /// Arguments and description of the call.
    #[wire(flatten)]
    pub parameters: ToolCallParameters,
    /// Result of the call.
    #[wire(flatten)]
    pub result: ToolCallResult,
    /// Reason for the approval, and the selected option.
    #[wire(flatten)]
    pub approval: ToolCallApproval,
}

/// A tool call that was denied or skipped, or whose turn ended first.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ToolCallCancelled {
    /// Fields that a tool call has in every status.
    #[wire(flatten)]
    pub head: ToolCallHead,
    /// Arguments and description of the call.
    #[wire(flatten)]
    pub parameters: ToolCallParameters,
    /// Reason for the cancellation.
    pub reason: CancellationReason,
    /// Explanation of the cancellation.
    pub reason_message: Option<MaybeMarkdown>,
    /// Alternative that the user suggests.
    pub user_suggestion: Option<Arc<Message>>,
    /// Option that the user selected, if the host offered options.
    pub selected_option: Option<ConfirmationOption>,
}

/// The peer that executes a tool call, if it is not the host.
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(tag = "kind")]
pub enum ToolCallContributor {
    /// A client that offers the tool.
    Client(ClientContributor),
    /// An MCP server of the session.
    Mcp(McpContributor),
    /// A kind that a later protocol version defines.
    #[wire(unknown)]
    Unknown(Unknown),
}

/// The client that executes a call and reports its result.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ClientContributor {
    /// Id of the client.
    pub client_id: ClientId,
}

/// The MCP server that executes a call.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct McpContributor {
    /// Id of the server among the customizations of the session.
    pub customization_id: CustomizationId,
}

/// The arguments of a tool call, inline or as a reference.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolInput {
    /// The arguments as text.
    Inline(String),
    /// Reference to the arguments. The content can change until the call is confirmed.
    Referenced(ContentRef),
}

impl Wire for ToolInput {
    fn decode(node: Node<'_>) -> Result<Self, DecodeError> {
        if node.is_text() {
            return node.text().map(|text| ToolInput::Inline(text.into()));
        }
        if !node.is_object() {
            return Err(DecodeError::expected("a string or an object", node));
        }
        ContentRef::decode(node).map(ToolInput::Referenced)
    }

    fn shape() -> Shape {
        Shape::Either(vec![String::shape, ContentRef::shape])
    }
}

impl serde::Serialize for ToolInput {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            ToolInput::Inline(text) => serializer.serialize_str(text),
            ToolInput::Referenced(content) => content.serialize(serializer),
        }
    }
}

/// The reason why a tool call may run.
#[derive(Debug, Clone, PartialEq, Eq, Wire)]
#[wire(case = "kebab")]
pub enum ConfirmationReason {
    /// The call requires no confirmation.
    NotNeeded,
    /// The user approved the call.
    UserAction,
    /// A setting of the user approves such calls.
    Setting,
    /// A reason that a later protocol version defines.
    #[wire(unknown)]
    Unknown(String),
}

/// The reason why a tool call was cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Wire)]
#[wire(case = "kebab")]
pub enum CancellationReason {
    /// The user denied the call.
    Denied,
    /// The call was skipped, or its turn ended.
    Skipped,
    /// The call ran, but the user denied its result.
    ResultDenied,
}

/// The effect of a confirmation option.
#[derive(Debug, Clone, PartialEq, Eq, Wire)]
pub enum ConfirmationOptionKind {
    /// The option approves the call.
    Approve,
    /// The option denies the call.
    Deny,
    /// A kind that a later protocol version defines.
    #[wire(unknown)]
    Unknown(String),
}

/// An option in the confirmation dialog of a tool call.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ConfirmationOption {
    /// Id of the option, unique in the call.
    pub id: ConfirmationOptionId,
    /// Display name for the user interface.
    pub label: String,
    /// Effect of the option.
    pub kind: ConfirmationOptionKind,
    /// Group number; clients show options of a group together.
    pub group: Option<i64>,
}

/// An assessment of the risk of a tool call.
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(tag = "status")]
pub enum RiskAssessment {
    /// The assessment is in progress.
    Loading(RiskAssessmentLoading),
    /// The assessment is complete.
    Complete(RiskAssessmentComplete),
    /// A status that a later protocol version defines.
    #[wire(unknown)]
    Unknown(Unknown),
}

/// The kind of assessor.
#[derive(Debug, Clone, PartialEq, Eq, Wire)]
pub enum RiskAssessmentKind {
    /// A language model as a judge.
    Judge,
    /// A kind that a later protocol version defines.
    #[wire(unknown)]
    Unknown(String),
}

/// A risk assessment in progress.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct RiskAssessmentLoading {
    /// Kind of assessor that is used.
    pub kind: RiskAssessmentKind,
}

/// A completed risk assessment.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct RiskAssessmentComplete {
    /// Kind of assessor that is used.
    pub kind: RiskAssessmentKind,
    /// Explanation of the assessment.
    pub reason: MaybeMarkdown,
    /// Safety score from 0 (unsafe) to 1 (safe).
    pub safety: Number,
}

impl ToolCall {
    /// Returns the fields that every call has; `None` for an unknown status.
    pub fn head(&self) -> Option<&ToolCallHead> {
        match self {
            ToolCall::Streaming(call) => Some(&call.head),
            ToolCall::PendingConfirmation(call) => Some(&call.head),
            ToolCall::Running(call) => Some(&call.head),
            ToolCall::AuthRequired(call) => Some(&call.head),
            ToolCall::PendingResultConfirmation(call) => Some(&call.head),
            ToolCall::Completed(call) => Some(&call.head),
            ToolCall::Cancelled(call) => Some(&call.head),
            ToolCall::Unknown(_) => None,
        }
    }

    /// Returns the content that the call has produced so far.
    pub fn content(&self) -> &[ToolResultContent] {
        let content = match self {
            ToolCall::Running(call) => &call.content,
            ToolCall::AuthRequired(call) => &call.content,
            ToolCall::PendingResultConfirmation(call) => &call.result.content,
            ToolCall::Completed(call) => &call.result.content,
            ToolCall::Streaming(_)
            | ToolCall::PendingConfirmation(_)
            | ToolCall::Cancelled(_)
            | ToolCall::Unknown(_) => &None,
        };
        content.as_deref().unwrap_or_default()
    }

    /// Returns `true` if the call waits for the user.
    pub fn awaits_user(&self) -> bool {
        match self {
            ToolCall::PendingConfirmation(_)
            | ToolCall::PendingResultConfirmation(_)
            | ToolCall::AuthRequired(_) => true,
            ToolCall::Streaming(_)
            | ToolCall::Running(_)
            | ToolCall::Completed(_)
            | ToolCall::Cancelled(_)
            | ToolCall::Unknown(_) => false,
        }
    }
}
