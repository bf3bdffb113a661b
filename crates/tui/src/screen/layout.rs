//! Layout and drawing.

use agenthost_frontend::{FrontendCommand, TerminalCommand};
use agenthost_view::inbox::InboxItem;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::{Position, Rect};
use ratatui_core::terminal::Frame;
use ratatui_core::text::Line;

use super::replies::ReplyPurpose;
use super::{FullView, ScreenAreas, ScreenFocus, TerminalScreen};
use crate::dialogs::ScreenDialog;
use crate::paint::canvas::{
    draw_line, draw_lines, left_border, scrub, split_bottom, split_left, split_top,
};
use crate::panes::diff_view::DiffPaneView;
use crate::panes::inspector::InspectorKind;
use crate::panes::list_entries::ListPainter;
use crate::panes::session_pane::SessionPaneView;

/// Rows below which the question of the inbox leaves only a part of the list.
const MIN_SHARED_ROWS: u16 = 20;

/// Rows of that part.
const MIN_LIST_ROWS: u16 = 3;

/// Width from which panes are side by side.
const WIDE: u16 = 100;

impl TerminalScreen {
    /// Draws everything into a frame.
    pub fn draw(&mut self, frame: &mut Frame<'_>) {
        let area = frame.area();
        self.areas = ScreenAreas {
            screen: area,
            ..ScreenAreas::default()
        };
        let buffer = frame.buffer_mut();
        let (status, rest) = split_top(area, 1);
        let (body, footer) = split_bottom(rest, self.footer_rows(area));
        self.draw_status(buffer, status);
        let banner = self.banner_lines(area.width);
        let (banner_area, body) = split_top(body, u16::try_from(banner.len()).unwrap_or(0));
        draw_lines(buffer, banner_area, &banner);
        let mut cursor = match &self.full {
            Some(_) => self.draw_full(buffer, body),
            None => self.draw_panes(buffer, body),
        };
        self.draw_footer(buffer, footer);
        if self.dialog.is_some() {
            cursor = self.draw_dialog(buffer, body);
        }
        scrub(buffer);
        if let Some(cursor) = cursor {
            frame.set_cursor_position(cursor);
        }
        self.read_contents();
    }

    /// Requests the contents that the frame needs.
    fn read_contents(&mut self) {
        for uri in self.contents.take_wanted() {
            let command = FrontendCommand::ReadFile {
                uri: uri.to_string(),
            };
            self.command(command, ReplyPurpose::Content(uri));
        }
    }

    fn draw_panes(&mut self, buffer: &mut Buffer, area: Rect) -> Option<Position> {
        if area.width < WIDE {
            return match self.focus {
                ScreenFocus::Sessions => {
                    self.draw_sessions(buffer, area);
                    None
                }
                ScreenFocus::Chat | ScreenFocus::Composer => self.draw_chat(buffer, area),
                ScreenFocus::Inspector => {
                    self.draw_inspector(buffer, area);
                    None
                }
            };
        }
        let (sessions, rest) = split_left(area, (area.width / 5).clamp(24, 40));
        self.draw_sessions(buffer, sessions);
        let rest = left_border(buffer, rest, self.options.theme.dim);
        if self.inspector.is_none() {
            return self.draw_chat(buffer, rest);
        }
        let inspector = (rest.width * 2 / 5).clamp(32, 64);
        let (chat, inspector) = split_left(rest, rest.width - inspector);
        let cursor = self.draw_chat(buffer, chat);
        let inspector = left_border(buffer, inspector, self.options.theme.dim);
        self.draw_inspector(buffer, inspector);
        cursor
    }

    fn draw_sessions(&mut self, buffer: &mut Buffer, area: Rect) {
        self.areas.sessions = Some(area);
        let view = SessionPaneView {
            theme: &self.options.theme,
            home: self.model.home.as_deref(),
            is_focused: self.focus == ScreenFocus::Sessions,
            open: self.model.session.as_ref(),
            now: self.now,
        };
        self.sessions.draw(buffer, area, &self.model.sessions, view);
    }

