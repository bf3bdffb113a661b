//! A tool call and the states it goes through.
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

/// A tool call in the state it is in.
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(tag = "status", case = "kebab")]
pub enum ToolCall {
    /// The model is still writing the arguments.
    Streaming(ToolCallStreaming),
    /// It may not run before someone agrees.
    PendingConfirmation(ToolCallPendingConfirmation),
    /// It runs.
    Running(ToolCallRunning),
    /// It runs, but its MCP server wants a token first.
    AuthRequired(ToolCallAuthRequired),
    /// It is done, but nobody may use the result before someone agrees.
    PendingResultConfirmation(ToolCallPendingResultConfirmation),
    /// It is done, well or badly.
    Completed(ToolCallCompleted),
    /// It was not wanted, or its turn ended first.
    Cancelled(ToolCallCancelled),
    /// A state of a newer version.
    #[wire(unknown)]
    Unknown(Unknown),
}

/// What a tool call has in every state.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ToolCallHead {
    /// Its name in the turn.
    pub tool_call_id: ToolCallId,
    /// The tool, for programs. Clients show it as a label at most.
    pub tool_name: String,
    /// The tool, for people.
    pub display_name: String,
    /// What the call is for.
    pub intention: Option<String>,
    /// Who carries it out; absent means the host.
    pub contributor: Option<ToolCallContributor>,
    /// Free data.
    pub meta: Option<Meta>,
}

/// What a tool call has once its arguments are complete.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ToolCallParameters {
    /// What it will do, or does.
    pub invocation_message: MaybeMarkdown,
    /// The arguments.
    pub tool_input: Option<ToolInput>,
}

/// What a tool call has once it was allowed to run.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ToolCallApproval {
    /// What allowed it.
    pub confirmed: ConfirmationReason,
    /// The option that was picked, if there were options.
    pub selected_option: Option<ConfirmationOption>,
}

/// The model is still writing the arguments.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ToolCallStreaming {
    /// What every call has.
    #[wire(flatten)]
    pub head: ToolCallHead,
    /// The arguments so far.
    pub partial_input: Option<String>,
    /// What it is going to do, as far as can be told.
    pub invocation_message: Option<MaybeMarkdown>,
}

/// Waits for someone to agree, before it runs or in the middle.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ToolCallPendingConfirmation {
    /// What every call has.
    #[wire(flatten)]
    pub head: ToolCallHead,
    /// What it wants to do.
    #[wire(flatten)]
    pub parameters: ToolCallParameters,
    /// The question.
    #[wire(flatten)]
    pub question: ToolCallQuestion,
}

/// What is asked about a call before it may run.
#[derive(Debug, Clone, Default, PartialEq, Wire)]
pub struct ToolCallQuestion {
    /// Title of the question.
    pub confirmation_title: Option<MaybeMarkdown>,
    /// What a judge thinks of it.
    pub risk_assessment: Option<RiskAssessment>,
    /// The file changes it would make.
    pub edits: Option<FileEditCollection>,
    /// Whether the arguments may be edited before agreeing.
    pub editable: Option<bool>,
    /// Answers to choose from, instead of plain yes and no.
    pub options: Option<Vec<ConfirmationOption>>,
}

impl ToolCallQuestion {
    /// The same question, with what was asked before where it says nothing.
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

/// Runs.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ToolCallRunning {
    /// What every call has.
    #[wire(flatten)]
    pub head: ToolCallHead,
    /// What it does.
    #[wire(flatten)]
    pub parameters: ToolCallParameters,
    /// What allowed it.
    #[wire(flatten)]
    pub approval: ToolCallApproval,
    /// What it has produced so far.
    pub content: Option<Vec<ToolResultContent>>,
}

impl Variant for ToolCallRunning {
    const TAG: &'static str = "status";
    const NAME: &'static str = "running";
}

/// Paused until its MCP server gets a token. Only a call of an MCP server can
/// be here.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ToolCallAuthRequired {
    /// What every call has.
    #[wire(flatten)]
    pub head: ToolCallHead,
    /// What it does.
    #[wire(flatten)]
    pub parameters: ToolCallParameters,
    /// What allowed it.
    #[wire(flatten)]
    pub approval: ToolCallApproval,
    /// What the server asks for. Never holds a token.
    pub auth: McpAuthRequirement,
    /// What it had produced before.
    pub content: Option<Vec<ToolResultContent>>,
}

impl Variant for ToolCallAuthRequired {
    const TAG: &'static str = "status";
    const NAME: &'static str = "auth-required";
}

