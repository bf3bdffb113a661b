//! Completes tool calls that are still running when their turn ends.
//!
//! The end of a turn cancels the running calls, and a cancelled call has no content. A call
//! that has produced output is completed as failed before that, so that its output stays in
//! the transcript (TUR-12, TOO-27).

use agenthost_protocol::chat::{
    ChatAction, ResponsePart, TerminalCommandResult, ToolCall, ToolCallComplete,
    ToolCallContributor, ToolCallResult, ToolCallRunning, ToolCallTarget, ToolResultContent,
    ToolResultText,
};
use agenthost_protocol::terminal::{OutputTail, TerminalLifecycle, TerminalPart, TerminalState};
use agenthost_protocol::text::MaybeMarkdown;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::Json;

use crate::host::Host;
use crate::host::effect::Effects;
use crate::terminal::command_report::COMMAND_PREVIEW_BYTES;

/// Error code of a call that was cancelled with its turn, for programs.
const CANCELLED_ERROR_CODE: &str = "cancelled";

/// Outcome of the turn of a running call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TurnEnd<'a> {
    /// The turn was cancelled.
    Cancelled,
    /// The turn failed, for this reason.
    Failed(&'a str),
    /// The agent has completed the turn.
    Complete,
}

impl TurnEnd<'_> {
    fn error(self) -> Json {
        let (message, code) = match self {
            TurnEnd::Cancelled => ("the tool call was cancelled", Some(CANCELLED_ERROR_CODE)),
            TurnEnd::Failed(reason) => (reason, None),
            TurnEnd::Complete => ("the turn ended before the tool call", None),
        };
        let code = code.map(|code| ("code", code));
        Json::from_iter([("message", message)].into_iter().chain(code))
    }
}

impl Host {
    /// Returns the running calls of a chat's active turn, except those that clients
    /// execute.
    pub(crate) fn unfinished_calls(&self, chat: &Uri) -> Vec<&ToolCallRunning> {
        let turn = self.chat(chat).and_then(|chat| chat.active_turn.as_ref());
        let parts = turn
            .into_iter()
            .flat_map(|turn| turn.response_parts.items());
        let calls = parts.filter_map(ResponsePart::as_tool_call);
        let running = calls.filter_map(|call| match call {
            ToolCall::Running(call) => Some(call),
            // Not started yet, paused until there is a token, or finished.
            ToolCall::Streaming(_)
            | ToolCall::PendingConfirmation(_)
            | ToolCall::AuthRequired(_)
            | ToolCall::PendingResultConfirmation(_)
            | ToolCall::Completed(_)
            | ToolCall::Cancelled(_)
            | ToolCall::Unknown(_) => None,
        });
        let is_ours = |call: &&ToolCallRunning| match &call.head.contributor {
            Some(ToolCallContributor::Client(_)) => false,
            Some(ToolCallContributor::Mcp(_) | ToolCallContributor::Unknown(_)) | None => true,
        };
        running.filter(is_ours).collect()
    }

    /// Completes the running calls of a turn that have produced output. The caller must end
    /// the turn right after.
    pub(crate) fn complete_unfinished_calls(
        &mut self,
        chat: &Uri,
        end: TurnEnd<'_>,
        out: &mut Effects,
    ) {
        let turn = self.chat(chat).and_then(|chat| chat.active_turn.as_ref());
        let Some(turn_id) = turn.map(|turn| turn.id.clone()) else {
            return;
        };
        let calls = self.unfinished_calls(chat).into_iter();
        let results: Vec<_> = calls
            .filter_map(|call| {
                let content = self.partial_output(call)?;
                let result = ToolCallResult {
                    success: false,
                    past_tense_message: call_message(call, &content),
                    content: Some(content),
                    structured_content: None,
                    error: Some(end.error()),
                };
                Some((call.head.tool_call_id.clone(), result))
            })
            .collect();
        for (tool_call_id, result) in results {
            let mut complete = ToolCallComplete {
                target: ToolCallTarget {
                    turn_id: turn_id.clone(),
                    tool_call_id,
                    meta: None,
                },
                result,
                requires_result_confirmation: None,
            };
            self.complete_with_workers(chat, &mut complete);
            let complete = ChatAction::ToolCallComplete(Box::new(complete));
            self.originate(chat, complete, out);
        }
    }

    /// Returns the output of a call so far, with the end of the output of its terminals, or
    /// `None` if there is none. Edits are left out, because it is unknown if they were
    /// made.
    fn partial_output(&self, call: &ToolCallRunning) -> Option<Vec<ToolResultContent>> {
        let blocks = call.content.iter().flatten();
        let mut blocks: Vec<_> = blocks
            .filter(|block| !matches!(block, ToolResultContent::FileEdit(_)))
            .cloned()
            .collect();
        let is_text = |block: &ToolResultContent| matches!(block, ToolResultContent::Text(_));
        let is_output = |block: &ToolResultContent| {
            is_text(block) || matches!(block, ToolResultContent::Terminal(_))
        };
        if !blocks.iter().any(is_output) {
            return None;
        }
        let mut written = Vec::new();
        for block in &mut blocks {
            if let ToolResultContent::Terminal(block) = block
                && block.result.is_none()
                && let Some(state) = self.terminal(&block.resource)
            {
                let result = partial_result(state);
                written.extend(result.preview.clone());
                block.result = Some(result);
            }
        }
        let text = written.concat();
        // Text that previews a terminal's output, also from before a restart of the host,
        // is redundant: the result contains it.
        let previews = self.previews_of(&blocks);
        blocks.retain(|block| {
            let ToolResultContent::Text(told) = block else {
                return true;
            };
            !previews.contains(block) && !text.contains(told.text.as_str())
        });
        if !text.is_empty() && !blocks.iter().any(is_text) {
            blocks.insert(0, ToolResultContent::Text(ToolResultText { text }));
        }
        Some(blocks)
    }
}

/// Returns the title of the call's terminal, or else the message that announced the call.
fn call_message(call: &ToolCallRunning, content: &[ToolResultContent]) -> MaybeMarkdown {
    let terminal = content.iter().find_map(ToolResultContent::as_terminal);
    match terminal {
        Some(block) => block.title.as_str().into(),
        None => call.parameters.invocation_message.clone(),
    }
}

/// Returns the output and exit code of a terminal's command so far.
pub(crate) fn partial_result(state: &TerminalState) -> TerminalCommandResult {
    let mut tail = OutputTail::new(COMMAND_PREVIEW_BYTES);
    for part in state.content.items() {
        match part {
            TerminalPart::Unclassified(output) => tail.push(&output.value),
            TerminalPart::Command(command) => tail.push(&command.output),
            TerminalPart::Unknown(_) => {}
        }
    }
    let (preview, truncated) = tail.finish();
    let exit_code = match &state.lifecycle {
        TerminalLifecycle::Running => None,
        TerminalLifecycle::Exited(exit) => exit.exit_code,
    };
    TerminalCommandResult {
        exit_code,
        preview: Some(preview),
        truncated: Some(truncated),
    }
}
