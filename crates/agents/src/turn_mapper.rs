//! From what an agent says to actions on a chat.
//!
//! Pure: events in, actions out. It opens a part before anything is appended
//! to it, closes it when something else comes, and never lets a tool call take
//! a step that is not next.

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

/// Something that an agent says in a turn.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnEvent {
    /// Some more of its answer.
    Text(String),
    /// Some more of what it thinks.
    Thought(String),
    /// What it says next is something else than what it said before.
    Break,
    /// Something in its answer that is not text.
    Content(ContentRef),
    /// A remark that is not its answer.
    Notice(MaybeMarkdown),
    /// It asks the user something.
    Question(InputRequest),
    /// It wants to use a tool.
    ToolStarted(Box<ToolStart>),
    /// It is about to use a tool; how is not known yet.
    ToolAnnounced(Box<ToolAnnounced>),
    /// More is known of how it will use a tool.
    ToolInput {
        /// The call.
        id: ToolCallId,
        /// More of the arguments.
        more: Option<String>,
        /// What it will do, as far as can be told.
        message: MaybeMarkdown,
    },
    /// It is known how it will use a tool; or it has to ask about one in the
    /// middle.
    ToolReady(Box<ToolReady>),
    /// What a running tool has produced.
    ToolContent(ToolContent),
    /// A tool is done.
    ToolCompleted(ToolCallId, Box<ToolCallResult>),
    /// What the turn has cost so far.
    Usage(UsageInfo),
}

/// What a running tool has produced.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolContent {
    /// The call.
    pub id: ToolCallId,
    /// All of it; replaces what it had.
    pub content: Vec<ToolResultContent>,
    /// Free data, in place of what was there; `None` leaves it.
    pub meta: Option<Meta>,
}

/// A tool that an agent wants to use.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolStart {
    /// A name for the call, new in the turn.
    pub id: ToolCallId,
    /// The tool, for programs.
    pub name: String,
    /// The tool, for people.
    pub display_name: String,
    /// What it will do.
    pub message: MaybeMarkdown,
    /// Its arguments.
    pub input: Option<String>,
    /// What to ask; `None` if nobody has to be asked.
    pub question: Option<ToolCallQuestion>,
    /// Free data.
    pub meta: Option<Meta>,
}

/// A tool that an agent is about to use.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolAnnounced {
    /// A name for the call, new in the turn.
    pub id: ToolCallId,
    /// The tool, for programs.
    pub name: String,
    /// The tool, for people.
    pub display_name: String,
    /// What the call is for, if the agent says so.
    pub intention: Option<String>,
    /// Whose tool it is, if it is not the agent's own.
    pub contributor: Option<ToolCallContributor>,
    /// Free data.
    pub meta: Option<Meta>,
}

/// How an agent wants to use a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolReady {
    /// The call.
    pub id: ToolCallId,
    /// What it will do.
    pub message: MaybeMarkdown,
    /// What the call is for, if the agent says so.
    pub intention: Option<String>,
    /// Its arguments.
    pub input: Option<String>,
    /// What to ask; `None` if nobody has to be asked.
    pub question: Option<ToolCallQuestion>,
    /// Whose tool it is, if it is not the agent's own. A client's is known as
    /// such from the start (TOO-5).
    pub contributor: Option<ToolCallContributor>,
    /// Free data, in place of what was there.
    pub meta: Option<Meta>,
}

impl ToolStart {
    /// A question with these answers to choose from.
    pub fn build_question(title: &str, options: Vec<ConfirmationOption>) -> ToolCallQuestion {
        ToolCallQuestion {
            confirmation_title: Some(title.into()),
            options: Some(options),
            ..ToolCallQuestion::default()
        }
    }
}

/// Maps the events of one turn.
#[derive(Debug, Clone)]
pub struct TurnMapper {
    turn: TurnId,
    part_count: u32,
    open_part: OpenPart,
    /// All calls, and how far they got.
    calls: BTreeMap<ToolCallId, CallProgress>,
}

/// How far a tool call got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CallProgress {
    /// Its arguments are not known.
    Announced,
    /// It asks, or asked: the host knows whether somebody agreed.
    ApprovalRequested,
    /// It runs without having asked.
    Running,
    /// It is done, was refused, or is somebody else's business.
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
    /// A mapper for a turn that has just begun.
    pub fn new(turn: TurnId) -> Self {
        TurnMapper {
            turn,
            part_count: 0,
            open_part: OpenPart::None,
            calls: BTreeMap::new(),
        }
    }

    /// Maps one event.
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

    /// A call starts once: an agent that repeats itself changes nothing.
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

    /// A call that runs is not made to run again: that would take away what it
    /// has produced.
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

    /// A call that somebody refused is over: the refusal ended it.
    pub fn mark_denied(&mut self, id: &ToolCallId) {
        self.calls.insert(id.clone(), CallProgress::Done);
    }

    /// A call is somebody else's business from now on: the host made it ready,
    /// and its client ends it.
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
