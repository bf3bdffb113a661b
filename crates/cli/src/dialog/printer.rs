//! Prints the turns of a chat while they run.

mod history;
mod summary;
mod terminals;

use std::collections::{BTreeMap, BTreeSet};

use agenthost_client::{Client, ClientUpdate};
use agenthost_protocol::action::{Action, ReceivedAction};
use agenthost_protocol::channel::{ChannelState, Snapshot};
use agenthost_protocol::chat::{
    ChatAction, ChatState, ResponsePart, ToolCallComplete, ToolCallConfirmed, ToolCallTarget,
    TurnState,
};
use agenthost_protocol::common::UsageInfo;
use agenthost_protocol::ids::{ToolCallId, TurnId};
use agenthost_protocol::number::Millis;
use agenthost_protocol::session::SessionAction;
use agenthost_protocol::uri::Uri;

pub(crate) use self::history::HistoryExtent;
use self::summary::turn_summary;
use self::terminals::PrintedTerminal;
use super::note::NoteLine;
use super::receive_reactions;
use super::turn_output::{OutputFormat, TurnOutput};
use crate::output;
use crate::terminal::palette::Role;

/// The result of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TurnEnding {
    Succeeded,
    Failed,
    Cancelled,
}

/// What is printed besides the response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PrinterMode {
    /// One turn that this command has started. Output of commands is passed to the terminal
    /// with its escape sequences.
    OneTurn,
    /// All turns of a session, with their messages. Output of commands is plain text.
    Session,
}

/// Prints the response parts, tool output and notes of the turns of a chat.
pub(crate) struct TurnPrinter {
    pub(crate) output: TurnOutput,
    mode: PrinterMode,
    chat: Option<Uri>,
    /// `true` if a tool call of the turn has failed.
    failed: bool,
    /// `true` if a tool call of the turn was denied.
    denied: bool,
    denied_calls: BTreeSet<ToolCallId>,
    terminals: BTreeMap<Uri, PrintedTerminal>,
    /// Exit code of the last command that has ended.
    exit_code: Option<i64>,
    /// Turns whose message the user sees already, because it was typed here.
    typed_turns: BTreeSet<TurnId>,
    /// Tool calls that the user has seen.
    shown_calls: BTreeSet<ToolCallId>,
    /// The last plan of the agent in this turn.
    plan: Option<String>,
    /// The last usage of this turn.
    usage: Option<UsageInfo>,
}

impl TurnPrinter {
    pub(crate) fn new(output: TurnOutput, mode: PrinterMode) -> Self {
        TurnPrinter {
            output,
            mode,
            chat: None,
            failed: false,
            denied: false,
            denied_calls: BTreeSet::new(),
            terminals: BTreeMap::new(),
            exit_code: None,
            typed_turns: BTreeSet::new(),
            shown_calls: BTreeSet::new(),
            plan: None,
            usage: None,
        }
    }

    /// Sets the chat whose turns are printed.
    pub(crate) fn set_chat(&mut self, chat: Uri) {
        self.chat = Some(chat);
    }

    /// Notes that the message of a turn was typed at this terminal, which shows it.
    pub(crate) fn add_typed_turn(&mut self, turn: TurnId) {
        self.typed_turns.insert(turn);
    }

    /// Notes that the user has seen a tool call, because its approval was asked for here.
    pub(crate) fn add_shown_call(&mut self, call: ToolCallId) {
        self.shown_calls.insert(call);
    }

    /// Returns the exit code of the last command that has ended.
    pub(crate) fn exit_code(&self) -> Option<i64> {
        self.exit_code
    }

    /// Returns `true` if a tool call of the turn was denied.
    pub(crate) fn was_denied(&self) -> bool {
        self.denied
    }

    /// Returns the usage of the turn.
    pub(crate) fn usage(&self) -> Option<&UsageInfo> {
        self.usage.as_ref()
    }

    /// Prints a plain note.
    pub(crate) fn print_note(&mut self, text: &str) -> anyhow::Result<()> {
        self.output.print_note(text)
    }

    /// Prints the snapshot of a new subscription, in the format of JSON lines only.
    pub(crate) fn print_snapshot(&self, snapshot: Option<Snapshot>) -> anyhow::Result<()> {
        match snapshot {
            Some(snapshot) if self.output.format() == OutputFormat::StreamJson => {
                self.output.print_json(&serde_json::to_string(&snapshot)?)
            }
            _ => Ok(()),
        }
    }

    /// Prints the envelope of an action, in the format of JSON lines only.
    pub(crate) fn print_json(&self, update: &ClientUpdate) -> anyhow::Result<()> {
        match update {
            ClientUpdate::Action(envelope) if self.output.format() == OutputFormat::StreamJson => {
                self.output.print_json(&serde_json::to_string(envelope)?)
            }
            _ => Ok(()),
        }
    }

