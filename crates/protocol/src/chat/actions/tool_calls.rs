//! Payloads of the actions on tool calls.

use std::sync::Arc;

use crate::chat::{
    CancellationReason, ConfirmationReason, Message, ToolCallContributor, ToolCallQuestion,
    ToolCallResult, ToolInput, ToolResultContent,
};
use crate::common::{McpAuthRequirement, Meta};
use crate::ids::{ConfirmationOptionId, ToolCallId, TurnId};
use crate::text::MaybeMarkdown;
use crate::wire::Wire;

/// The tool call that an action applies to.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ToolCallTarget {
    /// Id of the active turn.
    pub turn_id: TurnId,
    /// Id of the tool call.
    pub tool_call_id: ToolCallId,
    /// Extension data; replaces that of the tool call (TOO-23).
    pub meta: Option<Meta>,
}

/// A tool call was started.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ToolCallStart {
    /// Identifies the new tool call.
    #[wire(flatten)]
    pub target: ToolCallTarget,
    /// Machine-readable name of the tool.
    pub tool_name: String,
    /// Display name of the tool.
    pub display_name: String,
    /// Purpose of the call.
    pub intention: Option<String>,
    /// Peer that executes the call; absent means the host.
    pub contributor: Option<ToolCallContributor>,
}

/// The arguments of a streaming tool call were extended.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ToolCallDelta {
    /// Tool call that the action applies to.
    #[wire(flatten)]
    pub target: ToolCallTarget,
    /// Text to append to the arguments.
    pub content: Option<String>,
    /// Preliminary description of the operation.
    pub invocation_message: Option<MaybeMarkdown>,
}

/// The arguments of a tool call are complete. With `confirmed` it runs; otherwise it waits for
/// confirmation. Can also request confirmation again during a run.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ToolCallReady {
    /// Tool call that the action applies to.
    #[wire(flatten)]
    pub target: ToolCallTarget,
    /// More precise contributor. Can't transfer the call to a client or from one (TOO-5).
    pub contributor: Option<ToolCallContributor>,
    /// Purpose of the call.
    pub intention: Option<String>,
    /// Description of the operation.
    pub invocation_message: MaybeMarkdown,
    /// Arguments of the call.
    pub tool_input: Option<ToolInput>,
    /// Data for the confirmation dialog, if `confirmed` is absent.
    #[wire(flatten)]
    pub question: ToolCallQuestion,
    /// Reason why the call may run without confirmation.
    pub confirmed: Option<ConfirmationReason>,
}

/// A tool call was approved or denied.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ToolCallConfirmed {
    /// Tool call that the action applies to.
    #[wire(flatten)]
    pub target: ToolCallTarget,
    /// `true` if the call may run.
    pub approved: bool,
    /// Reason for the approval.
    pub confirmed: Option<ConfirmationReason>,
    /// Reason for the denial.
    pub reason: Option<CancellationReason>,
    /// Edited arguments, if they were editable.
    pub edited_tool_input: Option<String>,
    /// Alternative that the user suggests.
    pub user_suggestion: Option<Arc<Message>>,
    /// Explanation of the denial.
    pub reason_message: Option<MaybeMarkdown>,
    /// Id of the selected option.
    pub selected_option_id: Option<ConfirmationOptionId>,
}

/// A tool call has ended.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ToolCallComplete {
    /// Tool call that the action applies to.
    #[wire(flatten)]
    pub target: ToolCallTarget,
    /// Result of the call.
    pub result: ToolCallResult,
    /// `true` if the result must be approved before it is used.
    pub requires_result_confirmation: Option<bool>,
}

/// The use of a tool call's result was approved or denied.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ToolCallResultConfirmed {
    /// Tool call that the action applies to.
    #[wire(flatten)]
    pub target: ToolCallTarget,
    /// `true` if the result may be used.
    pub approved: bool,
}

/// The content of a running tool call changed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ToolCallContentChanged {
    /// Tool call that the action applies to.
    #[wire(flatten)]
    pub target: ToolCallTarget,
    /// Complete content so far; replaces the previous content.
    pub content: Vec<ToolResultContent>,
}

/// A running tool call of an MCP server requires authentication.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ToolCallAuthNeeded {
    /// Tool call that the action applies to.
    #[wire(flatten)]
    pub target: ToolCallTarget,
    /// Authentication requirement of the server.
    pub auth: McpAuthRequirement,
}

/// Authentication succeeded and the tool call continues.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ToolCallAuthResolved {
    /// Tool call that the action applies to.
    #[wire(flatten)]
    pub target: ToolCallTarget,
}
