//! The output of running commands in the content of their calls.
//!
//! Output is in terminals, and calls only name them. But VS Code ends a call at
//! once when its user cancels the turn, and lets go of the terminal when that
//! exits: then it has nothing to show but the content that the call had before.
//! For clients like that the end of the output is told with the call, now and
//! then.

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

/// How long after its first output a command is previewed.
const FIRST_PREVIEW_DELAY_MS: i64 = 100;

/// The shortest and the longest time between two previews. A command that has
/// run for long is previewed less often: each preview is kept in the log.
const MIN_PREVIEW_INTERVAL_MS: i64 = 1_000;
const MAX_PREVIEW_INTERVAL_MS: i64 = 30_000;

/// Which part of the time that a command has run is between two previews.
const PREVIEW_INTERVAL_DIVISOR: i64 = 10;

/// What was told of the output of a terminal.
#[derive(Debug, Clone)]
pub(crate) struct OutputPreview {
    /// When there was output for the first time.
    first_output: Millis,
    /// What the call shows.
    published: Option<String>,
    /// Whether the next one is due some time.
    is_scheduled: bool,
}

impl Host {
    /// Schedules a preview, because something was written to a terminal.
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

    /// Tells the end of the output of a terminal with the call that shows it.
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

    /// The content of the running call that shows a terminal, with a preview in
    /// place of an earlier one. Text of the agent's own is left alone.
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

    /// The previews that calls show of the terminals among some content.
    pub(crate) fn previews_of(&self, content: &[ToolResultContent]) -> Vec<ToolResultContent> {
        let terminals = content.iter().filter_map(ToolResultContent::as_terminal);
        let previews =
            terminals.filter_map(|block| self.terminals.output_previews.get(&block.resource));
        let told = previews.filter_map(|preview| preview.published.clone());
        told.map(|text| ToolResultContent::Text(ToolResultText { text }))
            .collect()
    }

    /// Whether a terminal is one of a session, and somebody watches its chat who
    /// needs previews.
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
