//! All keys, by place.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::text::{Line, Span};

use crate::bindings::{BINDINGS, KeyPlace};
use crate::paint::canvas::{centered, draw_box, draw_lines};
use crate::paint::theme::ScreenTheme;
use crate::paint::wrap::{WrapMode, wrap_with_prefix};

/// The help, scrolled by lines.
#[derive(Debug, Default)]
pub(crate) struct HelpDialog {
    pub(crate) offset: usize,
}

const PLACES: &[(KeyPlace, &str)] = &[
    (KeyPlace::Global, "Everywhere"),
    (KeyPlace::Sessions, "Sessions"),
    (KeyPlace::Chat, "Chat"),
    (KeyPlace::Request, "An open question"),
    (KeyPlace::Inbox, "Inbox"),
    (KeyPlace::Changes, "Changes"),
    (KeyPlace::Diff, "Diff"),
    (KeyPlace::Chats, "Chats and workers"),
    (KeyPlace::Terminals, "Terminals"),
    (KeyPlace::Customizations, "Customizations"),
];

/// Keys that are not in the table, because they belong to texts.
const WRITING: &[(&str, &str)] = &[
    (
        "enter",
        "send; while a turn runs, the message waits in the queue",
    ),
    ("alt+enter", "new line (also shift+enter, ctrl+j)"),
    ("alt+s", "send to the running turn (steer)"),
    ("ctrl+g", "edit in $VISUAL or $EDITOR"),
    ("tab", "accept the completion of /commands and @files"),
    ("up", "earlier messages, if the text is empty"),
    (
        "ctrl+w",
        "remove a word; ctrl+u and ctrl+k: to the ends of the line",
    ),
    ("ctrl+y", "insert the removed text"),
    ("esc", "leave the text; the draft is kept"),
    ("ctrl+]", "leave a terminal"),
];

impl HelpDialog {
    pub(crate) fn draw(&mut self, buffer: &mut Buffer, area: Rect, theme: &ScreenTheme) {
        let area = centered(area, 72, area.height.saturating_sub(2));
        let inner = draw_box(buffer, area, "Keys (esc closes)", theme);
        let lines = help_lines(usize::from(inner.width), theme);
        let last = lines.len().saturating_sub(usize::from(inner.height));
        self.offset = self.offset.min(last);
        draw_lines(buffer, inner, lines.iter().skip(self.offset));
    }
}

fn help_lines(width: usize, theme: &ScreenTheme) -> Vec<Line<'static>> {
    let key_lines = |key: &str, label: &str| {
        let key = [Span::styled(format!("  {key:<12}"), theme.accent)];
        let label = [Span::styled(label.to_owned(), theme.text)];
        let indent = [Span::raw(" ".repeat(14))];
        wrap_with_prefix(&label, width, WrapMode::Words, &key, &indent)
    };
    let mut lines = vec![Line::styled("Writing", theme.strong)];
    lines.extend(
        WRITING
            .iter()
            .flat_map(|(key, label)| key_lines(key, label)),
    );
    for (place, title) in PLACES {
        lines.push(Line::default());
        lines.push(Line::styled(*title, theme.strong));
        let own = BINDINGS.iter().filter(|binding| binding.place == *place);
        let named = own.filter(|binding| !binding.label.is_empty());
        lines.extend(named.flat_map(|binding| key_lines(binding.key, binding.label)));
    }
    lines
}
