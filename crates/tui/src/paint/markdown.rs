//! Markdown blocks as lines of a terminal.

use std::sync::Arc;

use agenthost_view::markdown::{CellAlign, ListItem, MarkdownBlock, MarkdownInline};
use ratatui_core::style::{Modifier, Style};
use ratatui_core::text::{Line, Span};

use super::code::{CodeStyle, highlight};
use super::text::{clean, cut, width_of};
use super::theme::ScreenTheme;
use super::wrap::{WrapMode, wrap, wrap_with_prefix};

/// Minimum width of a column of a table. Narrower tables are drawn as lists.
const MIN_COLUMN: usize = 4;

/// Draws Markdown blocks to lines.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MarkdownPainter<'a> {
    pub(crate) theme: &'a ScreenTheme,
    pub(crate) width: usize,
}

impl MarkdownPainter<'_> {
    /// Returns the lines of blocks, with an empty line between them.
    pub(crate) fn lines(self, blocks: &[Arc<MarkdownBlock>]) -> Vec<Line<'static>> {
        self.block_lines(blocks.iter().map(Arc::as_ref), true)
    }

    fn block_lines<'b>(
        self,
        blocks: impl Iterator<Item = &'b MarkdownBlock>,
        spaced: bool,
    ) -> Vec<Line<'static>> {
        let mut lines = Vec::new();
        for block in blocks {
            if spaced && !lines.is_empty() {
                lines.push(Line::default());
            }
            lines.extend(self.block(block));
        }
        lines
    }

    fn block(self, block: &MarkdownBlock) -> Vec<Line<'static>> {
        let theme = self.theme;
        match block {
            MarkdownBlock::Paragraph { children } => {
                let spans = self.inlines(children, theme.text);
                wrap(&spans, self.width, WrapMode::Words)
            }
            MarkdownBlock::Heading { level, children } => {
                let style = theme.accent.add_modifier(Modifier::BOLD);
                let mark = format!("{} ", "#".repeat(usize::from(*level)));
                let mark = [Span::styled(mark, theme.dim)];
                let spans = self.inlines(children, style);
                wrap_with_prefix(&spans, self.width, WrapMode::Words, &mark, &[])
            }
            MarkdownBlock::Code { language, text, .. } => {
                let style = CodeStyle::of_language(language.as_deref());
                let bar = [Span::styled("▏ ", theme.dim)];
                let lines = text.split('\n').flat_map(|line| {
                    let spans = highlight(line, style, theme.text, theme);
                    wrap_with_prefix(&spans, self.width, WrapMode::Anywhere, &bar, &bar)
                });
                lines.collect()
            }
            MarkdownBlock::List {
                ordered,
                start,
                items,
            } => self.list(*ordered, start.unwrap_or(1), items),
            MarkdownBlock::Quote { blocks } => self.indented(
                blocks,
                true,
                &[Span::styled("┃ ", theme.dim)],
                &[Span::styled("┃ ", theme.dim)],
            ),
            MarkdownBlock::Rule => vec![Line::styled("─".repeat(self.width), theme.dim)],
            MarkdownBlock::Table { align, head, rows } => self.table(align, head, rows),
        }
    }

    fn list(self, ordered: bool, start: u64, items: &[ListItem]) -> Vec<Line<'static>> {
        let mut lines = Vec::new();
        for (number, item) in (start..).zip(items) {
            let mark = match item.checked {
                Some(true) => "[x] ".to_owned(),
                Some(false) => "[ ] ".to_owned(),
                None if ordered => format!("{number}. "),
                None => "• ".to_owned(),
            };
            let indent = Span::raw(" ".repeat(width_of(&mark)));
            let mark = Span::styled(mark, self.theme.accent);
            let is_spaced = item.blocks.len() > 1
                && item
                    .blocks
                    .iter()
                    .any(|block| matches!(block, MarkdownBlock::Code { .. }));
            lines.extend(self.indented(&item.blocks, is_spaced, &[mark], &[indent]));
        }
        lines
    }

    fn indented(
        self,
        blocks: &[MarkdownBlock],
        spaced: bool,
        first: &[Span<'static>],
        others: &[Span<'static>],
    ) -> Vec<Line<'static>> {
        let used: usize = first.iter().map(|span| width_of(&span.content)).sum();
        let inner = MarkdownPainter {
            width: self.width.saturating_sub(used).max(1),
            ..self
        };
        let mut lines = inner.block_lines(blocks.iter(), spaced);
        if lines.is_empty() {
            lines.push(Line::default());
        }
        for (index, line) in lines.iter_mut().enumerate() {
            let prefix = if index == 0 { first } else { others };
            line.spans.splice(0..0, prefix.iter().cloned());
        }
        lines
    }

    fn table(
        self,
        align: &[CellAlign],
        head: &[Vec<MarkdownInline>],
        rows: &[Vec<Vec<MarkdownInline>>],
    ) -> Vec<Line<'static>> {
        let theme = self.theme;
        let text_of = |cell: &[MarkdownInline]| -> String {
            let spans = self.inlines(cell, theme.text);
            let text: String = spans.iter().map(|span| span.content.as_ref()).collect();
            text.replace('\n', " ")
        };
        let all: Vec<Vec<String>> = std::iter::once(head)
            .chain(rows.iter().map(Vec::as_slice))
            .map(|row| row.iter().map(|cell| text_of(cell)).collect())
            .collect();
        let columns = head.len().max(1);
        let widest = |column: usize| {
            let cells = all.iter().filter_map(|row| row.get(column));
            cells.map(|cell| width_of(cell)).max().unwrap_or(0)
        };
        let mut widths: Vec<_> = (0..columns).map(widest).collect();
        let room = self.width.saturating_sub(3 * (columns - 1));
        if room < columns * MIN_COLUMN {
            return self.table_as_list(&all);
        }
        // The widest column gives way until the table fits.
        while widths.iter().sum::<usize>() > room {
            let Some(widest) = widths.iter_mut().max() else {
                break;
            };
            *widest -= 1;
        }
        let mut lines = Vec::new();
        for (index, row) in all.iter().enumerate() {
            let style = if index == 0 { theme.strong } else { theme.text };
            lines.extend(table_row(row, &widths, align, style, theme));
            if index == 0 {
                let bars: Vec<_> = widths.iter().map(|width| "─".repeat(*width)).collect();
                lines.push(Line::styled(bars.join("─┼─"), theme.dim));
            }
        }
        lines
    }

    fn table_as_list(self, rows: &[Vec<String>]) -> Vec<Line<'static>> {
        let lines = rows.iter().flat_map(|row| {
            let spans = [Span::styled(row.join(" · "), self.theme.text)];
            wrap(&spans, self.width, WrapMode::Words)
        });
        lines.collect()
    }

    /// Returns inlines as spans. A line break is a span of its own.
    fn inlines(self, inlines: &[MarkdownInline], style: Style) -> Vec<Span<'static>> {
        let mut spans = Vec::new();
        for inline in inlines {
            self.inline(inline, style, &mut spans);
        }
        spans
    }

    fn inline(self, inline: &MarkdownInline, style: Style, spans: &mut Vec<Span<'static>>) {
        let theme = self.theme;
        let children_style = |modifier| style.add_modifier(modifier);
        match inline {
            // A soft break of the source is a space.
            MarkdownInline::Text { text } => spans.push(Span::styled(clean(text), style)),
            MarkdownInline::Code { text } => {
                spans.push(Span::styled(clean(text), style.patch(theme.code)));
            }
            MarkdownInline::Strong { children } => {
                spans.extend(self.inlines(children, children_style(Modifier::BOLD)));
            }
            MarkdownInline::Emphasis { children } => {
                spans.extend(self.inlines(children, children_style(Modifier::ITALIC)));
            }
            MarkdownInline::Strikethrough { children } => {
                spans.extend(self.inlines(children, children_style(Modifier::CROSSED_OUT)));
            }
            MarkdownInline::Link { url, children } => {
                let label = self.inlines(children, style.patch(theme.link));
                let text: String = label.iter().map(|span| span.content.as_ref()).collect();
                spans.extend(label);
                // The address is always visible: a label can lie about it.
                if text != *url {
                    spans.push(Span::styled(format!(" ({})", clean(url)), theme.dim));
                }
            }
            MarkdownInline::Image { url, alt } => {
                let text = format!("[image: {}] ({})", clean(alt), clean(url));
                spans.push(Span::styled(text, theme.dim));
            }
            MarkdownInline::Break => spans.push(Span::raw("\n")),
        }
    }
}

