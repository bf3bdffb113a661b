//! Frames: the cells that have changed, written at once.

use std::io::{self, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ratatui_core::terminal::{Frame, Terminal};

use super::frame_backend::FrameBackend;

/// The terminal shows what is between these marks at once (synchronized output).
const BEGIN_FRAME: &str = "\x1b[?2026h";
const END_FRAME: &str = "\x1b[?2026l";

/// Bytes that can be copied. Terminals ignore longer texts.
const MAX_COPY_BYTES: usize = 70_000;

/// Writes frames and other output to the terminal.
pub(super) struct TerminalOutput {
    terminal: Terminal<FrameBackend>,
    title: String,
}

impl TerminalOutput {
    pub(super) fn new() -> io::Result<Self> {
        Ok(TerminalOutput {
            terminal: Terminal::new(FrameBackend::of_terminal())?,
            title: String::new(),
        })
    }

    /// Draws a frame, and writes the cells that have changed.
    pub(super) fn draw(
        &mut self,
        title: &str,
        draw: impl FnOnce(&mut Frame<'_>),
    ) -> io::Result<()> {
        self.terminal.draw(draw)?;
        if self.title != title {
            title.clone_into(&mut self.title);
            let sequence = format!("\x1b]2;{title}\x1b\\");
            self.terminal.backend_mut().push(&sequence);
        }
        self.write_frame()
    }

    /// Forgets what is on the screen, so that the next frame draws everything.
    pub(super) fn reset(&mut self) -> io::Result<()> {
        self.title.clear();
        self.terminal.clear()?;
        self.write_frame()
    }

    fn write_frame(&mut self) -> io::Result<()> {
        let frame = self.terminal.backend_mut().take_bytes();
        if frame.is_empty() {
            return Ok(());
        }
        write_out(format!("{BEGIN_FRAME}{frame}{END_FRAME}").as_bytes())
    }

    /// Copies a text to the clipboard of the terminal, also over ssh.
    pub(super) fn copy(&mut self, text: &str) -> io::Result<()> {
        let end = text.floor_char_boundary(text.len().min(MAX_COPY_BYTES));
        let text = text.get(..end).unwrap_or_default();
        write_out(format!("\x1b]52;c;{}\x07", STANDARD.encode(text)).as_bytes())
    }

    /// Tells the user that something waits: a notification and the bell.
    pub(super) fn notify(&mut self, text: &str) -> io::Result<()> {
        write_out(format!("\x1b]9;{text}\x1b\\\x07").as_bytes())
    }
}

fn write_out(bytes: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes)?;
    stdout.flush()
}
