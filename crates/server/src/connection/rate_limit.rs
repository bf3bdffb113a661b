//! Limits the rate at which messages of a client are read.

use std::time::Duration;

use tokio::time::Instant;

/// Permits a number of messages per second, and as many more in a burst after an idle second. A
/// faster client waits: its messages stay in its socket. Control frames of a WebSocket count
/// like messages.
#[derive(Debug)]
pub(crate) struct RateLimiter {
    interval: Duration,
    /// The time up to which the rate is used up. At most [`BURST_WINDOW`] before now, so that
    /// idle time does not add up.
    spent_until: Instant,
}

/// Idle time that can be used for a burst.
const BURST_WINDOW: Duration = Duration::from_secs(1);

impl RateLimiter {
    pub(crate) fn new(per_second: u32) -> Self {
        let now = Instant::now();
        RateLimiter {
            interval: Duration::from_secs(1) / per_second.max(1),
            spent_until: now.checked_sub(BURST_WINDOW).unwrap_or(now),
        }
    }

    /// Waits until the next message may be read.
    pub(crate) async fn acquire(&mut self) {
        let now = Instant::now();
        let earliest = now.checked_sub(BURST_WINDOW).unwrap_or(now);
        self.spent_until = self.spent_until.max(earliest) + self.interval;
        if self.spent_until > now {
            tokio::time::sleep_until(self.spent_until).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SEC-8: a flood is delayed, a burst is not.
    #[tokio::test(start_paused = true)]
    async fn a_flood_is_slowed_down_and_a_burst_is_not() {
        let start = Instant::now();
        let mut pace = RateLimiter::new(100);
        for _ in 0..100 {
            pace.acquire().await;
        }
        assert_eq!(start.elapsed(), Duration::ZERO);
        for _ in 0..100 {
            pace.acquire().await;
        }
        let elapsed = start.elapsed();
        assert!(elapsed >= Duration::from_millis(990), "{elapsed:?}");
        assert!(elapsed <= Duration::from_millis(1_200), "{elapsed:?}");
        tokio::time::sleep(Duration::from_secs(10)).await;
        let rested = Instant::now();
        for _ in 0..100 {
            pace.acquire().await;
        }
        assert_eq!(rested.elapsed(), Duration::ZERO);
    }
}