/// Returns the lines of a row of a table, whose cells are wrapped.
fn table_row(
    row: &[String],
    widths: &[usize],
    align: &[CellAlign],
    style: Style,
    theme: &ScreenTheme,
) -> Vec<Line<'static>> {
    let cells: Vec<Vec<Line<'_>>> = widths
        .iter()
        .enumerate()
        .map(|(column, width)| {
            let text = row.get(column).map_or("", String::as_str);
            wrap(&[Span::raw(text)], *width, WrapMode::Words)
        })
        .collect();
    let height = cells.iter().map(Vec::len).max().unwrap_or(1);
    let lines = (0..height).map(|index| {
        let mut spans = Vec::new();
        for (column, (cell, width)) in cells.iter().zip(widths).enumerate() {
            if column > 0 {
                spans.push(Span::styled(" │ ", theme.dim));
            }
            let text = cell.get(index).map(Line::to_string).unwrap_or_default();
            let text = aligned(&text, *width, align.get(column).copied());
            spans.push(Span::styled(text, style));
        }
        Line::from(spans)
    });
    lines.collect()
}

fn aligned(text: &str, width: usize, align: Option<CellAlign>) -> String {
    let text = cut(text, width);
    let gap = width.saturating_sub(width_of(&text));
    let before = match align {
        Some(CellAlign::Right) => gap,
        Some(CellAlign::Center) => gap / 2,
        Some(CellAlign::None | CellAlign::Left) | None => 0,
    };
    format!("{}{text}{}", " ".repeat(before), " ".repeat(gap - before))
}

