//! The keys that a command reads while it runs in the terminal of the user.

use agenthost_client::Client;
use agenthost_protocol::terminal::{TerminalAction, TerminalInput, TerminalResized};
use agenthost_protocol::uri::Uri;
use anyhow::Context;

use crate::dialog::printer::TurnPrinter;
use crate::dialog::stdin::InputUnit;
use crate::terminal::raw_mode::SavedMode;
use crate::terminal::{TerminalSize, can_ask, stdout_size};

/// Ctrl-C.
const INTERRUPT_KEY: u8 = 0x03;

/// Ctrl-\, which cancels the turn.
const CANCEL_KEY: u8 = 0x1c;

/// The receiver of Ctrl-C.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InterruptReceiver {
    /// The command is the turn, so it gets Ctrl-C as in any shell.
    Command,
    /// An agent runs the command, so Ctrl-C cancels the turn of the agent.
    Turn,
}

/// The result of pressed keys.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PressedKeys {
    /// Input for the command.
    pub(super) data: String,
    /// `true` if the user cancels the turn.
    pub(super) cancels: bool,
}

/// Passes keys and the size of the terminal to commands. While a command runs, the terminal is
/// in raw mode: the command decides if keys are echoed, for example those of a password.
pub(super) struct CommandKeys {
    interrupt: InterruptReceiver,
    /// `true` if the terminal can be shared with commands.
    is_interactive: bool,
    raw_mode: Option<SavedMode>,
    /// The first bytes of a character whose other bytes follow.
    open_bytes: Vec<u8>,
    /// The terminal that has the size of the terminal of the user.
    sized: Option<(Uri, TerminalSize)>,
}

impl CommandKeys {
    pub(super) fn new(printer: &TurnPrinter, interrupt: InterruptReceiver) -> Self {
        CommandKeys {
            interrupt,
            is_interactive: printer.shares_terminal() && can_ask(),
            raw_mode: None,
            open_bytes: Vec::new(),
            sized: None,
        }
    }

    /// Returns `true` if keys are passed to a command.
    pub(super) fn is_active(&self) -> bool {
        self.raw_mode.is_some()
    }

    /// Returns the unit in which input has to be read.
    pub(super) fn input_unit(&self) -> InputUnit {
        match self.is_active() {
            true => InputUnit::Bytes,
            false => InputUnit::Line,
        }
    }

    /// Begins to pass keys, or ends it.
    pub(super) fn set_active(&mut self, active: bool) -> anyhow::Result<()> {
        if !active || !self.is_interactive {
            self.raw_mode = None;
            self.open_bytes.clear();
        } else if self.raw_mode.is_none() {
            self.raw_mode = SavedMode::enter_raw().context("pass keys to the command")?;
        }
        Ok(())
    }

    /// Converts pressed keys to input for the command.
    pub(super) fn parse(&mut self, bytes: &[u8]) -> PressedKeys {
        let is_cancel = |byte: &u8| match *byte {
            CANCEL_KEY => true,
            INTERRUPT_KEY => self.interrupt == InterruptReceiver::Turn,
            _ => false,
        };
        let end = bytes.iter().position(is_cancel);
        let input = bytes.get(..end.unwrap_or(bytes.len()));
        self.open_bytes.extend(input.unwrap_or_default());
        let complete = match std::str::from_utf8(&self.open_bytes) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            Ok(_) | Err(_) => self.open_bytes.len(),
        };
        let complete: Vec<_> = self.open_bytes.drain(..complete).collect();
        PressedKeys {
            data: String::from_utf8_lossy(&complete).into_owned(),
            cancels: end.is_some(),
        }
    }

    /// Gives the terminal of a command the size of the user's terminal, if it has another one.
    pub(super) async fn sync_size(
        &mut self,
        client: &mut Client,
        terminal: &Uri,
    ) -> anyhow::Result<()> {
        let Some(size) = stdout_size() else {
            return Ok(());
        };
        let wanted = (terminal.clone(), size);
        if self.sized.as_ref() != Some(&wanted) {
            let resized = TerminalAction::Resized(TerminalResized {
                cols: size.columns.into(),
                rows: size.rows.into(),
            });
            client.dispatch(terminal, resized).await?;
            self.sized = Some(wanted);
        }
        Ok(())
    }
}

/// Sends input to a command.
pub(super) async fn send_input(
    client: &mut Client,
    terminal: &Uri,
    data: String,
) -> anyhow::Result<()> {
    if !data.is_empty() {
        let input = TerminalAction::Input(TerminalInput { data });
        client.dispatch(terminal, input).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(interrupt: InterruptReceiver) -> CommandKeys {
        CommandKeys {
            interrupt,
            is_interactive: false,
            raw_mode: None,
            open_bytes: Vec::new(),
            sized: None,
        }
    }

    #[test]
    fn characters_are_passed_whole() {
        let mut keys = keys(InterruptReceiver::Command);
        assert_eq!(keys.parse(b"a\xc3").data, "a");
        assert_eq!(keys.parse(b"\xbc\x03").data, "ü\u{3}");
        assert_eq!(keys.parse(b"\xff").data, "\u{fffd}");
    }

    #[test]
    fn a_key_cancels_the_turn() {
        let pressed = |data: &str, cancels| PressedKeys {
            data: data.to_owned(),
            cancels,
        };
        let mut of_command = keys(InterruptReceiver::Command);
        assert_eq!(of_command.parse(b"x\x03"), pressed("x\u{3}", false));
        assert_eq!(of_command.parse(b"x\x1cy"), pressed("x", true));
        let mut of_turn = keys(InterruptReceiver::Turn);
        assert_eq!(of_turn.parse(b"\x03"), pressed("", true));
    }
}
