//! Wrapping of styled text to the width of an area.

use ratatui_core::style::Style;
use ratatui_core::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;

use super::text::width_of;

/// The places at which a long line may break.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WrapMode {
    /// Between words, or within a word that is longer than the line.
    Words,
    /// Anywhere, as for code.
    Anywhere,
}

/// A character of the text with its style.
struct StyledCell<'a> {
    text: &'a str,
    style: Style,
    width: usize,
}

/// Wraps spans to lines of at most `width` columns. A span whose text is a newline breaks the
/// line. There is at least one line.
pub(crate) fn wrap(spans: &[Span<'_>], width: usize, mode: WrapMode) -> Vec<Line<'static>> {
    let width = width.max(1);
    let total: usize = spans.iter().map(|span| width_of(&span.content)).sum();
    let has_breaks = spans.iter().any(|span| span.content.contains('\n'));
    if total <= width && !has_breaks {
        return vec![owned_line(spans)];
    }
    let cells: Vec<_> = spans.iter().flat_map(cells_of).collect();
    let mut lines = Vec::new();
    let mut rest = &cells[..];
    loop {
        let (line, after) = take_line(rest, width, mode);
        lines.push(join(line));
        match after {
            Some(after) => rest = after,
            None => return lines,
        }
    }
}

/// Wraps spans with a prefix before the first line and another one before the others.
pub(crate) fn wrap_with_prefix(
    spans: &[Span<'_>],
    width: usize,
    mode: WrapMode,
    first: &[Span<'static>],
    others: &[Span<'static>],
) -> Vec<Line<'static>> {
    let prefix_width =
        |spans: &[Span<'_>]| -> usize { spans.iter().map(|span| width_of(&span.content)).sum() };
    let used = prefix_width(first).max(prefix_width(others));
    let mut lines = wrap(spans, width.saturating_sub(used), mode);
    for (index, line) in lines.iter_mut().enumerate() {
        let prefix = if index == 0 { first } else { others };
        line.spans.splice(0..0, prefix.iter().cloned());
    }
    lines
}

fn cells_of<'a>(span: &'a Span<'_>) -> impl Iterator<Item = StyledCell<'a>> {
    let style = span.style;
    span.content.graphemes(true).map(move |text| StyledCell {
        text,
        style,
        width: width_of(text),
    })
}

/// Divides cells into those of a line and the rest, which is `None` at the end.
fn take_line<'a, 'b>(
    cells: &'b [StyledCell<'a>],
    width: usize,
    mode: WrapMode,
) -> (&'b [StyledCell<'a>], Option<&'b [StyledCell<'a>]>) {
    let mut used = 0;
    let mut last_space = None;
    for (index, cell) in cells.iter().enumerate() {
        if cell.text == "\n" {
            let (line, after) = cells.split_at(index);
            return (line, after.get(1..));
        }
        if used + cell.width > width && index > 0 {
            let at = match (mode, last_space) {
                _ if cell.text == " " => index,
                (WrapMode::Words, Some(space)) => space,
                (WrapMode::Words, None) | (WrapMode::Anywhere, _) => index,
            };
            let (line, after) = cells.split_at(at);
            let drops_space =
                mode == WrapMode::Words && after.first().is_some_and(|cell| cell.text == " ");
            let after = after.get(usize::from(drops_space)..).unwrap_or_default();
            return (line, (!after.is_empty()).then_some(after));
        }
        // Spaces at the start of a line are an indent.
        let is_indent = cells
            .get(..index)
            .is_some_and(|start| start.iter().all(|before| before.text == " "));
        if cell.text == " " && !is_indent {
            last_space = Some(index);
        }
        used += cell.width;
    }
    (cells, None)
}

fn join(cells: &[StyledCell<'_>]) -> Line<'static> {
    let mut spans: Vec<Span<'static>> = Vec::new();
    for cell in cells {
        match spans.last_mut() {
            Some(span) if span.style == cell.style => span.content.to_mut().push_str(cell.text),
            _ => spans.push(Span::styled(cell.text.to_owned(), cell.style)),
        }
    }
    Line::from(spans)
}

fn owned_line(spans: &[Span<'_>]) -> Line<'static> {
    let spans = spans.iter();
    let spans = spans.map(|span| Span::styled(span.content.clone().into_owned(), span.style));
    Line::from(spans.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrapped(text: &str, width: usize, mode: WrapMode) -> Vec<String> {
        let lines = wrap(&[Span::raw(text)], width, mode);
        lines.iter().map(Line::to_string).collect()
    }

    #[test]
    fn lines_break_between_words() {
        let lines = wrapped("the quick brown fox", 10, WrapMode::Words);
        assert_eq!(lines, ["the quick", "brown fox"]);
        let lines = wrapped("aaaaaaaaaaaa b", 5, WrapMode::Words);
        assert_eq!(lines, ["aaaaa", "aaaaa", "aa b"]);
        assert_eq!(wrapped("a\n\nb", 5, WrapMode::Words), ["a", "", "b"]);
        assert_eq!(wrapped("", 5, WrapMode::Words), [""]);
    }

    #[test]
    fn wide_characters_never_cross_the_edge() {
        assert_eq!(wrapped("你好吗啊", 5, WrapMode::Words), ["你好", "吗啊"]);
        assert_eq!(wrapped("你", 1, WrapMode::Words), ["你"]);
    }

    #[test]
    fn code_breaks_anywhere_and_keeps_its_spaces() {
        assert_eq!(
            wrapped("    x = 1", 6, WrapMode::Anywhere),
            ["    x ", "= 1"]
        );
        assert_eq!(
            wrapped("    indented", 8, WrapMode::Words),
            ["    inde", "nted"]
        );
    }

    #[test]
    fn styles_survive() {
        let bold = Style::new().bold();
        let lines = wrap(
            &[Span::raw("ab "), Span::styled("cd ef", bold)],
            5,
            WrapMode::Words,
        );
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[0].spans.last().unwrap().style, bold);
        assert_eq!(lines[1].spans[0].style, bold);
    }
}
