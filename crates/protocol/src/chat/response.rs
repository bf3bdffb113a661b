//! The parts of a response, in the order they came.

use super::input::{InputRequest, InputResponseKind};
use super::tool_call::ToolCall;
use crate::common::{ContentRef, ErrorInfo, Meta};
use crate::ids::PartId;
use crate::text::MaybeMarkdown;
use crate::wire::{Unknown, Variant, Wire};

/// One part of a response.
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(tag = "kind")]
pub enum ResponsePart {
    /// Text of the answer.
    Markdown(MarkdownPart),
    /// Content to fetch by its URI.
    ContentRef(ContentRef),
    /// A tool call.
    ToolCall(Box<ToolCallPart>),
    /// What the model thinks.
    Reasoning(ReasoningPart),
    /// A remark of the host or the agent's harness.
    SystemNotification(SystemNotificationPart),
    /// A question to the user.
    InputRequest(Box<InputRequestPart>),
    /// Why the turn stopped.
    Error(ErrorPart),
    /// A kind of a newer version.
    #[wire(unknown)]
    Unknown(Unknown),
}

/// Text of the answer; grows by `chat/delta`.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct MarkdownPart {
    /// Its name in the turn.
    pub id: PartId,
    /// The text so far.
    pub content: String,
}

/// What the model thinks; grows by `chat/reasoning`.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ReasoningPart {
    /// Its name in the turn.
    pub id: PartId,
    /// The text so far.
    pub content: String,
}

/// A tool call; its id is the name of the part.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ToolCallPart {
    /// The call.
    pub tool_call: ToolCall,
}

/// A remark for the user and the agent, such as "the tests you started are
/// done".
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SystemNotificationPart {
    /// The remark; makes sense without `_meta`.
    pub content: MaybeMarkdown,
    /// What caused it, for programs.
    pub meta: Option<Meta>,
}

/// A question to the user. Stays where it is when it has been answered
/// (INP-6).
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct InputRequestPart {
    /// The question, with the answers so far.
    pub request: InputRequest,
    /// How it was resolved; absent while it is open, or when the turn ended
    /// first.
    pub response: Option<InputResponseKind>,
}

/// Why the turn stopped.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ErrorPart {
    /// The error.
    pub error: ErrorInfo,
    /// Whether `chat/turnResume` can take it up again. Only `true` counts.
    pub resumable: Option<bool>,
}

impl Variant for ErrorPart {
    const TAG: &'static str = "kind";
    const NAME: &'static str = "error";
}

impl ResponsePart {
    /// The name that actions target the part by. Text, reasoning and tool
    /// calls share one namespace (PRT-3).
    pub fn key(&self) -> Option<&str> {
        match self {
            ResponsePart::Markdown(part) => Some(part.id.as_str()),
            ResponsePart::Reasoning(part) => Some(part.id.as_str()),
            ResponsePart::ToolCall(part) => {
                part.tool_call.head().map(|head| head.tool_call_id.as_str())
            }
            ResponsePart::ContentRef(_)
            | ResponsePart::SystemNotification(_)
            | ResponsePart::InputRequest(_)
            | ResponsePart::Error(_)
            | ResponsePart::Unknown(_) => None,
        }
    }

    /// The tool call, if the part is one.
    pub fn as_tool_call(&self) -> Option<&ToolCall> {
        if let ResponsePart::ToolCall(part) = self {
            Some(&part.tool_call)
        } else {
            None
        }
    }

    /// Whether the part waits for a person.
    pub fn awaits_user(&self) -> bool {
        match self {
            ResponsePart::ToolCall(part) => part.tool_call.awaits_user(),
            ResponsePart::InputRequest(part) => part.response.is_none(),
            ResponsePart::Markdown(_)
            | ResponsePart::ContentRef(_)
            | ResponsePart::Reasoning(_)
            | ResponsePart::SystemNotification(_)
            | ResponsePart::Error(_)
            | ResponsePart::Unknown(_) => false,
        }
    }
}
