//! A list of which the user chooses one entry, with a search: palette, models, operations.

use agenthost_view::fuzzy::{FuzzyFinder, LabelKind};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::text::{Line, Span};

use crate::bindings::ScreenAction;
use crate::paint::canvas::{
    centered, cut_line, draw_box, draw_line, fill_row, scroll_to, two_sided,
};
use crate::paint::text::clean;
use crate::paint::theme::ScreenTheme;
use crate::panes::text_input::{InputEffect, TextInput};

/// Entries that match a search.
const MAX_FOUND: usize = 200;

/// A list with a search.
#[derive(Debug)]
pub(crate) struct ChooserDialog {
    title: String,
    entries: Vec<ChooserEntry>,
    filter: TextInput,
    /// Places of the entries that match.
    found: Vec<usize>,
    selected: usize,
    offset: usize,
}

/// An entry of a list.
#[derive(Debug, Clone)]
pub(crate) struct ChooserEntry {
    pub(crate) label: String,
    pub(crate) detail: String,
    pub(crate) choice: ChooserChoice,
}

/// The meaning of an entry.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ChooserChoice {
    Action(ScreenAction),
    Session(String),
    Model(String),
    /// A value of a setting.
    Setting {
        key: String,
        value: String,
    },
    Operation(String),
    Changeset(String),
}

/// The result of a key.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ChooserEvent {
    Open,
    Closed,
    Chosen(ChooserChoice),
}

impl ChooserDialog {
    pub(crate) fn new(title: impl Into<String>, entries: Vec<ChooserEntry>) -> Self {
        let mut dialog = ChooserDialog {
            title: title.into(),
            entries,
            filter: TextInput::default(),
            found: Vec::new(),
            selected: 0,
            offset: 0,
        };
        dialog.search();
        dialog
    }

    pub(crate) fn paste(&mut self, text: &str) {
        self.filter.insert(&text.replace(['\n', '\r'], " "));
        self.search();
    }

    pub(crate) fn handle_key(&mut self, key: &KeyEvent) -> ChooserEvent {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let last = self.found.len().saturating_sub(1);
        match key.code {
            KeyCode::Esc => return ChooserEvent::Closed,
            KeyCode::Char('c') if control => return ChooserEvent::Closed,
            KeyCode::Enter => {
                let place = self.found.get(self.selected);
                let entry = place.and_then(|place| self.entries.get(*place));
                return match entry {
                    Some(entry) => ChooserEvent::Chosen(entry.choice.clone()),
                    None => ChooserEvent::Closed,
                };
            }
            KeyCode::Up => self.selected = self.selected.saturating_sub(1),
            KeyCode::Char('p') if control => self.selected = self.selected.saturating_sub(1),
            KeyCode::Down => self.selected = (self.selected + 1).min(last),
            KeyCode::Char('n') if control => self.selected = (self.selected + 1).min(last),
            KeyCode::PageUp => self.selected = self.selected.saturating_sub(10),
            KeyCode::PageDown => self.selected = (self.selected + 10).min(last),
            _ => {
                if self.filter.handle_key(key, usize::MAX) == InputEffect::Changed {
                    self.search();
                }
            }
        }
        ChooserEvent::Open
    }

    fn search(&mut self) {
        let labels = self.entries.iter();
        let labels: Vec<_> = labels
            .map(|entry| format!("{} {}", entry.label, entry.detail))
            .collect();
        let labels = labels.iter().map(String::as_str);
        let found = FuzzyFinder::new(LabelKind::Words).find(self.filter.text(), labels, MAX_FOUND);
        self.found = found.into_iter().map(|found| found.index).collect();
        self.selected = 0;
    }

    pub(crate) fn draw(&mut self, buffer: &mut Buffer, area: Rect, theme: &ScreenTheme) {
        let height = u16::try_from(self.entries.len()).unwrap_or(u16::MAX);
        let area = centered(area, 76, height.saturating_add(4).clamp(6, 24));
        let inner = draw_box(buffer, area, &self.title, theme);
        let width = usize::from(inner.width);
        let search = vec![
            Span::styled("> ", theme.accent),
            Span::styled(clean(self.filter.text()), theme.strong),
            Span::styled("▏", theme.accent),
        ];
        draw_line(buffer, inner, 0, &cut_line(search, width));
        let list = Rect::new(
            inner.x,
            inner.y + 1.min(inner.height),
            inner.width,
            inner.height.saturating_sub(1),
        );
        self.offset = scroll_to(self.selected, self.offset, usize::from(list.height));
        if self.found.is_empty() {
            draw_line(buffer, list, 0, &Line::styled("nothing matches", theme.dim));
        }
        let shown = self.found.iter().enumerate().skip(self.offset);
        for (row, (place, index)) in (0..list.height).zip(shown) {
            let Some(entry) = self.entries.get(*index) else {
                continue;
            };
            let left = vec![Span::styled(clean(&entry.label), theme.text)];
            let right = vec![Span::styled(clean(&entry.detail), theme.dim)];
            draw_line(buffer, list, row, &two_sided(left, right, width));
            if place == self.selected {
                fill_row(buffer, list, row, theme.selected);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_match_is_chosen() {
        let entry = |label: &str| ChooserEntry {
            label: label.to_owned(),
            detail: String::new(),
            choice: ChooserChoice::Model(label.to_owned()),
        };
        let mut dialog = ChooserDialog::new("Model", vec![entry("opus"), entry("sonnet")]);
        for letter in "son".chars() {
            let key = KeyEvent::new(KeyCode::Char(letter), KeyModifiers::NONE);
            assert_eq!(dialog.handle_key(&key), ChooserEvent::Open);
        }
        let enter = KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE);
        let choice = ChooserChoice::Model("sonnet".to_owned());
        assert_eq!(dialog.handle_key(&enter), ChooserEvent::Chosen(choice));
    }
}
