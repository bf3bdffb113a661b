//! The first line and the footer.

use agenthost_frontend::LinkState;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::text::{Line, Span};

use super::{FullView, ScreenFocus, TerminalScreen};
use crate::bindings::{BINDINGS, KeyPlace};
use crate::paint::canvas::{cut_line, draw_line, draw_lines, two_sided};
use crate::paint::text::{clean, clean_lines, short_path};
use crate::paint::wrap::{WrapMode, wrap};

/// Rows of the banner.
const MAX_BANNER_ROWS: usize = 2;

impl TerminalScreen {
    pub(super) fn draw_status(&self, buffer: &mut Buffer, area: Rect) {
        let theme = &self.options.theme;
        let link = &self.model.link;
        let (mark, style, text) = match link.state {
            LinkState::Live => ("●", theme.ok, ""),
            LinkState::Connecting => ("◌", theme.dim, " connecting"),
            LinkState::CatchingUp => ("◐", theme.accent, " catching up"),
            LinkState::Offline => ("✗", theme.error, " no connection, retrying"),
            LinkState::SignedOut => ("✗", theme.error, " signed out"),
        };
        let mut left = vec![Span::styled(format!("{mark}{text} "), style)];
        if let Some(chat) = &self.model.chat {
            let title = if chat.title.is_empty() {
                "untitled"
            } else {
                &chat.title
            };
            left.push(Span::styled(clean(title), theme.strong));
            let mut details = vec![clean(&chat.agent)];
            details.extend(
                chat.folder
                    .as_deref()
                    .map(|f| short_path(f, self.model.home.as_deref())),
            );
            let model = self
                .model
                .composer
                .as_ref()
                .and_then(|composer| composer.model.as_ref());
            details.extend(model.map(|model| clean(model.as_str())));
            let modes = chat.config.iter().filter(|row| row.mutable);
            details.extend(modes.filter_map(|row| row.value.as_deref()).map(clean));
            let details = details.into_iter().filter(|text| !text.is_empty());
            let details: Vec<_> = details.collect();
            left.push(Span::styled(
                format!(" · {}", details.join(" · ")),
                theme.dim,
            ));
        } else {
            left.push(Span::styled("agenthost", theme.strong));
        }
        let mut right = Vec::new();
        if link.pending > 0 {
            right.push(Span::styled(format!("◌{} ", link.pending), theme.dim));
        }
        let row = self.model.session_row();
        if let Some(cost) = row.and_then(|row| row.cost.as_deref()) {
            right.push(Span::styled(format!("{} ", clean(cost)), theme.dim));
        }
        match self.model.waiting() {
            0 => {}
            count => right.push(Span::styled(format!("{count} waiting"), theme.warning)),
        }
        draw_line(
            buffer,
            area,
            0,
            &two_sided(left, right, usize::from(area.width)),
        );
    }

    /// Returns the banner: a problem of the host that concerns all sessions.
    pub(super) fn banner_lines(&self, width: u16) -> Vec<Line<'static>> {
        let Some(problem) = &self.model.storage_problem else {
            return Vec::new();
        };
        let text = format!(
            "! {}: changes are refused until there is space",
            clean(problem)
        );
        let text = Span::styled(text, self.options.theme.error);
        let mut lines = wrap(&[text], usize::from(width), WrapMode::Words);
        lines.truncate(MAX_BANNER_ROWS);
        lines
    }

    pub(super) fn footer_rows(&self, area: Rect) -> u16 {
        let Some(notice) = &self.notice else {
            return 1;
        };
        let width = usize::from(area.width);
        let lines = clean_lines(&notice.text)
            .flat_map(|line| wrap(&[Span::raw(line)], width, WrapMode::Words));
        u16::try_from(lines.count().clamp(1, 5)).unwrap_or(1)
    }

    pub(super) fn draw_footer(&self, buffer: &mut Buffer, area: Rect) {
        let theme = &self.options.theme;
        let width = usize::from(area.width);
        if let Some(notice) = &self.notice {
            let style = if notice.is_error {
                theme.error
            } else {
                theme.accent
            };
            let lines = clean_lines(&notice.text)
                .flat_map(|line| wrap(&[Span::styled(line, style)], width, WrapMode::Words));
            let lines: Vec<_> = lines.collect();
            draw_lines(buffer, area, &lines);
            return;
        }
        let is_typing = self.full.is_none() && self.focus == ScreenFocus::Composer;
        let is_running = self
            .model
            .composer
            .as_ref()
            .is_some_and(|composer| composer.running);
        let keys: Vec<(&str, &str)> = if let Some(FullView::Terminal(_)) = &self.full {
            vec![("ctrl+]", "leave"), ("shift+pgup", "scroll")]
        } else if self.sessions.is_filtering {
            vec![("enter", "open"), ("esc", "clear")]
        } else if is_typing && !self.model.requests.is_empty() {
            vec![
                ("esc", "answer the question"),
                ("enter", "queue"),
                ("alt+s", "steer"),
                ("ctrl+p", "commands"),
            ]
        } else if is_typing && is_running {
            vec![
                ("enter", "queue"),
                ("alt+s", "steer"),
                ("alt+enter", "line"),
                ("esc", "chat"),
                ("tab", "next pane"),
                ("ctrl+p", "commands"),
            ]
        } else if is_typing {
            vec![
                ("enter", "send"),
                ("alt+enter", "line"),
                ("ctrl+g", "editor"),
                ("esc", "chat"),
                ("tab", "next pane"),
                ("ctrl+p", "commands"),
            ]
        } else {
            self.place_keys()
        };
        let mut spans = Vec::new();
        for (key, label) in keys {
            if !spans.is_empty() {
                spans.push(Span::raw("  "));
            }
            spans.push(Span::styled(key.to_owned(), theme.accent));
            spans.push(Span::styled(format!(" {label}"), theme.dim));
        }
        draw_line(buffer, area, 0, &cut_line(spans, width));
    }

    fn place_keys(&self) -> Vec<(&'static str, &'static str)> {
        let places = self.key_places();
        let is_running = self
            .model
            .composer
            .as_ref()
            .is_some_and(|composer| composer.running);
        let mut keys: Vec<(&'static str, &'static str)> = Vec::new();
        for place in places {
            let own = BINDINGS
                .iter()
                .filter(|binding| binding.place == place && binding.in_footer);
            for binding in own {
                let is_idle_cancel = place == KeyPlace::Chat && binding.key == "x" && !is_running;
                if !is_idle_cancel && keys.iter().all(|(key, _)| *key != binding.key) {
                    keys.push((binding.key, binding.label));
                }
            }
        }
        keys
    }
}
