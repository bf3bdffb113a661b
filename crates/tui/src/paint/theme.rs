//! The styles of the interface, made of the 16 colours of the terminal.

use ratatui_core::style::{Color, Modifier, Style};

/// The styles of the interface. Without colours, only bold, dim, underlined and reversed text is
/// used. Colour is never the only signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScreenTheme {
    /// Colours of programs are shown.
    pub(crate) has_colors: bool,
    pub(crate) text: Style,
    pub(crate) dim: Style,
    pub(crate) strong: Style,
    /// Titles, keys and the focused border.
    pub(crate) accent: Style,
    pub(crate) ok: Style,
    pub(crate) warning: Style,
    pub(crate) error: Style,
    /// Messages of the user.
    pub(crate) user: Style,
    /// The selected row of the focused pane.
    pub(crate) selected: Style,
    /// The selected row of another pane.
    pub(crate) marked: Style,
    pub(crate) code: Style,
    pub(crate) keyword: Style,
    pub(crate) literal: Style,
    pub(crate) comment: Style,
    pub(crate) added: Style,
    pub(crate) removed: Style,
    /// Words of a line that have changed.
    pub(crate) changed_word: Modifier,
    pub(crate) link: Style,
}

impl ScreenTheme {
    /// Uses the 16 colours of the terminal, so that its own theme decides how they look.
    pub fn colored() -> Self {
        let color = |color| Style::new().fg(color);
        ScreenTheme {
            has_colors: true,
            dim: color(Color::DarkGray),
            accent: color(Color::Cyan),
            ok: color(Color::Green),
            warning: color(Color::Yellow).add_modifier(Modifier::BOLD),
            error: color(Color::Red).add_modifier(Modifier::BOLD),
            user: color(Color::Blue).add_modifier(Modifier::BOLD),
            code: color(Color::Magenta),
            keyword: color(Color::Magenta),
            literal: color(Color::Green),
            comment: color(Color::DarkGray).add_modifier(Modifier::ITALIC),
            added: color(Color::Green),
            removed: color(Color::Red),
            link: color(Color::Cyan).add_modifier(Modifier::UNDERLINED),
            ..Self::plain()
        }
    }

    /// Uses no colours, as `NO_COLOR` asks for.
    pub fn plain() -> Self {
        let plain = Style::new();
        let bold = plain.add_modifier(Modifier::BOLD);
        let dim = plain.add_modifier(Modifier::DIM);
        ScreenTheme {
            has_colors: false,
            text: plain,
            dim,
            strong: bold,
            accent: bold,
            ok: plain,
            warning: bold,
            error: bold,
            user: bold,
            selected: plain.add_modifier(Modifier::REVERSED),
            marked: plain.add_modifier(Modifier::UNDERLINED),
            code: plain,
            keyword: bold,
            literal: plain,
            comment: dim,
            added: plain,
            removed: plain,
            changed_word: Modifier::REVERSED,
            link: plain.add_modifier(Modifier::UNDERLINED),
        }
    }
}
