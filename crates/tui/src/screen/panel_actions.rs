//! Actions on the pane at the right and on the open diff.

use agenthost_frontend::{ChatCommand, CustomizationCommand, FrontendCommand, TerminalCommand};
use agenthost_view::customizations::{CustomizationRow, DecisionScope, ServerStateKind};
use agenthost_view::inbox::InboxItem;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::replies::ReplyPurpose;
use super::{FullView, ScreenFocus, TerminalScreen, UTC_OFFSET_MINUTES};
use crate::bindings::ScreenAction;
use crate::dialogs::ScreenDialog;
use crate::dialogs::prompt::ConfirmDialog;
use crate::paint::text::clean;
use crate::panes::inspector::InspectorKind;
use crate::panes::list_entries::flat_customizations;

impl TerminalScreen {
    /// Lets the frontend mark the panels as changed, so that their data is computed.
    pub(super) fn reload_panels(&mut self, kind: InspectorKind) {
        let command = match kind {
            InspectorKind::Usage => FrontendCommand::Chat(ChatCommand::WatchUsage {
                open: true,
                utc_offset_minutes: UTC_OFFSET_MINUTES,
            }),
            InspectorKind::Customizations => {
                FrontendCommand::Customization(CustomizationCommand::Watch {
                    filter: String::new(),
                    kind: None,
                })
            }
            InspectorKind::Inbox
            | InspectorKind::Changes
            | InspectorKind::Chats
            | InspectorKind::Terminals => return,
        };
        self.command(command, ReplyPurpose::Quiet);
    }

    pub(super) fn select_in_list(&mut self, step: isize) {
        let Some(kind) = self.inspector else {
            return;
        };
        let count = match kind {
            InspectorKind::Inbox => self.model.inbox.rows.len(),
            InspectorKind::Changes => self.model.changes.as_ref().map_or(0, |c| c.files.len()),
            InspectorKind::Chats => self.model.chat.as_ref().map_or(0, |chat| chat.chats.len()),
            InspectorKind::Terminals => self.model.terminals.len(),
            InspectorKind::Usage => usize::MAX,
            InspectorKind::Customizations => {
                let tree = self.model.customizations.as_ref();
                tree.map_or(0, |tree| flat_customizations(tree).len())
            }
        };
        self.lists.select(kind, step, count);
    }

    pub(super) fn open_list_entry(&mut self) {
        let Some(kind) = self.inspector else {
            return;
        };
        let place = self.lists.selected(kind);
        match kind {
            InspectorKind::Inbox => self.open_inbox_row(place),
            InspectorKind::Changes => {
                let files = self.model.changes.as_ref().map(|changes| &changes.files);
                let file = files.and_then(|files| files.get(place));
                if let Some(file) = file.map(|file| file.key.to_string()) {
                    self.open_diff(file);
                }
            }
            InspectorKind::Chats => {
                let chats = self.model.chat.as_ref().map(|chat| &chat.chats);
                let chat = chats.and_then(|chats| chats.get(place));
                if let Some(chat) = chat.map(|chat| chat.key.to_string()) {
                    self.command(
                        FrontendCommand::SelectChat { chat },
                        ReplyPurpose::ErrorsOnly,
                    );
                    self.set_focus(ScreenFocus::Chat);
                }
            }
            InspectorKind::Terminals => {
                if let Some(row) = self.model.terminals.get(place) {
                    self.open_terminal(row.uri.clone());
                }
            }
            InspectorKind::Usage => {}
            InspectorKind::Customizations => {
                let row = self.selected_customization();
                let row = row.filter(|row| row.code.is_some());
                if let (Some(row), Some(session)) = (row, &self.model.session) {
                    self.open_code(session.to_string(), row.key);
                }
            }
        }
    }

    fn open_inbox_row(&mut self, place: usize) {
        let Some(row) = self.model.inbox.rows.get(place).cloned() else {
            return;
        };
        match row.item {
            InboxItem::Request { card } => match card {
                agenthost_view::request::RequestCard::Approval(_) => self.open_session(row.session),
                card => self.open_request(card),
            },
            InboxItem::Code { card } => self.open_code(row.session.to_string(), card.container),
            InboxItem::Token { token } => self.ask_for_token(&token.name, token.resource),
            InboxItem::Finished { .. } => self.open_session(row.session),
        }
    }

    fn selected_customization(&self) -> Option<CustomizationRow> {
        let place = self.lists.selected(InspectorKind::Customizations);
        let tree = self.model.customizations.as_ref()?;
        let (row, _) = flat_customizations(tree).into_iter().nth(place)?;
        Some(row.clone())
    }

