//! The diff of a file over the whole screen, with comments between its rows.

use agenthost_frontend::DiffLayout;
use agenthost_view::annotations::{CommentThread, ThreadPlace};
use agenthost_view::diff::{DiffRow, SplitRow, TextSide};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::text::{Line, Span};

use crate::model::DiffHead;
use crate::paint::canvas::{draw_line, fill_row, scroll_to, split_top, two_sided};
use crate::paint::code::CodeStyle;
use crate::paint::edit_diff::DiffPainter;
use crate::paint::text::{clean, short_path};
use crate::paint::theme::ScreenTheme;
use crate::paint::wrap::{WrapMode, wrap_with_prefix};

/// The open diff: the row with the cursor and the window.
#[derive(Debug, Default)]
pub(crate) struct DiffPane {
    pub(crate) cursor: usize,
    offset: usize,
    height: usize,
    /// Columns that are scrolled out at the left.
    pub(crate) shift: usize,
}

/// The surroundings of the diff.
pub(crate) struct DiffPaneView<'a> {
    pub(crate) theme: &'a ScreenTheme,
    pub(crate) home: Option<&'a str>,
    pub(crate) comments: &'a [CommentThread],
    pub(crate) is_reviewed: bool,
    /// Place of the file in the list, and the number of files.
    pub(crate) place: (usize, usize),
}

impl DiffPane {
    pub(crate) fn page(&self) -> isize {
        isize::try_from(self.height.saturating_sub(2).max(1)).unwrap_or(1)
    }

    pub(crate) fn move_cursor(&mut self, step: isize, diff: &DiffHead) {
        let last = diff.total.saturating_sub(1);
        self.cursor = self.cursor.saturating_add_signed(step).min(last);
    }

    /// Moves to the next hunk, or to the previous one.
    pub(crate) fn move_to_hunk(&mut self, is_forward: bool, diff: &DiffHead) {
        let Some(rows) = &diff.rows else {
            return;
        };
        let hunks = match diff.layout {
            DiffLayout::Unified => rows.unified_hunks(),
            DiffLayout::Split => rows.split_hunks(),
        };
        let mut hunks = hunks.into_iter();
        let found = if is_forward {
            hunks.find(|hunk| *hunk > self.cursor)
        } else {
            hunks.rfind(|hunk| *hunk < self.cursor)
        };
        if let Some(hunk) = found {
            self.cursor = hunk;
        }
    }

    /// Returns the side and the number of the line at the cursor.
    pub(crate) fn cursor_line(&self, diff: &DiffHead) -> Option<(TextSide, u32)> {
        let rows = diff.rows.as_ref()?;
        let window = self.cursor..self.cursor + 1;
        match diff.layout {
            DiffLayout::Unified => match rows.unified_rows(window).first()? {
                DiffRow::Hunk(_) => None,
                DiffRow::Line(line) => match (line.after, line.before) {
                    (Some(after), _) => Some((TextSide::After, after)),
                    (None, Some(before)) => Some((TextSide::Before, before)),
                    (None, None) => None,
                },
            },
            DiffLayout::Split => match rows.split_rows(window).first()? {
                SplitRow::Hunk(_) => None,
                SplitRow::Pair { left, right } => match (right, left) {
                    (Some(right), _) => Some((TextSide::After, right.number)),
                    (None, Some(left)) => Some((TextSide::Before, left.number)),
                    (None, None) => None,
                },
            },
        }
    }

    pub(crate) fn draw(
        &mut self,
        buffer: &mut Buffer,
        area: Rect,
        diff: &DiffHead,
        view: &DiffPaneView<'_>,
    ) {
        let theme = view.theme;
        let (head, body) = split_top(area, 1);
        draw_line(
            buffer,
            head,
            0,
            &head_line(diff, usize::from(area.width), view),
        );
        self.height = usize::from(body.height);
        let Some(rows) = &diff.rows else {
            let text = match (diff.status, &diff.error) {
                ("binary", _) => "the file is not text".to_owned(),
                (_, Some(error)) => clean(error),
                (_, None) => "reading …".to_owned(),
            };
            draw_line(buffer, body, 0, &Line::styled(text, theme.dim));
            return;
        };
        self.cursor = self.cursor.min(diff.total.saturating_sub(1));
        self.offset = scroll_to(self.cursor, self.offset, self.height);
        // Comments take rows of the window; the row with the cursor stays in it.
        let rows_to_cursor = |offset: usize| -> usize {
            let comments = (offset..self.cursor).map(|row| comment_lines(view, row, body).len());
            self.cursor - offset + comments.sum::<usize>()
        };
        while self.offset < self.cursor && rows_to_cursor(self.offset) >= self.height {
            self.offset += 1;
        }
        let painter = DiffPainter {
            theme,
            width: usize::from(body.width),
            language: CodeStyle::of_language(diff.language.as_deref()),
            shift: self.shift,
        };
        let window = self.offset..self.offset + self.height;
        let lines: Vec<Line<'static>> = match diff.layout {
            DiffLayout::Unified => {
                let rows = rows.unified_rows(window);
                rows.iter().map(|row| painter.unified(row)).collect()
            }
            DiffLayout::Split => {
                let rows = rows.split_rows(window);
                rows.iter().map(|row| painter.split(row)).collect()
            }
        };
        let mut row = 0;
        for (index, line) in (self.offset..).zip(&lines) {
            if row >= body.height {
                break;
            }
            draw_line(buffer, body, row, line);
            if index == self.cursor {
                fill_row(buffer, body, row, theme.selected);
            }
            row += 1;
            for line in comment_lines(view, index, body) {
                draw_line(buffer, body, row, &line);
                row += 1;
            }
        }
    }
}

fn head_line(diff: &DiffHead, width: usize, view: &DiffPaneView<'_>) -> Line<'static> {
    let theme = view.theme;
    let reviewed = if view.is_reviewed { "✓ " } else { "" };
    let left = vec![
        Span::styled(reviewed, theme.ok),
        Span::styled(short_path(&diff.path, view.home), theme.strong),
        Span::styled(format!(" +{}", diff.added), theme.added),
        Span::styled(format!(" −{}", diff.removed), theme.removed),
    ];
    let (place, count) = view.place;
    let right = format!("file {} of {count}", place + 1);
    two_sided(left, vec![Span::styled(right, theme.dim)], width)
}

/// Returns the lines of the comments below a row.
fn comment_lines(view: &DiffPaneView<'_>, row: usize, area: Rect) -> Vec<Line<'static>> {
    let theme = view.theme;
    let mut lines = Vec::new();
    for thread in view.comments {
        let is_here = match thread.place {
            Some(ThreadPlace::Row { row: place, .. }) => place == row,
            Some(ThreadPlace::File) => row == 0,
            _ => false,
        };
        if !is_here {
            continue;
        }
        for entry in &thread.entries {
            let author = entry.author.as_deref().unwrap_or("a client");
            let mark = if thread.resolved { "✓" } else { "✎" };
            let first = [Span::styled(
                format!("   {mark} {}: ", clean(author)),
                theme.accent,
            )];
            let style = if thread.resolved {
                theme.dim
            } else {
                theme.text
            };
            let width = usize::from(area.width);
            for line in entry.text.lines() {
                let spans = [Span::styled(clean(line), style)];
                let indent = [Span::raw("     ")];
                lines.extend(wrap_with_prefix(
                    &spans,
                    width,
                    WrapMode::Words,
                    &first,
                    &indent,
                ));
            }
        }
    }
    lines
}
