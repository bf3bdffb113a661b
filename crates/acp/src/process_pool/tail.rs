//! The end of what somebody writes, within bounds.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use agenthost_stdx::result::IgnoreResult;
use agenthost_stdx::sync::lock;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::watch;

/// Longest line that is shown of it, in characters.
const MAX_SHOWN_LINE_CHARS: usize = 300;

/// Keeps the end of what was written. What it is may be a secret, so nobody
/// gets to see it by accident.
pub(crate) struct StreamTail {
    max_bytes: usize,
    bytes: Mutex<VecDeque<u8>>,
    /// Whether all was read that will ever come.
    is_complete: watch::Sender<bool>,
}

impl StreamTail {
    /// One that keeps so many bytes.
    pub(crate) fn new(max_bytes: usize) -> Self {
        StreamTail {
            max_bytes,
            bytes: Mutex::default(),
            is_complete: watch::Sender::new(false),
        }
    }

    /// Adds something at the end, and forgets as much at the beginning.
    pub(crate) fn push(&self, more: &[u8]) {
        let mut bytes = self.lock();
        bytes.extend(more);
        let over = bytes.len().saturating_sub(self.max_bytes);
        bytes.drain(..over);
    }

    /// Keeps all that comes out of a pipe, to its end.
    pub(crate) async fn read_from(self: Arc<Self>, mut pipe: impl AsyncRead + Unpin) {
        let mut piece = [0; 4096];
        // A pipe that can't be read is one that is closed.
        while let Ok(read @ 1..) = pipe.read(&mut piece).await {
            self.push(piece.get(..read).unwrap_or_default());
        }
        self.is_complete.send_replace(true);
    }

    /// The last line of all, as soon as it is there; waits no longer than so.
    pub(crate) async fn last_line_within(&self, timeout: Duration) -> Option<String> {
        let mut over = self.is_complete.subscribe();
        let all = over.wait_for(|over| *over);
        // What is still to come is not worth more waiting.
        let waited = tokio::time::timeout(timeout, all).await;
        waited.ignore_elapsed();
        self.last_line()
    }

    /// The last line that says something, cut short.
    pub(crate) fn last_line(&self) -> Option<String> {
        let bytes: Vec<u8> = self.lock().iter().copied().collect();
        let text = String::from_utf8_lossy(&bytes);
        let line = text.lines().map(str::trim).rfind(|line| !line.is_empty())?;
        let plain = line.chars().filter(|c| !c.is_control());
        Some(plain.take(MAX_SHOWN_LINE_CHARS).collect())
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<u8>> {
        lock(&self.bytes)
    }
}

/// Shows how much, not what.
impl std::fmt::Debug for StreamTail {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StreamTail")
            .field("bytes", &self.lock().len())
            .finish_non_exhaustive()
    }
}
