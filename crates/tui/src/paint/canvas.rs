//! Areas of a frame, and lines in them.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;
use ratatui_core::text::{Line, Span};

use super::text::{cut, width_of};
use super::theme::ScreenTheme;

/// Draws a line at a row of an area, cut at the right edge.
pub(crate) fn draw_line(buffer: &mut Buffer, area: Rect, row: u16, line: &Line<'_>) {
    if row < area.height {
        buffer.set_line(area.x, area.y + row, line, area.width);
    }
}

/// Draws lines from the top of an area.
pub(crate) fn draw_lines<'a>(
    buffer: &mut Buffer,
    area: Rect,
    lines: impl IntoIterator<Item = &'a Line<'a>>,
) {
    for (row, line) in (0..area.height).zip(lines) {
        draw_line(buffer, area, row, line);
    }
}

/// Fills a row of an area with a style, behind text that is there.
pub(crate) fn fill_row(buffer: &mut Buffer, area: Rect, row: u16, style: Style) {
    if row < area.height {
        let strip = Rect::new(area.x, area.y + row, area.width, 1);
        buffer.set_style(strip, style);
    }
}

/// Clears an area.
pub(crate) fn clear(buffer: &mut Buffer, area: Rect) {
    for position in area.intersection(buffer.area).positions() {
        if let Some(cell) = buffer.cell_mut(position) {
            cell.reset();
        }
    }
}

/// Draws a vertical line left of an area, and returns the area beside it.
pub(crate) fn left_border(buffer: &mut Buffer, area: Rect, style: Style) -> Rect {
    for y in area.top()..area.bottom() {
        buffer.set_string(area.x, y, "│", style);
    }
    inset_left(area, 1)
}

/// Draws a box with a title, and returns the area inside.
pub(crate) fn draw_box(buffer: &mut Buffer, area: Rect, title: &str, theme: &ScreenTheme) -> Rect {
    clear(buffer, area);
    if area.width < 2 || area.height < 2 {
        return Rect::new(area.x, area.y, 0, 0);
    }
    let width = usize::from(area.width);
    let inner = width - 2;
    let title = if title.is_empty() {
        String::new()
    } else {
        cut(&format!(" {title} "), inner)
    };
    let rest = inner.saturating_sub(width_of(&title));
    let top = Line::from(vec![
        Span::styled("┌", theme.dim),
        Span::styled(title, theme.accent),
        Span::styled(format!("{}┐", "─".repeat(rest)), theme.dim),
    ]);
    let bottom = Line::styled(format!("└{}┘", "─".repeat(inner)), theme.dim);
    draw_line(buffer, area, 0, &top);
    for row in 1..area.height - 1 {
        buffer.set_string(area.x, area.y + row, "│", theme.dim);
        buffer.set_string(area.right() - 1, area.y + row, "│", theme.dim);
    }
    draw_line(buffer, area, area.height - 1, &bottom);
    Rect::new(area.x + 1, area.y + 1, area.width - 2, area.height - 2)
}

/// Returns the middle of an area, at most as large as wanted.
pub(crate) fn centered(area: Rect, width: u16, height: u16) -> Rect {
    let (width, height) = (width.min(area.width), height.min(area.height));
    let x = area.x + (area.width - width) / 2;
    let y = area.y + (area.height - height) / 3;
    Rect::new(x, y, width, height)
}

pub(crate) fn inset_left(area: Rect, columns: u16) -> Rect {
    let columns = columns.min(area.width);
    Rect::new(area.x + columns, area.y, area.width - columns, area.height)
}

/// Divides an area into a top part of at most `rows` rows and the rest.
pub(crate) fn split_top(area: Rect, rows: u16) -> (Rect, Rect) {
    let rows = rows.min(area.height);
    let top = Rect::new(area.x, area.y, area.width, rows);
    let rest = Rect::new(area.x, area.y + rows, area.width, area.height - rows);
    (top, rest)
}

/// Divides an area into the rest and a bottom part of at most `rows` rows.
pub(crate) fn split_bottom(area: Rect, rows: u16) -> (Rect, Rect) {
    let rows = rows.min(area.height);
    split_top(area, area.height - rows)
}

/// Divides an area into a left part of at most `columns` columns and the rest.
pub(crate) fn split_left(area: Rect, columns: u16) -> (Rect, Rect) {
    let columns = columns.min(area.width);
    let left = Rect::new(area.x, area.y, columns, area.height);
    (left, inset_left(area, columns))
}

/// Returns a line with one text at the left and another one at the right edge. The left one is
/// cut if there is no room for both.
pub(crate) fn two_sided(
    left: Vec<Span<'static>>,
    right: Vec<Span<'static>>,
    width: usize,
) -> Line<'static> {
    let width_of_all =
        |spans: &[Span<'_>]| -> usize { spans.iter().map(|span| width_of(&span.content)).sum() };
    let right_width = width_of_all(&right);
    if right_width + 2 > width {
        return cut_line(left, width);
    }
    let room = width - right_width;
    let mut line = cut_line(left, room.saturating_sub(1));
    let gap = room - line.width();
    line.spans.push(Span::raw(" ".repeat(gap)));
    line.spans.extend(right);
    line
}

/// Returns spans as a line of at most `width` columns.
pub(crate) fn cut_line(spans: Vec<Span<'static>>, width: usize) -> Line<'static> {
    let mut left = width;
    let mut kept = Vec::new();
    for span in spans {
        let own = width_of(&span.content);
        if own > left {
            kept.push(Span::styled(cut(&span.content, left), span.style));
            break;
        }
        left -= own;
        kept.push(span);
    }
    Line::from(kept)
}

/// Replaces every cell that would control the terminal. All text is made safe before it is drawn;
/// this is the last line of defence.
pub(crate) fn scrub(buffer: &mut Buffer) {
    for cell in &mut buffer.content {
        let symbol = cell.symbol();
        let is_single = matches!(symbol.as_bytes(), [0x20..0x7f]);
        if !is_single && symbol.chars().any(is_forbidden) {
            cell.set_symbol("\u{fffd}");
        }
    }
}

fn is_forbidden(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Returns the list window that shows the selected row.
pub(crate) fn scroll_to(selected: usize, offset: usize, height: usize) -> usize {
    if selected < offset {
        selected
    } else if height > 0 && selected >= offset + height {
        selected + 1 - height
    } else {
        offset
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cell_controls_the_terminal() {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 4, 1));
        buffer.content[1].set_symbol("\u{1b}]0;x\u{7}");
        buffer.content[2].set_symbol("\u{202e}");
        scrub(&mut buffer);
        let text: String = buffer.content.iter().map(|cell| cell.symbol()).collect();
        assert_eq!(text, " \u{fffd}\u{fffd} ");
    }

    #[test]
    fn both_sides_of_a_line_fit() {
        let line = two_sided(vec![Span::raw("a long title")], vec![Span::raw("3m")], 10);
        assert_eq!(line.to_string(), "a long… 3m");
        let line = two_sided(vec![Span::raw("ab")], vec![Span::raw("3m")], 10);
        assert_eq!(line.to_string(), "ab      3m");
    }
}
