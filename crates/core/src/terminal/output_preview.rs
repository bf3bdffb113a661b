//! Output previews: the latest output of running commands, as content of their tool calls.
//!
//! Output is in terminals, and tool calls only refer to them. But VS Code ends a call at once
//! when its user cancels the turn, and drops the terminal when it exits. Then it has nothing to
//! show but the content that the call had before. For such clients the host publishes the end
//! of the output in the call at intervals.

use agenthost_protocol::chat::{
    ChatAction, ToolCallContentChanged, ToolCallTarget, ToolResultContent, ToolResultText,
};
use agenthost_protocol::number::Millis;
use agenthost_protocol::terminal::{TerminalClaim, TerminalLifecycle, TerminalState};
use agenthost_protocol::uri::Uri;

use crate::chat::turn::unfinished_calls::partial_result;
use crate::host::Host;
use crate::host::effect::Effects;
use crate::host::input::Input;
use crate::host::step::Env;

/// Delay of the first preview after the first output. It is short, because the user may cancel
/// the turn at any time.
const FIRST_PREVIEW_DELAY_MS: i64 = 100;

/// Bounds of the interval between two previews. The interval grows with the run time of the
/// command, because the log stores every preview.
const MIN_PREVIEW_INTERVAL_MS: i64 = 1_000;
const MAX_PREVIEW_INTERVAL_MS: i64 = 30_000;

/// The interval between two previews is the run time divided by this.
const PREVIEW_INTERVAL_DIVISOR: i64 = 10;

/// The preview state of a terminal.
#[derive(Debug, Clone)]
pub(crate) struct OutputPreview {
    /// Time of the first output.
    first_output: Millis,
    /// The preview that the call shows.
    published: Option<String>,
    /// `true` while a timer for the next preview runs.
    is_scheduled: bool,
}

impl Host {
    /// Schedules a preview, because a terminal has new output.
    pub(crate) fn schedule_preview(&mut self, env: &Env, terminal: &Uri, out: &mut Effects) {
        let known = self.terminals.output_previews.get(terminal);
        if known.is_some_and(|preview| preview.is_scheduled) || !self.needs_previews(terminal) {
            return;
        }
        let after = match known {
            None => FIRST_PREVIEW_DELAY_MS,
            Some(preview) => {
                let elapsed = env.now.0.saturating_sub(preview.first_output.0);
                (elapsed / PREVIEW_INTERVAL_DIVISOR)
                    .clamp(MIN_PREVIEW_INTERVAL_MS, MAX_PREVIEW_INTERVAL_MS)
            }
        };
        let preview = self.terminals.output_previews.entry(terminal.clone());
        let preview = preview.or_insert(OutputPreview {
            first_output: env.now,
            published: None,
            is_scheduled: true,
        });
        preview.is_scheduled = true;
        let terminal = terminal.clone();
        out.schedule(Millis(after), Input::PreviewDue { terminal });
    }

    /// Publishes the end of a terminal's output in the tool call that shows it.
    pub(crate) fn publish_output_preview(&mut self, terminal: &Uri, out: &mut Effects) {
        let Some(preview) = self.terminals.output_previews.get_mut(terminal) else {
            return;
        };
        preview.is_scheduled = false;
        let before = preview.published.clone();
        let Some(state) = self.running_terminal(terminal) else {
            self.terminals.output_previews.remove(terminal);
            return;
        };
        let TerminalClaim::Session(claim) = &state.claim else {
            return;
        };
        let chat = claim.chat.clone();
        let text = partial_result(state).preview.unwrap_or_default();
        if text.is_empty() || before.as_ref() == Some(&text) {
            return;
        }
        let Some((target, content)) = self.build_preview_content(&chat, terminal, before, &text)
        else {
            return;
        };
        let changed = ToolCallContentChanged { target, content };
        self.originate(&chat, ChatAction::ToolCallContentChanged(changed), out);
        if let Some(preview) = self.terminals.output_previews.get_mut(terminal) {
            preview.published = Some(text);
        }
    }

    /// Returns the content of the running call that shows a terminal, with the new preview in
    /// place of the previous one. Text of the agent itself is not replaced.
    fn build_preview_content(
        &self,
        chat: &Uri,
        terminal: &Uri,
        before: Option<String>,
        text: &str,
    ) -> Option<(ToolCallTarget, Vec<ToolResultContent>)> {
        let turn = self.chat(chat)?.active_turn.as_ref()?;
        let shows = |block: &ToolResultContent| {
            let block = block.as_terminal();
            block.is_some_and(|block| block.resource == *terminal)
        };
        let calls = self.unfinished_calls(chat);
        let mut calls = calls.into_iter();
        let call = calls.find(|call| call.content.iter().flatten().any(shows))?;
        let mut content = call.content.clone().unwrap_or_default();
        let own = before.map(|text| ToolResultContent::Text(ToolResultText { text }));
        content.retain(|block| own.as_ref() != Some(block));
        if content
            .iter()
            .any(|block| matches!(block, ToolResultContent::Text(_)))
        {
            return None;
        }
        let text = text.to_owned();
        content.push(ToolResultContent::Text(ToolResultText { text }));
        let target = ToolCallTarget {
            turn_id: turn.id.clone(),
            tool_call_id: call.head.tool_call_id.clone(),
            meta: None,
        };
        Some((target, content))
    }

    /// Returns the published previews of the terminals in some content.
    pub(crate) fn previews_of(&self, content: &[ToolResultContent]) -> Vec<ToolResultContent> {
        let terminals = content.iter().filter_map(ToolResultContent::as_terminal);
        let previews =
            terminals.filter_map(|block| self.terminals.output_previews.get(&block.resource));
        let told = previews.filter_map(|preview| preview.published.clone());
        told.map(|text| ToolResultContent::Text(ToolResultText { text }))
            .collect()
    }

    /// Returns `true` if a terminal belongs to a session, and a subscriber of its chat needs
    /// previews.
    fn needs_previews(&self, terminal: &Uri) -> bool {
        let Some(TerminalClaim::Session(claim)) =
            self.running_terminal(terminal).map(|state| &state.claim)
        else {
            return false;
        };
        let channel = self.channels.get(&claim.chat);
        let mut watchers = channel
            .into_iter()
            .flat_map(|channel| channel.subscribers.keys());
        watchers.any(|connection| self.connection_quirks(*connection).forgets_terminals)
    }

    fn running_terminal(&self, terminal: &Uri) -> Option<&TerminalState> {
        let state = self.terminal(terminal)?;
        (state.lifecycle == TerminalLifecycle::Running).then_some(state)
    }
}
