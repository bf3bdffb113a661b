//! The timeline of the selected chat: a window of lines, anchored at a row.
//!
//! Only rows near the window become lines, and their lines are kept until the row changes. While
//! the user reads, the window stays at its row; it follows new rows only at the end.

mod selection;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use agenthost_frontend::TimelineSource;
use agenthost_protocol::sorted::SortedMap;
use agenthost_protocol::uri::Uri;
use agenthost_view::timeline::{CallContent, RowBody, RowKey, Timeline, TimelineRow};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::text::{Line, Span};

use super::edit_contents::EditContents;
use super::timeline_rows::RowPainter;
use crate::paint::canvas::{draw_line, fill_row};
use crate::paint::text::PathNames;
use crate::paint::theme::ScreenTheme;

/// Rows whose lines are kept.
const MAX_CACHED_ROWS: usize = 300;

/// The timeline of the selected chat.
#[derive(Debug, Default)]
pub(crate) struct TimelinePane {
    chat: Option<Uri>,
    timeline: Option<Timeline>,
    rows: Vec<Arc<TimelineRow>>,
    cache: HashMap<RowKey, CachedLines>,
    expanded: HashSet<RowKey>,
    position: ScrollPosition,
    /// Last row when the user left the end.
    seen: Option<RowKey>,
    selected: Option<RowKey>,
    /// The host has earlier turns.
    pub(crate) has_older: bool,
    /// First line of the last frame: a row, and a line in it.
    top: (usize, usize),
    /// Size of the last frame.
    size: (usize, usize),
    /// The end of the output of commands.
    pub(crate) tails: SortedMap<Uri, String>,
}

/// The place of the window.
#[derive(Debug, Clone, Default, PartialEq)]
enum ScrollPosition {
    /// The last lines, also when new ones arrive.
    #[default]
    End,
    /// The window starts at a line of a row.
    At { row: RowKey, line: usize },
}

#[derive(Debug)]
struct CachedLines {
    row: Arc<TimelineRow>,
    width: usize,
    is_expanded: bool,
    revision: u64,
    lines: Vec<Line<'static>>,
}

/// The parts of the screen that rows need.
pub(crate) struct TimelineContents<'a> {
    pub(crate) theme: &'a ScreenTheme,
    pub(crate) paths: PathNames<'a>,
    pub(crate) contents: &'a mut EditContents,
}

impl TimelinePane {
    /// Updates the rows from the state of the selected chat.
    pub(crate) fn refresh(&mut self, source: Option<TimelineSource<'_>>) {
        let Some(source) = source else {
            *self = TimelinePane::default();
            return;
        };
        if self.chat.as_ref() != Some(source.chat) {
            *self = TimelinePane {
                chat: Some(source.chat.clone()),
                ..TimelinePane::default()
            };
        }
        self.has_older = source.state.turns_next_cursor.is_some();
        let timeline = self
            .timeline
            .get_or_insert_with(|| Timeline::new(source.context.clone()));
        timeline.set_context(source.context);
        timeline.set_unconfirmed(source.unconfirmed);
        let patch = timeline.update(source.state);
        if patch.splice.is_some() {
            self.rows = timeline.rows().cloned().collect();
            return;
        }
        for row in patch.set {
            let mut places = self.rows.iter().enumerate().rev();
            let place = places.find(|(_, known)| known.key == row.key);
            if let Some(place) = place.map(|(place, _)| place)
                && let Some(known) = self.rows.get_mut(place)
            {
                *known = row;
            }
        }
    }

    pub(crate) fn rows(&self) -> &[Arc<TimelineRow>] {
        &self.rows
    }

    /// Scrolls by lines: up if negative.
    pub(crate) fn scroll(&mut self, lines: isize, context: &mut TimelineContents<'_>) {
        if self.rows.is_empty() {
            return;
        }
        let (mut row, mut line) = self.top;
        let mut left = lines;
        while left < 0 {
            if line > 0 {
                let step = line.min(left.unsigned_abs());
                line -= step;
                left += isize::try_from(step).unwrap_or(isize::MAX);
            } else if row > 0 {
                row -= 1;
                line = self.line_count(row, context);
            } else {
                break;
            }
        }
        while left > 0 {
            let count = self.line_count(row, context);
            let step = (count - line.min(count)).min(left.unsigned_abs());
            line += step;
            left -= isize::try_from(step).unwrap_or(0);
            if left > 0 || line == count {
                if row + 1 >= self.rows.len() {
                    return self.scroll_to_end();
                }
                row += 1;
                line = 0;
            }
        }
        self.anchor(row, line);
    }

    pub(crate) fn scroll_to_end(&mut self) {
        self.position = ScrollPosition::End;
        self.seen = None;
    }

    pub(crate) fn scroll_to_start(&mut self) {
        self.anchor(0, 0);
    }

    fn anchor(&mut self, row: usize, line: usize) {
        if let Some(found) = self.rows.get(row) {
            if self.position == ScrollPosition::End {
                self.seen = self.rows.last().map(|row| row.key.clone());
            }
            let row_key = found.key.clone();
            self.top = (row, line);
            self.position = ScrollPosition::At { row: row_key, line };
        }
    }

    /// Lines of a page.
    pub(crate) fn page(&self) -> isize {
        isize::try_from(self.size.1.saturating_sub(2).max(1)).unwrap_or(1)
    }

    /// Returns `true` if the first row is on the screen and the host has earlier ones.
    pub(crate) fn wants_older(&self) -> bool {
        self.has_older && self.top.0 == 0
    }

