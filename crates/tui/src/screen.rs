//! The screen as a state machine: keys and changes in, requests and frames out.

mod actions;
mod answers;
mod chat_actions;
mod chat_layout;
mod composer_keys;
mod dialog_keys;
mod diff_actions;
mod keys;
mod layout;
mod mouse;
mod panel_actions;
mod refresh;
mod replies;
mod session_actions;
mod status;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use agenthost_frontend::FrontendCommand;
use agenthost_protocol::sorted::SortedSet;
use agenthost_protocol::uri::Uri;
use crossterm::event::{Event, KeyEventKind};
use ratatui_core::layout::Rect;

use crate::dialogs::ScreenDialog;
use crate::model::ScreenModel;
use crate::paint::theme::ScreenTheme;
use crate::panes::code_view::CodePane;
use crate::panes::composer::{MessageComposer, UnsavedDraft};
use crate::panes::diff_view::DiffPane;
use crate::panes::edit_contents::EditContents;
use crate::panes::inspector::{InspectorKind, InspectorLists};
use crate::panes::request_panel::RequestPanel;
use crate::panes::session_pane::SessionPane;
use crate::panes::terminal_view::TerminalPane;
use crate::panes::timeline::{TimelineContents, TimelinePane};
use replies::ReplyPurpose;

/// Time for which a message in the footer is shown.
const MESSAGE_MS: i64 = 3_000;

/// Time for which an error in the footer is shown.
const ERROR_MS: i64 = 10_000;

/// Days are those of UTC.
pub(crate) const UTC_OFFSET_MINUTES: i64 = 0;

/// The settings of a screen.
#[derive(Debug, Clone)]
pub struct ScreenOptions {
    pub theme: ScreenTheme,
    /// Folder of the user: its latest session is opened, and new sessions start there.
    pub folder: Option<String>,
    /// Session that is opened first.
    pub session: Option<Uri>,
}

/// A request of the screen to the loop that owns the terminal and the connection.
#[derive(Debug)]
pub enum ScreenRequest {
    /// A command for the frontend, with its id.
    Command {
        id: u64,
        command: FrontendCommand,
    },
    /// Opens the text of the composer in the user's editor.
    EditText(String),
    /// Copies a text to the clipboard of the terminal.
    Copy(String),
    /// Turns the reports of the mouse on or off.
    Mouse(bool),
    /// Clears the terminal and draws everything.
    Redraw,
    Suspend,
    /// Starts a host in the background.
    StartHost,
    Quit,
}

/// The terminal user interface.
#[derive(Debug)]
pub struct TerminalScreen {
    options: ScreenOptions,
    model: ScreenModel,
    focus: ScreenFocus,
    inspector: Option<InspectorKind>,
    lists: InspectorLists,
    sessions: SessionPane,
    timeline: TimelinePane,
    request: RequestPanel,
    inbox_request: RequestPanel,
    composer: MessageComposer,
    contents: EditContents,
    full: Option<FullView>,
    dialog: Option<ScreenDialog>,
    notice: Option<ScreenNotice>,
    requests: Vec<ScreenRequest>,
    replies: HashMap<u64, ReplyPurpose>,
    last_id: u64,
    now: i64,
    /// Terminals whose output the timeline shows.
    watched: SortedSet<Uri>,
    areas: ScreenAreas,
    has_mouse: bool,
    /// The session that is opened first was chosen.
    is_started: bool,
    quit_asked_at: Option<i64>,
    /// Text that the user looks for in the chat.
    find: String,
    /// Requests of which the user was told.
    announced: SortedSet<String>,
    attention: Option<String>,
    loads_older: bool,
}

/// The pane with the keyboard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ScreenFocus {
    Sessions,
    Chat,
    Composer,
    Inspector,
}

/// A view over the whole screen.
#[derive(Debug)]
enum FullView {
    Diff(DiffPane),
    Terminal(Box<TerminalPane>),
    Code(CodePane),
}

/// A message in the footer.
#[derive(Debug)]
struct ScreenNotice {
    text: String,
    is_error: bool,
    until: i64,
}

/// The areas of the last frame, for the mouse.
#[derive(Debug, Clone, Copy, Default)]
struct ScreenAreas {
    screen: Rect,
    sessions: Option<Rect>,
    timeline: Option<Rect>,
    composer: Option<Rect>,
    inspector: Option<Rect>,
    terminal: Option<Rect>,
}

