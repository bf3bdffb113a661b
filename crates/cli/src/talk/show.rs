//! A turn as it goes on, on stdout.

use std::collections::BTreeMap;
use std::io::IsTerminal;

use agenthost_client::{Client, Update};
use agenthost_protocol::action::{Action, ReceivedAction, ReceivedEnvelope};
use agenthost_protocol::channel::{ChannelState, Snapshot};
use agenthost_protocol::chat::{
    ChatAction, ResponsePart, ToolCall, ToolCallComplete, ToolResultContent, TurnCancelled,
    TurnState,
};
use agenthost_protocol::terminal::{PlainOutput, TerminalAction, TerminalLifecycle, TerminalPart};
use agenthost_protocol::uri::Uri;

use crate::output;
use crate::spool::Spool;

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    Well,
    Badly,
    Cancelled,
}

/// What is shown of a turn.
pub(crate) struct Show {
    out: Spool,
    chat: Option<Uri>,
    json: bool,
    failed: bool,
    /// Whether messages are shown, too: somebody else may have written them.
    messages: bool,
    terminals: BTreeMap<Uri, Terminal>,
    /// Whether the last thing shown left its line open.
    open: bool,
    /// Whether a person sees what is shown at once.
    on_terminal: bool,
}

/// A terminal that is shown.
#[derive(Default)]
struct Terminal {
    /// It was cut back to its end, which comes again and was shown before.
    repeats: bool,
    /// Where it is not shown on a terminal, what only one understands is left
    /// out.
    plain: PlainOutput,
}

impl Show {
    pub(crate) fn new(json: bool) -> Self {
        Show {
            out: Spool::start(),
            chat: None,
            json,
            failed: false,
            messages: false,
            terminals: BTreeMap::new(),
            open: false,
            on_terminal: std::io::stdout().is_terminal(),
        }
    }

    /// Where a channel is when it begins to be followed; for programs.
    pub(crate) fn snapshot(&self, snapshot: Option<Snapshot>) -> anyhow::Result<()> {
        match snapshot {
            Some(snapshot) if self.json => self.line(&serde_json::to_string(&snapshot)?),
            _ => Ok(()),
        }
    }

    /// A terminal of the turn that can be typed into.
    pub(crate) fn running_terminal(&self, client: &Client) -> Option<Uri> {
        let runs = |terminal: &&Uri| match client.confirmed(terminal) {
            Some(ChannelState::Terminal(state)) => state.lifecycle == TerminalLifecycle::Running,
            _ => false,
        };
        self.terminals.keys().find(runs).cloned()
    }

    /// The chat whose turn is shown.
    pub(crate) fn follow_chat(&mut self, chat: Uri) {
        self.chat = Some(chat);
    }

    /// An update as it came; for programs.
    pub(crate) fn json(&self, update: &Update) -> anyhow::Result<()> {
        match update {
            Update::Action(envelope) if self.json => self.line(&serde_json::to_string(envelope)?),
            _ => Ok(()),
        }
    }

    /// What was said before, and what runs. From then on messages are shown,
    /// too.
    pub(crate) async fn history(&mut self, client: &mut Client) -> anyhow::Result<()> {
        self.messages = true;
        let chat = self.chat.as_ref().and_then(|chat| client.state(chat));
        let Some(ChannelState::Chat(chat)) = chat.cloned() else {
            return Ok(());
        };
        for turn in chat.turns.items() {
            self.message(&turn.message.text)?;
            for part in turn.response_parts.items() {
                self.part(part)?;
            }
            if turn.state == TurnState::Cancelled {
                self.remark("cancelled")?;
            }
        }
        if let Some(turn) = &chat.active_turn {
            self.message(&turn.message.text)?;
            for part in turn.response_parts.items() {
                self.part(part)?;
                if let ResponsePart::ToolCall(part) = part
                    && let ToolCall::Running(call) = &part.tool_call
                {
                    let content = call.content.clone().unwrap_or_default();
                    self.follow(client, &content).await?;
                }
            }
        }
        Ok(())
    }

