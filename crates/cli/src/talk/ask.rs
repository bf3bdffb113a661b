//! Asking the person at the terminal.

mod confirm;
mod form;

use agenthost_protocol::chat::{ChatAction, ChatState, ResponsePart, ToolCall, ToolCallTarget};

use confirm::{Confirmation, ResultConfirmation};
pub(crate) use form::DECLINE;
use form::Form;

use super::show::Show;
use crate::output;

/// Asks what a chat waits for, one thing after the other. What is asked is
/// read from the chat as the host has it, so what others answer is not asked
/// any more, and nobody is asked the next thing before the last is settled.
#[derive(Default)]
pub(crate) struct Asker {
    open: Option<Asked>,
    shown: bool,
    /// What was answered, until the host has said what it thinks of it.
    answered: Option<Asked>,
    /// Whether something that was asked is not any more, because somebody else
    /// has answered.
    withdrawn: bool,
    /// Whether that was since the last line was typed: it may be meant as the
    /// answer.
    missed: bool,
}

/// Something that is asked.
#[derive(PartialEq)]
enum Asked {
    /// Whether a tool call may run.
    Call(Confirmation),
    /// Whether the result of one may be used.
    Result(ResultConfirmation),
    /// A question of a form.
    Form(Box<Form>),
}

/// What a line was.
pub(crate) enum Taken {
    /// An answer to what is asked.
    Answer(Box<ChatAction>),
    /// Something else.
    Unclear,
}

impl Asker {
    /// Looks for what has to be asked now.
    pub(crate) fn look(&mut self, chat: &ChatState) {
        let turn = chat.active_turn.as_ref();
        let open = turn.and_then(|turn| {
            let mut parts = turn.response_parts.items();
            parts.find_map(|part| match part {
                ResponsePart::ToolCall(part) => call(turn.id.clone(), &part.tool_call),
                ResponsePart::InputRequest(part) if part.response.is_none() => {
                    Some(Asked::Form(Box::new(Form::new(&part.request))))
                }
                _ => None,
            })
        });
        if self.answered.is_some() && self.answered == open {
            self.open = None;
            return;
        }
        self.answered = None;
        if open != self.open {
            let withdrawn = self.shown && self.open.is_some() && chat.active_turn.is_some();
            self.withdrawn |= withdrawn;
            self.missed |= withdrawn;
            self.shown = false;
            self.open = open;
        }
    }

    /// Whether what was asked last was answered elsewhere; told once.
    pub(crate) fn was_withdrawn(&mut self) -> bool {
        std::mem::take(&mut self.withdrawn)
    }

    /// Whether a line is an answer that comes too late.
    pub(crate) fn is_late(&mut self, line: &str) -> bool {
        let missed = std::mem::take(&mut self.missed);
        missed && (form::yes_or_no(line).is_some() || line.parse::<usize>().is_ok())
    }

    /// The host did not take an answer: it is asked again.
    pub(crate) fn refused(&mut self) {
        self.answered = None;
    }

    /// Whether an answer is on its way.
    pub(crate) fn is_waiting(&self) -> bool {
        self.answered.is_some()
    }

    /// Whether something is asked.
    pub(crate) fn is_asking(&self) -> bool {
        self.open.is_some()
    }

    /// Says what is asked, once.
    pub(crate) fn prompt(&mut self, show: &mut Show) -> anyhow::Result<()> {
        let Some(open) = self.open.as_ref().filter(|_| !self.shown) else {
            return Ok(());
        };
        let (text, choices) = match open {
            Asked::Call(call) => call.prompt(),
            Asked::Result(result) => result.prompt(),
            Asked::Form(form) => form.prompt(),
        };
        for line in text.lines().chain(choices.lines()) {
            show.remark(&output::visible(line))?;
        }
        self.shown = true;
        Ok(())
    }

    /// Takes a line for an answer, if it is one. If not, it is asked again.
    pub(crate) fn take(&mut self, line: &str) -> Taken {
        self.shown = false;
        let line = line.trim();
        let answer = self.open.as_ref().and_then(|open| match open {
            Asked::Call(call) => call.understand(line),
            Asked::Result(result) => result.understand(line),
            Asked::Form(form) => form.understand(line),
        });
        match answer {
            Some(answer) => {
                self.answered = self.open.take();
                Taken::Answer(Box::new(answer))
            }
            None => Taken::Unclear,
        }
    }

    /// Agrees to what is asked. What nobody can agree to without knowing more
    /// is declined.
    pub(crate) fn agree(&mut self) -> Option<ChatAction> {
        let answer = match self.open.as_ref()? {
            Asked::Call(call) => call.agree(),
            Asked::Result(result) => result.decide(true),
            Asked::Form(form) => form.agree(),
        };
        self.answered = self.open.take();
        Some(answer)
    }

    /// Denies what is asked for.
    pub(crate) fn deny(&mut self) -> Option<ChatAction> {
        let answer = match self.open.as_ref()? {
            Asked::Call(call) => call.deny(),
            Asked::Result(result) => result.decide(false),
            Asked::Form(form) => form.decline(),
        };
        self.answered = self.open.take();
        Some(answer)
    }
}

fn call(turn_id: agenthost_protocol::ids::TurnId, call: &ToolCall) -> Option<Asked> {
    let target = ToolCallTarget {
        turn_id,
        tool_call_id: call.head()?.tool_call_id.clone(),
        meta: None,
    };
    match call {
        ToolCall::PendingConfirmation(call) => Some(Asked::Call(Confirmation::new(target, call))),
        ToolCall::PendingResultConfirmation(call) => {
            Some(Asked::Result(ResultConfirmation::new(target, call)))
        }
        _ => None,
    }
}
