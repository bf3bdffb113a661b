//! The parts of a response.

use super::input::{InputRequest, InputResponseKind};
use super::tool_call::ToolCall;
use crate::common::{ContentRef, ErrorInfo, Meta};
use crate::ids::PartId;
use crate::text::MaybeMarkdown;
use crate::wire::{Unknown, Variant, Wire};

/// A part of a response.
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(tag = "kind")]
pub enum ResponsePart {
    /// Text of the answer.
    Markdown(MarkdownPart),
    /// A reference to content that is fetched by URI.
    ContentRef(ContentRef),
    /// A tool call of the agent.
    ToolCall(Box<ToolCallPart>),
    /// Reasoning of the model.
    Reasoning(ReasoningPart),
    /// A notice of the host or of the agent.
    SystemNotification(SystemNotificationPart),
    /// An input request to the user.
    InputRequest(Box<InputRequestPart>),
    /// The error that ended the turn.
    Error(ErrorPart),
    /// A kind that a later protocol version defines.
    #[wire(unknown)]
    Unknown(Unknown),
}

/// Text of the answer; `chat/delta` appends to it.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct MarkdownPart {
    /// Id of the part, unique in the turn.
    pub id: PartId,
    /// Text received so far, as Markdown.
    pub content: String,
}

/// Reasoning of the model; `chat/reasoning` appends to it.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ReasoningPart {
    /// Id of the part, unique in the turn.
    pub id: PartId,
    /// Text received so far.
    pub content: String,
}

/// A tool call; the key of the part is the tool call id.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ToolCallPart {
    /// Current state of the tool call.
    pub tool_call: ToolCall,
}

/// A notice for the user and the agent, such as "the tests you started are done".
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SystemNotificationPart {
    /// Text of the notice; it must be complete without `_meta`.
    pub content: MaybeMarkdown,
    /// Machine-readable cause of the notice.
    pub meta: Option<Meta>,
}

/// An input request. The part stays in the response after it was resolved (INP-6).
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct InputRequestPart {
    /// The request, with the current answers.
    pub request: InputRequest,
    /// Resolution of the request; absent while it is open, or if the turn ended first.
    pub response: Option<InputResponseKind>,
}

/// The error that ended the turn.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ErrorPart {
    /// Description of the error.
    pub error: ErrorInfo,
    /// `true` if `chat/turnResume` can resume the turn; absent means `false`.
    pub resumable: Option<bool>,
}

impl Variant for ErrorPart {
    const TAG: &'static str = "kind";
    const NAME: &'static str = "error";
}

impl ResponsePart {
    /// Returns the key by which actions identify the part. Text, reasoning and tool calls share
    /// one namespace (PRT-3).
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

    /// Returns the tool call, if the part is one.
    pub fn as_tool_call(&self) -> Option<&ToolCall> {
        if let ResponsePart::ToolCall(part) = self {
            Some(&part.tool_call)
        } else {
            None
        }
    }

    /// Returns `true` if the part waits for the user.
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
