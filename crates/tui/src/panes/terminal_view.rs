//! An interactive terminal: an emulator shows the output of the host's terminal, and keys go to
//! its program.

use agenthost_protocol::uri::Uri;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::{Position, Rect};

use crate::paint::ansi::{at_least_one, new_emulator, screen_lines};
use crate::paint::canvas::draw_lines;
use crate::paint::theme::ScreenTheme;

/// Lines that the emulator keeps above its screen.
const SCROLLBACK_LINES: usize = 2_000;

/// Lines of one step of the wheel or page.
const SCROLL_STEP: usize = 10;

/// A terminal with the keyboard.
pub(crate) struct TerminalPane {
    pub(crate) uri: Uri,
    parser: vt100::Parser,
    /// Size that the host was told.
    size: (u16, u16),
}

impl std::fmt::Debug for TerminalPane {
    /// Leaves out the output of programs.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TerminalPane")
            .field("uri", &self.uri)
            .finish_non_exhaustive()
    }
}

impl TerminalPane {
    pub(crate) fn new(uri: Uri) -> Self {
        TerminalPane {
            uri,
            parser: new_emulator(24, 80, SCROLLBACK_LINES),
            size: (0, 0),
        }
    }

    /// Adds output of the program; with `is_reset`, it is the whole output.
    pub(crate) fn add_output(&mut self, data: &str, is_reset: bool) {
        if is_reset {
            let (rows, columns) = self.parser.screen().size();
            self.parser = vt100::Parser::new(rows, columns, SCROLLBACK_LINES);
        }
        self.parser.process(data.as_bytes());
    }

    /// Returns the new size if the host does not know it.
    pub(crate) fn resize(&mut self, columns: u16, rows: u16) -> Option<(u16, u16)> {
        let size = (columns.max(2), rows.max(2));
        if self.size == size {
            return None;
        }
        self.size = size;
        let (columns, rows) = (at_least_one(size.0), at_least_one(size.1));
        self.parser.screen_mut().set_size(rows, columns);
        Some(size)
    }

    pub(crate) fn scroll(&mut self, is_up: bool) {
        let offset = self.parser.screen().scrollback();
        let offset = if is_up {
            offset + SCROLL_STEP
        } else {
            offset.saturating_sub(SCROLL_STEP)
        };
        self.parser.screen_mut().set_scrollback(offset);
    }

    /// Returns the bytes that a program reads for a key.
    pub(crate) fn key_bytes(&mut self, key: &KeyEvent) -> Option<String> {
        self.parser.screen_mut().set_scrollback(0);
        encode_key(key, self.parser.screen().application_cursor())
    }

    /// Returns a pasted text as the program reads it.
    pub(crate) fn paste_bytes(&self, text: &str) -> String {
        // The end mark in the text would let it leave the paste.
        let text = text
            .replace('\u{1b}', "")
            .replace("\r\n", "\r")
            .replace('\n', "\r");
        if self.parser.screen().bracketed_paste() {
            format!("\u{1b}[200~{text}\u{1b}[201~")
        } else {
            text
        }
    }

    pub(crate) fn draw(
        &self,
        buffer: &mut Buffer,
        area: Rect,
        theme: &ScreenTheme,
    ) -> Option<Position> {
        let screen = self.parser.screen();
        let lines = screen_lines(screen, theme);
        draw_lines(buffer, area, &lines);
        let (row, column) = screen.cursor_position();
        let is_visible = !screen.hide_cursor()
            && screen.scrollback() == 0
            && row < area.height
            && column < area.width;
        is_visible.then(|| Position::new(area.x + column, area.y + row))
    }
}

