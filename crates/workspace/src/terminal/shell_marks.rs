//! Parser for the marks with which a shell reports its commands.
//!
//! A mark is an OSC 633 sequence with a letter, the nonce of the terminal and sometimes a
//! value. Programs that do not know the nonce can't create valid marks; theirs are ignored.

use std::path::Path;

use agenthost_core::{CommandLine, TerminalEvent};
use percent_encoding::percent_decode_str;

use crate::file_uri::uri_of;

/// Maximum length of a reported command line; the rest is cut off.
const MAX_COMMAND_LINE_BYTES: usize = 16 * 1024;

/// Parses the marks of one terminal.
#[derive(Debug, Default)]
pub(super) struct ShellMarkParser {
    nonce: Option<String>,
    /// `true` if a command has started and its line has not arrived yet.
    is_command_pending: bool,
    /// `true` if [`TerminalEvent::CommandDetectionEnabled`] was sent.
    announced: bool,
}

impl ShellMarkParser {
    /// Creates a parser for marks with this nonce. Without one, all marks are ignored.
    pub(super) fn new(nonce: Option<String>) -> Self {
        ShellMarkParser {
            nonce,
            ..ShellMarkParser::default()
        }
    }

    /// Parses the part of a mark after its number.
    pub(super) fn parse(&mut self, mark: &str) -> Vec<TerminalEvent> {
        let mut fields = mark.splitn(3, ';');
        let letter = fields.next().unwrap_or_default();
        let nonce = fields.next();
        if nonce.is_none() || nonce != self.nonce.as_deref() {
            return Vec::new();
        }
        let value = fields.next().unwrap_or_default();
        let mut events = Vec::new();
        if letter == "E" && self.is_command_pending {
            self.is_command_pending = false;
            events.push(command_executed(value));
            return events;
        }
        events.extend(self.take_pending_command());
        match letter {
            "B" if !self.announced => {
                self.announced = true;
                events.push(TerminalEvent::CommandDetectionEnabled);
            }
            "C" => events.push(command_executed(value)),
            "U" => self.is_command_pending = true,
            "D" => events.push(TerminalEvent::CommandFinished(value.parse().ok())),
            "P" => {
                let path = percent_decode_str(value).decode_utf8_lossy();
                events.extend(uri_of(Path::new(&*path)).map(TerminalEvent::DirectoryChanged));
            }
            // The start of a prompt is not used.
            _ => {}
        }
        events
    }

    /// Returns `true` if a command has started and its line has not arrived yet. Output in the
    /// meantime belongs to it.
    pub(super) fn is_command_pending(&self) -> bool {
        self.is_command_pending
    }

    /// Reports a pending command with an empty line, because none has arrived.
    pub(super) fn take_pending_command(&mut self) -> Option<TerminalEvent> {
        std::mem::take(&mut self.is_command_pending).then(|| command_executed(""))
    }
}

fn command_executed(line: &str) -> TerminalEvent {
    let line = percent_decode_str(line).decode_utf8_lossy();
    let end = line.floor_char_boundary(MAX_COMMAND_LINE_BYTES);
    let line = line.get(..end).unwrap_or_default();
    TerminalEvent::CommandExecuted(CommandLine(line.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> TerminalEvent {
        TerminalEvent::CommandExecuted(CommandLine(text.to_owned()))
    }

    #[test]
    fn marks_without_the_nonce_are_ignored() {
        let mut marks = ShellMarkParser::new(Some("n".to_owned()));
        for forged in ["C;x;ls", "C", "C;", "D;;0", "B", "E;n", "A;n", ""] {
            assert_eq!(marks.parse(forged), [], "{forged}");
        }
        assert_eq!(marks.parse("B;n"), [TerminalEvent::CommandDetectionEnabled]);
        assert_eq!(marks.parse("B;n"), []);
        assert_eq!(ShellMarkParser::new(None).parse("C;;ls"), []);
        assert_eq!(ShellMarkParser::new(None).parse("C"), []);
    }

    #[test]
    fn command_marks_have_a_line_and_an_exit_code() {
        let mut marks = ShellMarkParser::new(Some("n".to_owned()));
        assert_eq!(marks.parse("C;n;a;b%0Ac%25"), [line("a;b\nc%")]);
        let finished = TerminalEvent::CommandFinished(Some(3));
        assert_eq!(marks.parse("D;n;3"), std::slice::from_ref(&finished));
        // The line arrives after the start mark, or never.
        assert_eq!(marks.parse("U;n"), []);
        assert_eq!(marks.parse("E;n;late"), [line("late")]);
        assert_eq!(marks.parse("U;n"), []);
        assert_eq!(marks.parse("D;n;3"), [line(""), finished]);
        let long = format!("C;n;{}", "é".repeat(20_000));
        assert_eq!(marks.parse(&long), [line(&"é".repeat(8 * 1024))]);
    }
}
