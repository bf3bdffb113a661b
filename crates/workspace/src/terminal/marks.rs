//! What a shell tells of its commands.
//!
//! A mark is a sequence of number 633 with a letter, the nonce of the terminal
//! and sometimes a text. Whoever does not know the nonce can write what looks
//! like one, and nothing comes of it.

use std::path::Path;

use agenthost_core::{CommandLine, TerminalEvent};
use percent_encoding::percent_decode_str;

use crate::address::uri_of;

/// Longest command line that is told, in bytes.
const LONGEST: usize = 16 * 1024;

/// Reads marks.
#[derive(Debug, Default)]
pub(super) struct Marks {
    nonce: Option<String>,
    /// Whether a command has begun of which the line is still to come.
    unnamed: bool,
    /// Whether it was said that there are marks.
    announced: bool,
}

impl Marks {
    /// Those that carry a nonce; none if there is none.
    pub(super) fn new(nonce: Option<String>) -> Self {
        Marks {
            nonce,
            ..Marks::default()
        }
    }

    /// What a mark says: the part after its number.
    pub(super) fn read(&mut self, mark: &str) -> Vec<TerminalEvent> {
        let mut fields = mark.splitn(3, ';');
        let letter = fields.next().unwrap_or_default();
        let nonce = fields.next();
        if nonce.is_none() || nonce != self.nonce.as_deref() {
            return Vec::new();
        }
        let value = fields.next().unwrap_or_default();
        let mut events = Vec::new();
        if letter == "E" && self.unnamed {
            self.unnamed = false;
            events.push(executed(value));
            return events;
        }
        events.extend(self.begun());
        match letter {
            "B" if !self.announced => {
                self.announced = true;
                events.push(TerminalEvent::CommandDetection);
            }
            "C" => events.push(executed(value)),
            "U" => self.unnamed = true,
            "D" => events.push(TerminalEvent::CommandFinished(value.parse().ok())),
            "P" => {
                let path = percent_decode_str(value).decode_utf8_lossy();
                events.extend(uri_of(Path::new(&*path)).map(TerminalEvent::Directory));
            }
            // Where a prompt begins matters to nobody yet.
            _ => {}
        }
        events
    }

    /// Whether a command has begun of which the line is still to come. What is
    /// written meanwhile is its output.
    pub(super) fn are_waiting(&self) -> bool {
        self.unnamed
    }

    /// Nothing more comes of it: a command without a line stays without one.
    pub(super) fn begun(&mut self) -> Option<TerminalEvent> {
        std::mem::take(&mut self.unnamed).then(|| executed(""))
    }
}

fn executed(line: &str) -> TerminalEvent {
    let line = percent_decode_str(line).decode_utf8_lossy();
    let end = line.floor_char_boundary(LONGEST);
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
    fn marks_without_the_nonce_say_nothing() {
        let mut marks = Marks::new(Some("n".to_owned()));
        for forged in ["C;x;ls", "C", "C;", "D;;0", "B", "E;n", "A;n", ""] {
            assert_eq!(marks.read(forged), [], "{forged}");
        }
        assert_eq!(marks.read("B;n"), [TerminalEvent::CommandDetection]);
        assert_eq!(marks.read("B;n"), []);
        assert_eq!(Marks::new(None).read("C;;ls"), []);
        assert_eq!(Marks::new(None).read("C"), []);
    }

    #[test]
    fn commands_have_a_line_and_an_end() {
        let mut marks = Marks::new(Some("n".to_owned()));
        assert_eq!(marks.read("C;n;a;b%0Ac%25"), [line("a;b\nc%")]);
        let finished = TerminalEvent::CommandFinished(Some(3));
        assert_eq!(marks.read("D;n;3"), std::slice::from_ref(&finished));
        // The line comes after the beginning, or never.
        assert_eq!(marks.read("U;n"), []);
        assert_eq!(marks.read("E;n;late"), [line("late")]);
        assert_eq!(marks.read("U;n"), []);
        assert_eq!(marks.read("D;n;3"), [line(""), finished]);
        let long = format!("C;n;{}", "é".repeat(20_000));
        assert_eq!(marks.read(&long), [line(&"é".repeat(8 * 1024))]);
    }
}
