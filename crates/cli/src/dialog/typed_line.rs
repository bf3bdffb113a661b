//! A line that is typed at a terminal without escape sequences.
//!
//! The kernel cuts lines at 4,095 bytes, so this module takes its part: it shows the keys, and
//! removes characters, words and lines.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::terminal::raw_mode::SavedMode;

/// Ctrl-D, the end of input on an empty line.
const END_KEY: u8 = 0x04;

/// Backspace, as most terminals send it.
const ERASE_KEY: u8 = 0x7f;

/// Ctrl-H, which is Backspace in others.
const BACKSPACE_KEY: u8 = 0x08;

/// Ctrl-U, which removes the line.
const KILL_KEY: u8 = 0x15;

/// Ctrl-W, which removes the last word.
const WORD_KEY: u8 = 0x17;

/// Removes a column of the line from the screen.
const ERASE_COLUMN: &str = "\u{8} \u{8}";

/// The line that is being typed.
pub(super) struct TypedLine {
    bytes: Vec<u8>,
    /// What has to be shown.
    echo: Vec<u8>,
    terminal: File,
    /// Restores the modes of the terminal when it is dropped.
    _mode: Option<SavedMode>,
}

impl TypedLine {
    /// Takes the terminal. Returns `None` if it cannot be used: then the kernel edits lines.
    pub(super) fn start(path: &Path) -> Option<Self> {
        let terminal = File::options().write(true).open(path).ok()?;
        let mode = SavedMode::enter_unechoed().ok()?;
        Some(TypedLine {
            bytes: Vec::new(),
            echo: Vec::new(),
            terminal,
            _mode: mode,
        })
    }

    /// Handles a byte of a key. A complete line is added to `lines`. Returns `true` at the end of
    /// input.
    pub(super) fn handle_byte(&mut self, byte: u8, lines: &mut Vec<u8>) -> bool {
        match byte {
            b'\n' | b'\r' => {
                self.echo.push(b'\n');
                lines.append(&mut self.bytes);
                lines.push(b'\n');
            }
            END_KEY => return self.bytes.is_empty(),
            ERASE_KEY | BACKSPACE_KEY => {
                let end = self.text().char_indices().next_back();
                self.truncate(end.map_or(0, |(start, _)| start));
            }
            WORD_KEY => {
                let text = self.text();
                let word = text.trim_end().rfind(char::is_whitespace);
                self.truncate(word.map_or(0, |space| space + 1));
            }
            KILL_KEY => self.truncate(0),
            b'\t' | b' '.. => {
                self.bytes.push(byte);
                self.echo.push(byte);
            }
            // Other control characters mean nothing in a message.
            _ => {}
        }
        false
    }

    /// Shows what was typed.
    pub(super) fn show(&mut self) {
        let echo = std::mem::take(&mut self.echo);
        if let Err(error) = self.terminal.write_all(&echo) {
            tracing::debug!("cannot write to the terminal: {error}");
        }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    /// Removes the end of the line, also from the screen.
    fn truncate(&mut self, length: usize) {
        let removed = self.bytes.split_off(length.min(self.bytes.len()));
        let removed = String::from_utf8_lossy(&removed);
        let tabs = removed.chars().filter(|letter| letter.width().is_none());
        let columns = removed.width() + tabs.count();
        self.echo.extend(ERASE_COLUMN.repeat(columns).into_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(keys: &str) -> (String, String, bool) {
        let mut line = TypedLine {
            bytes: Vec::new(),
            echo: Vec::new(),
            terminal: tempfile::tempfile().unwrap(),
            _mode: None,
        };
        let mut lines = Vec::new();
        let ends: Vec<_> = keys
            .bytes()
            .map(|byte| line.handle_byte(byte, &mut lines))
            .collect();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (text(lines), text(line.bytes), ends.contains(&true))
    }

    #[test]
    fn keys_edit_the_line() {
        let result = |lines: &str, rest: &str, ended| (lines.to_owned(), rest.to_owned(), ended);
        assert_eq!(typed("one\rtwo"), result("one\n", "two", false));
        assert_eq!(typed("ab\u{7f}c\n"), result("ac\n", "", false));
        assert_eq!(typed("日本\u{7f}\n"), result("日\n", "", false));
        assert_eq!(typed("one two \u{17}x\n"), result("one x\n", "", false));
        assert_eq!(typed("one\u{15}two\n"), result("two\n", "", false));
        assert_eq!(typed("x\u{4}"), result("", "x", false));
        assert_eq!(typed("\u{4}"), result("", "", true));
    }
}
