//! Routes keys and pastes to dialogs, texts and bindings.

use agenthost_frontend::FrontendCommand;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::replies::ReplyPurpose;
use super::{FullView, ScreenFocus, ScreenRequest, TerminalScreen, UTC_OFFSET_MINUTES};
use crate::bindings::{KeyPlace, find_action};
use crate::dialogs::ScreenDialog;
use crate::panes::inspector::InspectorKind;
use crate::panes::text_input::InputEffect;

/// Time in which a second ctrl+c quits.
const QUIT_MS: i64 = 2_000;

impl TerminalScreen {
    pub(super) fn handle_paste(&mut self, text: &str) {
        match &mut self.dialog {
            Some(ScreenDialog::Chooser(dialog)) => return dialog.paste(text),
            Some(ScreenDialog::Prompt(dialog)) => return dialog.paste(text),
            Some(ScreenDialog::Form(dialog)) => return dialog.paste(text),
            Some(ScreenDialog::NewSession(dialog)) => return dialog.paste(text),
            Some(
                ScreenDialog::Confirm(_)
                | ScreenDialog::Queue(_)
                | ScreenDialog::Restore(_)
                | ScreenDialog::Help(_),
            ) => return,
            None => {}
        }
        match &self.full {
            Some(FullView::Terminal(pane)) => {
                let data = pane.paste_bytes(text);
                self.send_to_terminal(data);
            }
            Some(FullView::Diff(_) | FullView::Code(_)) => {}
            None if self.sessions.is_filtering => {
                self.sessions
                    .filter
                    .insert(&text.replace(['\n', '\r'], " "));
                self.apply_filter();
            }
            None => {
                // A paste is never read as keys: a line break must not send or answer anything.
                if self.model.chat.is_some() {
                    self.focus = ScreenFocus::Composer;
                    self.composer.input.insert(text);
                    self.note_typing();
                }
            }
        }
    }

    pub(super) fn handle_key(&mut self, key: &KeyEvent) {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        if self.dialog.is_some() {
            return self.handle_dialog_key(key);
        }
        if let Some(FullView::Terminal(_)) = &self.full {
            return self.handle_terminal_key(key);
        }
        if control && key.code == KeyCode::Char('c') {
            return self.handle_interrupt();
        }
        if self.sessions.is_filtering {
            return self.handle_filter_key(key);
        }
        if self.full.is_none() && self.focus == ScreenFocus::Composer {
            return self.handle_composer_key(key);
        }
        if let Some(action) = find_action(&self.key_places(), key) {
            self.run_action(action);
        }
    }

    /// Returns the places whose keys are active, the nearest first.
    pub(super) fn key_places(&self) -> Vec<KeyPlace> {
        let near = match (&self.full, self.focus, self.inspector) {
            (Some(FullView::Diff(_)), ..) => vec![KeyPlace::Diff],
            (Some(FullView::Code(_)), ..) => vec![KeyPlace::Code],
            (Some(FullView::Terminal(_)), ..) => Vec::new(),
            (None, ScreenFocus::Sessions, _) => vec![KeyPlace::Sessions],
            (None, ScreenFocus::Chat | ScreenFocus::Composer, _) => {
                let mut places = vec![KeyPlace::Chat];
                if !self.model.requests.is_empty() {
                    places.insert(0, KeyPlace::Request);
                }
                places
            }
            (None, ScreenFocus::Inspector, Some(kind)) => vec![match kind {
                InspectorKind::Inbox => KeyPlace::Inbox,
                InspectorKind::Changes => KeyPlace::Changes,
                InspectorKind::Chats => KeyPlace::Chats,
                InspectorKind::Terminals => KeyPlace::Terminals,
                InspectorKind::Usage => KeyPlace::Usage,
                InspectorKind::Customizations => KeyPlace::Customizations,
            }],
            (None, ScreenFocus::Inspector, None) => Vec::new(),
        };
        let mut places = near;
        places.push(KeyPlace::Global);
        places
    }

    /// Handles ctrl+c: clears the text, cancels the turn, or quits at the second time.
    fn handle_interrupt(&mut self) {
        if self.focus == ScreenFocus::Composer && !self.composer.input.is_empty() {
            self.composer.input.set_text(String::new());
            self.note_typing();
            return;
        }
        let asked = self.quit_asked_at.is_some_and(|at| self.now - at < QUIT_MS);
        if asked {
            self.requests.push(ScreenRequest::Quit);
        } else {
            self.quit_asked_at = Some(self.now);
            self.show_message("ctrl+c again quits; x in the chat cancels the turn");
        }
    }

    fn handle_filter_key(&mut self, key: &KeyEvent) {
        match key.code {
            KeyCode::Esc => {
                self.sessions.filter.set_text(String::new());
                self.sessions.is_filtering = false;
                self.apply_filter();
            }
            KeyCode::Enter => {
                self.sessions.is_filtering = false;
                self.open_selected_session();
            }
            KeyCode::Down => self.sessions.select(&self.model.sessions, 1),
            KeyCode::Up => self.sessions.select(&self.model.sessions, -1),
            _ => {
                if self.sessions.filter.handle_key(key, usize::MAX) == InputEffect::Changed {
                    self.apply_filter();
                }
            }
        }
    }

    pub(super) fn apply_filter(&mut self) {
        self.sessions.selected = None;
        let command = FrontendCommand::Filter {
            text: self.sessions.filter.text().to_owned(),
            group: agenthost_frontend::GroupMode::Folder,
            archived: self.sessions.shows_archived,
            utc_offset_minutes: UTC_OFFSET_MINUTES,
        };
        self.command(command, ReplyPurpose::Quiet);
    }
}
