//! Counts wrong pairing codes, so that a code cannot be guessed.

use super::pairing_code::CODE_LIFETIME_MS;

/// Number of wrong codes after which codes are refused for some time.
pub(crate) const MAX_FAILURES: u32 = 5;

/// Time for which codes are refused after too many wrong ones.
pub(crate) const LOCK_MS: u64 = 60 * 1_000;

/// Counts the wrong codes of the last minutes. It counts for the whole host, because peers can
/// choose their addresses.
#[derive(Debug, Default)]
pub(crate) struct AttemptLimiter {
    failures: u32,
    first_failure_ms: u64,
    locked_at_ms: Option<u64>,
}

impl AttemptLimiter {
    /// Returns the time for which codes are still refused.
    pub(crate) fn time_locked(&self, now_ms: u64) -> Option<u64> {
        // If the clock was set back, the lock ends.
        let passed = now_ms.checked_sub(self.locked_at_ms?)?;
        LOCK_MS.checked_sub(passed).filter(|left| *left > 0)
    }

    /// Counts a wrong code. Returns `true` if it was one too many: then all open codes are
    /// void.
    pub(crate) fn count_failure(&mut self, now_ms: u64) -> bool {
        if now_ms.saturating_sub(self.first_failure_ms) >= CODE_LIFETIME_MS {
            self.failures = 0;
        }
        if self.failures == 0 {
            self.first_failure_ms = now_ms;
        }
        self.failures += 1;
        if self.failures < MAX_FAILURES {
            return false;
        }
        self.failures = 0;
        self.locked_at_ms = Some(now_ms);
        true
    }

    /// Forgets the wrong codes, after a right one.
    pub(crate) fn reset(&mut self) {
        self.failures = 0;
    }
}
