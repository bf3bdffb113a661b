//! Cells as bytes of a terminal, collected until the frame is complete.

use std::io;

use ratatui_core::backend::{Backend, ClearType, WindowSize};
use ratatui_core::buffer::Cell;
use ratatui_core::layout::{Position, Size};
use ratatui_core::style::{Color, Modifier};

/// The codes of modifiers.
const MODIFIERS: [(Modifier, u8); 7] = [
    (Modifier::BOLD, 1),
    (Modifier::DIM, 2),
    (Modifier::ITALIC, 3),
    (Modifier::UNDERLINED, 4),
    (Modifier::SLOW_BLINK, 5),
    (Modifier::REVERSED, 7),
    (Modifier::CROSSED_OUT, 9),
];

/// A backend that writes nothing: its bytes are taken after each frame.
#[derive(Debug)]
pub struct FrameBackend {
    bytes: String,
    size: FrameSize,
}

/// The size of the frames.
#[derive(Debug, Clone, Copy)]
enum FrameSize {
    /// That of the terminal, whenever it changes.
    Terminal,
    Fixed(Size),
}

/// The style of the last cell that was written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct CellStyle {
    foreground: Color,
    background: Color,
    modifier: Modifier,
}

impl FrameBackend {
    /// Creates a backend with the size of the terminal.
    pub(super) fn of_terminal() -> Self {
        FrameBackend {
            bytes: String::new(),
            size: FrameSize::Terminal,
        }
    }

    /// Creates a backend with a fixed size, for measurements.
    pub fn fixed(width: u16, height: u16) -> Self {
        FrameBackend {
            bytes: String::new(),
            size: FrameSize::Fixed(Size::new(width, height)),
        }
    }

    /// Returns the bytes since the last call.
    pub fn take_bytes(&mut self) -> String {
        std::mem::take(&mut self.bytes)
    }

    /// Adds a sequence to the frame.
    pub(super) fn push(&mut self, sequence: &str) {
        self.bytes.push_str(sequence);
    }

    fn move_to(&mut self, x: u16, y: u16) {
        self.push_format(format_args!("\x1b[{};{}H", y + 1, x + 1));
    }

    fn push_format(&mut self, sequence: std::fmt::Arguments<'_>) {
        self.bytes.push_str(&std::fmt::format(sequence));
    }

    fn push_style(&mut self, style: CellStyle) {
        self.push("\x1b[0");
        for (modifier, code) in MODIFIERS {
            if style.modifier.contains(modifier) {
                self.push_format(format_args!(";{code}"));
            }
        }
        self.push_color(style.foreground, 30);
        self.push_color(style.background, 40);
        self.push("m");
    }

    /// Adds a color. `base` is 30 for the foreground and 40 for the background.
    fn push_color(&mut self, color: Color, base: u8) {
        let named = match color {
            Color::Reset => return,
            Color::Black => 0,
            Color::Red => 1,
            Color::Green => 2,
            Color::Yellow => 3,
            Color::Blue => 4,
            Color::Magenta => 5,
            Color::Cyan => 6,
            Color::Gray => 7,
            Color::DarkGray => 60,
            Color::LightRed => 61,
            Color::LightGreen => 62,
            Color::LightYellow => 63,
            Color::LightBlue => 64,
            Color::LightMagenta => 65,
            Color::LightCyan => 66,
            Color::White => 67,
            Color::Indexed(index) => {
                return self.push_format(format_args!(";{};5;{index}", base + 8));
            }
            Color::Rgb(red, green, blue) => {
                return self.push_format(format_args!(";{};2;{red};{green};{blue}", base + 8));
            }
        };
        self.push_format(format_args!(";{}", base + named));
    }
}

impl Backend for FrameBackend {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        let mut style = CellStyle::default();
        let mut next = None;
        for (x, y, cell) in content {
            if next != Some((x, y)) {
                self.move_to(x, y);
            }
            // Terminals may disagree about the width of a character outside of ASCII, so the place
            // after one is always named.
            next = cell.symbol().is_ascii().then_some((x + 1, y));
            let own = CellStyle {
                foreground: cell.fg,
                background: cell.bg,
                modifier: cell.modifier,
            };
            if own != style {
                style = own;
                self.push_style(style);
            }
            self.push(cell.symbol());
        }
        if style != CellStyle::default() {
            self.push("\x1b[0m");
        }
        Ok(())
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        self.push("\x1b[?25l");
        Ok(())
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        self.push("\x1b[?25h");
        Ok(())
    }

    /// Names the first cell: asking the terminal would read keys of the user.
    fn get_cursor_position(&mut self) -> io::Result<Position> {
        Ok(Position::ORIGIN)
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        let position = position.into();
        self.move_to(position.x, position.y);
        Ok(())
    }

    fn clear(&mut self) -> io::Result<()> {
        self.clear_region(ClearType::All)
    }

    fn clear_region(&mut self, region: ClearType) -> io::Result<()> {
        self.push(match region {
            ClearType::All => "\x1b[2J",
            ClearType::AfterCursor => "\x1b[0J",
            ClearType::BeforeCursor => "\x1b[1J",
            ClearType::CurrentLine => "\x1b[2K",
            ClearType::UntilNewLine => "\x1b[0K",
        });
        Ok(())
    }

    fn size(&self) -> io::Result<Size> {
        match self.size {
            FrameSize::Fixed(size) => Ok(size),
            FrameSize::Terminal => {
                let (width, height) = crossterm::terminal::size()?;
                Ok(Size::new(width, height))
            }
        }
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        Ok(WindowSize {
            columns_rows: self.size()?,
            pixels: Size::ZERO,
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use ratatui_core::layout::Rect;
    use ratatui_core::style::Style;
    use ratatui_core::terminal::Terminal;

    use super::*;

    fn frame(terminal: &mut Terminal<FrameBackend>, text: &str, style: Style) -> String {
        let draw = |frame: &mut ratatui_core::terminal::Frame<'_>| {
            frame.buffer_mut().set_string(0, 0, text, style);
        };
        terminal.draw(draw).unwrap();
        terminal.backend_mut().take_bytes()
    }

    #[test]
    fn only_cells_that_have_changed_are_written() {
        let mut terminal = Terminal::new(FrameBackend::fixed(10, 2)).unwrap();
        let red = Style::new().fg(Color::Red).bold();
        let bytes = frame(&mut terminal, "ab", red);
        assert_eq!(bytes, "\x1b[1;1H\x1b[0;1;31mab\x1b[0m\x1b[?25l");
        let bytes = frame(&mut terminal, "ac", red);
        assert_eq!(bytes, "\x1b[1;2H\x1b[0;1;31mc\x1b[0m\x1b[?25l");
        assert_eq!(frame(&mut terminal, "ac", red), "\x1b[?25l");
        assert_eq!(terminal.size().unwrap(), Size::new(10, 2));
        assert_eq!(terminal.get_frame().area(), Rect::new(0, 0, 10, 2));
    }

    #[test]
    fn the_place_after_a_wide_character_is_named() {
        let mut terminal = Terminal::new(FrameBackend::fixed(10, 1)).unwrap();
        let bytes = frame(&mut terminal, "你a", Style::new());
        assert_eq!(bytes, "\x1b[1;1H你\x1b[1;3Ha\x1b[?25l");
    }
}
