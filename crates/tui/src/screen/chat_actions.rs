//! Actions on the selected chat, its composer and the sessions.

use std::sync::Arc;

use agenthost_frontend::{ChatCommand, FrontendCommand, NewChatSource};
use agenthost_view::markdown::MarkdownBlock;
use agenthost_view::timeline::{CallContent, RowBody, TimelineRow};

use super::replies::ReplyPurpose;
use super::{FullView, ScreenFocus, ScreenRequest, TerminalScreen};
use crate::bindings::ScreenAction;
use crate::dialogs::ScreenDialog;
use crate::dialogs::chooser::{ChooserChoice, ChooserDialog, ChooserEntry};
use crate::dialogs::prompt::{PromptDialog, PromptPurpose};
use crate::dialogs::queue_list::QueueDialog;
use crate::dialogs::restore::RestoreDialog;
use crate::paint::markdown::MarkdownPainter;
use crate::paint::theme::ScreenTheme;

impl TerminalScreen {
    pub(super) fn run_chat_action(&mut self, action: ScreenAction) {
        match action {
            ScreenAction::SelectUp | ScreenAction::SelectDown => {
                let step = if action == ScreenAction::SelectUp {
                    -1
                } else {
                    1
                };
                let theme = self.options.theme;
                let mut contents = Self::timeline_contents(&theme, &self.model, &mut self.contents);
                self.timeline.select(step, &mut contents);
                self.load_older();
            }
            ScreenAction::Copy => self.copy_entry(),
            ScreenAction::Find => {
                let text = self.find.clone();
                let dialog = PromptDialog::new("Find in this chat", text, PromptPurpose::Find);
                self.dialog = Some(ScreenDialog::Prompt(dialog));
            }
            ScreenAction::FindNext => self.find_next(),
            ScreenAction::RestoreTurn => {
                if let Some(turn) = self.selected_turn() {
                    let command = FrontendCommand::Chat(ChatCommand::PreviewRestore { turn });
                    self.command(command, ReplyPurpose::ErrorsOnly);
                    self.dialog = Some(ScreenDialog::Restore(RestoreDialog::default()));
                }
            }
            ScreenAction::ForkTurn => {
                let turn = self.selected_turn();
                self.create_chat(Some(NewChatSource::Fork), turn);
            }
            ScreenAction::SideChat => self.create_chat(Some(NewChatSource::Side), None),
            ScreenAction::Cancel => {
                self.command(FrontendCommand::CancelTurn {}, ReplyPurpose::ErrorsOnly);
            }
            ScreenAction::Resume => {
                self.command(FrontendCommand::ResumeTurn {}, ReplyPurpose::ErrorsOnly);
            }
            ScreenAction::Model => self.choose_model(),
            ScreenAction::Settings => self.choose_setting(),
            ScreenAction::Queue => {
                self.dialog = Some(ScreenDialog::Queue(QueueDialog::default()));
            }
            _ => {}
        }
    }

    pub(super) fn create_chat(&mut self, source: Option<NewChatSource>, turn: Option<String>) {
        let command = ChatCommand::Create {
            source,
            turn,
            selection: None,
        };
        self.command(FrontendCommand::Chat(command), ReplyPurpose::ErrorsOnly);
        self.set_focus(ScreenFocus::Composer);
    }

    /// Returns the turn of the selected entry, or the last turn.
    fn selected_turn(&self) -> Option<String> {
        let row = self.timeline.selected().or(self.timeline.rows().last());
        row.map(|row| row.turn_id.to_string())
    }

    fn choose_model(&mut self) {
        let models = self
            .model
            .composer
            .as_ref()
            .map(|composer| &composer.models);
        let current = self
            .model
            .composer
            .as_ref()
            .and_then(|composer| composer.model.clone());
        let entries = models.into_iter().flatten().map(|model| ChooserEntry {
            label: model.label.clone(),
            detail: match &current {
                Some(current) if current.as_str() == model.id => "current".to_owned(),
                _ => String::new(),
            },
            choice: ChooserChoice::Model(model.id.clone()),
        });
        let entries: Vec<_> = entries.collect();
        self.choose(
            "Model of the next message",
            entries,
            "this agent offers no models",
        );
    }

    fn choose_setting(&mut self) {
        let rows = self.model.chat.iter().flat_map(|chat| &chat.config);
        let rows = rows.filter(|row| row.mutable);
        let entries = rows.flat_map(|row| {
            row.options.iter().map(|option| ChooserEntry {
                label: format!("{}: {}", row.label, option.label),
                detail: match &row.value {
                    Some(value) if *value == option.id => "current".to_owned(),
                    _ => String::new(),
                },
                choice: ChooserChoice::Setting {
                    key: row.key.clone(),
                    value: option.id.clone(),
                },
            })
        });
        let entries: Vec<_> = entries.collect();
        self.choose(
            "Mode and settings",
            entries,
            "this session has no settings to change",
        );
    }

    /// Opens a list, or shows a message if it is empty.
    pub(super) fn choose(&mut self, title: &str, entries: Vec<ChooserEntry>, empty: &str) {
        if entries.is_empty() {
            self.show_message(empty);
        } else {
            self.dialog = Some(ScreenDialog::Chooser(ChooserDialog::new(title, entries)));
        }
    }

