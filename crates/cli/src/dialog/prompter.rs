//! Prompts the user for the approvals and answers that a chat waits for.

use std::time::Duration;

use agenthost_protocol::chat::{ChatAction, ChatState, ResponsePart, ToolCall, ToolCallTarget};
use agenthost_view::request::RequestScope;
use tokio::time::Instant;

use crate::dialog::confirm::{ResultConfirmation, ToolConfirmation};
pub(crate) use crate::dialog::form::DECLINE_COMMAND;
use crate::dialog::form::InputForm;

use super::printer::TurnPrinter;
use crate::terminal::attention::Attention;

/// Time before a prompt is printed. A hook or another client may answer it at once, and users
/// do not notice the delay.
const PROMPT_DELAY: Duration = Duration::from_millis(40);

/// Time after which a user can have read a prompt.
const READING_TIME: Duration = Duration::from_millis(400);

/// Shows one prompt at a time. The open prompt is derived from the confirmed state of the
/// chat. So a prompt disappears when another client answers it, and the next one is shown
/// only after the host has confirmed the answer to the last.
pub(crate) struct Prompter {
    open: Option<OpenPrompt>,
    /// Time at which the open prompt was opened.
    opened_at: Option<Instant>,
    is_printed: bool,
    /// Time at which the open prompt was printed.
    printed_at: Option<Instant>,
    /// `true` if the user has seen the open prompt before: the last answer was not valid.
    is_repeated: bool,
    /// `true` after the host has rejected an answer, until the prompt opens again.
    was_rejected: bool,
    /// The prompt that was answered, until the host has confirmed or rejected the answer.
    unconfirmed: Option<OpenPrompt>,
    /// `true` if a printed prompt disappeared because another client answered it.
    was_withdrawn: bool,
    /// `true` if that happened after the last line of input: the next line may be meant as
    /// its answer.
    may_be_late: bool,
    attention: Attention,
}

/// A prompt that waits for the user.
#[derive(PartialEq)]
enum OpenPrompt {
    /// Approval to run a tool call.
    Call(ToolConfirmation),
    /// Approval to use the result of a tool call.
    Result(ResultConfirmation),
    /// A question of an input request.
    Form(Box<InputForm>),
}

/// The result of a line of input.
pub(crate) enum LineOutcome {
    /// A valid answer to the open prompt.
    Answer(Box<ChatAction>),
    /// A line that is not a valid answer.
    Unclear,
}

impl Prompter {
    pub(crate) fn new() -> Self {
        Prompter {
            open: None,
            opened_at: None,
            is_printed: false,
            printed_at: None,
            is_repeated: false,
            was_rejected: false,
            unconfirmed: None,
            was_withdrawn: false,
            may_be_late: false,
            attention: Attention::new(),
        }
    }

