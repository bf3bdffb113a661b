//! Prints a turn to stdout while it runs.

use std::collections::BTreeMap;
use std::io::IsTerminal;

use agenthost_client::{Client, ClientUpdate};
use agenthost_protocol::action::{Action, ReceivedAction, ReceivedEnvelope};
use agenthost_protocol::channel::{ChannelState, Snapshot};
use agenthost_protocol::chat::{
    ChatAction, ResponsePart, ToolCall, ToolCallComplete, ToolResultContent, TurnCancelled,
    TurnState,
};
use agenthost_protocol::terminal::{PlainOutput, TerminalAction, TerminalLifecycle, TerminalPart};
use agenthost_protocol::uri::Uri;

use crate::output;
use crate::spool::OutputSpool;

/// The result of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TurnEnding {
    Succeeded,
    Failed,
    Cancelled,
}

/// Prints the response parts, tool output and notes of the turns of a chat.
pub(crate) struct TurnPrinter {
    out: OutputSpool,
    chat: Option<Uri>,
    json: bool,
    failed: bool,
    /// `true` if messages are printed, too: other clients may have sent them.
    shows_messages: bool,
    terminals: BTreeMap<Uri, PrintedTerminal>,
    /// `true` if the last printed text did not end with a newline.
    is_line_open: bool,
    /// `true` if stdout is a terminal.
    on_terminal: bool,
}

/// A terminal whose output is printed.
#[derive(Default)]
struct PrintedTerminal {
    /// `true` after the host has cleared the terminal to shorten it: the next data repeats
    /// output that was printed before.
    skips_repeat: bool,
    /// Removes escape sequences if stdout is not a terminal.
    plain_output: PlainOutput,
}

impl TurnPrinter {
    pub(crate) fn new(json: bool) -> Self {
        TurnPrinter {
            out: OutputSpool::start(),
            chat: None,
            json,
            failed: false,
            shows_messages: false,
            terminals: BTreeMap::new(),
            is_line_open: false,
            on_terminal: std::io::stdout().is_terminal(),
        }
    }

    /// Prints the snapshot of a new subscription, in JSON mode only.
    pub(crate) fn print_snapshot(&self, snapshot: Option<Snapshot>) -> anyhow::Result<()> {
        match snapshot {
            Some(snapshot) if self.json => self.print_line(&serde_json::to_string(&snapshot)?),
            _ => Ok(()),
        }
    }

    /// Returns a running terminal of the turn, which accepts input.
    pub(crate) fn running_terminal(&self, client: &Client) -> Option<Uri> {
        let runs = |terminal: &&Uri| match client.confirmed_state(terminal) {
            Some(ChannelState::Terminal(state)) => state.lifecycle == TerminalLifecycle::Running,
            _ => false,
        };
        self.terminals.keys().find(runs).cloned()
    }

    /// Sets the chat whose turns are printed.
    pub(crate) fn set_chat(&mut self, chat: Uri) {
        self.chat = Some(chat);
    }

    /// Prints the envelope of an action, in JSON mode only.
    pub(crate) fn print_json(&self, update: &ClientUpdate) -> anyhow::Result<()> {
        match update {
            ClientUpdate::Action(envelope) if self.json => {
                self.print_line(&serde_json::to_string(envelope)?)
            }
            _ => Ok(()),
        }
    }

    /// Prints the previous turns and the active one. From then on messages are printed,
    /// too.
    pub(crate) async fn print_history(&mut self, client: &mut Client) -> anyhow::Result<()> {
        self.shows_messages = true;
        let chat = self.chat.as_ref().and_then(|chat| client.state(chat));
        let Some(ChannelState::Chat(chat)) = chat.cloned() else {
            return Ok(());
        };
        for turn in chat.turns.items() {
            self.print_message(&turn.message.text)?;
            for part in turn.response_parts.items() {
                self.print_part(part)?;
            }
            if turn.state == TurnState::Cancelled {
                self.print_note("cancelled")?;
            }
        }
        if let Some(turn) = &chat.active_turn {
            self.print_message(&turn.message.text)?;
            for part in turn.response_parts.items() {
                self.print_part(part)?;
                if let ResponsePart::ToolCall(part) = part
                    && let ToolCall::Running(call) = &part.tool_call
                {
                    let content = call.content.clone().unwrap_or_default();
                    self.subscribe_terminals(client, &content).await?;
                }
            }
        }
        Ok(())
    }