    /// A part of a turn that is over, or so far.
    fn part(&mut self, part: &ResponsePart) -> anyhow::Result<()> {
        match part {
            ResponsePart::Markdown(part) => {
                self.text(&output::visible(&part.content))?;
                self.finish_line()
            }
            ResponsePart::ToolCall(part) => {
                let ToolCall::Completed(call) = &part.tool_call else {
                    return Ok(());
                };
                for block in call.result.content.iter().flatten() {
                    if let ToolResultContent::Text(block) = block {
                        self.text(&block.text)?;
                    }
                }
                self.finish_line()
            }
            ResponsePart::SystemNotification(part) => self.remark(part.content.as_str()),
            ResponsePart::Error(part) => self.remark(&format!("failed: {}", part.error.message)),
            ResponsePart::ContentRef(_)
            | ResponsePart::Reasoning(_)
            | ResponsePart::InputRequest(_)
            | ResponsePart::Unknown(_) => Ok(()),
        }
    }

    /// What somebody said to the agent.
    fn message(&mut self, text: &str) -> anyhow::Result<()> {
        self.finish_line()?;
        for line in text.lines() {
            self.text(&format!("> {}\n", output::visible(line)))?;
        }
        Ok(())
    }

    /// Shows an update. Says how the turn ended, once it has.
    pub(crate) async fn update(
        &mut self,
        client: &mut Client,
        update: &Update,
    ) -> anyhow::Result<Option<Ended>> {
        let envelope = match update {
            Update::Action(envelope) => envelope,
            Update::Caught { channels, .. } => return self.caught(client, channels),
            Update::Lost => {
                self.remark("the connection to the host is lost; trying again")?;
                return Ok(None);
            }
            Update::Back => {
                self.remark("the host is back")?;
                return Ok(None);
            }
            Update::Rejected { .. } | Update::Notification(_) => return Ok(None),
        };
        self.json(update)?;
        let ReceivedAction::Valid(action) = &envelope.action else {
            return Ok(None);
        };
        match action {
            Action::Chat(action) if self.chat.as_ref() == Some(&envelope.channel) => {
                self.chat_action(client, action).await
            }
            Action::Terminal(action) => {
                self.terminal(envelope, action)?;
                Ok(None)
            }
            _ => Ok(None),
        }
    }

    /// Too much was missed to be told one by one.
    fn caught(&mut self, client: &Client, channels: &[Uri]) -> anyhow::Result<Option<Ended>> {
        self.remark("the connection was lost for a while; some output is missing here")?;
        let chat = self.chat.as_ref().and_then(|chat| client.state(chat));
        let Some(ChannelState::Chat(chat)) = chat else {
            anyhow::bail!("the chat is gone");
        };
        // Of a chat that did not start again all was told.
        let again = self.chat.iter().any(|chat| channels.contains(chat));
        if !again || chat.active_turn.is_some() {
            return Ok(None);
        }
        let last = chat.turns.last_item();
        Ok(Some(match last.map(|turn| &turn.state) {
            Some(TurnState::Complete) if !self.failed => Ended::Well,
            Some(TurnState::Cancelled) => Ended::Cancelled,
            _ => Ended::Badly,
        }))
    }

    async fn chat_action(
        &mut self,
        client: &mut Client,
        action: &ChatAction,
    ) -> anyhow::Result<Option<Ended>> {
        match action {
            ChatAction::TurnStarted(started) if self.messages => {
                self.message(&started.message.text)?;
            }
            ChatAction::ResponsePart(added) => match &*added.part {
                ResponsePart::Markdown(part) => self.text(&output::visible(&part.content))?,
                ResponsePart::SystemNotification(part) => self.remark(part.content.as_str())?,
                _ => {}
            },
            ChatAction::Delta(delta) => self.text(&output::visible(&delta.content))?,
            ChatAction::ToolCallContentChanged(changed) => {
                self.follow(client, &changed.content).await?;
            }
            ChatAction::ToolCallComplete(complete) => {
                let content = complete.result.content.as_deref().unwrap_or_default();
                self.follow(client, content).await?;
                for block in content {
                    // The rest of its last line comes before how it ended.
                    if let ToolResultContent::Terminal(block) = block {
                        self.end_output(&block.resource)?;
                    }
                }
                self.complete(complete)?;
            }
            ChatAction::ToolCallConfirmed(confirmed) if !confirmed.approved => self.failed = true,
            ChatAction::TurnComplete(_) => {
                self.finish_line()?;
                return Ok(Some(if self.failed {
                    Ended::Badly
                } else {
                    Ended::Well
                }));
            }
            ChatAction::Error(error) => {
                self.remark(&format!("failed: {}", error.part.0.error.message))?;
                self.waiting(client)?;
                return Ok(Some(Ended::Badly));
            }
            ChatAction::TurnCancelled(TurnCancelled { .. }) => {
                if self.messages {
                    self.remark("cancelled")?;
                }
                self.waiting(client)?;
                return Ok(Some(Ended::Cancelled));
            }
            _ => {}
        }
        Ok(None)
    }

