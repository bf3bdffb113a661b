//! The life of a tool call.

use std::sync::Arc;

use crate::chat::{
    CancellationReason, ConfirmationReason, Message, ToolCallContributor, ToolCallQuestion,
    ToolCallResult, ToolInput, ToolResultContent,
};
use crate::common::{McpAuthRequirement, Meta};
use crate::ids::{ConfirmationOptionId, ToolCallId, TurnId};
use crate::text::MaybeMarkdown;
use crate::wire::Wire;

/// Which tool call an action is about.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ToolCallTarget {
    /// The running turn.
    pub turn_id: TurnId,
    /// The call.
    pub tool_call_id: ToolCallId,
    /// Free data; replaces that of the call (TOO-23).
    pub meta: Option<Meta>,
}

/// A tool call began.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ToolCallStart {
    /// The new call.
    #[wire(flatten)]
    pub target: ToolCallTarget,
    /// The tool, for programs.
    pub tool_name: String,
    /// The tool, for people.
    pub display_name: String,
    /// What the call is for.
    pub intention: Option<String>,
    /// Who will carry it out; absent means the host.
    pub contributor: Option<ToolCallContributor>,
}

/// Arguments of a tool call were added, while it streams.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ToolCallDelta {
    /// The call.
    #[wire(flatten)]
    pub target: ToolCallTarget,
    /// Arguments to add.
    pub content: Option<String>,
    /// What it is going to do, as far as can be told.
    pub invocation_message: Option<MaybeMarkdown>,
}

/// The arguments of a tool call are complete. With `confirmed` it runs;
/// without, it asks first. Also asks again in the middle of a run.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ToolCallReady {
    /// The call.
    #[wire(flatten)]
    pub target: ToolCallTarget,
    /// Who will carry it out, more precisely. Can't hand the call to a client
    /// or take it from one (TOO-5).
    pub contributor: Option<ToolCallContributor>,
    /// What the call is for.
    pub intention: Option<String>,
    /// What it will do.
    pub invocation_message: MaybeMarkdown,
    /// The arguments.
    pub tool_input: Option<ToolInput>,
    /// What is asked, if it is not confirmed already.
    #[wire(flatten)]
    pub question: ToolCallQuestion,
    /// What allows it to run without asking.
    pub confirmed: Option<ConfirmationReason>,
}

/// Someone agreed to a tool call, or refused it.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ToolCallConfirmed {
    /// The call.
    #[wire(flatten)]
    pub target: ToolCallTarget,
    /// Whether it may run.
    pub approved: bool,
    /// What allows it.
    pub confirmed: Option<ConfirmationReason>,
    /// Why it may not.
    pub reason: Option<CancellationReason>,
    /// Other arguments, if they were editable.
    pub edited_tool_input: Option<String>,
    /// What the user wants instead.
    pub user_suggestion: Option<Arc<Message>>,
    /// Why it may not, in words.
    pub reason_message: Option<MaybeMarkdown>,
    /// The option that was picked.
    pub selected_option_id: Option<ConfirmationOptionId>,
}

/// A tool call is done.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ToolCallComplete {
    /// The call.
    #[wire(flatten)]
    pub target: ToolCallTarget,
    /// The result.
    pub result: ToolCallResult,
    /// Whether someone has to agree before the result is used.
    pub requires_result_confirmation: Option<bool>,
}

/// Someone released the result of a tool call, or withheld it.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ToolCallResultConfirmed {
    /// The call.
    #[wire(flatten)]
    pub target: ToolCallTarget,
    /// Whether the result may be used.
    pub approved: bool,
}

/// A running tool call produced something.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ToolCallContentChanged {
    /// The call.
    #[wire(flatten)]
    pub target: ToolCallTarget,
    /// All it has produced; replaces what was there.
    pub content: Vec<ToolResultContent>,
}

/// A running call of an MCP server needs a token.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ToolCallAuthNeeded {
    /// The call.
    #[wire(flatten)]
    pub target: ToolCallTarget,
    /// What the server asks for.
    pub auth: McpAuthRequirement,
}

/// The token is there; the call goes on.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ToolCallAuthResolved {
    /// The call.
    #[wire(flatten)]
    pub target: ToolCallTarget,
}
