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
    Tool(Box<ToolStart>),
    /// It is about to use a tool; how is not known yet.
    ToolSeen(Box<ToolSeen>),
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
    ToolDone(ToolCallId, Box<ToolCallResult>),
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
pub struct ToolSeen {
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
    pub fn ask(title: &str, options: Vec<ConfirmationOption>) -> ToolCallQuestion {
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
    parts: u32,
    open: Open,
    /// All calls, and how far they got.
    calls: BTreeMap<ToolCallId, Step>,
}

/// How far a tool call got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// Its arguments are not known.
    Seen,
    /// It asks, or asked: the host knows whether somebody agreed.
    Asked,
    /// It runs without having asked.
    Runs,
    /// It is done, was refused, or is somebody else's business.
    Done,
}

/// The part that text is appended to.
#[derive(Debug, Clone, PartialEq)]
enum Open {
    None,
    Text(PartId),
    Thought(PartId),
}

impl TurnMapper {
    /// A mapper for a turn that has just begun.
    pub fn new(turn: TurnId) -> Self {
        TurnMapper {
            turn,
            parts: 0,
            open: Open::None,
            calls: BTreeMap::new(),
        }
    }

    /// Maps one event.
    pub fn map(&mut self, event: TurnEvent) -> Vec<ChatAction> {
        match event {
            TurnEvent::Text(text) => self.text(text),
            TurnEvent::Thought(text) => self.thought(text),
            TurnEvent::Break => {
                self.open = Open::None;
                Vec::new()
            }
            TurnEvent::Content(content) => {
                self.open = Open::None;
                vec![self.part(ResponsePart::ContentRef(content))]
            }
            TurnEvent::Question(request) => {
                self.open = Open::None;
                vec![ChatAction::InputRequested(Box::new(InputRequested {
                    request,
                }))]
            }
            TurnEvent::ToolSeen(seen) => self.seen(*seen),
            TurnEvent::ToolInput { id, more, message } => {
                if self.calls.get(&id) != Some(&Step::Seen) {
                    return Vec::new();
                }
                vec![ChatAction::ToolCallDelta(ToolCallDelta {
                    target: self.target(id),
                    content: more,
                    invocation_message: Some(message),
                })]
            }
            TurnEvent::ToolReady(ready) => self.ready(*ready),
            TurnEvent::Notice(content) => {
                self.open = Open::None;
                let notice = SystemNotificationPart {
                    content,
                    meta: None,
                };
                vec![self.part(ResponsePart::SystemNotification(notice))]
            }
            TurnEvent::Tool(start) => self.tool(*start),
            TurnEvent::ToolContent(ToolContent { id, content, meta }) => {
                let step = self.calls.get(&id);
                if !matches!(step, Some(Step::Asked | Step::Runs)) {
                    return Vec::new();
                }
                let target = ToolCallTarget {
                    meta,
                    ..self.target(id)
                };
                let changed = ToolCallContentChanged { target, content };
                vec![ChatAction::ToolCallContentChanged(changed)]
            }
            TurnEvent::ToolDone(id, result) => {
                let Some(step @ (Step::Asked | Step::Runs)) = self.calls.get_mut(&id) else {
                    return Vec::new();
                };
                *step = Step::Done;
                let complete = ToolCallComplete {
                    target: self.target(id),
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

    fn text(&mut self, content: String) -> Vec<ChatAction> {
        let mut actions = Vec::new();
        let id = match &self.open {
            Open::Text(id) => id.clone(),
            Open::None | Open::Thought(_) => {
                let id = self.new_part();
                self.open = Open::Text(id.clone());
                let part = MarkdownPart {
                    id: id.clone(),
                    content: String::new(),
                };
                actions.push(self.part(ResponsePart::Markdown(part)));
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

    fn thought(&mut self, content: String) -> Vec<ChatAction> {
        let mut actions = Vec::new();
        let id = match &self.open {
            Open::Thought(id) => id.clone(),
            Open::None | Open::Text(_) => {
                let id = self.new_part();
                self.open = Open::Thought(id.clone());
                let part = ReasoningPart {
                    id: id.clone(),
                    content: String::new(),
                };
                actions.push(self.part(ResponsePart::Reasoning(part)));
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
    fn tool(&mut self, start: ToolStart) -> Vec<ChatAction> {
        let mut actions = self.seen(ToolSeen {
            id: start.id.clone(),
            name: start.name,
            display_name: start.display_name,
            intention: None,
            contributor: None,
            meta: start.meta,
        });
        if !actions.is_empty() {
            actions.extend(self.ready(ToolReady {
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

    fn seen(&mut self, seen: ToolSeen) -> Vec<ChatAction> {
        if self.calls.contains_key(&seen.id) {
            return Vec::new();
        }
        self.calls.insert(seen.id.clone(), Step::Seen);
        self.open = Open::None;
        let target = ToolCallTarget {
            meta: seen.meta,
            ..self.target(seen.id)
        };
        vec![ChatAction::ToolCallStart(Box::new(ToolCallStart {
            target,
            tool_name: seen.name,
            display_name: seen.display_name,
            intention: seen.intention,
            contributor: seen.contributor,
        }))]
    }

    /// A call that runs is not made to run again: that would take away what it
    /// has produced.
    fn ready(&mut self, ready: ToolReady) -> Vec<ChatAction> {
        let asks = ready.question.is_some();
        let next = if asks { Step::Asked } else { Step::Runs };
        match self.calls.get_mut(&ready.id) {
            Some(step @ Step::Seen) => *step = next,
            Some(step @ (Step::Asked | Step::Runs)) if asks => *step = next,
            Some(Step::Asked | Step::Runs | Step::Done) | None => return Vec::new(),
        }
        let target = ToolCallTarget {
            meta: ready.meta,
            ..self.target(ready.id)
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
    pub fn refused(&mut self, id: &ToolCallId) {
        self.calls.insert(id.clone(), Step::Done);
    }

    /// A call is somebody else's business from now on: the host made it ready,
    /// and its client ends it.
    pub fn taken_over(&mut self, id: &ToolCallId) {
        self.calls.insert(id.clone(), Step::Done);
    }

    fn new_part(&mut self) -> PartId {
        self.parts += 1;
        PartId::from(format!("part-{}", self.parts))
    }

    fn part(&self, part: ResponsePart) -> ChatAction {
        ChatAction::ResponsePart(ResponsePartAdded {
            turn_id: self.turn.clone(),
            part: Arc::new(part),
            meta: None,
        })
    }

    fn target(&self, tool_call_id: ToolCallId) -> ToolCallTarget {
        ToolCallTarget {
            turn_id: self.turn.clone(),
            tool_call_id,
            meta: None,
        }
    }
}
