//! A text that the user edits, of one or several lines.

use std::ops::Range;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use unicode_segmentation::UnicodeSegmentation;

use crate::paint::text::{clean, width_of};

/// A text with a cursor.
#[derive(Debug, Default, Clone)]
pub(crate) struct TextInput {
    text: String,
    /// Position in bytes.
    cursor: usize,
    /// Column that up and down keep.
    wanted_column: Option<usize>,
    /// Text that was removed to the end of a line or by words.
    removed: String,
}

/// The effect of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InputEffect {
    /// The text has changed.
    Changed,
    /// The cursor has moved.
    Moved,
    /// The key is not one of the editor.
    Ignored,
}

impl TextInput {
    pub(crate) fn new(text: String) -> Self {
        TextInput {
            cursor: text.len(),
            text,
            ..TextInput::default()
        }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    pub(crate) fn set_text(&mut self, text: String) {
        self.cursor = text.len();
        self.text = text;
        self.wanted_column = None;
    }

    /// Removes and returns the text.
    pub(crate) fn take(&mut self) -> String {
        self.cursor = 0;
        std::mem::take(&mut self.text)
    }

    pub(crate) fn before_cursor(&self) -> &str {
        self.text.get(..self.cursor).unwrap_or_default()
    }

    fn after_cursor(&self) -> &str {
        self.text.get(self.cursor..).unwrap_or_default()
    }

    /// Inserts a text at the cursor. Control characters other than line breaks and tabs are
    /// dropped.
    pub(crate) fn insert(&mut self, text: &str) {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let kept = |c: &char| matches!(c, '\n' | '\t') || !c.is_control();
        let text: String = text.chars().filter(kept).collect();
        self.text.insert_str(self.cursor, &text);
        self.cursor += text.len();
        self.wanted_column = None;
    }

    /// Replaces a range, in bytes, and moves the cursor behind it.
    pub(crate) fn replace(&mut self, range: Range<usize>, text: &str) {
        let is_valid = range.start <= range.end
            && range.end <= self.text.len()
            && self.text.is_char_boundary(range.start)
            && self.text.is_char_boundary(range.end);
        if is_valid {
            self.cursor = range.start + text.len();
            self.text.replace_range(range, text);
        }
    }

    /// Handles a key of an editor whose lines have `width` columns.
    pub(crate) fn handle_key(&mut self, key: &KeyEvent, width: usize) -> InputEffect {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let alt = key.modifiers.contains(KeyModifiers::ALT);
        match key.code {
            KeyCode::Up => return self.move_vertically(width, -1),
            KeyCode::Down => return self.move_vertically(width, 1),
            _ => self.wanted_column = None,
        }
        let target = match key.code {
            KeyCode::Char('j') if control => {
                self.insert("\n");
                return InputEffect::Changed;
            }
            KeyCode::Char('w') if control => return self.remove(self.word_start()..self.cursor),
            KeyCode::Backspace if alt || control => {
                return self.remove(self.word_start()..self.cursor);
            }
            KeyCode::Char('u') if control => return self.remove(self.line_start()..self.cursor),
            KeyCode::Char('k') if control => return self.remove(self.cursor..self.line_end()),
            KeyCode::Char('d') if alt => return self.remove(self.cursor..self.word_end()),
            KeyCode::Char('d') if control => return self.remove(self.cursor..self.next()),
            KeyCode::Char('y') if control => {
                let removed = std::mem::take(&mut self.removed);
                self.insert(&removed);
                self.removed = removed;
                return InputEffect::Changed;
            }
            KeyCode::Backspace => {
                let range = self.previous()..self.cursor;
                return self.erase(range);
            }
            KeyCode::Delete => {
                let range = self.cursor..self.next();
                return self.erase(range);
            }
            KeyCode::Left if alt || control => self.word_start(),
            KeyCode::Right if alt || control => self.word_end(),
            KeyCode::Char('b') if alt => self.word_start(),
            KeyCode::Char('f') if alt => self.word_end(),
            KeyCode::Char('b') if control => self.previous(),
            KeyCode::Char('f') if control => self.next(),
            KeyCode::Char('a') if control => self.line_start(),
            KeyCode::Char('e') if control => self.line_end(),
            KeyCode::Left => self.previous(),
            KeyCode::Right => self.next(),
            KeyCode::Home => self.line_start(),
            KeyCode::End => self.line_end(),
            KeyCode::Char(character) if !control && !alt => {
                self.insert(character.encode_utf8(&mut [0; 4]));
                return InputEffect::Changed;
            }
            _ => return InputEffect::Ignored,
        };
        self.cursor = target;
        InputEffect::Moved
    }

    /// Returns the ranges, in bytes, of the lines of at most `width` columns.
    pub(crate) fn rows(&self, width: usize) -> Vec<Range<usize>> {
        let width = width.max(1);
        let mut rows = Vec::new();
        let mut start = 0;
        let mut used = 0;
        for (at, grapheme) in self.text.grapheme_indices(true) {
            if grapheme == "\n" {
                rows.push(start..at);
                (start, used) = (at + 1, 0);
                continue;
            }
            let own = width_of(&clean(grapheme));
            if used + own > width && at > start {
                rows.push(start..at);
                (start, used) = (at, 0);
            }
            used += own;
        }
        rows.push(start..self.text.len());
        rows
    }

    /// Returns the row and the column of the cursor.
    pub(crate) fn cursor_place(&self, width: usize) -> (usize, usize) {
        let rows = self.rows(width);
        let row = rows.iter().rposition(|row| row.start <= self.cursor);
        let row = row.unwrap_or(0);
        let start = rows.get(row).map_or(0, |row| row.start);
        let before = self.text.get(start..self.cursor).unwrap_or_default();
        (row, width_of(&clean(before)))
    }

    fn move_vertically(&mut self, width: usize, step: isize) -> InputEffect {
        let rows = self.rows(width);
        let (row, column) = self.cursor_place(width);
        let column = self.wanted_column.unwrap_or(column);
        let Some(target) = row.checked_add_signed(step).and_then(|row| rows.get(row)) else {
            return InputEffect::Ignored;
        };
        let mut cursor = target.start;
        let mut used = 0;
        let line = self.text.get(target.clone()).unwrap_or_default();
        for grapheme in line.graphemes(true) {
            used += width_of(&clean(grapheme));
            if used > column {
                break;
            }
            cursor += grapheme.len();
        }
        self.cursor = cursor;
        self.wanted_column = Some(column);
        InputEffect::Moved
    }

    fn remove(&mut self, range: Range<usize>) -> InputEffect {
        if let Some(removed) = self.text.get(range.clone())
            && !removed.is_empty()
        {
            self.removed = removed.to_owned();
        }
        self.erase(range)
    }

    fn erase(&mut self, range: Range<usize>) -> InputEffect {
        if range.is_empty() {
            return InputEffect::Moved;
        }
        self.replace(range, "");
        InputEffect::Changed
    }

    fn previous(&self) -> usize {
        let last = self.before_cursor().graphemes(true).next_back();
        self.cursor - last.map_or(0, str::len)
    }

    fn next(&self) -> usize {
        let first = self.after_cursor().graphemes(true).next();
        self.cursor + first.map_or(0, str::len)
    }

    fn line_start(&self) -> usize {
        self.before_cursor().rfind('\n').map_or(0, |at| at + 1)
    }

    fn line_end(&self) -> usize {
        let end = self.after_cursor().find('\n');
        end.map_or(self.text.len(), |at| self.cursor + at)
    }

    fn word_start(&self) -> usize {
        let words = self.before_cursor().split_word_bound_indices();
        let mut words = words.rev().filter(|(_, word)| !word.trim().is_empty());
        words.next().map_or(0, |(at, _)| at)
    }

    fn word_end(&self) -> usize {
        let words = self.after_cursor().split_word_bound_indices();
        let mut words = words.filter(|(_, word)| !word.trim().is_empty());
        let word = words.next();
        word.map_or(self.text.len(), |(at, word)| self.cursor + at + word.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(input: &mut TextInput, code: KeyCode, modifiers: KeyModifiers) -> InputEffect {
        input.handle_key(&KeyEvent::new(code, modifiers), 10)
    }

    #[test]
    fn text_is_edited_by_graphemes_words_and_lines() {
        let none = KeyModifiers::NONE;
        let control = KeyModifiers::CONTROL;
        let mut input = TextInput::new("one two\nthree".to_owned());
        press(&mut input, KeyCode::Char('w'), control);
        assert_eq!(input.text(), "one two\n");
        press(&mut input, KeyCode::Char('y'), control);
        press(&mut input, KeyCode::Home, none);
        press(&mut input, KeyCode::Char('x'), none);
        assert_eq!(input.text(), "one two\nxthree");
        press(&mut input, KeyCode::Up, none);
        press(&mut input, KeyCode::Char('k'), control);
        assert_eq!(input.text(), "o\nxthree");
        let mut input = TextInput::new("a👩‍💻".to_owned());
        press(&mut input, KeyCode::Backspace, none);
        assert_eq!(input.text(), "a");
    }

    #[test]
    fn a_paste_keeps_lines_and_no_control_characters() {
        let mut input = TextInput::default();
        input.insert("a\r\nb\u{1b}[31m\tc\u{7}");
        assert_eq!(input.text(), "a\nb[31m\tc");
    }

    #[test]
    fn the_cursor_is_where_the_text_is() {
        let mut input = TextInput::new("0123456789你好".to_owned());
        assert_eq!(input.cursor_place(10), (1, 4));
        assert_eq!(
            press(&mut input, KeyCode::Up, KeyModifiers::NONE),
            InputEffect::Moved
        );
        assert_eq!(input.cursor_place(10), (0, 4));
        assert_eq!(
            press(&mut input, KeyCode::Up, KeyModifiers::NONE),
            InputEffect::Ignored
        );
        assert_eq!(TextInput::new("a\n".to_owned()).cursor_place(10), (1, 0));
    }
}