    /// Says that messages wait which no turn will take by itself.
    fn waiting(&mut self, client: &Client) -> anyhow::Result<()> {
        let chat = self.chat.as_ref().and_then(|chat| client.state(chat));
        let Some(ChannelState::Chat(chat)) = chat else {
            return Ok(());
        };
        let count = chat.queued_messages.as_ref().map_or(0, |queue| queue.len());
        if self.messages && count > 0 {
            self.remark(&format!(
                "{count} queued until the next turn is over; /waiting shows them, /drop drops them"
            ))?;
        }
        Ok(())
    }

    /// Watches the terminals that a tool call shows.
    async fn follow(
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
            self.snapshot(snapshot)?;
            let terminal = Terminal::default();
            self.terminals.insert(block.resource.clone(), terminal);
            let Some(ChannelState::Terminal(state)) = client.state(&block.resource) else {
                continue;
            };
            let parts: Vec<_> = state.content.items().cloned().collect();
            let exited = matches!(state.lifecycle, TerminalLifecycle::Exited(_));
            for part in parts {
                match part {
                    TerminalPart::Unclassified(output) => {
                        self.output(&block.resource, &output.value)?;
                    }
                    TerminalPart::Command(command) => {
                        self.output(&block.resource, &command.output)?;
                    }
                    TerminalPart::Unknown(_) => {}
                }
            }
            if exited {
                self.end_output(&block.resource)?;
            }
        }
        Ok(())
    }

    /// What was written to a terminal.
    fn output(&mut self, terminal: &Uri, text: &str) -> anyhow::Result<()> {
        match self.terminals.get_mut(terminal) {
            Some(terminal) if !self.on_terminal => {
                let text = terminal.plain.push(text);
                self.text(&text)
            }
            Some(_) => self.text(text),
            None => Ok(()),
        }
    }

    /// Nothing more comes of a terminal: what is left of its last line.
    fn end_output(&mut self, terminal: &Uri) -> anyhow::Result<()> {
        let terminal = self.terminals.get_mut(terminal);
        let plain = terminal.map(|terminal| std::mem::take(&mut terminal.plain));
        self.text(&plain.unwrap_or_default().finish())
    }

    fn terminal(
        &mut self,
        envelope: &ReceivedEnvelope,
        action: &TerminalAction,
    ) -> anyhow::Result<()> {
        let Some(terminal) = self.terminals.get_mut(&envelope.channel) else {
            return Ok(());
        };
        match action {
            TerminalAction::Data(_) if terminal.repeats => terminal.repeats = false,
            TerminalAction::Data(data) => self.output(&envelope.channel, &data.data)?,
            TerminalAction::Exited(_) => self.end_output(&envelope.channel)?,
            TerminalAction::Cleared(_) if envelope.origin.is_none() => terminal.repeats = true,
            _ => {}
        }
        Ok(())
    }

    fn complete(&mut self, complete: &ToolCallComplete) -> anyhow::Result<()> {
        let result = &complete.result;
        if !result.success {
            self.failed = true;
            let error = result.error.as_ref();
            let reason = error.and_then(|error| error.get("message")?.as_str());
            let reason = reason.unwrap_or("it failed");
            self.remark(&format!("{}: {reason}", result.past_tense_message.as_str()))?;
        }
        Ok(())
    }

    fn text(&mut self, text: &str) -> anyhow::Result<()> {
        if self.json || text.is_empty() {
            return Ok(());
        }
        self.open = !text.ends_with('\n');
        Ok(self.out.write(text)?)
    }

    fn line(&self, text: &str) -> anyhow::Result<()> {
        Ok(self.out.write(&format!("{text}\n"))?)
    }

    /// Waits until nobody reads what is shown.
    pub(crate) async fn closed(&self) {
        self.out.closed().await;
    }

    /// Waits until everything is out.
    pub(crate) fn finish(self) -> anyhow::Result<()> {
        Ok(self.out.finish()?)
    }

    /// Tells a person something, in its place among what is shown if both go
    /// to a terminal.
    pub(crate) fn remark(&mut self, text: &str) -> anyhow::Result<()> {
        self.finish_line()?;
        if self.on_terminal {
            self.out.settle();
        }
        output::note(text);
        Ok(())
    }

    fn finish_line(&mut self) -> anyhow::Result<()> {
        if std::mem::take(&mut self.open) {
            self.out.write("\n")?;
        }
        Ok(())
    }
}
