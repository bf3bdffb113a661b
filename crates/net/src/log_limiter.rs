//! A rate limit for log lines that unauthenticated peers can cause.

use std::sync::Mutex;
use std::time::Duration;

use agenthost_stdx::sync::lock;
use tokio::time::Instant;

/// Length of the time window that [`MAX_LINES_PER_WINDOW`] applies to.
const LOG_WINDOW: Duration = Duration::from_secs(10);

/// Maximum number of log lines in one window: enough to diagnose a problem, too few to fill
/// a disk.
const MAX_LINES_PER_WINDOW: u32 = 10;

/// Limits the log lines that a peer without credentials can cause.
///
/// ```
/// # use agenthost_net::LogLimiter;
/// let limiter = LogLimiter::default();
/// if let Some(suppressed) = limiter.permit() {
///     println!("refused a connection, suppressed={suppressed}");
/// }
/// ```
#[derive(Debug)]
pub struct LogLimiter {
    max_lines: u32,
    window: Duration,
    state: Mutex<LogWindow>,
}

#[derive(Debug)]
struct LogWindow {
    start: Instant,
    lines: u32,
    suppressed: u64,
}

impl Default for LogLimiter {
    fn default() -> Self {
        LogLimiter::new(MAX_LINES_PER_WINDOW, LOG_WINDOW)
    }
}

impl LogLimiter {
    /// Creates a limiter of this many lines in each time window.
    #[must_use]
    pub fn new(max_lines: u32, window: Duration) -> Self {
        LogLimiter {
            max_lines,
            window,
            state: Mutex::new(LogWindow {
                start: Instant::now(),
                lines: 0,
                suppressed: 0,
            }),
        }
    }

    /// Returns `None` if the line must not be logged. Otherwise returns the number of lines that
    /// were suppressed since the last one, to be logged with this one.
    #[must_use]
    pub fn permit(&self) -> Option<u64> {
        let mut window = lock(&self.state);
        let now = Instant::now();
        if now.duration_since(window.start) >= self.window {
            window.start = now;
            window.lines = 0;
        }
        if window.lines >= self.max_lines {
            window.suppressed = window.suppressed.saturating_add(1);
            return None;
        }
        window.lines += 1;
        Some(std::mem::take(&mut window.suppressed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn lines_over_the_limit_are_suppressed_and_counted() {
        let limiter = LogLimiter::default();
        for _ in 0..MAX_LINES_PER_WINDOW {
            assert_eq!(limiter.permit(), Some(0));
        }
        for _ in 0..1_000 {
            assert_eq!(limiter.permit(), None);
        }
        tokio::time::advance(LOG_WINDOW).await;
        assert_eq!(limiter.permit(), Some(1_000));
        assert_eq!(limiter.permit(), Some(0));
    }
}
