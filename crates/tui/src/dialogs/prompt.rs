//! A question for a text, and a question for yes or no.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::{Position, Rect};
use ratatui_core::text::{Line, Span};

use agenthost_frontend::FrontendCommand;

use crate::paint::canvas::{centered, draw_box, draw_line, draw_lines};
use crate::paint::text::{clean, clean_lines};
use crate::paint::theme::ScreenTheme;
use crate::paint::wrap::{WrapMode, wrap};
use crate::panes::text_input::TextInput;

/// A question for a text.
#[derive(Debug)]
pub(crate) struct PromptDialog {
    pub(crate) title: String,
    pub(crate) input: TextInput,
    pub(crate) purpose: PromptPurpose,
}

/// The use of the text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum PromptPurpose {
    Rename(String),
    Find,
    /// A comment on lines of the open diff.
    Comment {
        file: String,
        is_before: bool,
        line: u32,
    },
    /// The message of a queued message.
    EditQueued(String),
    /// The text of a review that is sent to the agent, with its threads.
    SendReview(Vec<String>),
    /// A token for a resource.
    Token(String),
}

/// The result of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PromptEvent {
    Open,
    Closed,
    Submitted(String),
}

impl PromptPurpose {
    fn is_multiline(&self) -> bool {
        match self {
            PromptPurpose::Comment { .. }
            | PromptPurpose::EditQueued(_)
            | PromptPurpose::SendReview(_) => true,
            PromptPurpose::Rename(_) | PromptPurpose::Find | PromptPurpose::Token(_) => false,
        }
    }

    fn is_secret(&self) -> bool {
        matches!(self, PromptPurpose::Token(_))
    }
}

impl PromptDialog {
    pub(crate) fn new(title: &str, text: String, purpose: PromptPurpose) -> Self {
        PromptDialog {
            title: title.to_owned(),
            input: TextInput::new(text),
            purpose,
        }
    }

    pub(crate) fn paste(&mut self, text: &str) {
        if self.purpose.is_multiline() {
            self.input.insert(text);
        } else {
            self.input.insert(&text.replace(['\n', '\r'], " "));
        }
    }

    pub(crate) fn handle_key(&mut self, key: &KeyEvent) -> PromptEvent {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let wants_break = key
            .modifiers
            .intersects(KeyModifiers::ALT | KeyModifiers::SHIFT);
        match key.code {
            KeyCode::Esc => PromptEvent::Closed,
            KeyCode::Char('c') if control => PromptEvent::Closed,
            KeyCode::Enter if wants_break && self.purpose.is_multiline() => {
                self.input.insert("\n");
                PromptEvent::Open
            }
            KeyCode::Enter => PromptEvent::Submitted(self.input.text().to_owned()),
            KeyCode::Char('j') if control && !self.purpose.is_multiline() => PromptEvent::Open,
            _ => {
                self.input.handle_key(key, 60);
                PromptEvent::Open
            }
        }
    }

    pub(crate) fn draw(
        &self,
        buffer: &mut Buffer,
        area: Rect,
        theme: &ScreenTheme,
    ) -> Option<Position> {
        let height = if self.purpose.is_multiline() { 12 } else { 4 };
        let area = centered(area, 66, height);
        let inner = draw_box(buffer, area, &self.title, theme);
        let text = Rect::new(
            inner.x,
            inner.y,
            inner.width,
            inner.height.saturating_sub(1),
        );
        let hint = if self.purpose.is_multiline() {
            "enter: send   alt+enter: new line   esc: close"
        } else {
            "enter: ok   esc: close"
        };
        draw_line(
            buffer,
            inner,
            inner.height.saturating_sub(1),
            &Line::styled(hint, theme.dim),
        );
        draw_input(buffer, text, &self.input, self.purpose.is_secret(), theme)
    }
}

/// Draws a text that is edited, and returns the place of the cursor.
pub(crate) fn draw_input(
    buffer: &mut Buffer,
    area: Rect,
    input: &TextInput,
    is_secret: bool,
    theme: &ScreenTheme,
) -> Option<Position> {
    let width = usize::from(area.width).saturating_sub(1).max(1);
    let height = usize::from(area.height);
    let rows = input.rows(width);
    let (row, column) = input.cursor_place(width);
    let offset = (row + 1).saturating_sub(height);
    for (place, range) in (0..area.height).zip(rows.iter().skip(offset)) {
        let text = input.text().get(range.clone()).unwrap_or_default();
        let text = if is_secret {
            "•".repeat(text.chars().count())
        } else {
            clean(text)
        };
        draw_line(buffer, area, place, &Line::styled(text, theme.text));
    }
    let row = u16::try_from(row.checked_sub(offset)?).ok()?;
    let column = u16::try_from(column).ok()?;
    (row < area.height && column < area.width).then(|| Position::new(area.x + column, area.y + row))
}

/// A question for yes or no.
#[derive(Debug)]
pub(crate) struct ConfirmDialog {
    pub(crate) question: String,
    pub(crate) command: FrontendCommand,
    /// Text that is shown when the command has succeeded.
    pub(crate) done: String,
}

impl ConfirmDialog {
    pub(crate) fn draw(&self, buffer: &mut Buffer, area: Rect, theme: &ScreenTheme) {
        let width = area.width.min(66);
        let inner_width = usize::from(width.saturating_sub(2));
        let mut lines = Vec::new();
        for line in clean_lines(&self.question) {
            lines.extend(wrap(
                &[Span::styled(line, theme.text)],
                inner_width,
                WrapMode::Words,
            ));
        }
        lines.push(Line::default());
        lines.push(Line::from(vec![
            Span::styled("y", theme.accent),
            Span::styled(" yes   ", theme.text),
            Span::styled("n", theme.accent),
            Span::styled(" no", theme.text),
        ]));
        let height = u16::try_from(lines.len() + 2).unwrap_or(u16::MAX);
        let inner = draw_box(buffer, centered(area, width, height), "", theme);
        draw_lines(buffer, inner, &lines);
    }
}
