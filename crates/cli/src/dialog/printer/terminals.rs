//! Prints the output of commands.

use agenthost_client::Client;
use agenthost_protocol::action::ReceivedEnvelope;
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::chat::ToolResultContent;
use agenthost_protocol::terminal::{PlainOutput, TerminalAction, TerminalLifecycle, TerminalPart};
use agenthost_protocol::uri::Uri;

use super::{PrinterMode, TurnPrinter};
use crate::output;
use crate::terminal::stdout_size;

/// A terminal whose output is printed.
#[derive(Default)]
pub(super) struct PrintedTerminal {
    /// `true` after the host has cleared the terminal to shorten it: the next data repeats
    /// output that was printed before.
    skips_repeat: bool,
    /// Removes escape sequences, unless the terminal of the user gets them.
    plain_output: PlainOutput,
    /// Output that waits until the terminal of the user is shared with the command: it may ask
    /// for a password, which must not be echoed.
    backlog: String,
}

/// Returns the output of a command without its escape sequences.
pub(super) fn to_plain_output(text: &str) -> String {
    let mut plain = PlainOutput::default();
    let mut text = plain.push(text);
    text.push_str(&plain.finish());
    output::strip_invisible(&text)
}

impl TurnPrinter {
    /// Returns a running terminal of the turn, which accepts input.
    pub(crate) fn running_terminal(&self, client: &Client) -> Option<Uri> {
        let runs = |terminal: &&Uri| match client.confirmed_state(terminal) {
            Some(ChannelState::Terminal(state)) => state.lifecycle == TerminalLifecycle::Running,
            _ => false,
        };
        self.terminals.keys().find(runs).cloned()
    }

    /// Returns `true` if commands of the turn write to the terminal of the user as they would
    /// without the host.
    pub(crate) fn shares_terminal(&self) -> bool {
        self.mode == PrinterMode::OneTurn && stdout_size().is_some()
    }

    /// Subscribes to the terminals in the content of a tool call and prints their output so
    /// far.
    pub(super) async fn subscribe_terminals(
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
            let mut terminal = PrintedTerminal::default();
            let mut exited = false;
            if let Some(ChannelState::Terminal(state)) = client.state(&block.resource) {
                for part in state.content.items() {
                    match part {
                        TerminalPart::Unclassified(output) => {
                            terminal.backlog.push_str(&output.value);
                        }
                        TerminalPart::Command(command) => {
                            terminal.backlog.push_str(&command.output);
                        }
                        TerminalPart::Unknown(_) => {}
                    }
                }
                if let TerminalLifecycle::Exited(exit) = &state.lifecycle {
                    self.exit_code = exit.exit_code;
                    exited = true;
                }
            }
            self.terminals.insert(block.resource.clone(), terminal);
            if exited {
                self.finish_output(&block.resource)?;
            } else if !self.shares_terminal() {
                self.print_backlogs()?;
            }
        }
        Ok(())
    }

    /// Prints the output of commands that has waited for the terminal of the user.
    pub(crate) fn print_backlogs(&mut self) -> anyhow::Result<()> {
        let terminals: Vec<_> = self.terminals.keys().cloned().collect();
        for terminal in terminals {
            self.print_output(&terminal, "")?;
        }
        Ok(())
    }

    /// Prints the rest of the last line of each terminal in the content of a completed call,
    /// before the note about its result.
    pub(super) fn finish_terminals(&mut self, content: &[ToolResultContent]) -> anyhow::Result<()> {
        for block in content {
            if let ToolResultContent::Terminal(block) = block {
                let result = block.result.as_ref();
                if let Some(code) = result.and_then(|result| result.exit_code) {
                    self.exit_code = Some(code);
                }
                self.finish_output(&block.resource)?;
            }
        }
        Ok(())
    }

    fn print_output(&mut self, terminal: &Uri, text: &str) -> anyhow::Result<()> {
        let shares_terminal = self.shares_terminal();
        let Some(terminal) = self.terminals.get_mut(terminal) else {
            return Ok(());
        };
        let mut output = std::mem::take(&mut terminal.backlog);
        output.push_str(text);
        if shares_terminal {
            return self.output.print_text(&output);
        }
        let plain = terminal.plain_output.push(&output);
        self.print_plain(&plain)
    }

    /// Prints the rest of the last line of a terminal that produces no more output.
    fn finish_output(&mut self, terminal: &Uri) -> anyhow::Result<()> {
        self.print_output(terminal, "")?;
        let terminal = self.terminals.get_mut(terminal);
        let plain = terminal.map(|terminal| std::mem::take(&mut terminal.plain_output));
        self.print_plain(&plain.unwrap_or_default().finish())
    }

    /// Prints output without escape sequences. What a terminal shows has no invisible
    /// characters either; a file or another program gets them unchanged.
    fn print_plain(&mut self, text: &str) -> anyhow::Result<()> {
        match self.mode {
            PrinterMode::OneTurn => self.output.print_text(text),
            PrinterMode::Session => self.output.print_text(&output::strip_invisible(text)),
        }
    }

    pub(super) fn handle_terminal_action(
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
            TerminalAction::Exited(exited) => {
                self.exit_code = exited.exit_code;
                self.finish_output(&envelope.channel)?;
            }
            TerminalAction::Cleared(_) if envelope.origin.is_none() => terminal.skips_repeat = true,
            _ => {}
        }
        Ok(())
    }
}