    /// Updates the open prompt from the state of the chat.
    pub(crate) fn update_from_chat(&mut self, chat: &ChatState, scope: Option<&RequestScope>) {
        let turn = chat.active_turn.as_ref();
        let open = turn.and_then(|turn| {
            let mut parts = turn.response_parts.items();
            parts.find_map(|part| match part {
                ResponsePart::ToolCall(part) => {
                    prompt_for_call(turn.id.clone(), &part.tool_call, scope)
                }
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
            self.attention.end_call();
            self.is_printed = false;
            self.is_repeated = std::mem::take(&mut self.was_rejected);
            self.opened_at = open.is_some().then(Instant::now);
            self.open = open;
        }
    }

    /// Returns `true` once after a printed prompt was answered by another client.
    pub(crate) fn take_withdrawn(&mut self) -> bool {
        std::mem::take(&mut self.was_withdrawn)
    }

    /// Returns `true` if a line looks like an answer to a prompt that another client has
    /// answered.
    pub(crate) fn is_late_answer(&mut self, line: &str) -> bool {
        let missed = std::mem::take(&mut self.may_be_late);
        missed
            && (crate::dialog::form::parse_yes_no(line).is_some() || line.parse::<usize>().is_ok())
    }

    /// Handles the rejection of an answer by the host: the prompt opens again.
    pub(crate) fn handle_rejection(&mut self) {
        self.unconfirmed = None;
        self.was_rejected = true;
    }

    /// Returns `true` if the user has seen the open prompt before.
    pub(crate) fn is_repeated(&self) -> bool {
        self.is_repeated
    }

    /// Returns `true` while an answer waits for the host's confirmation.
    pub(crate) fn is_answer_pending(&self) -> bool {
        self.unconfirmed.is_some()
    }

    /// Returns `true` if a prompt was printed and waits for the user.
    pub(crate) fn has_printed_prompt(&self) -> bool {
        self.open.is_some() && self.is_printed
    }

    /// Returns `true` if a prompt is about to be printed.
    pub(crate) fn has_unprinted_prompt(&self) -> bool {
        self.open.is_some() && !self.is_printed
    }

    /// Waits until the open prompt has to be printed. This method is cancel safe.
    pub(crate) async fn wait_for_prompt(&self) {
        match self.opened_at.filter(|_| self.has_unprinted_prompt()) {
            Some(opened_at) => tokio::time::sleep_until(opened_at + PROMPT_DELAY).await,
            None => std::future::pending().await,
        }
    }

    /// Prints the open prompt, unless it was printed already.
    pub(crate) fn print_prompt(&mut self, printer: &mut TurnPrinter) -> anyhow::Result<()> {
        let Some(open) = self.open.as_ref().filter(|_| !self.is_printed) else {
            return Ok(());
        };
        let lines = match open {
            OpenPrompt::Call(call) => {
                printer.add_shown_call(call.target().tool_call_id.clone());
                call.prompt()
            }
            OpenPrompt::Result(result) => result.prompt(),
            OpenPrompt::Form(form) => form.prompt(),
        };
        for line in lines {
            printer.output.print_note_line(&line)?;
        }
        self.attention.call("agenthost: an answer is needed");
        self.is_printed = true;
        self.printed_at = Some(Instant::now());
        Ok(())
    }

    /// Returns `true` if a line is not meant as an answer to the open prompt: it does not look like
    /// one, and the prompt has only just appeared for the first time.
    pub(crate) fn is_typed_ahead(&self, line: &str) -> bool {
        let looks_like_answer = crate::dialog::form::parse_yes_no(line).is_some()
            || line.parse::<usize>().is_ok()
            || line.is_empty();
        let is_new = self
            .printed_at
            .is_some_and(|printed_at| printed_at.elapsed() < READING_TIME);
        self.has_printed_prompt() && !self.is_repeated && is_new && !looks_like_answer
    }

    /// Restores the title of the window, because this process ends.
    pub(crate) fn end_attention(&mut self) {
        self.attention.end_call();
    }

    /// Parses a line as the answer to the open prompt. After an invalid line the prompt is
    /// printed again.
    pub(crate) fn handle_line(&mut self, line: &str) -> LineOutcome {
        self.is_printed = false;
        self.is_repeated = true;
        let line = line.trim();
        let answer = self.open.as_ref().and_then(|open| match open {
            OpenPrompt::Call(call) => call.parse_answer(line),
            OpenPrompt::Result(result) => result.parse_answer(line),
            OpenPrompt::Form(form) => form.parse_answer(line),
        });
        match answer {
            Some(answer) => {
                self.attention.end_call();
                self.unconfirmed = self.open.take();
                LineOutcome::Answer(Box::new(answer))
            }
            None => LineOutcome::Unclear,
        }
    }

    /// Approves the open prompt. A form that needs answers of the user is declined.
    pub(crate) fn approve(&mut self) -> Option<ChatAction> {
        let answer = match self.open.as_ref()? {
            OpenPrompt::Call(call) => call.approve(),
            OpenPrompt::Result(result) => result.to_action(true),
            OpenPrompt::Form(form) => form.accept_defaults(),
        };
        self.unconfirmed = self.open.take();
        Some(answer)
    }

    /// Denies or declines the open prompt.
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
    scope: Option<&RequestScope>,
) -> Option<OpenPrompt> {
    let target = ToolCallTarget {
        turn_id,
        tool_call_id: call.head()?.tool_call_id.clone(),
        meta: None,
    };
    match call {
        ToolCall::PendingConfirmation(call) => {
            Some(OpenPrompt::Call(ToolConfirmation::new(target, call, scope)))
        }
        ToolCall::PendingResultConfirmation(call) => {
            Some(OpenPrompt::Result(ResultConfirmation::new(target, call)))
        }
        _ => None,
    }
}
