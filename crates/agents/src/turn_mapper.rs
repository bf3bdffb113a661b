//! Maps the events of an agent's turn to chat actions.
//!
//! The mapper is pure: events in, actions out. It opens a part before it appends to it,
//! closes the part before a different one, and never lets a tool call skip or repeat a
//! step.

use std::collections::BTreeMap;
use std::sync::Arc;

use agenthost_protocol::chat::{
    ChatAction, ConfirmationOption, ConfirmationReason, Delta, InputRequest, InputRequested,
    MarkdownPart, Reasoning, ReasoningPart, ResponsePart, ResponsePartAdded,
    SystemNotificationPart, ToolCallComplete, ToolCallContentChanged, ToolCallContributor,
    ToolCallDelta, ToolCallQuestion, ToolCallReady, ToolCallResult, ToolCallStart, ToolCallTarget,
    ToolInput, ToolResultContent, Usage,
};
use agenthost_protocol::common::{ContentRef, Meta, UsageInfo};
use agenthost_protocol::ids::{PartId, ToolCallId, TurnId};
use agenthost_protocol::text::MaybeMarkdown;

/// An event of an agent during a turn.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnEvent {
    /// More text of the response.
    Text(String),
    /// More text of the reasoning.
    Thought(String),
    /// The end of a part: the next text or reasoning begins a new one.
    Break,
    /// Content of the response that is not text.
    Content(ContentRef),
    /// A notice that is not a part of the agent's answer.
    Notice(MaybeMarkdown),
    /// An input request to the user.
    Question(InputRequest),
    /// A tool call with complete arguments.
    ToolStarted(Box<ToolStart>),
    /// A tool call with arguments that are still being streamed.
    ToolAnnounced(Box<ToolAnnounced>),
    /// More arguments of an announced tool call.
    ToolInput {
        id: ToolCallId,
        /// The next part of the arguments.
        more: Option<String>,
        /// The current description of the call.
        message: MaybeMarkdown,
    },
    /// The complete arguments of an announced tool call, or a request for approval of a
    /// running one.
    ToolReady(Box<ToolReady>),
    /// Content of a running tool call.
    ToolContent(ToolContent),
    ToolCompleted(ToolCallId, Box<ToolCallResult>),
    /// The token usage of the turn so far.
    Usage(UsageInfo),
}

/// The content of a running tool call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolContent {
    pub id: ToolCallId,
    /// The complete content, which replaces the previous one.
    pub content: Vec<ToolResultContent>,
    /// Metadata that replaces the previous one; `None` leaves it unchanged.
    pub meta: Option<Meta>,
}

/// A tool call that starts with complete arguments.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolStart {
    /// The id of the call, unique in the turn.
    pub id: ToolCallId,
    /// The name of the tool for programs.
    pub name: String,
    /// The name of the tool for users.
    pub display_name: String,
    /// A description of the call.
    pub message: MaybeMarkdown,
    /// The arguments of the call.
    pub input: Option<String>,
    /// The approval request; `None` if the call needs no approval.
    pub question: Option<ToolCallQuestion>,
    /// Metadata of the tool call.
    pub meta: Option<Meta>,
}

/// A tool call with arguments that are not complete yet.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolAnnounced {
    /// The id of the call, unique in the turn.
    pub id: ToolCallId,
    /// The name of the tool for programs.
    pub name: String,
    /// The name of the tool for users.
    pub display_name: String,
    /// The purpose of the call, if the agent states it.
    pub intention: Option<String>,
    /// The contributor of the tool, unless it is the agent's own.
    pub contributor: Option<ToolCallContributor>,
    /// Metadata of the tool call.
    pub meta: Option<Meta>,
}

/// The complete arguments of a tool call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolReady {
    pub id: ToolCallId,
    /// A description of the call.
    pub message: MaybeMarkdown,
    /// The purpose of the call, if the agent states it.
    pub intention: Option<String>,
    /// The arguments of the call.
    pub input: Option<String>,
    /// The approval request; `None` if the call needs no approval.
    pub question: Option<ToolCallQuestion>,
    /// The contributor of the tool, unless it is the agent's own. A client tool has its
    /// contributor from the start (TOO-5).
    pub contributor: Option<ToolCallContributor>,
    /// Metadata that replaces the previous one.
    pub meta: Option<Meta>,
}

