//! The mouse, while the user has turned it on: the wheel scrolls, a click selects.

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui_core::layout::{Position, Rect};

use super::{FullView, ScreenFocus, TerminalScreen};

/// Lines of one step of the wheel.
const WHEEL_LINES: isize = 3;

impl TerminalScreen {
    pub(super) fn handle_mouse(&mut self, mouse: MouseEvent) -> bool {
        let place = Position::new(mouse.column, mouse.row);
        let step = match mouse.kind {
            MouseEventKind::ScrollUp => -WHEEL_LINES,
            MouseEventKind::ScrollDown => WHEEL_LINES,
            MouseEventKind::Down(MouseButton::Left) => return self.click(place),
            _ => return false,
        };
        if self.dialog.is_some() {
            return false;
        }
        match &mut self.full {
            Some(FullView::Diff(pane)) => {
                if let Some(diff) = &self.model.diff {
                    pane.move_cursor(step, diff);
                }
                return true;
            }
            Some(FullView::Code(pane)) => {
                pane.scroll(step);
                return true;
            }
            Some(FullView::Terminal(pane)) => {
                pane.scroll(step < 0);
                return true;
            }
            None => {}
        }
        let is_in = |area: Option<Rect>| area.is_some_and(|area| area.contains(place));
        if is_in(self.areas.sessions) {
            self.sessions.select(&self.model.sessions, step.signum());
        } else if is_in(self.areas.inspector) {
            self.select_in_list(step.signum());
        } else if is_in(self.areas.timeline) {
            let theme = self.options.theme;
            let mut contents = Self::timeline_contents(&theme, &self.model, &mut self.contents);
            self.timeline.scroll(step, &mut contents);
            self.load_older();
        } else {
            return false;
        }
        true
    }

    fn click(&mut self, place: Position) -> bool {
        if self.dialog.is_some() || self.full.is_some() {
            return false;
        }
        let find = |area: Option<Rect>| area.filter(|area| area.contains(place));
        if let Some(area) = find(self.areas.sessions) {
            self.focus = ScreenFocus::Sessions;
            let row = usize::from(place.y - area.y);
            let home = self.model.home.clone();
            if self
                .sessions
                .select_at(&self.model.sessions, row, home.as_deref())
            {
                self.open_selected_session();
            }
        } else if find(self.areas.composer).is_some() {
            self.focus = ScreenFocus::Composer;
        } else if find(self.areas.timeline).is_some() {
            self.focus = ScreenFocus::Chat;
        } else if find(self.areas.inspector).is_some() {
            self.focus = ScreenFocus::Inspector;
        } else {
            return false;
        }
        true
    }
}