    pub(super) fn run_list_action(&mut self, action: ScreenAction) {
        match (self.inspector, action) {
            (Some(InspectorKind::Chats), ScreenAction::NewItem) => self.create_chat(None, None),
            (Some(InspectorKind::Chats), ScreenAction::CloseItem) => {
                let place = self.lists.selected(InspectorKind::Chats);
                let chats = self.model.chat.as_ref().map(|chat| &chat.chats);
                if let Some(chat) = chats.and_then(|chats| chats.get(place)) {
                    let question = format!("Remove the chat `{}`?", clean(&chat.title));
                    let chat = chat.key.to_string();
                    let command = FrontendCommand::Chat(ChatCommand::Close { chat });
                    self.confirm(question, command, "removed");
                }
            }
            (Some(InspectorKind::Terminals), ScreenAction::NewItem) => {
                let area = self.areas.screen;
                let command = TerminalCommand::Create {
                    cols: u64::from(area.width.max(20)),
                    rows: u64::from(area.height.saturating_sub(2).max(5)),
                };
                self.command(FrontendCommand::Terminal(command), ReplyPurpose::Terminal);
            }
            (Some(InspectorKind::Terminals), ScreenAction::CloseItem) => {
                let place = self.lists.selected(InspectorKind::Terminals);
                if let Some(row) = self.model.terminals.get(place) {
                    let question = format!("End `{}` and its programs?", clean(&row.title));
                    let uri = row.uri.to_string();
                    let command = FrontendCommand::Terminal(TerminalCommand::Close { uri });
                    self.confirm(question, command, "ended");
                }
            }
            (Some(InspectorKind::Customizations), _) => self.run_customization_action(action),
            _ => {}
        }
    }

    fn confirm(&mut self, question: String, command: FrontendCommand, done: &str) {
        self.dialog = Some(ScreenDialog::Confirm(ConfirmDialog {
            question,
            command,
            done: done.to_owned(),
        }));
    }

    fn run_customization_action(&mut self, action: ScreenAction) {
        let (Some(row), Some(session)) = (self.selected_customization(), &self.model.session)
        else {
            return;
        };
        let (session, key) = (session.to_string(), row.key.clone());
        let scope = match action {
            ScreenAction::SwitchHere => DecisionScope::Session,
            ScreenAction::SwitchFolder => DecisionScope::Workspace,
            ScreenAction::SwitchEverywhere => DecisionScope::Global,
            ScreenAction::Token => {
                let required = row
                    .server
                    .as_ref()
                    .and_then(|server| server.requires.as_ref());
                return match required {
                    Some(token) => self.ask_for_token(&token.name, token.resource.clone()),
                    None => self.show_message("this needs no token"),
                };
            }
            ScreenAction::Server => {
                let command = match row.server.map(|server| server.state) {
                    Some(ServerStateKind::Ready | ServerStateKind::Starting) => {
                        CustomizationCommand::StopServer { session, key }
                    }
                    Some(_) => CustomizationCommand::StartServer { session, key },
                    None => return self.show_message("this is not a server"),
                };
                self.command(
                    FrontendCommand::Customization(command),
                    ReplyPurpose::ErrorsOnly,
                );
                return;
            }
            _ => return,
        };
        if scope != DecisionScope::Session && !row.scoped {
            return self.show_message("this can be switched only in the session");
        }
        let command = CustomizationCommand::Decide {
            session,
            key,
            scope,
            enabled: !row.enabled,
        };
        self.command(
            FrontendCommand::Customization(command),
            ReplyPurpose::ErrorsOnly,
        );
    }

    pub(super) fn handle_terminal_key(&mut self, key: &KeyEvent) {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let shift = key.modifiers.contains(KeyModifiers::SHIFT);
        let Some(FullView::Terminal(pane)) = &mut self.full else {
            return;
        };
        match key.code {
            KeyCode::Char(']' | '5') if control => {
                let uri = pane.uri.to_string();
                let command = FrontendCommand::Terminal(TerminalCommand::Leave { uri });
                self.full = None;
                self.command(command, ReplyPurpose::Quiet);
            }
            KeyCode::PageUp if shift => pane.scroll(true),
            KeyCode::PageDown if shift => pane.scroll(false),
            _ => {
                if let Some(data) = pane.key_bytes(key) {
                    self.send_to_terminal(data);
                }
            }
        }
    }

    pub(super) fn send_to_terminal(&mut self, data: String) {
        let Some(FullView::Terminal(pane)) = &self.full else {
            return;
        };
        let uri = pane.uri.to_string();
        let command = FrontendCommand::Terminal(TerminalCommand::Input { uri, data });
        self.command(command, ReplyPurpose::ErrorsOnly);
    }
}