impl ToolStart {
    /// Builds an approval request with the given options.
    pub fn build_question(title: &str, options: Vec<ConfirmationOption>) -> ToolCallQuestion {
        ToolCallQuestion {
            confirmation_title: Some(title.into()),
            options: Some(options),
            ..ToolCallQuestion::default()
        }
    }
}

/// Maps the events of one turn to chat actions.
#[derive(Debug, Clone)]
pub struct TurnMapper {
    turn: TurnId,
    part_count: u32,
    open_part: OpenPart,
    /// The progress of all tool calls.
    calls: BTreeMap<ToolCallId, CallProgress>,
}

/// The progress of a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CallProgress {
    /// The arguments are not complete.
    Announced,
    /// An approval was requested. The host knows if the call was approved.
    ApprovalRequested,
    /// The call runs without approval.
    Running,
    /// The call is completed, denied or handed over to a client.
    Done,
}

/// The part that text is appended to.
#[derive(Debug, Clone, PartialEq)]
enum OpenPart {
    None,
    Text(PartId),
    Thought(PartId),
}

impl TurnMapper {
    /// Creates a mapper for a turn that has just begun.
    pub fn new(turn: TurnId) -> Self {
        TurnMapper {
            turn,
            part_count: 0,
            open_part: OpenPart::None,
            calls: BTreeMap::new(),
        }
    }

    /// Maps one event to actions. Events that are illegal in the current state map to none.
    pub fn map(&mut self, event: TurnEvent) -> Vec<ChatAction> {
        match event {
            TurnEvent::Text(text) => self.append_text(text),
            TurnEvent::Thought(text) => self.append_thought(text),
            TurnEvent::Break => {
                self.open_part = OpenPart::None;
                Vec::new()
            }
            TurnEvent::Content(content) => {
                self.open_part = OpenPart::None;
                vec![self.add_part(ResponsePart::ContentRef(content))]
            }
            TurnEvent::Question(request) => {
                self.open_part = OpenPart::None;
                vec![ChatAction::InputRequested(Box::new(InputRequested {
                    request,
                }))]
            }
            TurnEvent::ToolAnnounced(seen) => self.announce_tool(*seen),
            TurnEvent::ToolInput { id, more, message } => {
                if self.calls.get(&id) != Some(&CallProgress::Announced) {
                    return Vec::new();
                }
                vec![ChatAction::ToolCallDelta(ToolCallDelta {
                    target: self.call_target(id),
                    content: more,
                    invocation_message: Some(message),
                })]
            }
            TurnEvent::ToolReady(ready) => self.make_tool_ready(*ready),
            TurnEvent::Notice(content) => {
                self.open_part = OpenPart::None;
                let notice = SystemNotificationPart {
                    content,
                    meta: None,
                };
                vec![self.add_part(ResponsePart::SystemNotification(notice))]
            }
            TurnEvent::ToolStarted(start) => self.start_tool(*start),
            TurnEvent::ToolContent(ToolContent { id, content, meta }) => {
                let step = self.calls.get(&id);
                if !matches!(
                    step,
                    Some(CallProgress::ApprovalRequested | CallProgress::Running)
                ) {
                    return Vec::new();
                }
                let target = ToolCallTarget {
                    meta,
                    ..self.call_target(id)
                };
                let changed = ToolCallContentChanged { target, content };
                vec![ChatAction::ToolCallContentChanged(changed)]
            }
            TurnEvent::ToolCompleted(id, result) => {
                let Some(step @ (CallProgress::ApprovalRequested | CallProgress::Running)) =
                    self.calls.get_mut(&id)
                else {
                    return Vec::new();
                };
                *step = CallProgress::Done;
                let complete = ToolCallComplete {
                    target: self.call_target(id),
                    result: *result,
                    requires_result_confirmation: None,
                };
                vec![ChatAction::ToolCallComplete(Box::new(complete))]
            }
            TurnEvent::Usage(usage) => vec![ChatAction::Usage(Usage {
                turn_id: self.turn.clone(),
                usage,
                meta: None,
            })],
        }
    }

    fn append_text(&mut self, content: String) -> Vec<ChatAction> {
        let mut actions = Vec::new();
        let id = match &self.open_part {
            OpenPart::Text(id) => id.clone(),
            OpenPart::None | OpenPart::Thought(_) => {
                let id = self.next_part_id();
                self.open_part = OpenPart::Text(id.clone());
                let part = MarkdownPart {
                    id: id.clone(),
                    content: String::new(),
                };
                actions.push(self.add_part(ResponsePart::Markdown(part)));
                id
            }
        };
        actions.push(ChatAction::Delta(Delta {
            turn_id: self.turn.clone(),
            part_id: id,
            content,
            meta: None,
        }));
        actions
    }

