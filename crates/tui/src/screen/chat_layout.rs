//! The pane of the chat: timeline, open question, waiting messages, composer.

use agenthost_view::composer::ComposerPurpose;
use agenthost_view::request::RequestCard;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::{Position, Rect};
use ratatui_core::text::{Line, Span};

use super::{ScreenFocus, TerminalScreen};
use crate::dialogs::prompt::draw_input;
use crate::dialogs::queue_list::queue_line;
use crate::paint::canvas::{
    clear, cut_line, draw_line, draw_lines, fill_row, inset_left, split_bottom, split_top,
    two_sided,
};
use crate::paint::text::{clean, short_path, width_of};
use crate::paint::wrap::{WrapMode, wrap};
use crate::panes::request_panel::{RequestFrame, RequestPainter, option_lines};

/// Rows of the composer at most.
const MAX_COMPOSER_ROWS: usize = 10;

/// Waiting messages that are shown above the composer.
const MAX_QUEUE_ROWS: usize = 3;

/// Rows that the timeline keeps while a request is open.
const MIN_TIMELINE_ROWS: u16 = 5;

/// Rows below which a request takes the place of the timeline.
const MIN_SHARED_ROWS: u16 = 14;

/// Rows of a request that stay above its answers. With fewer, the answers scroll with it.
const MIN_BODY_ROWS: u16 = 3;

impl TerminalScreen {
    pub(super) fn draw_chat(&mut self, buffer: &mut Buffer, area: Rect) -> Option<Position> {
        let theme = self.options.theme;
        let area = inset_left(area, u16::from(area.width > 60));
        let Some(chat) = &self.model.chat else {
            self.draw_welcome(buffer, area);
            return None;
        };
        if let Some(error) = &chat.creation_error {
            let text = format!("the session could not be created: {}", clean(error));
            let lines = wrap(
                &[Span::styled(text, theme.error)],
                usize::from(area.width),
                WrapMode::Words,
            );
            draw_lines(buffer, area, &lines);
            return None;
        }
        let is_loading = chat.is_loading;
        let (above, composer) = split_bottom(area, self.composer_rows(area));
        let queue_rows = self.model.queue.len().min(MAX_QUEUE_ROWS);
        let (above, queue) = split_bottom(above, u16::try_from(queue_rows).unwrap_or(0));
        let (timeline, request) = self.split_request(above);
        self.areas.timeline = Some(timeline);
        if is_loading {
            draw_line(buffer, timeline, 0, &Line::styled("loading …", theme.dim));
        }
        let is_focused = self.focus == ScreenFocus::Chat;
        let mut contents = Self::timeline_contents(&theme, &self.model, &mut self.contents);
        self.timeline
            .draw(buffer, timeline, is_focused, &mut contents);
        self.draw_new_rows(buffer, timeline);
        self.draw_request(buffer, request);
        for (row, waiting) in (0..queue.height).zip(&self.model.queue) {
            let line = cut_line(queue_line(waiting, &theme), usize::from(queue.width));
            draw_line(buffer, queue, row, &line);
        }
        self.draw_composer(buffer, composer)
    }

    fn draw_welcome(&self, buffer: &mut Buffer, area: Rect) {
        let theme = &self.options.theme;
        let folder = self.options.folder.as_deref();
        let folder = folder.map(|folder| short_path(folder, self.model.home.as_deref()));
        let lines = [
            Line::styled("agenthost", theme.accent),
            Line::default(),
            Line::from(vec![
                Span::styled("n", theme.accent),
                Span::styled(
                    format!(
                        "  new session in {}",
                        folder.unwrap_or_else(|| "a folder".to_owned())
                    ),
                    theme.text,
                ),
            ]),
            Line::from(vec![
                Span::styled("s", theme.accent),
                Span::styled("  sessions", theme.text),
            ]),
            Line::from(vec![
                Span::styled("?", theme.accent),
                Span::styled("  help", theme.text),
            ]),
        ];
        let inner = inset_left(area, 2);
        let (_, inner) = split_top(inner, 1);
        draw_lines(buffer, inner, &lines);
    }

    /// Shows how much there is below the window.
    fn draw_new_rows(&self, buffer: &mut Buffer, area: Rect) {
        let text = match self.timeline.new_rows() {
            None => return,
            Some(0) => " ↓ G: newest ".to_owned(),
            Some(count) => format!(" ↓ {count} new, G "),
        };
        let width = u16::try_from(width_of(&text)).unwrap_or(0);
        if area.height > 0 && width < area.width {
            let place = Rect::new(area.right() - width, area.bottom() - 1, width, 1);
            clear(buffer, place);
            draw_line(
                buffer,
                place,
                0,
                &Line::styled(text, self.options.theme.selected),
            );
        }
    }

    /// Divides the area into the timeline and the open request.
    fn split_request(&mut self, area: Rect) -> (Rect, Rect) {
        let width = usize::from(area.width.saturating_sub(2));
        let Some(card) = self
            .request
            .current(&self.model.requests, self.now)
            .cloned()
        else {
            return split_bottom(area, 0);
        };
        let theme = self.options.theme;
        let lines =
            self.request_lines(&card, width).len() + option_lines(&card, width, &theme).len();
        let wanted = u16::try_from(lines + 1).unwrap_or(u16::MAX);
        let room = match area.height {
            ..MIN_SHARED_ROWS => area.height,
            height => height - MIN_TIMELINE_ROWS,
        };
        split_bottom(area, wanted.min(room))
    }

