//! Rows of a diff as lines of a terminal.

use std::ops::Range;

use agenthost_view::diff::{
    DiffRow, FileDiff, HunkStart, LineEnding, LineMark, SplitRow, SplitSide,
};
use ratatui_core::style::Style;
use ratatui_core::text::{Line, Span};

use super::canvas::cut_line;
use super::code::{CodeStyle, highlight};
use super::text::{clean, width_of};
use super::theme::ScreenTheme;
use super::wrap::{WrapMode, wrap_with_prefix};

/// Draws rows of a diff to lines.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DiffPainter<'a> {
    pub(crate) theme: &'a ScreenTheme,
    pub(crate) width: usize,
    pub(crate) language: CodeStyle,
    /// Columns of the text that are scrolled out at the left.
    pub(crate) shift: usize,
}

impl DiffPainter<'_> {
    /// Returns rows with long lines wrapped, so that nothing of them is hidden.
    pub(crate) fn wrapped(self, diff: &FileDiff, window: Range<usize>) -> Vec<Line<'static>> {
        let rows = diff.unified_rows(window);
        let lines = rows.iter().flat_map(|row| match row {
            DiffRow::Hunk(start) => vec![self.hunk(*start)],
            DiffRow::Line(line) => {
                let number = line.after.or(line.before);
                let prefix = self.prefix(number, line.mark, 4);
                let other = [Span::raw(" ".repeat(6))];
                let text = self.text(&line.text, line.mark, line.words.as_deref(), line.ending);
                wrap_with_prefix(&text, self.width, WrapMode::Anywhere, &prefix, &other)
            }
        });
        lines.collect()
    }

    /// Returns a row of the unified layout as one line.
    pub(crate) fn unified(self, row: &DiffRow) -> Line<'static> {
        match row {
            DiffRow::Hunk(start) => self.hunk(*start),
            DiffRow::Line(line) => {
                let mut spans = Vec::new();
                if self.width >= 60 {
                    let before = line.before.map_or_else(String::new, |n| n.to_string());
                    spans.push(Span::styled(format!("{before:>5} "), self.theme.dim));
                }
                spans.extend(self.prefix(line.after.or(line.before), line.mark, 5));
                let text = self.text(&line.text, line.mark, line.words.as_deref(), line.ending);
                spans.extend(shifted(text, self.shift));
                cut_line(spans, self.width)
            }
        }
    }

    /// Returns a row of the split layout as one line.
    pub(crate) fn split(self, row: &SplitRow) -> Line<'static> {
        match row {
            SplitRow::Hunk(start) => self.hunk(*start),
            SplitRow::Pair { left, right } => {
                let half = self.width.saturating_sub(1) / 2;
                let mut line = self.side(left.as_ref(), half);
                let gap = half.saturating_sub(line.width());
                line.spans.push(Span::raw(" ".repeat(gap)));
                line.spans.push(Span::styled("│", self.theme.dim));
                line.spans.extend(self.side(right.as_ref(), half).spans);
                line
            }
        }
    }

    fn side(self, side: Option<&SplitSide>, width: usize) -> Line<'static> {
        let Some(side) = side else {
            return Line::default();
        };
        let mut spans = self.prefix(Some(side.number), side.mark, 5).to_vec();
        let text = self.text(&side.text, side.mark, side.words.as_deref(), side.ending);
        spans.extend(shifted(text, self.shift));
        cut_line(spans, width)
    }

    fn hunk(self, start: HunkStart) -> Line<'static> {
        let hidden = match start.hidden {
            0 => String::new(),
            1 => " · 1 unchanged line".to_owned(),
            count => format!(" · {count} unchanged lines"),
        };
        let text = format!("@@ -{} +{} @@{hidden}", start.before, start.after);
        cut_line(vec![Span::styled(text, self.theme.accent)], self.width)
    }

    fn prefix(self, number: Option<u32>, mark: LineMark, digits: usize) -> [Span<'static>; 2] {
        let number = number.map_or_else(String::new, |number| number.to_string());
        let sign = match mark {
            LineMark::Same => "  ",
            LineMark::Added => "+ ",
            LineMark::Removed => "- ",
        };
        [
            Span::styled(format!("{number:>digits$} "), self.theme.dim),
            Span::styled(sign, self.base(mark)),
        ]
    }

    fn base(self, mark: LineMark) -> Style {
        match mark {
            LineMark::Same => self.theme.text,
            LineMark::Added => self.theme.added,
            LineMark::Removed => self.theme.removed,
        }
    }

    fn text(
        self,
        text: &str,
        mark: LineMark,
        words: Option<&[(u32, u32)]>,
        ending: Option<LineEnding>,
    ) -> Vec<Span<'static>> {
        let base = self.base(mark);
        let mut spans = match (words, mark) {
            (Some(words), _) => changed_words(text, words, base, self.theme),
            (None, LineMark::Same) => highlight(text, self.language, base, self.theme),
            (None, LineMark::Added | LineMark::Removed) => vec![Span::styled(clean(text), base)],
        };
        match ending {
            Some(LineEnding::Crlf) => spans.push(Span::styled("␍", self.theme.dim)),
            Some(LineEnding::None) => {
                spans.push(Span::styled(" (no newline)", self.theme.dim));
            }
            None => {}
        }
        spans
    }
}

