//! Shows that something is under way, on the last line of the terminal.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use super::interprets_escapes;
use super::palette::{Palette, Role};
use crate::output::escape_invisible;

/// Time between two frames.
pub(crate) const SPINNER_INTERVAL: Duration = Duration::from_millis(120);

/// Time before something short becomes visible.
pub(crate) const START_DELAY: Duration = Duration::from_millis(400);

/// Time before a longer operation becomes visible.
pub(crate) const OPERATION_DELAY: Duration = Duration::from_secs(2);

const FRAMES: [&str; 4] = ["|", "/", "-", "\\"];

/// Moves to the start of the line and clears it.
const CLEAR_LINE: &str = "\r\u{1b}[K";

/// A line on stderr that changes while something is under way. Without a terminal it is empty.
pub(crate) struct Spinner {
    is_enabled: bool,
    /// Time of the last visible progress.
    silent_since: Instant,
    delay: Duration,
    frame: usize,
    is_visible: bool,
}

impl Spinner {
    /// Creates a spinner that becomes visible after a delay without progress.
    pub(crate) fn new(delay: Duration) -> Self {
        Spinner {
            is_enabled: std::io::stderr().is_terminal() && interprets_escapes(),
            silent_since: Instant::now(),
            delay,
            frame: 0,
            is_visible: false,
        }
    }

    pub(crate) fn is_enabled(&self) -> bool {
        self.is_enabled
    }

    /// Draws the next frame, if the delay is over.
    pub(crate) fn tick(&mut self, label: &str) {
        let elapsed = self.silent_since.elapsed();
        if !self.is_enabled || elapsed < self.delay {
            return;
        }
        let frame = FRAMES
            .get(self.frame % FRAMES.len())
            .copied()
            .unwrap_or_default();
        self.frame += 1;
        self.is_visible = true;
        let text = format!(
            "{frame} {} {} s",
            escape_invisible(label),
            elapsed.as_secs()
        );
        let text = Palette::of_stderr().paint(Role::Faint, &text);
        write_stderr(&format!("{CLEAR_LINE}{text}"));
    }

    /// Removes the line, because something else is printed, and waits for the delay again.
    pub(crate) fn clear(&mut self) {
        self.silent_since = Instant::now();
        if std::mem::take(&mut self.is_visible) {
            write_stderr(CLEAR_LINE);
        }
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.clear();
    }
}

fn write_stderr(text: &str) {
    let mut stderr = std::io::stderr().lock();
    let written = stderr.write_all(text.as_bytes());
    if let Err(error) = written.and_then(|()| stderr.flush()) {
        tracing::debug!("cannot write to the terminal: {error}");
    }
}

/// Waits for an operation, and shows a spinner after a delay.
pub(crate) async fn show_while<T>(
    label: &str,
    delay: Duration,
    operation: impl Future<Output = T>,
) -> T {
    let mut spinner = Spinner::new(delay);
    let mut operation = std::pin::pin!(operation);
    loop {
        tokio::select! {
            result = &mut operation => return result,
            () = tokio::time::sleep(SPINNER_INTERVAL), if spinner.is_enabled() => {
                spinner.tick(label);
            }
        }
    }
}
