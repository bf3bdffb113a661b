//! The preview of a restore: files that would change, and turns that would be removed.

use agenthost_frontend::{ChatCommand, FrontendCommand};
use agenthost_view::changes::ChangesStatus;
use crossterm::event::{KeyCode, KeyEvent};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::text::{Line, Span};

use crate::model::RestoreHead;
use crate::paint::canvas::{centered, draw_box, draw_line, draw_lines};
use crate::paint::text::{PathNames, clean, cut};
use crate::paint::theme::ScreenTheme;
use crate::panes::row_text::edit_head;

/// The preview, scrolled by lines.
#[derive(Debug, Default)]
pub(crate) struct RestoreDialog {
    offset: usize,
}

/// The result of a key: the dialog stays, or it ends with commands.
#[derive(Debug)]
pub(crate) enum RestoreEvent {
    Open,
    Done(Vec<FrontendCommand>),
}

impl RestoreDialog {
    pub(crate) fn handle_key(
        &mut self,
        key: &KeyEvent,
        preview: Option<&RestoreHead>,
    ) -> RestoreEvent {
        let end = FrontendCommand::Chat(ChatCommand::EndRestore {});
        let Some(preview) = preview else {
            return RestoreEvent::Done(vec![end]);
        };
        let turn = preview.turn.clone();
        let files = FrontendCommand::Chat(ChatCommand::RestoreFiles { turn: turn.clone() });
        let chat = FrontendCommand::Chat(ChatCommand::Truncate { turn });
        let can_restore = preview.can_restore_files;
        match key.code {
            KeyCode::Esc | KeyCode::Char('q' | 'n') => RestoreEvent::Done(vec![end]),
            KeyCode::Char('f') if can_restore => RestoreEvent::Done(vec![files, end]),
            KeyCode::Char('c') => RestoreEvent::Done(vec![chat, end]),
            KeyCode::Char('b') if can_restore => RestoreEvent::Done(vec![files, chat, end]),
            KeyCode::Up | KeyCode::Char('k') => {
                self.offset = self.offset.saturating_sub(1);
                RestoreEvent::Open
            }
            KeyCode::Down | KeyCode::Char('j') => {
                let last = preview.files.len().saturating_sub(1);
                self.offset = (self.offset + 1).min(last);
                RestoreEvent::Open
            }
            _ => RestoreEvent::Open,
        }
    }

    pub(crate) fn draw(
        &self,
        buffer: &mut Buffer,
        area: Rect,
        preview: Option<&RestoreHead>,
        paths: PathNames<'_>,
        theme: &ScreenTheme,
    ) {
        let area = centered(area, 76, 20);
        let inner = draw_box(buffer, area, "Restore the state before a turn", theme);
        let Some(preview) = preview else {
            draw_line(
                buffer,
                inner,
                0,
                &Line::styled("reading the changes …", theme.dim),
            );
            return;
        };
        let width = usize::from(inner.width);
        let turns = match preview.turns {
            1 => "1 turn".to_owned(),
            count => format!("{count} turns"),
        };
        let message = cut(&clean(&preview.text), width.saturating_sub(10));
        let mut lines = vec![
            Line::from(vec![
                Span::styled("before: ", theme.dim),
                Span::styled(message, theme.strong),
            ]),
            Line::styled(
                format!("the chat loses {turns}; these files change:"),
                theme.text,
            ),
        ];
        match preview.status {
            ChangesStatus::Computing => lines.push(Line::styled("comparing …", theme.dim)),
            ChangesStatus::Error | ChangesStatus::Ready => {}
        }
        if let Some(error) = &preview.error {
            lines.push(Line::styled(clean(error), theme.error));
        }
        if preview.files.is_empty() && preview.status == ChangesStatus::Ready {
            lines.push(Line::styled("no file", theme.dim));
        }
        for file in preview.files.iter().skip(self.offset) {
            let mut spans = edit_head(&file.edit, paths, theme);
            if file.not_kept {
                spans.push(Span::styled(
                    " stays: too large for a checkpoint",
                    theme.warning,
                ));
            }
            lines.push(Line::from(spans));
        }
        let body = Rect::new(
            inner.x,
            inner.y,
            inner.width,
            inner.height.saturating_sub(1),
        );
        draw_lines(buffer, body, &lines);
        let hint = if preview.can_restore_files {
            "f files   c chat   b both   esc close"
        } else {
            "c chat   esc close (the host keeps no files of this turn)"
        };
        draw_line(
            buffer,
            inner,
            inner.height.saturating_sub(1),
            &Line::styled(hint, theme.accent),
        );
    }
}