    /// Prints an update. Returns the ending of the turn if the update ended it.
    pub(crate) async fn handle_update(
        &mut self,
        client: &mut Client,
        update: &ClientUpdate,
    ) -> anyhow::Result<Option<TurnEnding>> {
        let envelope = match update {
            ClientUpdate::Action(envelope) => envelope,
            ClientUpdate::Resynced { channels, .. } => return self.handle_resync(client, channels),
            ClientUpdate::Disconnected => {
                self.print_note("lost the connection to the host; reconnecting")?;
                return Ok(None);
            }
            ClientUpdate::Reconnected => {
                self.print_note("reconnected to the host")?;
                return Ok(None);
            }
            ClientUpdate::Rejected { .. } | ClientUpdate::Notification(_) => return Ok(None),
        };
        self.print_json(update)?;
        let ReceivedAction::Valid(action) = &envelope.action else {
            return Ok(None);
        };
        match action {
            Action::Chat(action) if self.chat.as_ref() == Some(&envelope.channel) => {
                self.handle_chat_action(client, action).await
            }
            Action::Terminal(action) => {
                self.handle_terminal_action(envelope, action)?;
                Ok(None)
            }
            // Nothing else will be received about it.
            Action::Session(SessionAction::ChatRemoved(removed))
                if self.chat.as_ref() == Some(&removed.chat) =>
            {
                anyhow::bail!("the session was removed")
            }
            _ => Ok(None),
        }
    }

    /// Handles a gap in the missed actions: prints a note, and determines the ending of the
    /// turn from the chat's state.
    fn handle_resync(
        &mut self,
        client: &Client,
        channels: &[Uri],
    ) -> anyhow::Result<Option<TurnEnding>> {
        self.print_note("the connection was interrupted; some output is missing here")?;
        let Some(chat) = self.chat_state(client) else {
            anyhow::bail!("the chat was removed");
        };
        // The actions of a chat without a new snapshot were replayed completely.
        let again = self.chat.iter().any(|chat| channels.contains(chat));
        if !again || chat.active_turn.is_some() {
            return Ok(None);
        }
        let last = chat.turns.last_item();
        Ok(Some(match last.map(|turn| &turn.state) {
            Some(TurnState::Complete) if !self.failed => TurnEnding::Succeeded,
            Some(TurnState::Cancelled) => TurnEnding::Cancelled,
            _ => TurnEnding::Failed,
        }))
    }

    async fn handle_chat_action(
        &mut self,
        client: &mut Client,
        action: &ChatAction,
    ) -> anyhow::Result<Option<TurnEnding>> {
        match action {
            ChatAction::TurnStarted(started) => {
                self.begin_turn();
                let is_typed = self.typed_turns.remove(&started.turn_id);
                if self.mode == PrinterMode::Session && !is_typed {
                    self.print_message(&started.message.text)?;
                }
            }
            ChatAction::ResponsePart(added) => self.print_new_part(&added.part)?,
            ChatAction::Delta(delta) => {
                let text = output::strip_invisible(&delta.content);
                self.output.print_text(&text)?;
            }
            ChatAction::Reasoning(delta) => self.output.print_reasoning(&delta.content)?,
            ChatAction::Usage(usage) => self.usage = Some(usage.usage.clone()),
            ChatAction::ToolCallReady(ready) if ready.confirmed.is_some() => {
                self.print_call(client, &ready.target)?;
            }
            ChatAction::ToolCallConfirmed(confirmed) => self.handle_confirmed(client, confirmed)?,
            ChatAction::ToolCallContentChanged(changed) => {
                self.subscribe_terminals(client, &changed.content).await?;
                self.update_plan(client, &changed.target);
            }
            ChatAction::ToolCallComplete(complete) => {
                self.handle_call_complete(client, complete).await?;
            }
            ChatAction::TurnComplete(complete) => {
                self.print_turn_summary(Some(complete.duration))?;
                return Ok(Some(if self.failed {
                    TurnEnding::Failed
                } else {
                    TurnEnding::Succeeded
                }));
            }
            ChatAction::Error(error) => {
                let reason = &error.part.0.error.message;
                let note = NoteLine::styled(Role::Warning, "failed: ").text(reason);
                self.output.print_note_line(&note)?;
                self.print_queue_note(client).await?;
                return Ok(Some(TurnEnding::Failed));
            }
            ChatAction::TurnCancelled(_) => {
                if self.mode == PrinterMode::Session {
                    self.print_note("cancelled")?;
                }
                self.print_queue_note(client).await?;
                return Ok(Some(TurnEnding::Cancelled));
            }
            _ => {}
        }
        Ok(None)
    }

    fn begin_turn(&mut self) {
        self.failed = false;
        self.denied = false;
        self.denied_calls.clear();
        self.plan = None;
        self.usage = None;
        self.shown_calls.clear();
    }

