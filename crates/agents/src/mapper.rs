//! From what an agent says to actions on a chat.
//!
//! Pure: events in, actions out. It opens a part before anything is appended
//! to it, closes it when something else comes, and never lets a tool call take
//! a step that is not next.

use std::collections::BTreeSet;
use std::sync::Arc;

use agenthost_protocol::chat::{
    ChatAction, ConfirmationOption, ConfirmationReason, Delta, MarkdownPart, Reasoning,
    ReasoningPart, ResponsePart, ResponsePartAdded, SystemNotificationPart, ToolCallComplete,
    ToolCallContentChanged, ToolCallQuestion, ToolCallReady, ToolCallResult, ToolCallStart,
    ToolCallTarget, ToolInput, ToolResultContent, Usage,
};
use agenthost_protocol::common::UsageInfo;
use agenthost_protocol::ids::{PartId, ToolCallId, TurnId};
use agenthost_protocol::text::MaybeMarkdown;

/// Something that an agent says in a turn.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnEvent {
    /// Some more of its answer.
    Text(String),
    /// Some more of what it thinks.
    Thought(String),
    /// A remark that is not its answer.
    Notice(MaybeMarkdown),
    /// It wants to use a tool.
    Tool(Box<ToolStart>),
    /// What a running tool has produced; replaces what it had.
    ToolContent(ToolCallId, Vec<ToolResultContent>),
    /// A tool is done.
    ToolDone(ToolCallId, Box<ToolCallResult>),
    /// What the turn has cost so far.
    Usage(UsageInfo),
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
    /// Calls that are not done, by name.
    calls: BTreeSet<ToolCallId>,
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
            calls: BTreeSet::new(),
        }
    }

    /// Maps one event.
    pub fn map(&mut self, event: TurnEvent) -> Vec<ChatAction> {
        match event {
            TurnEvent::Text(text) => self.text(text),
            TurnEvent::Thought(text) => self.thought(text),
            TurnEvent::Notice(content) => {
                self.open = Open::None;
                let notice = SystemNotificationPart {
                    content,
                    meta: None,
                };
                vec![self.part(ResponsePart::SystemNotification(notice))]
            }
            TurnEvent::Tool(start) => self.tool(*start),
            TurnEvent::ToolContent(id, content) => {
                if !self.calls.contains(&id) {
                    return Vec::new();
                }
                let target = self.target(id);
                let changed = ToolCallContentChanged { target, content };
                vec![ChatAction::ToolCallContentChanged(changed)]
            }
            TurnEvent::ToolDone(id, result) => {
                if !self.calls.remove(&id) {
                    return Vec::new();
                }
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
        if !self.calls.insert(start.id.clone()) {
            return Vec::new();
        }
        self.open = Open::None;
        let confirmed = start
            .question
            .is_none()
            .then_some(ConfirmationReason::NotNeeded);
        vec![
            ChatAction::ToolCallStart(Box::new(ToolCallStart {
                target: self.target(start.id.clone()),
                tool_name: start.name,
                display_name: start.display_name,
                intention: None,
                contributor: None,
            })),
            ChatAction::ToolCallReady(Box::new(ToolCallReady {
                target: self.target(start.id),
                contributor: None,
                intention: None,
                invocation_message: start.message,
                tool_input: start.input.map(ToolInput::Inline),
                question: start.question.unwrap_or_default(),
                confirmed,
            })),
        ]
    }

    /// A call that somebody refused is over: the refusal ended it.
    pub fn refused(&mut self, id: &ToolCallId) {
        self.calls.remove(id);
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