    fn request_lines(&mut self, card: &RequestCard, width: usize) -> Vec<Line<'static>> {
        self.request_painter(width).lines(card)
    }

    fn request_painter(&mut self, width: usize) -> RequestPainter<'_> {
        RequestPainter {
            theme: &self.options.theme,
            width,
            home: self.model.home.as_deref(),
            contents: &mut self.contents,
        }
    }

    fn draw_request(&mut self, buffer: &mut Buffer, area: Rect) {
        let Some(card) = self
            .request
            .current(&self.model.requests, self.now)
            .cloned()
        else {
            return;
        };
        let count = self.model.requests.len();
        let frame = self.draw_card(buffer, area, &card, count, self.request.offset);
        self.request.note_frame(frame);
    }

    /// Draws a request with its answers, and returns what is on the screen.
    pub(super) fn draw_card(
        &mut self,
        buffer: &mut Buffer,
        area: Rect,
        card: &RequestCard,
        count: usize,
        offset: usize,
    ) -> RequestFrame {
        let theme = self.options.theme;
        let width = usize::from(area.width.saturating_sub(2));
        let mut lines = self.request_lines(card, width);
        let options = option_lines(card, width, &theme);
        let option_rows = u16::try_from(options.len()).unwrap_or(u16::MAX);
        let (head, rest) = split_top(area, 1);
        let pinned_rows = match option_rows.saturating_add(MIN_BODY_ROWS) <= rest.height {
            true => option_rows,
            false => 0,
        };
        let (body, answers) = split_bottom(rest, pinned_rows);
        match pinned_rows {
            0 => lines.extend(options),
            _ => draw_lines(buffer, answers, &options),
        }
        let visible = usize::from(body.height);
        let offset = offset.min(lines.len().saturating_sub(visible));
        draw_lines(buffer, inset_left(body, 1), lines.iter().skip(offset));
        let hidden = lines.len().saturating_sub(offset + visible);
        let title = card_title(count, hidden, usize::from(area.width));
        draw_line(buffer, head, 0, &Line::styled(title, theme.warning));
        let total = lines.len();
        RequestFrame {
            offset,
            visible: visible.min(total),
            total,
            is_loading: self.request_painter(width).is_loading(card),
        }
    }

    fn composer_rows(&self, area: Rect) -> u16 {
        let width = usize::from(area.width.saturating_sub(3)).max(1);
        let rows = self
            .composer
            .input
            .rows(width)
            .len()
            .clamp(1, MAX_COMPOSER_ROWS);
        let rows = u16::try_from(rows).unwrap_or(1) + 1;
        rows.min(area.height / 2)
    }

    fn draw_composer(&mut self, buffer: &mut Buffer, area: Rect) -> Option<Position> {
        self.areas.composer = Some(area);
        let theme = self.options.theme;
        let is_focused = self.focus == ScreenFocus::Composer;
        let style = if is_focused { theme.accent } else { theme.dim };
        let (rule, body) = split_top(area, 1);
        draw_line(
            buffer,
            rule,
            0,
            &Line::styled("─".repeat(usize::from(area.width)), style),
        );
        draw_line(buffer, body, 0, &Line::styled("> ", style));
        let text = inset_left(body, 2);
        let purpose = self
            .model
            .composer
            .as_ref()
            .map(|composer| composer.placeholder);
        if self.composer.input.is_empty() {
            let placeholder = match purpose {
                Some(ComposerPurpose::ReadOnly) => "this chat can only be read",
                Some(ComposerPurpose::Steer) => "a turn runs: messages wait in the queue",
                Some(ComposerPurpose::Message) | None => "message, /command, @file, !shell",
            };
            draw_line(buffer, text, 0, &Line::styled(placeholder, theme.dim));
        }
        let cursor = draw_input(buffer, text, &self.composer.input, false, &theme);
        self.draw_completions(buffer, area);
        cursor.filter(|_| is_focused)
    }

    fn draw_completions(&self, buffer: &mut Buffer, composer: Rect) {
        let theme = &self.options.theme;
        let entries = &self.composer.completions;
        let rows = u16::try_from(entries.len())
            .unwrap_or(0)
            .min(composer.y.saturating_sub(1));
        if rows == 0 {
            return;
        }
        let area = Rect::new(composer.x, composer.y - rows, composer.width.min(60), rows);
        clear(buffer, area);
        for (row, (place, entry)) in (0..rows).zip(entries.iter().enumerate()) {
            let left = vec![Span::styled(clean(&entry.label), theme.text)];
            let right = vec![Span::styled(clean(&entry.description), theme.dim)];
            draw_line(
                buffer,
                area,
                row,
                &two_sided(left, right, usize::from(area.width)),
            );
            if place == self.composer.selected {
                fill_row(buffer, area, row, theme.selected);
            }
        }
    }
}

/// Returns the rule above a request, with the number of requests and of hidden lines.
fn card_title(count: usize, hidden: usize, width: usize) -> String {
    let title = match count {
        0 | 1 => "─ question ".to_owned(),
        count => format!("─ 1 of {count} questions (r: next) "),
    };
    let more = match hidden {
        0 => String::new(),
        1 => " ↓ 1 more line, ] ".to_owned(),
        hidden => format!(" ↓ {hidden} more lines, ] "),
    };
    // In a narrow terminal, the hidden lines matter more.
    let title = match width_of(&title) + width_of(&more) <= width {
        true => title,
        false => "─".to_owned(),
    };
    let used = width_of(&title) + width_of(&more);
    format!("{title}{}{more}", "─".repeat(width.saturating_sub(used)))
}
