//! Routes actions of keys and of the palette.

use super::{FullView, ScreenFocus, ScreenRequest, TerminalScreen};
use crate::bindings::{BINDINGS, ScreenAction};
use crate::dialogs::ScreenDialog;
use crate::dialogs::chooser::{ChooserChoice, ChooserDialog, ChooserEntry};
use crate::dialogs::help::HelpDialog;
use crate::panes::inspector::InspectorKind;

/// Sessions that the palette offers.
const MAX_PALETTE_SESSIONS: usize = 200;

impl TerminalScreen {
    pub(super) fn run_action(&mut self, action: ScreenAction) {
        match action {
            ScreenAction::Palette => self.open_palette(),
            ScreenAction::Help => {
                self.dialog = Some(ScreenDialog::Help(HelpDialog::default()));
            }
            ScreenAction::Quit => self.requests.push(ScreenRequest::Quit),
            ScreenAction::Suspend => self.requests.push(ScreenRequest::Suspend),
            ScreenAction::Redraw => self.requests.push(ScreenRequest::Redraw),
            ScreenAction::StartHost => self.requests.push(ScreenRequest::StartHost),
            ScreenAction::Mouse => {
                self.has_mouse = !self.has_mouse;
                self.requests.push(ScreenRequest::Mouse(self.has_mouse));
                self.show_message(if self.has_mouse {
                    "the mouse selects and scrolls; f12 gives it back to the terminal"
                } else {
                    "the mouse belongs to the terminal again"
                });
            }
            ScreenAction::NextPane => self.move_focus(1),
            ScreenAction::PreviousPane => self.move_focus(-1),
            ScreenAction::SessionsPane => self.set_focus(ScreenFocus::Sessions),
            ScreenAction::ChatPane => self.set_focus(ScreenFocus::Chat),
            ScreenAction::Back => self.go_back(),
            ScreenAction::Write => self.start_writing(),
            ScreenAction::NewSession => self.open_new_session(),
            ScreenAction::Inbox => self.toggle_inspector(InspectorKind::Inbox),
            ScreenAction::Changes => self.toggle_inspector(InspectorKind::Changes),
            ScreenAction::Chats => self.toggle_inspector(InspectorKind::Chats),
            ScreenAction::Terminals => self.toggle_inspector(InspectorKind::Terminals),
            ScreenAction::Usage => self.toggle_inspector(InspectorKind::Usage),
            ScreenAction::Customizations => self.toggle_inspector(InspectorKind::Customizations),
            ScreenAction::Up
            | ScreenAction::Down
            | ScreenAction::PageUp
            | ScreenAction::PageDown
            | ScreenAction::Start
            | ScreenAction::End
            | ScreenAction::Left
            | ScreenAction::Right => self.run_movement(action),
            ScreenAction::Open => self.open_selected(),
            ScreenAction::FilterSessions => {
                self.set_focus(ScreenFocus::Sessions);
                self.sessions.is_filtering = true;
            }
            ScreenAction::Rename
            | ScreenAction::Archive
            | ScreenAction::ShowArchived
            | ScreenAction::Delete => self.run_session_action(action),
            ScreenAction::Fork => self.fork_selected(),
            ScreenAction::SelectUp
            | ScreenAction::SelectDown
            | ScreenAction::Copy
            | ScreenAction::Find
            | ScreenAction::FindNext
            | ScreenAction::RestoreTurn
            | ScreenAction::ForkTurn
            | ScreenAction::SideChat
            | ScreenAction::Cancel
            | ScreenAction::Resume
            | ScreenAction::Model
            | ScreenAction::Settings
            | ScreenAction::Queue => self.run_chat_action(action),
            ScreenAction::Allow
            | ScreenAction::Deny
            | ScreenAction::Option(_)
            | ScreenAction::NextRequest
            | ScreenAction::RequestUp
            | ScreenAction::RequestDown => self.run_request_action(action),
            ScreenAction::Review
            | ScreenAction::UndoFile
            | ScreenAction::Operations
            | ScreenAction::Commit
            | ScreenAction::ChooseChangeset
            | ScreenAction::SendReview
            | ScreenAction::NextHunk
            | ScreenAction::PreviousHunk
            | ScreenAction::NextFile
            | ScreenAction::PreviousFile
            | ScreenAction::Comment
            | ScreenAction::ResolveComment
            | ScreenAction::Layout => self.run_changes_action(action),
            ScreenAction::NewItem
            | ScreenAction::CloseItem
            | ScreenAction::SwitchHere
            | ScreenAction::SwitchFolder
            | ScreenAction::SwitchEverywhere
            | ScreenAction::Server
            | ScreenAction::Token => self.run_list_action(action),
        }
    }

    /// Opens the palette: all commands with their keys, and all sessions.
    fn open_palette(&mut self) {
        let places = self.key_places();
        let active = BINDINGS
            .iter()
            .filter(|binding| places.contains(&binding.place) && !binding.label.is_empty());
        let commands = active.map(|binding| ChooserEntry {
            label: binding.label.to_owned(),
            detail: binding.key.to_owned(),
            choice: ChooserChoice::Action(binding.action),
        });
        let sessions = self.model.sessions.rows.iter().take(MAX_PALETTE_SESSIONS);
        let sessions = sessions.map(|row| ChooserEntry {
            label: format!("session: {}", row.title),
            detail: row.folder.clone().unwrap_or_default(),
            choice: ChooserChoice::Session(row.key.to_string()),
        });
        let entries = commands.chain(sessions).collect();
        let dialog = ChooserDialog::new("Commands and sessions", entries);
        self.dialog = Some(ScreenDialog::Chooser(dialog));
    }