    /// Prints a response part of a finished turn, or the part of the active turn so far.
    fn print_part(&mut self, part: &ResponsePart) -> anyhow::Result<()> {
        match part {
            ResponsePart::Markdown(part) => {
                self.print_text(&output::strip_invisible(&part.content))?;
                self.finish_line()
            }
            ResponsePart::ToolCall(part) => {
                let ToolCall::Completed(call) = &part.tool_call else {
                    return Ok(());
                };
                for block in call.result.content.iter().flatten() {
                    if let ToolResultContent::Text(block) = block {
                        self.print_text(&block.text)?;
                    }
                }
                self.finish_line()
            }
            ResponsePart::SystemNotification(part) => self.print_note(part.content.as_str()),
            ResponsePart::Error(part) => {
                self.print_note(&format!("failed: {}", part.error.message))
            }
            ResponsePart::ContentRef(_)
            | ResponsePart::Reasoning(_)
            | ResponsePart::InputRequest(_)
            | ResponsePart::Unknown(_) => Ok(()),
        }
    }

    /// Prints a message to the agent with a `> ` before each line.
    fn print_message(&mut self, text: &str) -> anyhow::Result<()> {
        self.finish_line()?;
        for line in text.lines() {
            self.print_text(&format!("> {}\n", output::strip_invisible(line)))?;
        }
        Ok(())
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
        let chat = self.chat.as_ref().and_then(|chat| client.state(chat));
        let Some(ChannelState::Chat(chat)) = chat else {
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
            ChatAction::TurnStarted(started) if self.shows_messages => {
                self.print_message(&started.message.text)?;
            }
            ChatAction::ResponsePart(added) => match &*added.part {
                ResponsePart::Markdown(part) => {
                    self.print_text(&output::strip_invisible(&part.content))?
                }
                ResponsePart::SystemNotification(part) => self.print_note(part.content.as_str())?,
                _ => {}
            },
            ChatAction::Delta(delta) => {
                self.print_text(&output::strip_invisible(&delta.content))?
            }
            ChatAction::ToolCallContentChanged(changed) => {
                self.subscribe_terminals(client, &changed.content).await?;
            }
            ChatAction::ToolCallComplete(complete) => {
                let content = complete.result.content.as_deref().unwrap_or_default();
                self.subscribe_terminals(client, content).await?;
                for block in content {
                    // The rest of the terminal's last line precedes the note about its
                    // result.
                    if let ToolResultContent::Terminal(block) = block {
                        self.finish_output(&block.resource)?;
                    }
                }
                self.handle_call_complete(complete)?;
            }
            ChatAction::ToolCallConfirmed(confirmed) if !confirmed.approved => self.failed = true,
            ChatAction::TurnComplete(_) => {
                self.finish_line()?;
                return Ok(Some(if self.failed {
                    TurnEnding::Failed
                } else {
                    TurnEnding::Succeeded
                }));
            }
            ChatAction::Error(error) => {
                self.print_note(&format!("failed: {}", error.part.0.error.message))?;
                self.print_queue_note(client)?;
                return Ok(Some(TurnEnding::Failed));
            }
            ChatAction::TurnCancelled(TurnCancelled { .. }) => {
                if self.shows_messages {
                    self.print_note("cancelled")?;
                }
                self.print_queue_note(client)?;
                return Ok(Some(TurnEnding::Cancelled));
            }
            _ => {}
        }
        Ok(None)
    }

    /// Prints a note if queued messages are left that no turn will take by itself.
    fn print_queue_note(&mut self, client: &Client) -> anyhow::Result<()> {
        let chat = self.chat.as_ref().and_then(|chat| client.state(chat));
        let Some(ChannelState::Chat(chat)) = chat else {
            return Ok(());
        };
        let count = chat.queued_messages.as_ref().map_or(0, |queue| queue.len());
        if self.shows_messages && count > 0 {
            self.print_note(&format!(
                "{count} queued until the next turn ends; /waiting lists them, /drop drops them"
            ))?;
        }
        Ok(())
    }