impl TerminalScreen {
    pub fn new(options: ScreenOptions) -> Self {
        TerminalScreen {
            options,
            model: ScreenModel::default(),
            focus: ScreenFocus::Sessions,
            inspector: None,
            lists: InspectorLists::default(),
            sessions: SessionPane::default(),
            timeline: TimelinePane::default(),
            request: RequestPanel::default(),
            inbox_request: RequestPanel::default(),
            composer: MessageComposer::default(),
            contents: EditContents::default(),
            full: None,
            dialog: None,
            notice: None,
            requests: Vec::new(),
            replies: HashMap::new(),
            last_id: 0,
            now: 0,
            watched: SortedSet::new(),
            areas: ScreenAreas::default(),
            has_mouse: false,
            is_started: false,
            quit_asked_at: None,
            find: String::new(),
            announced: SortedSet::new(),
            attention: None,
            loads_older: false,
        }
    }

    /// Adds output of an open terminal.
    pub fn add_terminal_output(&mut self, uri: &Uri, is_reset: bool, data: &str) {
        if let Some(FullView::Terminal(pane)) = &mut self.full
            && pane.uri == *uri
        {
            pane.add_output(data, is_reset);
        }
    }

    /// Handles an event of the terminal. Returns `true` if the screen may have changed.
    pub fn handle_event(&mut self, event: &Event, now: i64) -> bool {
        self.now = now;
        match event {
            Event::Key(key) if key.kind == KeyEventKind::Release => return false,
            Event::Key(key) => self.handle_key(key),
            Event::Paste(text) => self.handle_paste(text),
            Event::Mouse(mouse) => return self.handle_mouse(*mouse),
            Event::Resize(..) | Event::FocusGained | Event::FocusLost => {}
        }
        true
    }

    /// Handles the passage of time. Returns `true` if the screen may have changed.
    pub fn handle_time(&mut self, now: i64) -> bool {
        self.now = now;
        let unsaved = self.composer.take_due(now);
        self.store_draft(unsaved);
        if self
            .notice
            .as_ref()
            .is_some_and(|notice| notice.until <= now)
        {
            self.notice = None;
            return true;
        }
        false
    }

    /// Requests that a draft is stored which the host does not have yet. The screen ends after it.
    pub fn leave(&mut self) {
        let unsaved = self.composer.take_unsaved();
        self.store_draft(unsaved);
    }

    /// Returns the time at which [`TerminalScreen::handle_time`] has work.
    pub fn deadline(&self) -> Option<i64> {
        let notice = self.notice.as_ref().map(|notice| notice.until);
        [self.composer.deadline(), notice]
            .into_iter()
            .flatten()
            .min()
    }

    /// Returns the requests since the last call, in order.
    pub fn take_requests(&mut self) -> Vec<ScreenRequest> {
        std::mem::take(&mut self.requests)
    }

    /// Returns a text if the user has to be told that a session waits for an answer.
    pub fn take_attention(&mut self) -> Option<String> {
        self.attention.take()
    }

    /// Returns the title of the window.
    pub fn title(&self) -> String {
        let waiting = match self.model.waiting() {
            0 => String::new(),
            count => format!("({count}?) "),
        };
        let session = self.model.chat.as_ref().map(|chat| chat.title.as_str());
        let session = session
            .filter(|title| !title.is_empty())
            .unwrap_or("agenthost");
        crate::paint::text::clean(&format!("{waiting}{session}"))
    }

    /// Takes a text that was edited outside, in place of the composer's.
    pub fn set_composer_text(&mut self, text: String, now: i64) {
        self.now = now;
        self.composer.input.set_text(text);
        self.composer.note_change(now);
    }

    /// Shows an error in the footer.
    pub fn show_error(&mut self, text: impl Into<String>) {
        self.show_notice(text, true);
    }

    /// Shows a message in the footer.
    pub fn show_message(&mut self, text: impl Into<String>) {
        self.show_notice(text, false);
    }

    fn show_notice(&mut self, text: impl Into<String>, is_error: bool) {
        self.notice = Some(ScreenNotice {
            text: text.into(),
            is_error,
            until: self.now + if is_error { ERROR_MS } else { MESSAGE_MS },
        });
    }

    fn open_session(&mut self, session: Uri) {
        self.timeline.scroll_to_end();
        self.command(
            FrontendCommand::SelectSession {
                session: session.to_string(),
            },
            ReplyPurpose::ErrorsOnly,
        );
        self.focus = ScreenFocus::Chat;
    }

    fn store_draft(&mut self, draft: Option<UnsavedDraft>) {
        if let Some(UnsavedDraft { chat, text }) = draft {
            let chat = Some(chat.to_string());
            self.command(
                FrontendCommand::SetDraft { chat, text },
                ReplyPurpose::Quiet,
            );
        }
    }

    fn command(&mut self, command: FrontendCommand, purpose: ReplyPurpose) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        self.replies.insert(id, purpose);
        self.requests.push(ScreenRequest::Command { id, command });
        id
    }

    fn timeline_contents<'a>(
        theme: &'a ScreenTheme,
        model: &'a ScreenModel,
        contents: &'a mut EditContents,
    ) -> TimelineContents<'a> {
        TimelineContents {
            theme,
            paths: model.paths(),
            contents,
        }
    }
}