#[cfg(test)]
mod tests {
    use agenthost_view::markdown::parse_markdown;
    use expect_test::{Expect, expect};

    use super::*;

    fn check(markdown: &str, width: usize, expected: Expect) {
        let theme = ScreenTheme::plain();
        let painter = MarkdownPainter {
            theme: &theme,
            width,
        };
        let lines = painter.lines(&parse_markdown(markdown));
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        expected.assert_eq(&text);
        for line in &lines {
            assert!(line.width() <= width, "{line}");
        }
    }

    #[test]
    fn blocks_become_lines() {
        check(
            "# Title\n\nSome *text* with `code` and a [link](https://example.com).\n\n- one\n- two\n  continued\n  1. inner\n\n> quoted\n\n```rs\nfn main() {}\n```\n\n- [x] done\n- [ ] open",
            40,
            expect![[r#"
                # Title

                Some text with code and a link
                (https://example.com).

                • one
                • two continued
                  1. inner

                ┃ quoted

                ▏ fn main() {}

                [x] done
                [ ] open
            "#]],
        );
    }

    #[test]
    fn tables_fit_or_become_lists() {
        let table = "| a | long column |\n|--:|---|\n| 1 | some words here |\n| 你 | x |";
        check(
            table,
            20,
            expect![[r#"
                 a │ long column    
                ───┼────────────────
                 1 │ some words here
                你 │ x              
            "#]],
        );
        check(
            table,
            8,
            expect![[r#"
            a · long
            column
            1 · some
            words
            here
            你 · x
        "#]],
        );
    }
}
