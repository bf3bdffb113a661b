//! The terminal of the user: its size, its modes and what it can show.

pub(crate) mod attention;
pub(crate) mod palette;
pub(crate) mod raw_mode;
pub(crate) mod spinner;

use std::io::IsTerminal;

use agenthost_core::TERMINAL_SIZE_META_KEY;
use agenthost_protocol::common::Meta;
use agenthost_protocol::wire::{Json, Object};

/// Width in columns if the terminal does not report one.
const DEFAULT_COLUMNS: u16 = 80;

/// Height in rows if the terminal does not report one.
const DEFAULT_ROWS: u16 = 24;

/// Values of `TERM` for terminals without escape sequences.
const SIMPLE_TERMINALS: [&str; 3] = ["dumb", "emacs", "cons25"];

/// The size of a terminal in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TerminalSize {
    pub(crate) columns: u16,
    pub(crate) rows: u16,
}

/// Returns the size of the terminal on stdout; `None` if stdout is none.
pub(crate) fn stdout_size() -> Option<TerminalSize> {
    size_of(std::io::stdout())
}

/// Returns the extension data of a message that is typed at the terminal: its commands begin with
/// the size of the terminal.
pub(crate) fn message_meta() -> Option<Meta> {
    let size = stdout_size()?;
    let sides = Object::from_iter([
        ("cols".to_owned(), Json::from(size.columns)),
        ("rows".to_owned(), Json::from(size.rows)),
    ]);
    let size = (TERMINAL_SIZE_META_KEY.to_owned(), Json::Object(sides));
    Some(Meta::new(Object::from_iter([size])))
}

fn size_of(stream: impl std::os::fd::AsFd) -> Option<TerminalSize> {
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    let or_default = |reported: u16, default| match reported {
        0 => default,
        reported => reported,
    };
    Some(TerminalSize {
        columns: or_default(size.ws_col, DEFAULT_COLUMNS),
        rows: or_default(size.ws_row, DEFAULT_ROWS),
    })
}

/// Returns `true` if the user can answer: stdin is a terminal, and so is the stream of the
/// questions.
pub(crate) fn can_ask() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Returns `true` if a line can be edited on the terminal: it shows what the user types and
/// what is printed.
pub(crate) fn can_edit_lines() -> bool {
    let is_terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    is_terminal && interprets_escapes()
}

/// Returns `true` if the terminal interprets escape sequences, as `TERM` says.
pub(crate) fn interprets_escapes() -> bool {
    let term = std::env::var_os("TERM").unwrap_or_default();
    !term.is_empty() && !SIMPLE_TERMINALS.iter().any(|simple| term == *simple)
}
