//! Bounded buffer for the end of a stream.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use agenthost_stdx::result::IgnoreResult;
use agenthost_stdx::sync::lock;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::watch;

/// Maximum length of a quoted line, so that an error message stays readable.
const MAX_TAIL_LINE_CHARS: usize = 300;

/// Minimum length of a secret. Shorter values occur in a text by chance.
const MIN_SECRET_BYTES: usize = 4;

/// Keeps the last bytes of a stream. They may contain secrets, so `Debug` does not show them.
pub struct StreamTail {
    max_bytes: usize,
    bytes: Mutex<VecDeque<u8>>,
    /// `true` at the end of the stream.
    is_complete: watch::Sender<bool>,
}

impl StreamTail {
    /// Creates an empty buffer that keeps up to this many bytes.
    #[must_use]
    pub fn new(max_bytes: usize) -> Self {
        StreamTail {
            max_bytes,
            bytes: Mutex::default(),
            is_complete: watch::Sender::new(false),
        }
    }

    /// Appends bytes, and drops the oldest ones beyond the limit.
    pub fn push(&self, more: &[u8]) {
        let mut bytes = self.lock();
        bytes.extend(more);
        let excess = bytes.len().saturating_sub(self.max_bytes);
        bytes.drain(..excess);
    }

    /// Reads a stream to its end, and then wakes [`StreamTail::wait_complete`].
    pub async fn read_from(self: Arc<Self>, mut stream: impl AsyncRead + Unpin) {
        let mut piece = [0; 4096];
        // A pipe that can't be read is treated as closed.
        while let Ok(read @ 1..) = stream.read(&mut piece).await {
            self.push(piece.get(..read).unwrap_or_default());
        }
        self.is_complete.send_replace(true);
    }

    /// Waits for the end of the stream or the timeout.
    pub async fn wait_complete(&self, timeout: Duration) {
        let mut updates = self.is_complete.subscribe();
        let complete = updates.wait_for(|is_complete| *is_complete);
        tokio::time::timeout(timeout, complete)
            .await
            .ignore_elapsed();
    }

    /// Returns the last line that is not blank, shortened and without control characters.
    #[must_use]
    pub fn last_line(&self) -> Option<String> {
        self.last_lines(1, &[]).pop()
    }

    /// Returns the last lines that are not blank, shortened and without control characters.
    /// Secrets are replaced by `…`.
    #[must_use]
    pub fn last_lines(&self, count: usize, secrets: &[String]) -> Vec<String> {
        let bytes: Vec<u8> = self.lock().iter().copied().collect();
        let mut text = String::from_utf8_lossy(&bytes).into_owned();
        let secrets = secrets.iter();
        for secret in secrets.filter(|secret| secret.len() >= MIN_SECRET_BYTES) {
            text = text.replace(secret.as_str(), "…");
        }
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let mut last: Vec<_> = lines.rev().take(count).map(shorten_line).collect();
        last.reverse();
        last
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<u8>> {
        lock(&self.bytes)
    }
}

fn shorten_line(line: &str) -> String {
    let plain = line.chars().filter(|c| !c.is_control());
    plain.take(MAX_TAIL_LINE_CHARS).collect()
}

/// Shows the number of bytes instead of their content.
impl std::fmt::Debug for StreamTail {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StreamTail")
            .field("bytes", &self.lock().len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_redacted_from_the_last_lines() {
        let tail = StreamTail::new(1000);
        tail.push("one\ntwo\n\nthree \u{1b}[31mred\nkey is hunter22 and a\n".as_bytes());
        let secrets = ["hunter22".to_owned(), "a".to_owned()];
        assert_eq!(
            tail.last_lines(3, &secrets),
            ["two", "three [31mred", "key is … and a"]
        );
        assert_eq!(tail.last_line().unwrap(), "key is hunter22 and a");
    }

    #[tokio::test]
    async fn only_the_last_bytes_are_stored() {
        let tail = Arc::new(StreamTail::new(5));
        assert_eq!(tail.last_line(), None);
        Arc::clone(&tail).read_from(&b"one\ntwo\n"[..]).await;
        tail.wait_complete(Duration::from_secs(60)).await;
        assert_eq!(tail.last_lines(3, &[]), ["two"]);
        tail.push(b" \n");
        assert_eq!(tail.last_line().unwrap(), "wo");
    }
}
