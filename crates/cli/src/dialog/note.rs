//! Lines for the user beside the output of an agent.

use crate::output;
use crate::terminal::palette::{Palette, Role};

/// A line of a note. Its text may come from a peer: invisible characters are escaped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct NoteLine {
    segments: Vec<(Option<Role>, String)>,
}

impl NoteLine {
    /// Creates a line of plain text.
    pub(crate) fn plain(text: impl Into<String>) -> Self {
        NoteLine::default().text(text)
    }

    /// Creates a line of text with a role.
    pub(crate) fn styled(role: Role, text: impl Into<String>) -> Self {
        NoteLine::default().role(role, text)
    }

    pub(crate) fn text(mut self, text: impl Into<String>) -> Self {
        self.segments.push((None, text.into()));
        self
    }

    /// Appends text with a role.
    pub(crate) fn role(mut self, role: Role, text: impl Into<String>) -> Self {
        self.segments.push((Some(role), text.into()));
        self
    }

    /// Appends the text of another line.
    pub(crate) fn append(mut self, other: NoteLine) -> Self {
        self.segments.extend(other.segments);
        self
    }

    /// Returns the line with the escape sequences of its colors and no others.
    pub(crate) fn render(&self, palette: Palette) -> String {
        let segments = self.segments.iter().map(|(role, text)| {
            let text = output::escape_invisible(&text.replace('\t', "    "));
            match role {
                Some(role) => palette.paint(*role, &text),
                None => text,
            }
        });
        segments.collect()
    }
}

impl From<String> for NoteLine {
    fn from(text: String) -> Self {
        NoteLine::plain(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_own_escape_sequences_are_rendered() {
        let line = NoteLine::styled(Role::Strong, "a\u{1b}[2J").text("\tb");
        assert_eq!(line.render(Palette::Plain), "a\\u{1b}[2J    b");
        assert_eq!(
            line.render(Palette::Colored),
            "\u{1b}[1ma\\u{1b}[2J\u{1b}[0m    b"
        );
    }
}
