//! Keys of the composer.

use agenthost_frontend::FrontendCommand;
use agenthost_view::timeline::{MessageSource, RowBody};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::replies::ReplyPurpose;
use super::{ScreenFocus, ScreenRequest, TerminalScreen};
use crate::bindings::{KeyPlace, ScreenAction, find_action};
use crate::panes::text_input::InputEffect;

impl TerminalScreen {
    pub(super) fn handle_composer_key(&mut self, key: &KeyEvent) {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let alt = key.modifiers.contains(KeyModifiers::ALT);
        let shift = key.modifiers.contains(KeyModifiers::SHIFT);
        if !self.composer.completions.is_empty() {
            let last = self.composer.completions.len() - 1;
            match key.code {
                KeyCode::Esc => return self.composer.completions.clear(),
                KeyCode::Up => {
                    self.composer.selected = self.composer.selected.saturating_sub(1);
                    return;
                }
                KeyCode::Down => {
                    self.composer.selected = (self.composer.selected + 1).min(last);
                    return;
                }
                KeyCode::Tab => {
                    self.composer.accept_completion();
                    return self.note_typing();
                }
                _ => {}
            }
        }
        match key.code {
            KeyCode::Esc => self.set_focus(ScreenFocus::Chat),
            KeyCode::Tab => self.run_action(ScreenAction::NextPane),
            KeyCode::BackTab => self.run_action(ScreenAction::PreviousPane),
            KeyCode::Enter if alt || shift => {
                self.composer.input.insert("\n");
                self.note_typing();
            }
            KeyCode::Enter => self.send_message(false),
            KeyCode::Char('s') if alt => self.send_message(true),
            KeyCode::Char('g') if control => {
                let text = self.composer.input.text().to_owned();
                self.requests.push(ScreenRequest::EditText(text));
            }
            KeyCode::Char('p' | 'q' | 'l' | 'z') if control => {
                if let Some(action) = find_action(&[KeyPlace::Global], key) {
                    self.run_action(action);
                }
            }
            KeyCode::Char('1'..='5') if alt => {
                if let Some(action) = find_action(&[KeyPlace::Global], key) {
                    self.run_action(action);
                }
            }
            KeyCode::PageUp => self.run_action(ScreenAction::PageUp),
            KeyCode::PageDown => self.run_action(ScreenAction::PageDown),
            KeyCode::F(1) => self.run_action(ScreenAction::Help),
            KeyCode::F(12) => self.run_action(ScreenAction::Mouse),
            _ => self.edit_message(key),
        }
    }

    fn edit_message(&mut self, key: &KeyEvent) {
        let width = self.composer_width();
        match self.composer.input.handle_key(key, width) {
            InputEffect::Changed => self.note_typing(),
            InputEffect::Moved => {}
            InputEffect::Ignored => {
                let rows = self.timeline.rows().iter();
                let messages = rows.filter_map(|row| match &row.body {
                    RowBody::Message {
                        from: MessageSource::User,
                        text,
                        ..
                    } => Some(text.as_str()),
                    _ => None,
                });
                let messages: Vec<_> = messages.collect();
                let step = match key.code {
                    KeyCode::Up => 1,
                    KeyCode::Down => -1,
                    _ => return,
                };
                self.composer.recall(&messages, step);
            }
        }
    }

    /// Returns the width of the text in the composer.
    pub(super) fn composer_width(&self) -> usize {
        let area = self.areas.composer;
        area.map_or(60, |area| usize::from(area.width.saturating_sub(3)).max(1))
    }

    /// Records a change of the message, and requests completions.
    pub(super) fn note_typing(&mut self) {
        self.composer.note_change(self.now);
        match self.composer.completion_query() {
            Some((text, cursor)) => {
                let purpose = ReplyPurpose::Completions(text.clone());
                self.command(FrontendCommand::Completions { text, cursor }, purpose);
            }
            None => self.composer.completions.clear(),
        }
    }

    fn send_message(&mut self, steer: bool) {
        if self.composer.input.text().trim().is_empty() {
            return;
        }
        let Some(chat) = self.model.chat.as_ref().map(|chat| chat.chat.to_string()) else {
            return;
        };
        if !self.can_write() {
            return self.show_message("this chat can only be read");
        }
        let text = self.composer.take_message();
        self.timeline.scroll_to_end();
        let command = FrontendCommand::Send {
            chat: Some(chat),
            text,
            attachments: None,
            steer: steer.then_some(true),
            keep_draft: None,
        };
        self.command(command, ReplyPurpose::ErrorsOnly);
    }
}