    /// Opens a pane at the right, or closes it if it has the keyboard.
    pub(super) fn toggle_inspector(&mut self, kind: InspectorKind) {
        if self.inspector == Some(kind) && self.focus == ScreenFocus::Inspector {
            self.inspector = None;
            self.set_focus(ScreenFocus::Chat);
            return;
        }
        self.inspector = Some(kind);
        self.set_focus(ScreenFocus::Inspector);
        self.reload_panels(kind);
    }

    pub(super) fn set_focus(&mut self, focus: ScreenFocus) {
        self.full = None;
        self.focus = focus;
    }

    fn move_focus(&mut self, step: isize) {
        let mut panes = vec![ScreenFocus::Sessions, ScreenFocus::Chat];
        if self.can_write() {
            panes.push(ScreenFocus::Composer);
        }
        if self.inspector.is_some() {
            panes.push(ScreenFocus::Inspector);
        }
        let place = panes
            .iter()
            .position(|pane| *pane == self.focus)
            .unwrap_or(0);
        let count = isize::try_from(panes.len()).unwrap_or(1);
        let next = (isize::try_from(place).unwrap_or(0) + step).rem_euclid(count);
        let next = usize::try_from(next).ok().and_then(|next| panes.get(next));
        if let Some(next) = next {
            self.set_focus(*next);
        }
    }

    pub(super) fn can_write(&self) -> bool {
        self.model
            .chat
            .as_ref()
            .is_some_and(|chat| !chat.is_read_only)
    }

    fn start_writing(&mut self) {
        if self.can_write() {
            self.set_focus(ScreenFocus::Composer);
        } else if self.model.chat.is_none() {
            self.open_new_session();
        } else {
            self.show_message("this chat can only be read");
        }
    }

    /// Closes the nearest thing: a view, a selection, a pane.
    fn go_back(&mut self) {
        match (&self.full, self.focus) {
            (Some(FullView::Diff(_)), _) => {
                self.full = None;
                self.focus = ScreenFocus::Inspector;
                let command = agenthost_frontend::FrontendCommand::CloseDiff {};
                self.command(command, super::replies::ReplyPurpose::Quiet);
            }
            (Some(FullView::Code(_)), _) => self.close_code(),
            (Some(FullView::Terminal(_)), _) => {}
            (None, ScreenFocus::Inspector) => {
                self.inspector = None;
                self.focus = ScreenFocus::Chat;
            }
            (None, ScreenFocus::Chat) => {
                self.timeline.clear_selection();
                self.timeline.scroll_to_end();
            }
            (None, ScreenFocus::Sessions) if !self.sessions.filter.is_empty() => {
                self.sessions.filter.set_text(String::new());
                self.apply_filter();
            }
            (None, ScreenFocus::Sessions | ScreenFocus::Composer) => self.focus = ScreenFocus::Chat,
        }
    }

    fn run_movement(&mut self, action: ScreenAction) {
        let page = match (&self.full, self.focus) {
            (Some(FullView::Diff(pane)), _) => pane.page(),
            (Some(FullView::Code(pane)), _) => pane.page(),
            (_, ScreenFocus::Sessions) => self.sessions.page(),
            (_, ScreenFocus::Inspector) => self.lists.page(),
            (_, ScreenFocus::Chat | ScreenFocus::Composer) => self.timeline.page(),
        };
        let step = match action {
            ScreenAction::Up => -1,
            ScreenAction::Down => 1,
            ScreenAction::PageUp => -page,
            ScreenAction::PageDown => page,
            ScreenAction::Start => -isize::MAX / 2,
            ScreenAction::End => isize::MAX / 2,
            ScreenAction::Left | ScreenAction::Right => 0,
            _ => return,
        };
        match (&mut self.full, self.focus) {
            (Some(FullView::Diff(pane)), _) => match (action, &self.model.diff) {
                (ScreenAction::Left, _) => pane.shift = pane.shift.saturating_sub(8),
                (ScreenAction::Right, _) => pane.shift += 8,
                (_, Some(diff)) => pane.move_cursor(step, diff),
                (_, None) => {}
            },
            (Some(FullView::Code(pane)), _) => pane.scroll(step),
            (Some(FullView::Terminal(_)), _) => {}
            (None, ScreenFocus::Sessions) => self.sessions.select(&self.model.sessions, step),
            (None, ScreenFocus::Inspector) => self.select_in_list(step),
            (None, ScreenFocus::Chat | ScreenFocus::Composer) => self.scroll_chat(action, step),
        }
    }

    fn scroll_chat(&mut self, action: ScreenAction, step: isize) {
        match action {
            ScreenAction::Start => self.timeline.scroll_to_start(),
            ScreenAction::End => self.timeline.scroll_to_end(),
            _ => {
                let theme = self.options.theme;
                let mut contents = Self::timeline_contents(&theme, &self.model, &mut self.contents);
                self.timeline.scroll(step, &mut contents);
            }
        }
        self.load_older();
    }

    /// Requests earlier turns if the first one is on the screen.
    pub(super) fn load_older(&mut self) {
        if self.timeline.wants_older() && !self.loads_older {
            self.loads_older = true;
            let command = agenthost_frontend::FrontendCommand::OlderTurns {};
            self.command(command, super::replies::ReplyPurpose::Older);
        }
    }
}
