//! The list of sessions, grouped by folder.

use agenthost_protocol::uri::Uri;
use agenthost_view::session_list::{SessionActivity, SessionList, SessionRow};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::text::{Line, Span};

use super::row_text::duration_text;
use super::text_input::TextInput;
use crate::paint::canvas::{cut_line, draw_line, fill_row, scroll_to, two_sided};
use crate::paint::text::{clean, cut_start, short_path};
use crate::paint::theme::ScreenTheme;

/// The list of sessions with its selection.
#[derive(Debug, Default)]
pub(crate) struct SessionPane {
    pub(crate) selected: Option<Uri>,
    offset: usize,
    height: usize,
    pub(crate) filter: TextInput,
    /// The user edits the filter.
    pub(crate) is_filtering: bool,
    pub(crate) shows_archived: bool,
}

/// A line of the list.
enum ListLine<'a> {
    Folder(String),
    Session(&'a SessionRow),
}

impl SessionPane {
    /// Returns the selected session, or the first one.
    pub(crate) fn current<'a>(&self, list: &'a SessionList) -> Option<&'a SessionRow> {
        let sessions = ordered(list);
        let wanted = self.selected.as_ref();
        let known = wanted.and_then(|key| sessions.iter().find(|row| row.key == *key));
        known.or(sessions.first()).copied()
    }

    /// Moves the selection by rows.
    pub(crate) fn select(&mut self, list: &SessionList, step: isize) {
        let sessions = ordered(list);
        let current = self.current(list).map(|row| &row.key);
        let place = sessions.iter().position(|row| Some(&row.key) == current);
        let last = sessions.len().saturating_sub(1);
        let place = place.unwrap_or(0).saturating_add_signed(step).min(last);
        self.selected = sessions.get(place).map(|row| row.key.clone());
    }

    pub(crate) fn page(&self) -> isize {
        isize::try_from(self.height.saturating_sub(2).max(1)).unwrap_or(1)
    }

    /// Selects the session at a row of the area.
    pub(crate) fn select_at(&mut self, list: &SessionList, row: usize, home: Option<&str>) -> bool {
        let lines = list_lines(list, home);
        match lines.get(self.offset + row) {
            Some(ListLine::Session(session)) => {
                self.selected = Some(session.key.clone());
                true
            }
            Some(ListLine::Folder(_)) | None => false,
        }
    }

    pub(crate) fn draw(
        &mut self,
        buffer: &mut Buffer,
        area: Rect,
        list: &SessionList,
        view: SessionPaneView<'_>,
    ) {
        let theme = view.theme;
        let mut area = area;
        if self.is_filtering || !self.filter.is_empty() {
            let text = clean(self.filter.text());
            let cursor = if self.is_filtering { "▏" } else { "" };
            let spans = vec![
                Span::styled("/", theme.accent),
                Span::styled(format!("{text}{cursor}"), theme.strong),
            ];
            draw_line(buffer, area, 0, &cut_line(spans, usize::from(area.width)));
            area = Rect::new(
                area.x,
                area.y + 1,
                area.width,
                area.height.saturating_sub(1),
            );
        }
        self.height = usize::from(area.height);
        let lines = list_lines(list, view.home);
        if lines.is_empty() {
            let text = if self.filter.is_empty() {
                "no sessions yet: n starts one"
            } else {
                "no session matches"
            };
            draw_line(buffer, area, 0, &Line::styled(text, theme.dim));
            return;
        }
        let current = self.current(list).map(|row| row.key.clone());
        let selected = lines.iter().position(|line| match line {
            ListLine::Session(row) => Some(&row.key) == current.as_ref(),
            ListLine::Folder(_) => false,
        });
        let selected = selected.unwrap_or(0);
        // The name of the folder stays visible above its first session.
        let start = selected.saturating_sub(usize::from(selected <= 1));
        self.offset = scroll_to(start, self.offset.min(lines.len()), self.height);
        self.offset = scroll_to(selected, self.offset, self.height);
        for (row, line) in (0..area.height).zip(lines.iter().skip(self.offset)) {
            let width = usize::from(area.width);
            match line {
                ListLine::Folder(folder) => {
                    let folder = cut_start(folder, width);
                    draw_line(buffer, area, row, &Line::styled(folder, theme.dim));
                }
                ListLine::Session(session) => {
                    let line = session_line(session, width, view);
                    draw_line(buffer, area, row, &line);
                    if Some(&session.key) == current.as_ref() && view.is_focused {
                        fill_row(buffer, area, row, theme.selected);
                    } else if Some(&session.key) == view.open {
                        fill_row(buffer, area, row, theme.marked);
                    }
                }
            }
        }
    }
}

