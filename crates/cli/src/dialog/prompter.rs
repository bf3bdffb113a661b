//! Asking the person at the terminal.

use agenthost_protocol::chat::{ChatAction, ChatState, ResponsePart, ToolCall, ToolCallTarget};

use crate::dialog::confirm::{ResultConfirmation, ToolConfirmation};
pub(crate) use crate::dialog::form::DECLINE_COMMAND;
use crate::dialog::form::InputForm;

use super::printer::TurnPrinter;
use crate::output;

/// Asks what a chat waits for, one thing after the other. What is asked is
/// read from the chat as the host has it, so what others answer is not asked
/// any more, and nobody is asked the next thing before the last is settled.
#[derive(Default)]
pub(crate) struct Prompter {
    open: Option<OpenPrompt>,
    is_printed: bool,
    /// What was answered, until the host has said what it thinks of it.
    unconfirmed: Option<OpenPrompt>,
    /// Whether something that was asked is not any more, because somebody else
    /// has answered.
    was_withdrawn: bool,
    /// Whether that was since the last line was typed: it may be meant as the
    /// answer.
    may_be_late: bool,
}

/// Something that is asked.
#[derive(PartialEq)]
enum OpenPrompt {
    /// Whether a tool call may run.
    Call(ToolConfirmation),
    /// Whether the result of one may be used.
    Result(ResultConfirmation),
    /// A question of a form.
    Form(Box<InputForm>),
}

/// What a line was.
pub(crate) enum LineOutcome {
    /// An answer to what is asked.
    Answer(Box<ChatAction>),
    /// Something else.
    Unclear,
}

impl Prompter {
    /// Looks for what has to be asked now.
    pub(crate) fn update_from_chat(&mut self, chat: &ChatState) {
        let turn = chat.active_turn.as_ref();
        let open = turn.and_then(|turn| {
            let mut parts = turn.response_parts.items();
            parts.find_map(|part| match part {
                ResponsePart::ToolCall(part) => prompt_for_call(turn.id.clone(), &part.tool_call),
                ResponsePart::InputRequest(part) if part.response.is_none() => {
                    Some(OpenPrompt::Form(Box::new(InputForm::new(&part.request))))
                }
                _ => None,
            })
        });
        if self.unconfirmed.is_some() && self.unconfirmed == open {
            self.open = None;
            return;
        }
        self.unconfirmed = None;
        if open != self.open {
            let withdrawn = self.is_printed && self.open.is_some() && chat.active_turn.is_some();
            self.was_withdrawn |= withdrawn;
            self.may_be_late |= withdrawn;
            self.is_printed = false;
            self.open = open;
        }
    }

    /// Whether what was asked last was answered elsewhere; told once.
    pub(crate) fn take_withdrawn(&mut self) -> bool {
        std::mem::take(&mut self.was_withdrawn)
    }

    /// Whether a line is an answer that comes too late.
    pub(crate) fn is_late_answer(&mut self, line: &str) -> bool {
        let missed = std::mem::take(&mut self.may_be_late);
        missed
            && (crate::dialog::form::parse_yes_no(line).is_some() || line.parse::<usize>().is_ok())
    }

    /// The host did not take an answer: it is asked again.
    pub(crate) fn handle_rejection(&mut self) {
        self.unconfirmed = None;
    }

    /// Whether an answer is on its way.
    pub(crate) fn is_answer_pending(&self) -> bool {
        self.unconfirmed.is_some()
    }

    /// Whether something is asked.
    pub(crate) fn has_open_prompt(&self) -> bool {
        self.open.is_some()
    }

    /// Says what is asked, once.
    pub(crate) fn print_prompt(&mut self, printer: &mut TurnPrinter) -> anyhow::Result<()> {
        let Some(open) = self.open.as_ref().filter(|_| !self.is_printed) else {
            return Ok(());
        };
        let (text, choices) = match open {
            OpenPrompt::Call(call) => call.prompt(),
            OpenPrompt::Result(result) => result.prompt(),
            OpenPrompt::Form(form) => form.prompt(),
        };
        for line in text.lines().chain(choices.lines()) {
            printer.print_note(&output::strip_invisible(line))?;
        }
        self.is_printed = true;
        Ok(())
    }

    /// Takes a line for an answer, if it is one. If not, it is asked again.
    pub(crate) fn handle_line(&mut self, line: &str) -> LineOutcome {
        self.is_printed = false;
        let line = line.trim();
        let answer = self.open.as_ref().and_then(|open| match open {
            OpenPrompt::Call(call) => call.parse_answer(line),
            OpenPrompt::Result(result) => result.parse_answer(line),
            OpenPrompt::Form(form) => form.parse_answer(line),
        });
        match answer {
            Some(answer) => {
                self.unconfirmed = self.open.take();
                LineOutcome::Answer(Box::new(answer))
            }
            None => LineOutcome::Unclear,
        }
    }

    /// Agrees to what is asked. What nobody can agree to without knowing more
    /// is declined.
    pub(crate) fn approve(&mut self) -> Option<ChatAction> {
        let answer = match self.open.as_ref()? {
            OpenPrompt::Call(call) => call.approve(),
            OpenPrompt::Result(result) => result.to_action(true),
            OpenPrompt::Form(form) => form.accept_defaults(),
        };
        self.unconfirmed = self.open.take();
        Some(answer)
    }

    /// Denies what is asked for.
    pub(crate) fn deny(&mut self) -> Option<ChatAction> {
        let answer = match self.open.as_ref()? {
            OpenPrompt::Call(call) => call.deny(),
            OpenPrompt::Result(result) => result.to_action(false),
            OpenPrompt::Form(form) => form.decline(),
        };
        self.unconfirmed = self.open.take();
        Some(answer)
    }
}

fn prompt_for_call(
    turn_id: agenthost_protocol::ids::TurnId,
    call: &ToolCall,
) -> Option<OpenPrompt> {
    let target = ToolCallTarget {
        turn_id,
        tool_call_id: call.head()?.tool_call_id.clone(),
        meta: None,
    };
    match call {
        ToolCall::PendingConfirmation(call) => {
            Some(OpenPrompt::Call(ToolConfirmation::new(target, call)))
        }
        ToolCall::PendingResultConfirmation(call) => {
            Some(OpenPrompt::Result(ResultConfirmation::new(target, call)))
        }
        _ => None,
    }
}
