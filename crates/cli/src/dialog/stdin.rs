//! Reads stdin as lines or as bytes.

use std::io::IsTerminal;
use std::path::Path;

use futures_util::FutureExt;
use rustix::termios::{QueueSelector, tcflush};
use tokio::io::{AsyncRead, AsyncReadExt};

use super::typed_line::TypedLine;

/// The terminal of this process, whatever stdin is.
const TERMINAL_PATH: &str = "/dev/tty";

/// Maximum number of bytes that are read at a time.
const MAX_READ_BYTES: usize = 4096;

/// The unit in which input is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InputUnit {
    Line,
    Bytes,
}

/// A line, or bytes; `None` at the end of input.
#[derive(Debug)]
pub(crate) enum StdinInput {
    Line(Option<String>),
    Bytes(Option<Vec<u8>>),
}

/// Standard input: lines for questions, bytes for a command that reads keys.
pub(crate) struct StdinReader {
    source: Box<dyn AsyncRead + Unpin + Send>,
    buffer: Vec<u8>,
    has_ended: bool,
    /// `true` if the source is a terminal.
    is_terminal: bool,
    /// Edits the lines of a terminal in place of the kernel, which cuts long ones.
    typed_line: Option<TypedLine>,
}

impl StdinReader {
    pub(crate) fn new() -> Self {
        let is_terminal = std::io::stdin().is_terminal();
        Self::of_source(Box::new(tokio::io::stdin()), is_terminal)
    }

    /// Reads the terminal in place of stdin, which was used for something else. Without a
    /// terminal there is no input.
    pub(crate) async fn of_terminal() -> Self {
        match tokio::fs::File::open(Path::new(TERMINAL_PATH)).await {
            Ok(terminal) => Self::of_source(Box::new(terminal), true),
            Err(_) => Self::of_source(Box::new(tokio::io::empty()), false),
        }
    }

    fn of_source(source: Box<dyn AsyncRead + Unpin + Send>, is_terminal: bool) -> Self {
        StdinReader {
            source,
            buffer: Vec::new(),
            has_ended: false,
            is_terminal,
            typed_line: None,
        }
    }

    /// Reads lines. At a terminal they may have any length, and need no escape sequences.
    pub(crate) fn of_typed_lines() -> Self {
        let mut reader = Self::new();
        if reader.is_terminal {
            reader.typed_line = TypedLine::start(Path::new(TERMINAL_PATH));
        }
        reader
    }

    /// Drops what the user has typed so far: nobody can answer a question before it is printed.
    /// Input that is not typed stays.
    pub(crate) fn discard_typed(&mut self) {
        if !self.is_terminal || self.has_ended {
            return;
        }
        let flushed = match std::fs::File::open(TERMINAL_PATH) {
            Ok(terminal) => tcflush(terminal, QueueSelector::IFlush),
            Err(_) => tcflush(std::io::stdin(), QueueSelector::IFlush),
        };
        if let Err(error) = flushed {
            tracing::debug!("cannot discard the input of the terminal: {error}");
        }
        // A read that was cancelled may have a line already.
        while self.read().now_or_never().is_some() && !self.has_ended {}
        self.buffer.clear();
    }

    /// Returns the next line, or `None` at the end of input. This method is cancel safe.
    pub(crate) async fn next_line(&mut self) -> Option<String> {
        loop {
            if let Some(newline) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let mut line: Vec<_> = self.buffer.drain(..=newline).collect();
                line.pop();
                return Some(to_line(line));
            }
            if self.has_ended {
                let rest = std::mem::take(&mut self.buffer);
                return (!rest.is_empty()).then(|| to_line(rest));
            }
            self.read().await;
        }
    }

    /// Returns the next input in a unit. This method is cancel safe.
    pub(crate) async fn next_input(&mut self, unit: InputUnit) -> StdinInput {
        match unit {
            InputUnit::Line => StdinInput::Line(self.next_line().await),
            InputUnit::Bytes => StdinInput::Bytes(self.next_bytes().await),
        }
    }

    async fn next_bytes(&mut self) -> Option<Vec<u8>> {
        while self.buffer.is_empty() && !self.has_ended {
            self.read().await;
        }
        let bytes = std::mem::take(&mut self.buffer);
        (!bytes.is_empty()).then_some(bytes)
    }

    async fn read(&mut self) {
        let mut chunk = [0; MAX_READ_BYTES];
        let read = self.source.read(&mut chunk).await;
        // Input that cannot be read has ended.
        let count = read.unwrap_or(0);
        self.has_ended = count == 0;
        let read = chunk.iter().take(count);
        match &mut self.typed_line {
            Some(line) => {
                for byte in read {
                    self.has_ended |= line.handle_byte(*byte, &mut self.buffer);
                }
                line.show();
            }
            None => self.buffer.extend(read),
        }
    }
}

fn to_line(bytes: Vec<u8>) -> String {
    let mut line = String::from_utf8_lossy(&bytes).into_owned();
    if line.ends_with('\r') {
        line.pop();
    }
    line
}
