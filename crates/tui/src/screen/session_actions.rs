//! Actions on sessions.

use agenthost_frontend::{FrontendCommand, NewChatSource, SessionCommand};

use super::replies::ReplyPurpose;
use super::{ScreenFocus, TerminalScreen};
use crate::bindings::ScreenAction;
use crate::dialogs::ScreenDialog;
use crate::dialogs::new_session::NewSessionDialog;
use crate::dialogs::prompt::{ConfirmDialog, PromptDialog, PromptPurpose};
use crate::paint::text::clean;

impl TerminalScreen {
    pub(super) fn open_new_session(&mut self) {
        let row = self.sessions.current(&self.model.sessions);
        let folder = row.filter(|_| self.focus == ScreenFocus::Sessions);
        let folder = folder.and_then(|row| row.folder.clone());
        let folder = self
            .options
            .folder
            .clone()
            .or(folder)
            .or(self.model.home.clone());
        let latest = self.model.sessions.rows.first();
        let agent = latest.map(|row| row.provider.to_string());
        let dialog = NewSessionDialog::new(
            self.model.agents.clone(),
            agent.as_deref(),
            folder.unwrap_or_default(),
            self.model.folders.clone(),
        );
        self.full = None;
        self.dialog = Some(ScreenDialog::NewSession(Box::new(dialog)));
        self.resolve_settings();
    }

    /// Reads the settings that the new session would have.
    pub(super) fn resolve_settings(&mut self) {
        let Some(ScreenDialog::NewSession(dialog)) = &self.dialog else {
            return;
        };
        let Some(command) = dialog.resolve_command() else {
            return;
        };
        let id = self.command(command, ReplyPurpose::Settings);
        if let Some(ScreenDialog::NewSession(dialog)) = &mut self.dialog {
            dialog.config_request = Some(id);
        }
    }

    pub(super) fn open_selected_session(&mut self) {
        let row = self.sessions.current(&self.model.sessions);
        if let Some(session) = row.map(|row| row.key.clone()) {
            self.open_session(session);
        }
    }

    pub(super) fn run_session_action(&mut self, action: ScreenAction) {
        if action == ScreenAction::ShowArchived {
            self.sessions.shows_archived = !self.sessions.shows_archived;
            return self.apply_filter();
        }
        let Some(row) = self.sessions.current(&self.model.sessions) else {
            return;
        };
        let (session, title) = (row.key.to_string(), row.title.clone());
        match action {
            ScreenAction::Rename => {
                let purpose = PromptPurpose::Rename(session);
                let dialog = PromptDialog::new("Rename the session", title, purpose);
                self.dialog = Some(ScreenDialog::Prompt(dialog));
            }
            ScreenAction::Archive => {
                let archived = !row.archived;
                let message = if archived {
                    "archived; X shows archived sessions"
                } else {
                    "restored"
                };
                let command = FrontendCommand::Archive { session, archived };
                self.command(command, ReplyPurpose::Announce(message.to_owned()));
            }
            ScreenAction::Delete => {
                let question = format!(
                    "Delete `{}` with all of its chats? This cannot be undone.",
                    clean(&title)
                );
                self.dialog = Some(ScreenDialog::Confirm(ConfirmDialog {
                    question,
                    command: FrontendCommand::Delete { session },
                    done: "deleted".to_owned(),
                }));
            }
            _ => {}
        }
    }

    /// Copies the selected session, or the open chat.
    pub(super) fn fork_selected(&mut self) {
        if self.focus != ScreenFocus::Sessions {
            return self.create_chat(Some(NewChatSource::Fork), None);
        }
        let row = self.sessions.current(&self.model.sessions);
        if let Some(session) = row.map(|row| row.key.to_string()) {
            let command = FrontendCommand::Session(SessionCommand::Fork { session });
            self.command(command, ReplyPurpose::Announce("forked".to_owned()));
        }
    }
}
