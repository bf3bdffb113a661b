//! Keys of dialogs, and their results.

use agenthost_frontend::{AnnotationCommand, CustomizationCommand, FrontendCommand, Secret};
use agenthost_protocol::uri::Uri;
use agenthost_view::diff::TextSide;
use crossterm::event::{KeyCode, KeyEvent};

use super::TerminalScreen;
use super::replies::ReplyPurpose;
use crate::dialogs::ScreenDialog;
use crate::dialogs::chooser::{ChooserChoice, ChooserEvent};
use crate::dialogs::form::FormEvent;
use crate::dialogs::new_session::NewSessionEvent;
use crate::dialogs::prompt::{PromptDialog, PromptEvent, PromptPurpose};
use crate::dialogs::queue_list::QueueEvent;
use crate::dialogs::restore::RestoreEvent;

/// Lines of a page of the help.
const HELP_PAGE: usize = 10;

impl TerminalScreen {
    pub(super) fn handle_dialog_key(&mut self, key: &KeyEvent) {
        let Some(dialog) = self.dialog.take() else {
            return;
        };
        match dialog {
            ScreenDialog::Chooser(mut dialog) => match dialog.handle_key(key) {
                ChooserEvent::Open => self.dialog = Some(ScreenDialog::Chooser(dialog)),
                ChooserEvent::Closed => {}
                ChooserEvent::Chosen(choice) => self.handle_choice(choice),
            },
            ScreenDialog::Prompt(mut dialog) => match dialog.handle_key(key) {
                PromptEvent::Open => self.dialog = Some(ScreenDialog::Prompt(dialog)),
                PromptEvent::Closed => {}
                PromptEvent::Submitted(text) => self.handle_text(dialog.purpose, text),
            },
            ScreenDialog::Confirm(dialog) => match key.code {
                KeyCode::Char('y' | 'Y') => {
                    self.command(dialog.command, ReplyPurpose::Announce(dialog.done));
                }
                KeyCode::Char('n' | 'N' | 'q') | KeyCode::Esc => {}
                _ => self.dialog = Some(ScreenDialog::Confirm(dialog)),
            },
            ScreenDialog::Form(mut dialog) => {
                let commands = match dialog.handle_key(key) {
                    FormEvent::Open(commands) => {
                        self.dialog = Some(ScreenDialog::Form(dialog));
                        commands
                    }
                    FormEvent::Closed(commands) => commands,
                };
                for command in commands {
                    self.command(command, ReplyPurpose::ErrorsOnly);
                }
            }
            ScreenDialog::NewSession(mut dialog) => match dialog.handle_key(key) {
                NewSessionEvent::Open => self.dialog = Some(ScreenDialog::NewSession(dialog)),
                NewSessionEvent::Closed => {}
                NewSessionEvent::Resolve => {
                    self.dialog = Some(ScreenDialog::NewSession(dialog));
                    self.resolve_settings();
                }
                NewSessionEvent::Create(command) => {
                    // The dialog stays until the host has the session.
                    self.dialog = Some(ScreenDialog::NewSession(dialog));
                    self.command(command, ReplyPurpose::Created);
                }
            },
            ScreenDialog::Queue(mut dialog) => match dialog.handle_key(key, &self.model.queue) {
                QueueEvent::Open => self.dialog = Some(ScreenDialog::Queue(dialog)),
                QueueEvent::Closed => {}
                QueueEvent::Edit(key) => self.edit_queued(key),
                QueueEvent::Do(command) => {
                    self.dialog = Some(ScreenDialog::Queue(dialog));
                    self.command(command, ReplyPurpose::ErrorsOnly);
                }
            },
            ScreenDialog::Restore(mut dialog) => {
                match dialog.handle_key(key, self.model.restore.as_ref()) {
                    RestoreEvent::Open => self.dialog = Some(ScreenDialog::Restore(dialog)),
                    RestoreEvent::Done(commands) => {
                        for command in commands {
                            self.command(command, ReplyPurpose::ErrorsOnly);
                        }
                    }
                }
            }
            ScreenDialog::Help(mut dialog) => {
                match key.code {
                    KeyCode::Esc | KeyCode::Char('q' | '?') | KeyCode::F(1) => return,
                    KeyCode::Up | KeyCode::Char('k') => {
                        dialog.offset = dialog.offset.saturating_sub(1);
                    }
                    KeyCode::Down | KeyCode::Char('j') => dialog.offset += 1,
                    KeyCode::PageUp => dialog.offset = dialog.offset.saturating_sub(HELP_PAGE),
                    KeyCode::PageDown | KeyCode::Char(' ') => dialog.offset += HELP_PAGE,
                    _ => {}
                }
                self.dialog = Some(ScreenDialog::Help(dialog));
            }
        }
    }

    fn handle_choice(&mut self, choice: ChooserChoice) {
        let command = match choice {
            ChooserChoice::Action(action) => return self.run_action(action),
            ChooserChoice::Session(session) => return self.open_session(Uri::from(session)),
            ChooserChoice::Operation(id) => return self.run_operation(&[&id], None),
            ChooserChoice::Model(model) => FrontendCommand::SetModel { model },
            ChooserChoice::Setting { key, value } => FrontendCommand::SetConfig { key, value },
            ChooserChoice::Changeset(uri) => FrontendCommand::SelectChangeset { uri },
        };
        self.command(command, ReplyPurpose::ErrorsOnly);
    }

    fn edit_queued(&mut self, key: String) {
        let row = self.model.queue.iter().find(|row| row.key.as_str() == key);
        if let Some(text) = row.map(|row| row.text.clone()) {
            let purpose = PromptPurpose::EditQueued(key);
            let dialog = PromptDialog::new("Edit the waiting message", text, purpose);
            self.dialog = Some(ScreenDialog::Prompt(dialog));
        }
    }

    fn handle_text(&mut self, purpose: PromptPurpose, text: String) {
        let is_empty = text.trim().is_empty();
        let (command, message) = match purpose {
            PromptPurpose::Find => return self.find_text(text),
            _ if is_empty => return,
            PromptPurpose::Rename(session) => {
                let title = text.trim().to_owned();
                (FrontendCommand::Rename { session, title }, "renamed")
            }
            PromptPurpose::Comment {
                file,
                is_before,
                line,
            } => {
                let side = if is_before {
                    TextSide::Before
                } else {
                    TextSide::After
                };
                let command = AnnotationCommand::Add {
                    file,
                    side,
                    first: line,
                    last: line,
                    text,
                };
                (
                    FrontendCommand::Annotation(command),
                    "commented; R in the changes sends it",
                )
            }
            PromptPurpose::EditQueued(key) => (FrontendCommand::QueueEdit { key, text }, "changed"),
            PromptPurpose::SendReview(keys) => {
                let command = AnnotationCommand::SendReview { text, keys };
                (FrontendCommand::Annotation(command), "sent the review")
            }
            PromptPurpose::Token(resource) => {
                let command = CustomizationCommand::SignIn {
                    resource,
                    token: Secret::new(text.trim().to_owned()),
                    expires_in: None,
                };
                (FrontendCommand::Customization(command), "sent the token")
            }
        };
        self.command(command, ReplyPurpose::Announce(message.to_owned()));
    }
}
