//! Colors of the output, from the 16 colors of the terminal's theme.

use std::io::IsTerminal;

use super::interprets_escapes;

/// The variable that turns colors off (no-color.org).
const NO_COLOR_VARIABLE: &str = "NO_COLOR";

/// Whether a stream gets colors. Colors never carry information alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Palette {
    Plain,
    Colored,
}

/// The role of a text, which has a color or weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Names and titles.
    Strong,
    /// Text of less importance.
    Faint,
    Added,
    Removed,
    /// Positions in a file.
    Position,
    /// Text that needs attention.
    Warning,
}

impl Palette {
    /// Returns the palette of stdout.
    pub(crate) fn of_stdout() -> Self {
        Self::of_stream(std::io::stdout().is_terminal())
    }

    /// Returns the palette of stderr.
    pub(crate) fn of_stderr() -> Self {
        Self::of_stream(std::io::stderr().is_terminal())
    }

    fn of_stream(is_terminal: bool) -> Self {
        let refused = std::env::var_os(NO_COLOR_VARIABLE).is_some_and(|value| !value.is_empty());
        match is_terminal && !refused && interprets_escapes() {
            true => Palette::Colored,
            false => Palette::Plain,
        }
    }

    /// Returns a text in the color of its role. The text must not contain escape sequences.
    pub(crate) fn paint(self, role: Role, text: &str) -> String {
        if self == Palette::Plain || text.is_empty() {
            return text.to_owned();
        }
        let code = match role {
            Role::Strong => "1",
            Role::Faint => "2",
            Role::Added => "32",
            Role::Removed => "31",
            Role::Position => "36",
            Role::Warning => "33",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }

    /// Returns a line of a patch in the color of its first characters.
    pub(crate) fn paint_patch_line(self, line: &str) -> String {
        match patch_role(line) {
            Some(role) => self.paint(role, line),
            None => line.to_owned(),
        }
    }
}

/// Returns the role of a line of a patch; `None` for an unchanged line.
pub(crate) fn patch_role(line: &str) -> Option<Role> {
    match line.as_bytes().first()? {
        _ if line.starts_with("+++") || line.starts_with("---") => Some(Role::Strong),
        b'+' => Some(Role::Added),
        b'-' => Some(Role::Removed),
        b'@' => Some(Role::Position),
        b'd' if line.starts_with("diff ") => Some(Role::Strong),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_palette_adds_nothing() {
        let line = "+added";
        assert_eq!(Palette::Plain.paint_patch_line(line), line);
        assert_eq!(
            Palette::Colored.paint_patch_line(line),
            "\u{1b}[32m+added\u{1b}[0m"
        );
        assert_eq!(Palette::Colored.paint_patch_line(" same"), " same");
        assert_eq!(Palette::Colored.paint(Role::Faint, ""), "");
    }
}
