//! Output of programs: a terminal emulator interprets its escape sequences, and its cells are
//! drawn. No sequence of a program reaches the real terminal.

use std::num::NonZero;

use ratatui_core::style::{Color, Modifier, Style};
use ratatui_core::text::{Line, Span};

use super::text::clean;
use super::theme::ScreenTheme;

/// Rows of the emulator for the output of a command. Earlier rows are dropped.
const OUTPUT_ROWS: u16 = 400;

/// Bytes at the end of an output that are interpreted.
const MAX_OUTPUT_BYTES: usize = 256 * 1024;

/// Interprets the end of a command's output, and returns its lines.
pub(crate) fn output_lines(output: &str, width: usize, theme: &ScreenTheme) -> Vec<Line<'static>> {
    let from = output.len().saturating_sub(MAX_OUTPUT_BYTES);
    let from = output.ceil_char_boundary(from);
    let end = output.get(from..).unwrap_or_default();
    let columns = u16::try_from(width.clamp(20, 1_000)).unwrap_or(1_000);
    let mut parser = new_emulator(OUTPUT_ROWS, columns, 0);
    // Text that was not written by a terminal has no carriage returns.
    let is_raw = end.contains('\r');
    if is_raw {
        parser.process(end.as_bytes());
    } else {
        parser.process(end.replace('\n', "\r\n").as_bytes());
    }
    let mut lines = screen_lines(parser.screen(), theme);
    while lines.last().is_some_and(|line| line.width() == 0) {
        lines.pop();
    }
    lines
}

/// Creates an emulator with this size.
pub(crate) fn new_emulator(rows: u16, columns: u16, scrollback: usize) -> vt100::Parser {
    vt100::Parser::new(at_least_one(rows), at_least_one(columns), scrollback)
}

/// Returns a size of an emulator, which has at least one row and column.
pub(crate) fn at_least_one(size: u16) -> NonZero<u16> {
    NonZero::new(size).unwrap_or(NonZero::<u16>::MIN)
}

/// Returns the lines that an emulator shows. Empty cells at the end of a line are left out.
pub(crate) fn screen_lines(screen: &vt100::Screen, theme: &ScreenTheme) -> Vec<Line<'static>> {
    let (rows, columns) = screen.size();
    let rows = 0..rows.get();
    rows.map(|row| screen_line(screen, row, columns.get(), theme))
        .collect()
}

fn screen_line(
    screen: &vt100::Screen,
    row: u16,
    columns: u16,
    theme: &ScreenTheme,
) -> Line<'static> {
    let mut spans: Vec<Span<'static>> = Vec::new();
    let mut blanks = 0;
    for column in 0..columns {
        let Some(cell) = screen.cell(row, column) else {
            break;
        };
        if cell.is_wide_continuation() {
            continue;
        }
        let style = cell_style(cell, theme);
        if !cell.has_contents() && style == Style::new() {
            blanks += 1;
            continue;
        }
        if blanks > 0 {
            push(&mut spans, &" ".repeat(blanks), Style::new());
            blanks = 0;
        }
        let text = if cell.has_contents() {
            clean(cell.contents())
        } else {
            " ".to_owned()
        };
        push(&mut spans, &text, style);
    }
    Line::from(spans)
}

fn push(spans: &mut Vec<Span<'static>>, text: &str, style: Style) {
    match spans.last_mut() {
        Some(last) if last.style == style => last.content.to_mut().push_str(text),
        _ => spans.push(Span::styled(text.to_owned(), style)),
    }
}

fn cell_style(cell: &vt100::Cell, theme: &ScreenTheme) -> Style {
    let mut style = Style::new();
    if theme.has_colors {
        style.fg = color_of(cell.fgcolor());
        style.bg = color_of(cell.bgcolor());
    }
    for (is_set, modifier) in [
        (cell.bold(), Modifier::BOLD),
        (cell.dim(), Modifier::DIM),
        (cell.italic(), Modifier::ITALIC),
        (cell.underline(), Modifier::UNDERLINED),
        (cell.inverse(), Modifier::REVERSED),
    ] {
        if is_set {
            style = style.add_modifier(modifier);
        }
    }
    style
}

fn color_of(color: vt100::Color) -> Option<Color> {
    match color {
        vt100::Color::Default => None,
        vt100::Color::Idx(index) => Some(Color::Indexed(index)),
        vt100::Color::Rgb(red, green, blue) => Some(Color::Rgb(red, green, blue)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(output: &str) -> Vec<String> {
        let lines = output_lines(output, 40, &ScreenTheme::colored());
        lines.iter().map(Line::to_string).collect()
    }

    #[test]
    fn progress_bars_are_shown_as_a_terminal_shows_them() {
        assert_eq!(shown("10%\r50%\r100%\r\ndone\r\n"), ["100%", "done"]);
        assert_eq!(shown("one\ntwo\n"), ["one", "two"]);
    }

    #[test]
    fn escape_sequences_are_interpreted_and_never_passed_on() {
        let hostile = "\u{1b}]0;title\u{7}\u{1b}[31mred\u{1b}[0m \u{1b}]52;c;aGk=\u{7}x\u{9b}2J";
        let lines = output_lines(hostile, 40, &ScreenTheme::colored());
        assert_eq!(lines[0].spans[0].style.fg, Some(Color::Indexed(1)));
        let text: String = lines.iter().map(Line::to_string).collect();
        assert!(!text.chars().any(char::is_control), "{text:?}");
        let lines = output_lines(hostile, 40, &ScreenTheme::plain());
        assert_eq!(lines[0].spans[0].style.fg, None);
    }

    #[test]
    fn only_the_end_of_a_large_output_is_interpreted() {
        let output = "line\r\n".repeat(1_000_000);
        assert!(shown(&output).len() < usize::from(OUTPUT_ROWS));
    }
}
