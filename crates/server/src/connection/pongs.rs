//! Limits the pongs that are buffered for a client that does not read.

use std::time::Duration;

use tokio::sync::{Notify, Semaphore};

/// Limit on the pongs that are buffered between two flushes. A pong has at most 127 bytes, so
/// this is 8 KiB.
const MAX_UNFLUSHED_PONGS: usize = 64;

/// Counts the pongs of one connection that may not have left the host.
///
/// The WebSocket layer answers each ping by itself, into a buffer that grows for as long as the
/// client does not read. So the reading half counts pings here. When there are too many, it
/// stops reading until the writing half has flushed that buffer.
#[derive(Debug)]
pub(crate) struct PongBudget {
    permits: Semaphore,
    flush_requested: Notify,
}

/// The client did not read its pongs in time.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PongTimeout;

impl PongBudget {
    pub(crate) fn new() -> Self {
        PongBudget {
            permits: Semaphore::new(MAX_UNFLUSHED_PONGS),
            flush_requested: Notify::new(),
        }
    }

    /// Counts a ping. Waits for a flush if there were too many pings since the last one.
    pub(crate) async fn count_ping(&self, timeout: Duration) -> Result<(), PongTimeout> {
        if self.needs_flush() {
            self.flush_requested.notify_one();
        }
        match tokio::time::timeout(timeout, self.permits.acquire()).await {
            Ok(Ok(permit)) => {
                permit.forget();
                Ok(())
            }
            Ok(Err(_)) | Err(_) => Err(PongTimeout),
        }
    }

    /// Waits until the reading half needs a flush.
    pub(crate) async fn wait_flush_requested(&self) {
        self.flush_requested.notified().await;
    }

    /// Returns `true` if the reading half waits for a flush.
    pub(crate) fn needs_flush(&self) -> bool {
        self.permits.available_permits() == 0
    }

    /// Resets the count. The writing half calls this after it has flushed the buffer.
    pub(crate) fn mark_flushed(&self) {
        let used = MAX_UNFLUSHED_PONGS.saturating_sub(self.permits.available_permits());
        self.permits.add_permits(used);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(5);

    #[tokio::test(start_paused = true)]
    async fn reading_stops_until_the_pongs_are_flushed() {
        let budget = PongBudget::new();
        for _ in 0..MAX_UNFLUSHED_PONGS {
            assert_eq!(budget.count_ping(TIMEOUT).await, Ok(()));
        }
        let flush = async {
            budget.wait_flush_requested().await;
            budget.mark_flushed();
        };
        let (counted, ()) = tokio::join!(budget.count_ping(TIMEOUT), flush);
        assert_eq!(counted, Ok(()));
        assert_eq!(budget.permits.available_permits(), MAX_UNFLUSHED_PONGS - 1);
    }

    #[tokio::test(start_paused = true)]
    async fn pongs_that_are_never_flushed_are_an_error() {
        let budget = PongBudget::new();
        for _ in 0..MAX_UNFLUSHED_PONGS {
            assert_eq!(budget.count_ping(TIMEOUT).await, Ok(()));
        }
        assert_eq!(budget.count_ping(TIMEOUT).await, Err(PongTimeout));
    }
}
