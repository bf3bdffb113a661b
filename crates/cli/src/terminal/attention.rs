//! Calls the user when an answer is needed: bell, notification and window title.

use std::io::{IsTerminal, Write};

use super::interprets_escapes;
use crate::output::strip_invisible;

/// Saves the window title on the terminal's stack.
const SAVE_TITLE: &str = "\u{1b}[22;2t";

/// Restores the window title from the terminal's stack.
const RESTORE_TITLE: &str = "\u{1b}[23;2t";

/// The terminal of the Linux console, which has no notifications and no title.
const LINUX_CONSOLE: &str = "linux";

/// The bell, the notifications and the title of the terminal on stderr.
pub(crate) struct Attention {
    has_bell: bool,
    has_window: bool,
    has_title: bool,
}

impl Attention {
    pub(crate) fn new() -> Self {
        let has_bell = std::io::stderr().is_terminal() && interprets_escapes();
        let is_console = std::env::var_os("TERM").is_some_and(|term| term == LINUX_CONSOLE);
        Attention {
            has_bell,
            has_window: has_bell && !is_console,
            has_title: false,
        }
    }

    /// Calls the user with a text, which becomes the title of the window.
    pub(crate) fn call(&mut self, text: &str) {
        // A semicolon separates the fields of a notification.
        let text = strip_invisible(text).replace([';', '\n', '\t'], " ");
        let mut sequence = String::new();
        if self.has_window {
            if !std::mem::replace(&mut self.has_title, true) {
                sequence.push_str(SAVE_TITLE);
            }
            sequence.push_str(&format!(
                "\u{1b}]2;{text}\u{7}\u{1b}]9;{text}\u{7}\u{1b}]777;notify;agenthost;{text}\u{7}"
            ));
        }
        if self.has_bell {
            sequence.push('\u{7}');
        }
        write_stderr(&sequence);
    }

    /// Restores the title after the answer.
    pub(crate) fn end_call(&mut self) {
        if std::mem::take(&mut self.has_title) {
            write_stderr(RESTORE_TITLE);
        }
    }
}

impl Drop for Attention {
    fn drop(&mut self) {
        self.end_call();
    }
}

fn write_stderr(sequence: &str) {
    let mut stderr = std::io::stderr().lock();
    let written = stderr.write_all(sequence.as_bytes());
    if let Err(error) = written.and_then(|()| stderr.flush()) {
        tracing::debug!("cannot write to the terminal: {error}");
    }
}