/// The surroundings of the list.
#[derive(Clone, Copy)]
pub(crate) struct SessionPaneView<'a> {
    pub(crate) theme: &'a ScreenTheme,
    pub(crate) home: Option<&'a str>,
    pub(crate) is_focused: bool,
    /// The session that is shown.
    pub(crate) open: Option<&'a Uri>,
    pub(crate) now: i64,
}

/// Returns the sessions in the order of the screen: by group.
fn ordered(list: &SessionList) -> Vec<&SessionRow> {
    if list.groups.is_empty() {
        return list.rows.iter().collect();
    }
    let keys = list.groups.iter().flat_map(|group| &group.sessions);
    let rows = keys.filter_map(|key| list.rows.iter().find(|row| row.key == *key));
    rows.collect()
}

fn list_lines<'a>(list: &'a SessionList, home: Option<&str>) -> Vec<ListLine<'a>> {
    if list.groups.is_empty() {
        return list.rows.iter().map(ListLine::Session).collect();
    }
    let mut lines = Vec::new();
    for group in &list.groups {
        let folder = match &group.path {
            Some(path) => short_path(path, home),
            None if group.label.is_empty() => "no folder".to_owned(),
            None => clean(&group.label),
        };
        lines.push(ListLine::Folder(folder));
        let rows = group.sessions.iter();
        let rows = rows.filter_map(|key| list.rows.iter().find(|row| row.key == *key));
        lines.extend(rows.map(ListLine::Session));
    }
    lines
}

fn session_line(row: &SessionRow, width: usize, view: SessionPaneView<'_>) -> Line<'static> {
    let theme = view.theme;
    let (mark, style) = activity_mark(row.status, theme);
    let title = if row.title.is_empty() {
        "untitled"
    } else {
        &row.title
    };
    let style_of_title = if row.unread { theme.strong } else { theme.text };
    let archived = if row.archived { "▣ " } else { "" };
    let left = vec![
        Span::styled(format!("{mark} "), style),
        Span::styled(format!("{archived}{}", clean(title)), style_of_title),
    ];
    let mut right = Vec::new();
    if row.waiting > 0 {
        right.push(Span::styled(format!("{}? ", row.waiting), theme.warning));
    }
    let modified = row.modified_at.to_millis().ok();
    if let Some(age) = modified.map(|modified| view.now - modified.0) {
        right.push(Span::styled(short_age(age), theme.dim));
    }
    two_sided(left, right, width)
}

/// Returns the mark of an activity; each has a shape of its own.
pub(crate) fn activity_mark(
    activity: SessionActivity,
    theme: &ScreenTheme,
) -> (&'static str, ratatui_core::style::Style) {
    match activity {
        SessionActivity::Idle => ("·", theme.dim),
        SessionActivity::Running => ("▶", theme.accent),
        SessionActivity::Waiting => ("?", theme.warning),
        SessionActivity::Error => ("✗", theme.error),
        SessionActivity::Creating => ("◌", theme.dim),
    }
}

/// Returns an age in one unit.
fn short_age(millis: i64) -> String {
    let text = duration_text(millis.max(1_000));
    let mut words = text.split(' ');
    let (number, unit) = (words.next().unwrap_or("0"), words.next().unwrap_or("s"));
    let unit = unit.chars().next().unwrap_or('s');
    format!("{number}{unit}")
}