/// Returns a line whose changed words, ranges in UTF-16 code units, are emphasized.
fn changed_words(
    text: &str,
    words: &[(u32, u32)],
    base: Style,
    theme: &ScreenTheme,
) -> Vec<Span<'static>> {
    let mut pieces: Vec<(String, bool)> = Vec::new();
    let mut unit = 0_u32;
    for character in text.chars() {
        let is_changed = words
            .iter()
            .any(|(start, end)| (*start..*end).contains(&unit));
        unit += u32::try_from(character.len_utf16()).unwrap_or(1);
        match pieces.last_mut() {
            Some((piece, changed)) if *changed == is_changed => piece.push(character),
            _ => pieces.push((character.to_string(), is_changed)),
        }
    }
    let spans = pieces.into_iter().map(|(piece, is_changed)| {
        let style = if is_changed {
            base.add_modifier(theme.changed_word)
        } else {
            base
        };
        Span::styled(clean(&piece), style)
    });
    spans.collect()
}

/// Removes the first columns of a line.
fn shifted(spans: Vec<Span<'static>>, columns: usize) -> Vec<Span<'static>> {
    let mut left = columns;
    let mut kept = Vec::new();
    for span in spans {
        if left == 0 {
            kept.push(span);
            continue;
        }
        let own = width_of(&span.content);
        if own <= left {
            left -= own;
            continue;
        }
        let mut rest = span.content.chars();
        while left > 0 {
            let Some(character) = rest.next() else { break };
            left = left.saturating_sub(width_of(character.encode_utf8(&mut [0; 4])));
        }
        kept.push(Span::styled(rest.as_str().to_owned(), span.style));
    }
    kept
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn painter(theme: &ScreenTheme, width: usize, shift: usize) -> DiffPainter<'_> {
        DiffPainter {
            theme,
            width,
            language: CodeStyle::Slashes,
            shift,
        }
    }

    #[test]
    fn both_layouts_have_the_same_changes() {
        let theme = ScreenTheme::plain();
        let diff = FileDiff::compute("a\nold 你\nc\n", "a\nnew 你\nc\nd", 1).unwrap();
        let mut text = String::new();
        for row in diff.unified_rows(0..100) {
            text += &format!("{}\n", painter(&theme, 30, 0).unified(&row));
        }
        for row in diff.split_rows(0..100) {
            text += &format!("{}\n", painter(&theme, 41, 0).split(&row));
        }
        expect![[r#"
            @@ -1 +1 @@
                1   a
                2 - old 你
                2 + new 你
                3   c
                4 + d (no newline)
            @@ -1 +1 @@
                1   a           │    1   a
                2 - old 你      │    2 + new 你
                3   c           │    3   c
                                │    4 + d (no newli…
        "#]]
        .assert_eq(&text);
    }

    #[test]
    fn long_lines_are_wrapped_or_scrolled() {
        let theme = ScreenTheme::plain();
        let diff = FileDiff::compute("", "0123456789abcdef\n", 3).unwrap();
        let lines = painter(&theme, 16, 0).wrapped(&diff, 0..9);
        let lines: Vec<_> = lines.iter().map(Line::to_string).collect();
        assert_eq!(lines[1..], ["   1 + 012345678", "      9abcdef"]);
        let row = &diff.unified_rows(1..2)[0];
        let line = painter(&theme, 16, 10).unified(row);
        assert_eq!(line.to_string(), "    1 + abcdef");
    }
}
