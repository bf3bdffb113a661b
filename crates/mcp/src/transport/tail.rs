//! The end of what a server complains of, within bounds.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use agenthost_stdx::result::IgnoreResult;
use agenthost_stdx::sync::lock;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::watch;

/// How much is kept, in bytes.
const STDERR_TAIL_BYTES: usize = 8 * 1024;

/// How many lines are shown of it.
const MAX_TAIL_LINES: usize = 3;

/// Longest line that is shown, in characters.
const MAX_TAIL_LINE_CHARS: usize = 300;

/// Values shorter than this are found by chance, and are no secrets.
const MIN_SECRET_BYTES: usize = 4;

/// Keeps the end of what was written. What it is may be a secret, so nobody
/// gets to see it by accident.
pub(crate) struct StderrTail {
    bytes: Mutex<VecDeque<u8>>,
    /// Whether all was read that will ever come.
    over: watch::Sender<bool>,
}

impl StderrTail {
    /// One with nothing in it.
    pub(crate) fn new() -> Self {
        StderrTail {
            bytes: Mutex::default(),
            over: watch::Sender::new(false),
        }
    }

    /// Keeps all that comes out of a pipe, to its end.
    pub(crate) async fn read_from(self: Arc<Self>, mut pipe: impl AsyncRead + Unpin) {
        let mut piece = [0; 4096];
        // A pipe that can't be read is one that is closed.
        while let Ok(read @ 1..) = pipe.read(&mut piece).await {
            let mut bytes = self.lock();
            bytes.extend(piece.get(..read).unwrap_or_default());
            let over = bytes.len().saturating_sub(STDERR_TAIL_BYTES);
            bytes.drain(..over);
        }
        self.over.send_replace(true);
    }

    /// The last lines of all, as soon as they are there, without what must not
    /// be seen. Waits no longer than so.
    pub(crate) async fn last_lines(&self, timeout: Duration, secrets: &[String]) -> String {
        let mut over = self.over.subscribe();
        let all = over.wait_for(|over| *over);
        tokio::time::timeout(timeout, all).await.ignore_elapsed();
        let bytes: Vec<u8> = self.lock().iter().copied().collect();
        redacted_lines(&String::from_utf8_lossy(&bytes), secrets)
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<u8>> {
        lock(&self.bytes)
    }
}

/// Shows how much, not what.
impl std::fmt::Debug for StderrTail {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StderrTail")
            .field("bytes", &self.lock().len())
            .finish_non_exhaustive()
    }
}

fn redacted_lines(text: &str, secrets: &[String]) -> String {
    let mut text = text.to_owned();
    for secret in secrets
        .iter()
        .filter(|secret| secret.len() >= MIN_SECRET_BYTES)
    {
        text = text.replace(secret.as_str(), "…");
    }
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let mut last: Vec<String> = lines
        .rev()
        .take(MAX_TAIL_LINES)
        .map(|line| {
            line.chars()
                .filter(|c| !c.is_control())
                .take(MAX_TAIL_LINE_CHARS)
                .collect()
        })
        .collect();
    last.reverse();
    last.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_shown_without_secrets() {
        let said = "one\ntwo\n\nthree \u{1b}[31mred\nkey is hunter22 and a\n";
        let secrets = ["hunter22".to_owned(), "a".to_owned()];
        assert_eq!(
            redacted_lines(said, &secrets),
            "two\nthree [31mred\nkey is … and a"
        );
    }
}