/// Encodes a key as xterm does.
fn encode_key(key: &KeyEvent, is_application: bool) -> Option<String> {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let alt = key.modifiers.contains(KeyModifiers::ALT);
    let shift = key.modifiers.contains(KeyModifiers::SHIFT);
    let modifier = 1 + u8::from(shift) + 2 * u8::from(alt) + 4 * u8::from(control);
    let arrow = |letter: char| match (modifier, is_application) {
        (1, true) => format!("\u{1b}O{letter}"),
        (1, false) => format!("\u{1b}[{letter}"),
        (modifier, _) => format!("\u{1b}[1;{modifier}{letter}"),
    };
    let tilde = |number: u8| match modifier {
        1 => format!("\u{1b}[{number}~"),
        modifier => format!("\u{1b}[{number};{modifier}~"),
    };
    let text = match key.code {
        KeyCode::Char(character) if control => control_character(character)?.to_string(),
        KeyCode::Char(character) => character.to_string(),
        KeyCode::Enter => "\r".to_owned(),
        KeyCode::Backspace => "\u{7f}".to_owned(),
        KeyCode::Tab => "\t".to_owned(),
        KeyCode::BackTab => return Some("\u{1b}[Z".to_owned()),
        KeyCode::Esc => "\u{1b}".to_owned(),
        KeyCode::Up => return Some(arrow('A')),
        KeyCode::Down => return Some(arrow('B')),
        KeyCode::Right => return Some(arrow('C')),
        KeyCode::Left => return Some(arrow('D')),
        KeyCode::Home => return Some(arrow('H')),
        KeyCode::End => return Some(arrow('F')),
        KeyCode::Insert => return Some(tilde(2)),
        KeyCode::Delete => return Some(tilde(3)),
        KeyCode::PageUp => return Some(tilde(5)),
        KeyCode::PageDown => return Some(tilde(6)),
        KeyCode::F(number) => return function_key(number),
        _ => return None,
    };
    Some(if alt { format!("\u{1b}{text}") } else { text })
}

fn control_character(character: char) -> Option<char> {
    let code = match character.to_ascii_lowercase() {
        letter @ 'a'..='z' => u32::from(letter) - u32::from('a') + 1,
        ' ' | '@' | '2' => 0,
        '[' | '3' => 27,
        '\\' | '4' => 28,
        ']' | '5' => 29,
        '^' | '6' => 30,
        '_' | '7' | '/' => 31,
        _ => return None,
    };
    char::from_u32(code)
}

fn function_key(number: u8) -> Option<String> {
    Some(match number {
        1..=4 => format!("\u{1b}O{}", char::from(b'P' + number - 1)),
        5 => "\u{1b}[15~".to_owned(),
        6..=10 => format!("\u{1b}[{}~", number + 11),
        11 | 12 => format!("\u{1b}[{}~", number + 12),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_encoded_as_programs_expect() {
        let encode = |code, modifiers| encode_key(&KeyEvent::new(code, modifiers), false);
        let (none, control, alt) = (KeyModifiers::NONE, KeyModifiers::CONTROL, KeyModifiers::ALT);
        assert_eq!(encode(KeyCode::Char('c'), control).unwrap(), "\u{3}");
        assert_eq!(encode(KeyCode::Char('x'), alt).unwrap(), "\u{1b}x");
        assert_eq!(encode(KeyCode::Up, none).unwrap(), "\u{1b}[A");
        assert_eq!(encode(KeyCode::Right, control).unwrap(), "\u{1b}[1;5C");
        assert_eq!(encode(KeyCode::F(5), none).unwrap(), "\u{1b}[15~");
        assert_eq!(encode(KeyCode::Delete, none).unwrap(), "\u{1b}[3~");
        let up = KeyEvent::new(KeyCode::Up, none);
        assert_eq!(encode_key(&up, true).unwrap(), "\u{1b}OA");
    }

    #[test]
    fn a_paste_cannot_leave_its_marks() {
        let mut pane = TerminalPane::new(Uri::from("ahp-terminal:/1"));
        pane.add_output("\u{1b}[?2004h", true);
        let pasted = pane.paste_bytes("a\u{1b}[201~\nrm");
        assert_eq!(pasted, "\u{1b}[200~a[201~\rrm\u{1b}[201~");
    }
}
