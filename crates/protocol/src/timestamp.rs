//! Timestamps in their wire format.

mod rfc3339;

use std::fmt;
use std::sync::Arc;

use crate::ids::text_types;
use crate::number::Millis;
use crate::wire::{DecodeError, Node, Shape, TextKind, Wire};

text_types! {
    /// A timestamp in ISO 8601, such as `2026-07-09T20:00:00.000Z`.
    ///
    /// Stored as the text that the peer wrote, and parsed only where a reducer calculates with
    /// it. Forwarding a timestamp therefore never changes it.
    Timestamp: TextKind::Timestamp;
}

/// An error of a calculation with a timestamp.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TimestampError {
    /// The text is not RFC 3339.
    #[error("`{0}` is not an RFC 3339 timestamp such as `2026-07-09T20:00:00.000Z`")]
    NotRfc3339(String),
    /// The result is outside of the years -9999 to 9999.
    #[error("{duration_ms} ms after `{timestamp}` is out of range")]
    OutOfRange {
        /// The text of the timestamp, truncated.
        timestamp: String,
        /// Duration that was added, in milliseconds.
        duration_ms: i64,
    },
}

impl Timestamp {
    /// Creates a timestamp from milliseconds since 1970, in UTC. Values outside of the years
    /// -9999 to 9999 are clamped to that range.
    pub fn from_millis(millis: Millis) -> Timestamp {
        let millis = millis.0.clamp(rfc3339::MIN_MS, rfc3339::MAX_MS);
        Timestamp::new(rfc3339::format(millis))
    }

    /// Returns the milliseconds since 1970.
    pub fn to_millis(&self) -> Result<Millis, TimestampError> {
        rfc3339::parse(self.as_str())
            .map(Millis)
            .ok_or_else(|| TimestampError::NotRfc3339(self.beginning()))
    }

    /// Returns an error if the text can't be parsed.
    pub fn check(&self) -> Result<(), TimestampError> {
        self.to_millis().map(|_| ())
    }

    /// Returns the timestamp `duration` later, in UTC with milliseconds.
    pub fn plus(&self, duration: Millis) -> Result<Timestamp, TimestampError> {
        let end = self.to_millis()?.0.checked_add(duration.0);
        end.filter(|end| (rfc3339::MIN_MS..=rfc3339::MAX_MS).contains(end))
            .map(|end| Timestamp::new(rfc3339::format(end)))
            .ok_or_else(|| TimestampError::OutOfRange {
                timestamp: self.beginning(),
                duration_ms: duration.0,
            })
    }

    /// Returns the first 40 characters for error messages, because peers choose the text.
    fn beginning(&self) -> String {
        self.as_str().chars().take(40).collect()
    }
}
