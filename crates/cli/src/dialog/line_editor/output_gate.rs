//! Prints output above the edited line.

use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex};

use agenthost_stdx::sync::lock;
use rustyline::ExternalPrinter;
use unicode_width::UnicodeWidthStr;

use crate::terminal::stdout_size;

/// Holds output back while it would damage the screen: after a line was entered and before the
/// next one is edited, for example while the user's editor shows the line.
#[derive(Default)]
pub(crate) struct OutputGate {
    state: Mutex<GateState>,
    changed: Condvar,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum GateState {
    #[default]
    Held,
    /// A line is edited, and the editor prints output above it.
    Editing,
    /// No line will be edited any more.
    Closed,
}

impl OutputGate {
    /// Lets output pass, because a line is edited.
    pub(super) fn open(&self) {
        self.change(GateState::Editing);
    }

    /// Holds output until the next line is edited.
    pub(super) fn hold(&self) {
        self.change(GateState::Held);
    }

    /// Lets all output pass to the terminal.
    pub(super) fn close(&self) {
        self.change(GateState::Closed);
    }

    fn change(&self, next: GateState) {
        let mut state = lock(&self.state);
        if *state != GateState::Closed {
            *state = next;
            self.changed.notify_all();
        }
    }

    fn wait_until_open(&self) -> GateState {
        let held = |state: &mut GateState| *state == GateState::Held;
        match self.changed.wait_while(lock(&self.state), held) {
            Ok(state) => *state,
            // The editor is gone.
            Err(_) => GateState::Closed,
        }
    }
}

/// The writer of output above the edited line. It prints whole lines; a part of a line waits
/// for its rest, or until it fills a row of the terminal.
pub(crate) struct EditorOutput {
    gate: Arc<OutputGate>,
    printer: Box<dyn ExternalPrinter + Send>,
    /// The last bytes, if they are the beginning of a character.
    open_bytes: Vec<u8>,
    open_row: String,
}

impl EditorOutput {
    pub(super) fn new(gate: Arc<OutputGate>, printer: Box<dyn ExternalPrinter + Send>) -> Self {
        EditorOutput {
            gate,
            printer,
            open_bytes: Vec::new(),
            open_row: String::new(),
        }
    }

    fn print(&mut self, text: &str) -> io::Result<()> {
        let is_printed = match self.gate.wait_until_open() {
            GateState::Closed => false,
            // The editor may end before it takes the text.
            GateState::Editing | GateState::Held => self.printer.print(text.to_owned()).is_ok(),
        };
        if is_printed {
            return Ok(());
        }
        let mut stdout = io::stdout().lock();
        stdout.write_all(text.as_bytes())?;
        stdout.flush()
    }
}

impl Write for EditorOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let columns = stdout_size().map_or(usize::MAX, |size| size.columns.into());
        self.open_bytes.extend_from_slice(bytes);
        let end = match std::str::from_utf8(&self.open_bytes) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            Ok(_) | Err(_) => self.open_bytes.len(),
        };
        let complete: Vec<_> = self.open_bytes.drain(..end).collect();
        self.open_row.push_str(&String::from_utf8_lossy(&complete));
        let text = take_rows(&mut self.open_row, columns);
        if !text.is_empty() {
            self.print(&text)?;
        }
        Ok(bytes.len())
    }

    /// Does nothing: a part of a line waits for its rest.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Removes the complete lines of a text and returns them. If its last line is wider than the
/// terminal, the rows before the last one are removed as well, up to a space.
fn take_rows(text: &mut String, columns: usize) -> String {
    let end = text.rfind('\n').map_or(0, |newline| newline + 1);
    let rest = text.split_off(end);
    let mut rows = std::mem::replace(text, rest);
    while text.width() > columns {
        let row = row_end(text, columns);
        let rest = text.split_off(row);
        rows.push_str(text.trim_end_matches(' '));
        rows.push('\n');
        *text = rest;
    }
    rows
}

/// Returns the length of the first row of a text that is wider than the terminal: up to the
/// last space, if there is one.
fn row_end(text: &str, columns: usize) -> usize {
    let mut width = 0;
    let mut last_space = None;
    for (position, letter) in text.char_indices() {
        width += unicode_width::UnicodeWidthChar::width(letter).unwrap_or(0);
        if width > columns {
            // At least one character, so that rows end in a terminal without columns.
            let hard = if position == 0 {
                letter.len_utf8()
            } else {
                position
            };
            return last_space.unwrap_or(hard);
        }
        if letter == ' ' {
            last_space = Some(position + 1);
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str, columns: usize) -> (String, String) {
        let mut rest = text.to_owned();
        let rows = take_rows(&mut rest, columns);
        (rows, rest)
    }

    #[test]
    fn complete_lines_are_printed_and_the_rest_waits() {
        assert_eq!(rows("a\nb", 10), ("a\n".into(), "b".into()));
        assert_eq!(rows("a\nb\n", 10), ("a\nb\n".into(), String::new()));
        assert_eq!(rows("abc", 10), (String::new(), "abc".into()));
    }

    #[test]
    fn a_row_that_is_full_is_printed() {
        assert_eq!(
            rows("one two three four", 9),
            ("one two\nthree\n".into(), "four".into())
        );
        assert_eq!(rows("abcdef", 4), ("abcd\n".into(), "ef".into()));
        assert_eq!(rows("日本語", 4), ("日本\n".into(), "語".into()));
    }
}