    fn draw_inspector(&mut self, buffer: &mut Buffer, area: Rect) {
        let Some(kind) = self.inspector else {
            return;
        };
        let theme = self.options.theme;
        let is_focused = self.focus == ScreenFocus::Inspector;
        let (head, rest) = split_top(area, 1);
        let style = if is_focused {
            theme.accent
        } else {
            theme.strong
        };
        draw_line(buffer, head, 0, &Line::styled(kind.title(), style));
        let card = match kind {
            InspectorKind::Inbox => {
                let place = self.lists.selected(kind);
                match self.model.inbox.rows.get(place).map(|row| &row.item) {
                    Some(InboxItem::Request { card }) => Some(card.clone()),
                    _ => None,
                }
            }
            _ => None,
        };
        let card_rows = match &card {
            // The question matters more than the list.
            Some(_) if rest.height < MIN_SHARED_ROWS => rest.height.saturating_sub(MIN_LIST_ROWS),
            Some(_) => rest.height * 3 / 5,
            None => 0,
        };
        let (list, detail) = split_bottom(rest, card_rows);
        self.areas.inspector = Some(list);
        let painter = ListPainter {
            theme: &theme,
            width: usize::from(list.width),
            home: self.model.home.as_deref(),
        };
        let entries = painter.entries(kind, &self.model);
        self.lists
            .draw(buffer, list, kind, &entries, is_focused, &theme);
        if let Some(card) = card {
            let cards = [card];
            self.inbox_request.current(&cards, self.now);
            let [card] = cards;
            let offset = self.inbox_request.offset;
            let frame = self.draw_card(buffer, detail, &card, 1, offset);
            self.inbox_request.note_frame(frame);
        }
    }

    fn draw_full(&mut self, buffer: &mut Buffer, area: Rect) -> Option<Position> {
        let theme = self.options.theme;
        match &mut self.full {
            Some(FullView::Diff(pane)) => {
                let Some(diff) = &self.model.diff else {
                    draw_line(buffer, area, 0, &Line::styled("reading …", theme.dim));
                    return None;
                };
                let files = self
                    .model
                    .changes
                    .as_ref()
                    .map(|changes| &changes.files[..]);
                let files = files.unwrap_or_default();
                let place = files.iter().position(|file| file.key.as_str() == diff.file);
                let file = place.and_then(|place| files.get(place));
                let view = DiffPaneView {
                    theme: &theme,
                    home: self.model.home.as_deref(),
                    comments: &self.model.comments,
                    is_reviewed: file.is_some_and(|file| file.reviewed),
                    place: (place.unwrap_or(0), files.len()),
                };
                pane.draw(buffer, area, diff, &view);
                None
            }
            Some(FullView::Code(pane)) => {
                pane.draw(buffer, area, self.model.code.as_ref(), &theme);
                None
            }
            Some(FullView::Terminal(pane)) => {
                self.areas.terminal = Some(area);
                let resized = pane.resize(area.width, area.height);
                let uri = pane.uri.to_string();
                let cursor = pane.draw(buffer, area, &theme);
                if let Some((cols, rows)) = resized {
                    let (cols, rows) = (u64::from(cols), u64::from(rows));
                    let command = TerminalCommand::Resize { uri, cols, rows };
                    self.command(FrontendCommand::Terminal(command), ReplyPurpose::Quiet);
                }
                cursor
            }
            None => None,
        }
    }

    fn draw_dialog(&mut self, buffer: &mut Buffer, area: Rect) -> Option<Position> {
        let theme = &self.options.theme;
        match self.dialog.as_mut()? {
            ScreenDialog::Chooser(dialog) => {
                dialog.draw(buffer, area, theme);
                None
            }
            ScreenDialog::Prompt(dialog) => dialog.draw(buffer, area, theme),
            ScreenDialog::Confirm(dialog) => {
                dialog.draw(buffer, area, theme);
                None
            }
            ScreenDialog::Form(dialog) => dialog.draw(buffer, area, theme),
            ScreenDialog::NewSession(dialog) => dialog.draw(buffer, area, theme),
            ScreenDialog::Queue(dialog) => {
                dialog.draw(buffer, area, &self.model.queue, theme);
                None
            }
            ScreenDialog::Restore(dialog) => {
                let paths = self.model.paths();
                dialog.draw(buffer, area, self.model.restore.as_ref(), paths, theme);
                None
            }
            ScreenDialog::Help(dialog) => {
                dialog.draw(buffer, area, theme);
                None
            }
        }
    }
}