    /// Returns the number of rows below the window that the user has not seen; `None` at the end.
    pub(crate) fn new_rows(&self) -> Option<usize> {
        if self.position == ScrollPosition::End {
            return None;
        }
        let seen = self.seen.as_ref();
        let seen = seen.and_then(|key| self.rows.iter().rposition(|row| row.key == *key));
        Some(seen.map_or(0, |place| self.rows.len() - place - 1))
    }

    /// Returns the terminals of commands that run, and of expanded calls.
    pub(crate) fn live_terminals(&self) -> Vec<Uri> {
        let mut found = Vec::new();
        for row in self.rows.iter().rev().take(MAX_CACHED_ROWS) {
            let RowBody::ToolCall(call) = &row.body else {
                continue;
            };
            let is_expanded = self.expanded.contains(&row.key);
            for content in &call.content {
                if let CallContent::Terminal { uri, ended, .. } = content
                    && (!ended || is_expanded)
                {
                    found.push(uri.clone());
                }
            }
        }
        found
    }

    /// Returns the number of rows whose lines are kept.
    #[cfg(test)]
    pub(crate) fn cached_rows(&self) -> usize {
        self.cache.len()
    }

    /// Drops the lines of rows with output of these terminals.
    pub(crate) fn set_tails(&mut self, tails: SortedMap<Uri, String>) {
        self.tails = tails;
        self.cache.retain(|_, cached| !has_terminal(&cached.row));
    }

    fn line_count(&mut self, row: usize, context: &mut TimelineContents<'_>) -> usize {
        self.lines(row, context).len()
    }

    fn lines(&mut self, row: usize, context: &mut TimelineContents<'_>) -> &[Line<'static>] {
        let Some(row) = self.rows.get(row).cloned() else {
            return &[];
        };
        let width = self.size.0;
        let is_expanded = self.expanded.contains(&row.key);
        let revision = context.contents.revision();
        let is_fresh = self.cache.get(&row.key).is_some_and(|cached| {
            Arc::ptr_eq(&cached.row, &row)
                && cached.width == width
                && cached.is_expanded == is_expanded
                && (cached.revision == revision || !has_edit(&row))
        });
        if !is_fresh {
            if self.cache.len() >= MAX_CACHED_ROWS {
                self.cache.clear();
            }
            let mut painter = RowPainter {
                theme: context.theme,
                width,
                paths: context.paths,
                is_expanded,
                tails: &self.tails,
                contents: context.contents,
            };
            let lines = painter.lines(&row);
            let cached = CachedLines {
                row: Arc::clone(&row),
                width,
                is_expanded,
                revision,
                lines,
            };
            self.cache.insert(row.key.clone(), cached);
        }
        self.cache.get(&row.key).map_or(&[], |cached| &cached.lines)
    }

    /// Draws the window.
    pub(crate) fn draw(
        &mut self,
        buffer: &mut Buffer,
        area: Rect,
        is_focused: bool,
        context: &mut TimelineContents<'_>,
    ) {
        self.size = (usize::from(area.width), usize::from(area.height));
        let height = usize::from(area.height);
        if height == 0 {
            return;
        }
        self.settle(height, context);
        let selected = self.selected.clone();
        let mut drawn = 0;
        let (mut row, mut skip) = self.top;
        while drawn < height && row < self.rows.len() {
            let is_selected = is_focused
                && self
                    .rows
                    .get(row)
                    .is_some_and(|row| Some(&row.key) == selected.as_ref());
            let theme = context.theme;
            let mark = Line::from(Span::styled("▐", theme.accent));
            let lines = self.lines(row, context);
            for line in lines.iter().skip(skip) {
                if drawn == height {
                    break;
                }
                let place = u16::try_from(drawn).unwrap_or(u16::MAX);
                draw_line(buffer, area, place, line);
                if is_selected {
                    fill_row(buffer, area, place, theme.text);
                    let edge = Rect::new(area.right().saturating_sub(1), area.y, 1, area.height);
                    draw_line(buffer, edge, place, &mark);
                }
                drawn += 1;
            }
            skip = 0;
            row += 1;
        }
    }

    /// Finds the first line of the window.
    fn settle(&mut self, height: usize, context: &mut TimelineContents<'_>) {
        if let ScrollPosition::At { row, line } = self.position.clone() {
            let place = self.rows.iter().position(|other| other.key == row);
            let Some(place) = place else {
                self.scroll_to_end();
                return self.settle(height, context);
            };
            let line = line.min(self.line_count(place, context).saturating_sub(1));
            self.top = (place, line);
            // A window that reaches the end follows it.
            let mut left = self.line_count(place, context) - line;
            let mut next = place + 1;
            while left < height && next < self.rows.len() {
                left += self.line_count(next, context);
                next += 1;
            }
            if left > height || (next < self.rows.len() && left == height) {
                return;
            }
            self.scroll_to_end();
        }
        let mut missing = height;
        let mut row = self.rows.len();
        let mut line = 0;
        while missing > 0 && row > 0 {
            row -= 1;
            let count = self.line_count(row, context);
            line = count.saturating_sub(missing);
            missing = missing.saturating_sub(count);
        }
        self.top = (row, line);
    }
}

fn has_terminal(row: &TimelineRow) -> bool {
    match &row.body {
        RowBody::ToolCall(call) => {
            let mut content = call.content.iter();
            content.any(|content| matches!(content, CallContent::Terminal { .. }))
        }
        _ => false,
    }
}

fn has_edit(row: &TimelineRow) -> bool {
    match &row.body {
        RowBody::ToolCall(call) => {
            let mut content = call.content.iter();
            content.any(|content| matches!(content, CallContent::Edit { .. }))
        }
        _ => false,
    }
}