/// Done; the result waits for someone to agree.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ToolCallPendingResultConfirmation {
    /// What every call has.
    #[wire(flatten)]
    pub head: ToolCallHead,
    /// What it did.
    #[wire(flatten)]
    pub parameters: ToolCallParameters,
    /// The result.
    #[wire(flatten)]
    pub result: ToolCallResult,
    /// What allowed it to run.
    #[wire(flatten)]
    pub approval: ToolCallApproval,
}

/// Done, well or badly.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ToolCallCompleted {
    /// What every call has.
    #[wire(flatten)]
    pub head: ToolCallHead,
    /// What it did.
    #[wire(flatten)]
    pub parameters: ToolCallParameters,
    /// The result.
    #[wire(flatten)]
    pub result: ToolCallResult,
    /// What allowed it to run.
    #[wire(flatten)]
    pub approval: ToolCallApproval,
}

/// Not wanted, or overtaken by the end of its turn.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ToolCallCancelled {
    /// What every call has.
    #[wire(flatten)]
    pub head: ToolCallHead,
    /// What it would have done.
    #[wire(flatten)]
    pub parameters: ToolCallParameters,
    /// Why it ended.
    pub reason: CancellationReason,
    /// Why, in words.
    pub reason_message: Option<MaybeMarkdown>,
    /// What the user wants instead.
    pub user_suggestion: Option<Arc<Message>>,
    /// The option that was picked, if there were options.
    pub selected_option: Option<ConfirmationOption>,
}

/// Who carries a tool call out, if it is not the host.
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(tag = "kind")]
pub enum ToolCallContributor {
    /// A client, with a tool it offered.
    Client(ClientContributor),
    /// An MCP server.
    Mcp(McpContributor),
    /// A kind of a newer version.
    #[wire(unknown)]
    Unknown(Unknown),
}

/// The client that carries a call out and reports its result.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ClientContributor {
    /// The client.
    pub client_id: ClientId,
}

/// The MCP server that a call goes to.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct McpContributor {
    /// The server among the customizations of the session.
    pub customization_id: CustomizationId,
}

/// The arguments of a tool call, here or elsewhere.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolInput {
    /// The arguments themselves.
    Inline(String),
    /// Where they are. The content may change until the call is confirmed.
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

/// What allowed a call to run.
#[derive(Debug, Clone, PartialEq, Eq, Wire)]
#[wire(case = "kebab")]
pub enum ConfirmationReason {
    /// Nobody had to be asked.
    NotNeeded,
    /// The user agreed.
    UserAction,
    /// The user had agreed once and for all.
    Setting,
    /// A reason of a newer version.
    #[wire(unknown)]
    Unknown(String),
}

/// Why a call was cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Wire)]
#[wire(case = "kebab")]
pub enum CancellationReason {
    /// The user said no.
    Denied,
    /// It was passed over, or its turn ended.
    Skipped,
    /// It ran, but the user withheld the result.
    ResultDenied,
}

/// Whether an option lets the call run.
#[derive(Debug, Clone, PartialEq, Eq, Wire)]
pub enum ConfirmationOptionKind {
    /// It does.
    Approve,
    /// It does not.
    Deny,
    /// A kind of a newer version.
    #[wire(unknown)]
    Unknown(String),
}

/// An answer that the host offers for a confirmation.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ConfirmationOption {
    /// Its name in the call.
    pub id: ConfirmationOptionId,
    /// Name for people.
    pub label: String,
    /// Whether it lets the call run.
    pub kind: ConfirmationOptionKind,
    /// Options with the same number belong together on the screen.
    pub group: Option<i64>,
}

/// What a judge thinks of a call.
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(tag = "status")]
pub enum RiskAssessment {
    /// Still thinking.
    Loading(RiskAssessmentLoading),
    /// Done.
    Complete(RiskAssessmentComplete),
    /// A state of a newer version.
    #[wire(unknown)]
    Unknown(Unknown),
}

/// What kind of judge it is.
#[derive(Debug, Clone, PartialEq, Eq, Wire)]
pub enum RiskAssessmentKind {
    /// A model.
    Judge,
    /// A kind of a newer version.
    #[wire(unknown)]
    Unknown(String),
}

/// A judge that is still thinking.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct RiskAssessmentLoading {
    /// What kind of judge.
    pub kind: RiskAssessmentKind,
}

/// A judgement.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct RiskAssessmentComplete {
    /// What kind of judge.
    pub kind: RiskAssessmentKind,
    /// Why.
    pub reason: MaybeMarkdown,
    /// From 0, unsafe, to 1, safe.
    pub safety: Number,
}

impl ToolCall {
    /// What every call has; `None` in a state that this version doesn't know.
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

    /// The content that the call has produced so far.
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

    /// Whether the call waits for a person.
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