    /// Subscribes to the terminals in the content of a tool call and prints their output so
    /// far.
    async fn subscribe_terminals(
        &mut self,
        client: &mut Client,
        content: &[ToolResultContent],
    ) -> anyhow::Result<()> {
        for block in content {
            let ToolResultContent::Terminal(block) = block else {
                continue;
            };
            if self.terminals.contains_key(&block.resource) {
                continue;
            }
            let snapshot = client.subscribe(&block.resource).await?;
            self.print_snapshot(snapshot)?;
            let terminal = PrintedTerminal::default();
            self.terminals.insert(block.resource.clone(), terminal);
            let Some(ChannelState::Terminal(state)) = client.state(&block.resource) else {
                continue;
            };
            let parts: Vec<_> = state.content.items().cloned().collect();
            let exited = matches!(state.lifecycle, TerminalLifecycle::Exited(_));
            for part in parts {
                match part {
                    TerminalPart::Unclassified(output) => {
                        self.print_output(&block.resource, &output.value)?;
                    }
                    TerminalPart::Command(command) => {
                        self.print_output(&block.resource, &command.output)?;
                    }
                    TerminalPart::Unknown(_) => {}
                }
            }
            if exited {
                self.finish_output(&block.resource)?;
            }
        }
        Ok(())
    }

    fn print_output(&mut self, terminal: &Uri, text: &str) -> anyhow::Result<()> {
        match self.terminals.get_mut(terminal) {
            Some(terminal) if !self.on_terminal => {
                let text = terminal.plain_output.push(text);
                self.print_text(&text)
            }
            Some(_) => self.print_text(text),
            None => Ok(()),
        }
    }

    /// Prints the rest of the last line of a terminal that produces no more output.
    fn finish_output(&mut self, terminal: &Uri) -> anyhow::Result<()> {
        let terminal = self.terminals.get_mut(terminal);
        let plain = terminal.map(|terminal| std::mem::take(&mut terminal.plain_output));
        self.print_text(&plain.unwrap_or_default().finish())
    }

    fn handle_terminal_action(
        &mut self,
        envelope: &ReceivedEnvelope,
        action: &TerminalAction,
    ) -> anyhow::Result<()> {
        let Some(terminal) = self.terminals.get_mut(&envelope.channel) else {
            return Ok(());
        };
        match action {
            TerminalAction::Data(_) if terminal.skips_repeat => terminal.skips_repeat = false,
            TerminalAction::Data(data) => self.print_output(&envelope.channel, &data.data)?,
            TerminalAction::Exited(_) => self.finish_output(&envelope.channel)?,
            TerminalAction::Cleared(_) if envelope.origin.is_none() => terminal.skips_repeat = true,
            _ => {}
        }
        Ok(())
    }

    fn handle_call_complete(&mut self, complete: &ToolCallComplete) -> anyhow::Result<()> {
        let result = &complete.result;
        if !result.success {
            self.failed = true;
            let error = result.error.as_ref();
            let reason = error.and_then(|error| error.get("message")?.as_str());
            let reason = reason.unwrap_or("the tool call failed");
            self.print_note(&format!("{}: {reason}", result.past_tense_message.as_str()))?;
        }
        Ok(())
    }

    fn print_text(&mut self, text: &str) -> anyhow::Result<()> {
        if self.json || text.is_empty() {
            return Ok(());
        }
        self.is_line_open = !text.ends_with('\n');
        Ok(self.out.write(text)?)
    }

    fn print_line(&self, text: &str) -> anyhow::Result<()> {
        Ok(self.out.write(&format!("{text}\n"))?)
    }

    /// Waits until writing to stdout has failed.
    pub(crate) async fn wait_closed(&self) {
        self.out.wait_closed().await;
    }

    /// Waits until all output has been written to stdout.
    pub(crate) fn finish(self) -> anyhow::Result<()> {
        Ok(self.out.finish()?)
    }

    /// Prints a note on stderr. If stdout is a terminal, the output before it is flushed
    /// first to keep their order.
    pub(crate) fn print_note(&mut self, text: &str) -> anyhow::Result<()> {
        self.finish_line()?;
        if self.on_terminal {
            self.out.wait_flushed();
        }
        output::print_note(text);
        Ok(())
    }

    fn finish_line(&mut self) -> anyhow::Result<()> {
        if std::mem::take(&mut self.is_line_open) {
            self.out.write("\n")?;
        }
        Ok(())
    }
}