    fn print_new_part(&mut self, part: &ResponsePart) -> anyhow::Result<()> {
        match part {
            ResponsePart::Markdown(part) => {
                let text = output::strip_invisible(&part.content);
                self.output.print_text(&text)
            }
            ResponsePart::Reasoning(part) => self.output.print_reasoning(&part.content),
            ResponsePart::SystemNotification(part) => self.print_note(part.content.as_str()),
            // Actions of their own announce these parts.
            ResponsePart::ToolCall(_)
            | ResponsePart::InputRequest(_)
            | ResponsePart::Error(_)
            | ResponsePart::ContentRef(_)
            | ResponsePart::Unknown(_) => Ok(()),
        }
    }

    /// Prints a message to the agent with a `> ` before each line.
    fn print_message(&mut self, text: &str) -> anyhow::Result<()> {
        self.output.finish_line()?;
        for line in text.lines() {
            let line = output::strip_invisible(line);
            self.output.print_text(&format!("> {line}\n"))?;
        }
        Ok(())
    }

    fn handle_confirmed(
        &mut self,
        client: &Client,
        confirmed: &ToolCallConfirmed,
    ) -> anyhow::Result<()> {
        if confirmed.approved {
            return self.print_call(client, &confirmed.target);
        }
        self.denied = true;
        self.denied_calls
            .insert(confirmed.target.tool_call_id.clone());
        let Some(reason) = &confirmed.reason_message else {
            return Ok(());
        };
        self.print_call(client, &confirmed.target)?;
        let note = NoteLine::styled(Role::Warning, "denied: ").text(reason.as_str());
        self.output.print_note_line(&note)
    }

    async fn handle_call_complete(
        &mut self,
        client: &mut Client,
        complete: &ToolCallComplete,
    ) -> anyhow::Result<()> {
        let result = &complete.result;
        let content = result.content.as_deref().unwrap_or_default();
        self.subscribe_terminals(client, content).await?;
        self.finish_terminals(content)?;
        self.update_plan(client, &complete.target);
        // An agent reports a denied call as failed.
        let was_denied = self.denied_calls.contains(&complete.target.tool_call_id);
        if !result.success && !was_denied {
            self.failed = true;
            let error = result.error.as_ref();
            let reason = error.and_then(|error| error.get("message")?.as_str());
            let reason = reason.unwrap_or("the tool call failed");
            self.print_note(&format!("{}: {reason}", result.past_tense_message.as_str()))?;
        }
        Ok(())
    }

    /// Prints a tool call in one line, unless the user has seen it.
    fn print_call(&mut self, client: &Client, target: &ToolCallTarget) -> anyhow::Result<()> {
        let is_new = self.shown_calls.insert(target.tool_call_id.clone());
        if !is_new || self.output.format() != OutputFormat::Text {
            return Ok(());
        }
        let chat = self.chat_state(client);
        let line = chat.and_then(|chat| summary::call_line(chat, target));
        match line {
            Some(line) => self.output.print_note_line(&line),
            None => Ok(()),
        }
    }

    /// Remembers the plan of the agent, if a tool call has one.
    fn update_plan(&mut self, client: &Client, target: &ToolCallTarget) {
        let chat = self.chat_state(client);
        if let Some(plan) = chat.and_then(|chat| summary::plan_of(chat, target)) {
            self.plan = Some(plan);
        }
    }

    /// Prints the plan, the usage and, in a session, a mark where the turn ends.
    fn print_turn_summary(&mut self, duration: Option<Millis>) -> anyhow::Result<()> {
        self.output.finish_line()?;
        if self.output.format() != OutputFormat::Text {
            return Ok(());
        }
        for line in self.plan.take().iter().flat_map(|plan| plan.lines()) {
            let note = NoteLine::styled(Role::Faint, line);
            self.output.print_note_line(&note)?;
        }
        match turn_summary(self.mode, duration, self.usage.as_ref()) {
            Some(line) => self.output.print_note_line(&line),
            None => Ok(()),
        }
    }

    /// Prints a note if queued messages are left that no turn will take by itself.
    async fn print_queue_note(&mut self, client: &mut Client) -> anyhow::Result<()> {
        if self.mode != PrinterMode::Session {
            return Ok(());
        }
        // The host drops messages for a cancelled turn.
        receive_reactions(client).await?;
        let queue = self.chat_state(client);
        let queue = queue.and_then(|chat| chat.queued_messages.as_ref());
        let count = queue.map_or(0, |queue| queue.len());
        if count > 0 {
            self.print_note(&format!(
                "{count} queued until the next turn ends; /waiting lists them, /drop drops them"
            ))?;
        }
        Ok(())
    }

    fn chat_state<'a>(&self, client: &'a Client) -> Option<&'a ChatState> {
        match client.state(self.chat.as_ref()?)? {
            ChannelState::Chat(state) => Some(state),
            _ => None,
        }
    }

    /// Waits until writing to stdout has failed.
    pub(crate) async fn wait_closed(&self) {
        self.output.wait_closed().await;
    }

    /// Waits until all output has been written to stdout.
    pub(crate) fn finish(self) -> anyhow::Result<()> {
        self.output.finish()
    }
}
