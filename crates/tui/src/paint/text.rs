//! Text of peers, made safe for the terminal: no control characters, and a width on which
//! terminals agree.

use agenthost_view::visible_text::visible_prose;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// Spaces of a tab.
const TAB: &str = "    ";

/// Returns a text in one line that the terminal shows as it is. Control and invisible characters
/// are escaped. Characters that only join or colour emoji are dropped, because terminals disagree
/// about the width of such sequences.
pub(crate) fn clean(text: &str) -> String {
    let is_plain = text.bytes().all(|byte| (0x20..0x7f).contains(&byte));
    if is_plain {
        return text.to_owned();
    }
    let mut cleaned = String::with_capacity(text.len());
    for character in visible_prose(text).chars() {
        match character {
            '\n' => cleaned.push(' '),
            '\t' => cleaned.push_str(TAB),
            '\u{200d}' | '\u{fe0e}' | '\u{fe0f}' | '\u{1f3fb}'..='\u{1f3ff}' => {}
            other => cleaned.push(other),
        }
    }
    cleaned
}

/// Returns the lines of a text, each made safe.
pub(crate) fn clean_lines(text: &str) -> impl Iterator<Item = String> {
    text.lines().map(clean)
}

/// Returns the width of a text in columns.
pub(crate) fn width_of(text: &str) -> usize {
    text.width()
}

/// Returns a text of at most `width` columns. A longer text ends with an ellipsis.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if width_of(text) <= width {
        return text.to_owned();
    }
    let mut start = String::new();
    let mut used = 1;
    for grapheme in text.graphemes(true) {
        used += width_of(grapheme);
        if used > width {
            break;
        }
        start.push_str(grapheme);
    }
    if width > 0 {
        start.push('…');
    }
    start
}

/// Returns the end of a text of at most `width` columns. A longer text begins with an ellipsis.
pub(crate) fn cut_start(text: &str, width: usize) -> String {
    if width_of(text) <= width {
        return text.to_owned();
    }
    let mut kept = Vec::new();
    let mut used = 1;
    for grapheme in text.graphemes(true).rev() {
        used += width_of(grapheme);
        if used > width {
            break;
        }
        kept.push(grapheme);
    }
    if width > 0 {
        kept.push("…");
    }
    kept.into_iter().rev().collect()
}

/// Names of folders that are shown in a short form.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PathNames<'a> {
    /// Home directory of the user.
    pub(crate) home: Option<&'a str>,
    /// Folder of the session.
    pub(crate) folder: Option<&'a str>,
}

impl PathNames<'_> {
    /// Returns a path relative to the folder of the session, or with the home directory as `~`.
    pub(crate) fn shorten(self, path: &str) -> String {
        let inner = self.folder.and_then(|folder| path.strip_prefix(folder));
        match inner.and_then(|inner| inner.strip_prefix('/')) {
            Some(inner) if !inner.is_empty() => clean(inner),
            Some(_) | None => short_path(path, self.home),
        }
    }
}

/// Returns a path with the home directory as `~`.
pub(crate) fn short_path(path: &str, home: Option<&str>) -> String {
    let inner = home.and_then(|home| path.strip_prefix(home));
    match inner {
        Some(inner) if inner.is_empty() || inner.starts_with('/') => clean(&format!("~{inner}")),
        Some(_) | None => clean(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_text_controls_the_terminal() {
        assert_eq!(clean("a\u{1b}[2Jb\r\n\tc"), "a\\u{1b}[2Jb\\u{d}     c");
        assert_eq!(clean("x\u{202e}y\u{9b}1m"), "x\\u{202e}y\\u{9b}1m");
        assert_eq!(clean("שלום 你好 é"), "שלום 你好 é");
    }

    #[test]
    fn emoji_have_one_width_everywhere() {
        assert_eq!(clean("👩\u{200d}💻 ❤\u{fe0f} 👍🏽"), "👩💻 ❤ 👍");
        assert_eq!(width_of(&clean("👩\u{200d}💻")), 4);
    }

    #[test]
    fn a_text_is_cut_by_columns() {
        assert_eq!(cut("abcdef", 4), "abc…");
        assert_eq!(cut("你好吗", 5), "你好…");
        assert_eq!(cut("你好吗", 4), "你…");
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abc", 0), "");
        assert_eq!(cut_start("/a/b/c", 4), "…b/c");
    }

    #[test]
    fn the_home_directory_is_short() {
        assert_eq!(short_path("/home/me/x", Some("/home/me")), "~/x");
        assert_eq!(short_path("/home/meow", Some("/home/me")), "/home/meow");
    }
}