    /// Copies the selected entry, or the last answer, as plain text.
    fn copy_entry(&mut self) {
        let is_answer = |row: &&Arc<TimelineRow>| matches!(row.body, RowBody::Text { .. });
        let row = self.timeline.selected().cloned();
        let row = row.or_else(|| self.timeline.rows().iter().rfind(is_answer).cloned());
        match row.map(|row| entry_text(&row.body)) {
            Some(text) if !text.is_empty() => {
                self.show_message(format!("copied {} characters", text.chars().count()));
                self.requests.push(ScreenRequest::Copy(text));
            }
            _ => self.show_message("nothing to copy"),
        }
    }

    pub(super) fn find_text(&mut self, text: String) {
        self.find = text;
        self.timeline.clear_selection();
        self.find_next();
    }

    /// Selects the next entry above that contains the text.
    fn find_next(&mut self) {
        let wanted = self.find.to_lowercase();
        if wanted.is_empty() {
            return;
        }
        let rows = self.timeline.rows();
        let start = self.timeline.selected().map(|row| row.key.clone());
        let start = start.and_then(|key| rows.iter().position(|row| row.key == key));
        let above = rows.get(..start.unwrap_or(rows.len())).unwrap_or_default();
        let found = above
            .iter()
            .rfind(|row| entry_text(&row.body).to_lowercase().contains(&wanted));
        match found.map(|row| row.key.clone()) {
            Some(key) => {
                let theme = self.options.theme;
                let mut contents = Self::timeline_contents(&theme, &self.model, &mut self.contents);
                self.timeline.select_key(key, &mut contents);
            }
            None => self.show_message("no match above, among the loaded turns"),
        }
    }

    /// Opens the selected entry of the focused pane.
    pub(super) fn open_selected(&mut self) {
        match (&self.full, self.focus) {
            (Some(FullView::Diff(_) | FullView::Code(_) | FullView::Terminal(_)), _) => {}
            (None, ScreenFocus::Sessions) => self.open_selected_session(),
            (None, ScreenFocus::Inspector) => self.open_list_entry(),
            (None, ScreenFocus::Chat | ScreenFocus::Composer) => self.open_chat_entry(),
        }
    }

    fn open_chat_entry(&mut self) {
        let selected = self.timeline.selected().map(|row| row.body.clone());
        match selected {
            None => {
                if let Some(
                    card @ (agenthost_view::request::RequestCard::Form(_)
                    | agenthost_view::request::RequestCard::SignIn(_)),
                ) = self.current_request()
                {
                    return self.open_request(card);
                }
                self.timeline.toggle_selected();
            }
            Some(RowBody::Form {
                card,
                response: None,
                ..
            }) => self.open_request(*card),
            Some(RowBody::ToolCall(call)) => {
                let worker = call.content.iter().find_map(|content| match content {
                    CallContent::Worker { chat, .. } => Some(chat.to_string()),
                    _ => None,
                });
                match worker {
                    Some(chat) => {
                        let command = FrontendCommand::SelectChat { chat };
                        self.command(command, ReplyPurpose::ErrorsOnly);
                    }
                    None => self.timeline.toggle_selected(),
                }
            }
            Some(_) => self.timeline.toggle_selected(),
        }
        self.watch_terminals();
    }
}

/// Returns the text of an entry as it is copied and searched.
fn entry_text(body: &RowBody) -> String {
    match body {
        RowBody::Message { text, .. } => text.clone(),
        RowBody::Text { blocks, .. }
        | RowBody::Reasoning { blocks, .. }
        | RowBody::Notice { blocks } => blocks_text(blocks),
        RowBody::ToolCall(call) => {
            let mut parts = vec![call.title.clone()];
            parts.extend(call.command.clone().or(call.input.clone()));
            parts.extend(call.content.iter().filter_map(|content| match content {
                CallContent::Text { text } => Some(text.clone()),
                CallContent::Terminal { preview, .. } => preview.clone(),
                CallContent::Edit { edit } => Some(edit.path.clone()),
                CallContent::Worker { title, .. } => Some(title.clone()),
                CallContent::Resource { .. } | CallContent::Embedded { .. } => None,
            }));
            parts.join("\n")
        }
        RowBody::Plan { entries } => {
            let texts: Vec<_> = entries.iter().map(|entry| entry.text.as_str()).collect();
            texts.join("\n")
        }
        RowBody::Error { message, .. } => message.clone(),
        RowBody::Form { .. } | RowBody::Resource { .. } | RowBody::TurnEnd { .. } => String::new(),
    }
}

/// Returns Markdown as plain text without wrapped lines.
fn blocks_text(blocks: &[Arc<MarkdownBlock>]) -> String {
    if let [block] = blocks
        && let MarkdownBlock::Code { text, .. } = &**block
    {
        return text.clone();
    }
    let theme = ScreenTheme::plain();
    let painter = MarkdownPainter {
        theme: &theme,
        width: 10_000,
    };
    let lines = painter.lines(blocks);
    let lines: Vec<_> = lines.iter().map(|line| line.to_string()).collect();
    lines.join("\n").trim().to_owned()
}
