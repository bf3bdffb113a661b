//! The messages that wait: edit, steer, move, drop.

use agenthost_frontend::FrontendCommand;
use agenthost_view::queue::{QueueKind, QueueRow};
use crossterm::event::{KeyCode, KeyEvent};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::text::{Line, Span};

use crate::paint::canvas::{centered, cut_line, draw_box, draw_line, fill_row};
use crate::paint::text::clean;
use crate::paint::theme::ScreenTheme;

/// The list of waiting messages.
#[derive(Debug, Default)]
pub(crate) struct QueueDialog {
    selected: usize,
}

/// The result of a key.
#[derive(Debug)]
pub(crate) enum QueueEvent {
    Open,
    Closed,
    /// The user edits the message with this key.
    Edit(String),
    Do(FrontendCommand),
}

impl QueueDialog {
    pub(crate) fn handle_key(&mut self, key: &KeyEvent, queue: &[QueueRow]) -> QueueEvent {
        let last = queue.len().saturating_sub(1);
        self.selected = self.selected.min(last);
        let row = queue.get(self.selected);
        let own_key = row.map(|row| row.key.to_string());
        // Steering messages are listed before the queue.
        let steering = queue
            .iter()
            .filter(|row| row.kind == QueueKind::Steering)
            .count();
        let place = self.selected.saturating_sub(steering);
        let move_to = |index: usize| {
            let command = own_key
                .clone()
                .map(|key| FrontendCommand::QueueMove { key, index });
            command.map_or(QueueEvent::Open, QueueEvent::Do)
        };
        match key.code {
            KeyCode::Esc | KeyCode::Char('q' | 'Q') => return QueueEvent::Closed,
            KeyCode::Char('K') if place > 0 => {
                self.selected -= 1;
                return move_to(place - 1);
            }
            KeyCode::Char('J') if self.selected < last => {
                self.selected += 1;
                return move_to(place + 1);
            }
            KeyCode::Up | KeyCode::Char('k') => self.selected = self.selected.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') => self.selected = (self.selected + 1).min(last),
            KeyCode::Char('e') | KeyCode::Enter => {
                return own_key.map_or(QueueEvent::Open, QueueEvent::Edit);
            }
            KeyCode::Char('s') => {
                let command = own_key.map(|key| FrontendCommand::SteerNow { key });
                return command.map_or(QueueEvent::Open, QueueEvent::Do);
            }
            KeyCode::Char('D' | 'x') | KeyCode::Delete => {
                let command = own_key.map(|key| FrontendCommand::QueueRemove { key });
                return command.map_or(QueueEvent::Open, QueueEvent::Do);
            }
            _ => {}
        }
        QueueEvent::Open
    }

    pub(crate) fn draw(
        &self,
        buffer: &mut Buffer,
        area: Rect,
        queue: &[QueueRow],
        theme: &ScreenTheme,
    ) {
        let height = u16::try_from(queue.len()).unwrap_or(u16::MAX);
        let area = centered(area, 76, height.saturating_add(3).clamp(5, 20));
        let inner = draw_box(buffer, area, "Waiting messages", theme);
        let width = usize::from(inner.width);
        if queue.is_empty() {
            draw_line(
                buffer,
                inner,
                0,
                &Line::styled("no message waits", theme.dim),
            );
        }
        let rows = inner.height.saturating_sub(1);
        let offset = (self.selected + 1).saturating_sub(usize::from(rows));
        for (place, (index, row)) in (0..rows).zip(queue.iter().enumerate().skip(offset)) {
            draw_line(
                buffer,
                inner,
                place,
                &cut_line(queue_line(row, theme), width),
            );
            if index == self.selected {
                fill_row(buffer, inner, place, theme.selected);
            }
        }
        let hint = "e edit  s steer now  K/J move  x drop  esc close";
        draw_line(buffer, inner, rows, &Line::styled(hint, theme.dim));
    }
}

/// Returns a waiting message in one line.
pub(crate) fn queue_line(row: &QueueRow, theme: &ScreenTheme) -> Vec<Span<'static>> {
    let mark = match row.kind {
        QueueKind::Queued => "⧗ queued: ",
        QueueKind::Steering => "↪ steering: ",
    };
    let attachments = match row.attachments {
        0 => String::new(),
        count => format!(" ⎘{count}"),
    };
    vec![
        Span::styled(mark, theme.accent),
        Span::styled(format!("{}{attachments}", clean(&row.text)), theme.text),
    ]
}