    fn append_thought(&mut self, content: String) -> Vec<ChatAction> {
        let mut actions = Vec::new();
        let id = match &self.open_part {
            OpenPart::Thought(id) => id.clone(),
            OpenPart::None | OpenPart::Text(_) => {
                let id = self.next_part_id();
                self.open_part = OpenPart::Thought(id.clone());
                let part = ReasoningPart {
                    id: id.clone(),
                    content: String::new(),
                };
                actions.push(self.add_part(ResponsePart::Reasoning(part)));
                id
            }
        };
        actions.push(ChatAction::Reasoning(Reasoning {
            turn_id: self.turn.clone(),
            part_id: id,
            content,
            meta: None,
        }));
        actions
    }

    /// Starts a tool call. A call starts once; repeated starts are ignored.
    fn start_tool(&mut self, start: ToolStart) -> Vec<ChatAction> {
        let mut actions = self.announce_tool(ToolAnnounced {
            id: start.id.clone(),
            name: start.name,
            display_name: start.display_name,
            intention: None,
            contributor: None,
            meta: start.meta,
        });
        if !actions.is_empty() {
            actions.extend(self.make_tool_ready(ToolReady {
                id: start.id,
                message: start.message,
                intention: None,
                input: start.input,
                question: start.question,
                contributor: None,
                meta: None,
            }));
        }
        actions
    }

    fn announce_tool(&mut self, announced: ToolAnnounced) -> Vec<ChatAction> {
        if self.calls.contains_key(&announced.id) {
            return Vec::new();
        }
        self.calls
            .insert(announced.id.clone(), CallProgress::Announced);
        self.open_part = OpenPart::None;
        let target = ToolCallTarget {
            meta: announced.meta,
            ..self.call_target(announced.id)
        };
        vec![ChatAction::ToolCallStart(Box::new(ToolCallStart {
            target,
            tool_name: announced.name,
            display_name: announced.display_name,
            intention: announced.intention,
            contributor: announced.contributor,
        }))]
    }

    /// Completes the arguments of a tool call. A running call is not started again, because
    /// that would remove its content.
    fn make_tool_ready(&mut self, ready: ToolReady) -> Vec<ChatAction> {
        let asks = ready.question.is_some();
        let next = if asks {
            CallProgress::ApprovalRequested
        } else {
            CallProgress::Running
        };
        match self.calls.get_mut(&ready.id) {
            Some(step @ CallProgress::Announced) => *step = next,
            Some(step @ (CallProgress::ApprovalRequested | CallProgress::Running)) if asks => {
                *step = next
            }
            Some(CallProgress::ApprovalRequested | CallProgress::Running | CallProgress::Done)
            | None => return Vec::new(),
        }
        let target = ToolCallTarget {
            meta: ready.meta,
            ..self.call_target(ready.id)
        };
        vec![ChatAction::ToolCallReady(Box::new(ToolCallReady {
            target,
            contributor: ready.contributor,
            intention: ready.intention,
            invocation_message: ready.message,
            tool_input: ready.input.map(ToolInput::Inline),
            question: ready.question.unwrap_or_default(),
            confirmed: (!asks).then_some(ConfirmationReason::NotNeeded),
        }))]
    }

    /// Marks a tool call as denied. The denial has ended it.
    pub fn mark_denied(&mut self, id: &ToolCallId) {
        self.calls.insert(id.clone(), CallProgress::Done);
    }

    /// Marks a tool call as handed over: the host has made it ready, and a client completes
    /// it.
    pub fn mark_handed_over(&mut self, id: &ToolCallId) {
        self.calls.insert(id.clone(), CallProgress::Done);
    }

    fn next_part_id(&mut self) -> PartId {
        self.part_count += 1;
        PartId::from(format!("part-{}", self.part_count))
    }

    fn add_part(&self, part: ResponsePart) -> ChatAction {
        ChatAction::ResponsePart(ResponsePartAdded {
            turn_id: self.turn.clone(),
            part: Arc::new(part),
            meta: None,
        })
    }

    fn call_target(&self, tool_call_id: ToolCallId) -> ToolCallTarget {
        ToolCallTarget {
            turn_id: self.turn.clone(),
            tool_call_id,
            meta: None,
        }
    }
}
