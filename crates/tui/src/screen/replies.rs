//! The results of commands.

use agenthost_protocol::uri::Uri;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{FullView, TerminalScreen};
use crate::dialogs::ScreenDialog;
use crate::dialogs::new_session::SettingChoice;
use crate::dialogs::prompt::{PromptDialog, PromptPurpose};
use crate::panes::composer::CompletionEntry;
use crate::panes::edit_contents::EditContent;
use crate::panes::terminal_view::TerminalPane;

/// The use of the result of a command.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ReplyPurpose {
    /// Nothing is shown.
    Quiet,
    /// Only a failure is shown.
    ErrorsOnly,
    /// A text that is shown after the success.
    Announce(String),
    /// A content for the diff of an edit.
    Content(Uri),
    /// Completions of a text.
    Completions(String),
    /// Settings of a new session.
    Settings,
    /// A session that was created.
    Created,
    /// A terminal that was started.
    Terminal,
    /// Earlier turns of the chat.
    Older,
    /// The text of a review.
    ReviewText,
}

#[derive(Deserialize)]
struct ContentReply {
    data: String,
    encoding: String,
}

#[derive(Deserialize)]
struct TerminalReply {
    uri: String,
}

#[derive(Deserialize)]
struct ReviewReply {
    text: String,
    #[serde(default)]
    keys: Vec<String>,
}

impl TerminalScreen {
    /// Handles the result of a command.
    pub fn handle_done(&mut self, id: u64, error: Option<&str>, value: Option<&RawValue>) {
        let Some(purpose) = self.replies.remove(&id) else {
            return;
        };
        let text = value.map_or("null", RawValue::get);
        match purpose {
            ReplyPurpose::Quiet => {}
            ReplyPurpose::ErrorsOnly => self.show_failure(error),
            ReplyPurpose::Announce(message) => match error {
                None => self.show_message(message),
                Some(_) => self.show_failure(error),
            },
            ReplyPurpose::Content(uri) => {
                let content = match (error, serde_json::from_str::<ContentReply>(text)) {
                    (Some(error), _) => EditContent::Unreadable(error.to_owned()),
                    (None, Ok(reply)) if reply.encoding == "utf-8" => EditContent::Text(reply.data),
                    (None, Ok(_)) => EditContent::Unreadable("the file is not text".to_owned()),
                    (None, Err(error)) => EditContent::Unreadable(error.to_string()),
                };
                self.contents.add(uri, content);
            }
            ReplyPurpose::Completions(query) => {
                // Without completions, the text is sent as it is.
                let entries = serde_json::from_str::<Vec<CompletionEntry>>(text);
                self.composer
                    .show_completions(&query, entries.unwrap_or_default());
            }
            ReplyPurpose::Settings => {
                if let Some(ScreenDialog::NewSession(dialog)) = &mut self.dialog
                    && dialog.config_request == Some(id)
                {
                    match serde_json::from_str::<Vec<SettingChoice>>(text) {
                        Ok(settings) => dialog.set_settings(settings),
                        Err(_) => self.show_failure(error),
                    }
                }
            }
            ReplyPurpose::Created => match error {
                None => {
                    self.dialog = None;
                    self.focus = super::ScreenFocus::Composer;
                }
                Some(_) => self.show_failure(error),
            },
            ReplyPurpose::Terminal => match serde_json::from_str::<TerminalReply>(text) {
                Ok(reply) => self.open_terminal(Uri::from(reply.uri)),
                Err(_) => self.show_failure(error),
            },
            ReplyPurpose::Older => self.loads_older = false,
            ReplyPurpose::ReviewText => match serde_json::from_str::<ReviewReply>(text) {
                Ok(reply) if reply.text.is_empty() => {
                    self.show_message("there are no open comments");
                }
                Ok(reply) => {
                    let purpose = PromptPurpose::SendReview(reply.keys);
                    let dialog = PromptDialog::new("Send the review", reply.text, purpose);
                    self.dialog = Some(ScreenDialog::Prompt(dialog));
                }
                Err(_) => self.show_failure(error),
            },
        }
    }

    fn show_failure(&mut self, error: Option<&str>) {
        if let Some(error) = error {
            self.show_error(error);
        }
    }

    pub(super) fn open_terminal(&mut self, uri: Uri) {
        use agenthost_frontend::{FrontendCommand, TerminalCommand};
        let command = TerminalCommand::Open {
            uri: uri.to_string(),
        };
        self.command(FrontendCommand::Terminal(command), ReplyPurpose::ErrorsOnly);
        self.full = Some(FullView::Terminal(Box::new(TerminalPane::new(uri))));
    }
}
