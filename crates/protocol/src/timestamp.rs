//! Points in time, as the wire writes them.

use std::fmt;
use std::sync::Arc;

use jiff::SignedDuration;

use crate::ids::text_types;
use crate::number::Millis;
use crate::wire::{DecodeError, Node, Shape, TextKind, Wire};

text_types! {
    /// A point in time in ISO 8601, such as `2026-07-09T20:00:00.000Z`.
    ///
    /// Kept as the text that the peer wrote and read only where a reducer
    /// has to calculate with it, so that passing it on never changes it.
    Timestamp: TextKind::Timestamp;
}

/// Why a point in time could not be calculated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TimestampError {
    /// The text is not RFC 3339.
    #[error("`{0}` is not an RFC 3339 timestamp such as `2026-07-09T20:00:00.000Z`")]
    NotRfc3339(String),
    /// The result lies outside the years -9999 to 9999.
    #[error("{duration_ms} ms after `{timestamp}` is beyond the calendar")]
    OutOfRange {
        /// The text, or its beginning.
        timestamp: String,
        /// How far was to be added.
        duration_ms: i64,
    },
}

impl Timestamp {
    /// A point in time by its milliseconds since 1970, in UTC. Beyond the year
    /// 9999 the calendar ends, and so does this.
    pub fn from_millis(millis: Millis) -> Timestamp {
        let end = if millis.0 < 0 {
            jiff::Timestamp::MIN
        } else {
            jiff::Timestamp::MAX
        };
        let point = jiff::Timestamp::from_millisecond(millis.0).unwrap_or(end);
        Timestamp::new(format!("{point:.3}"))
    }

    /// The milliseconds since 1970.
    pub fn to_millis(&self) -> Result<Millis, TimestampError> {
        self.parse().map(|point| Millis(point.as_millisecond()))
    }

    /// Whether the text is a point in time that can be calculated with.
    pub fn check(&self) -> Result<(), TimestampError> {
        self.parse().map(|_| ())
    }

    /// The point in time `duration` later, in UTC with milliseconds.
    pub fn plus(&self, duration: Millis) -> Result<Timestamp, TimestampError> {
        self.parse()?
            .checked_add(SignedDuration::from_millis(duration.0))
            .map(|end| Timestamp::new(format!("{end:.3}")))
            .map_err(|_| TimestampError::OutOfRange {
                timestamp: self.beginning(),
                duration_ms: duration.0,
            })
    }

    /// Peers choose the text, so no more than this of it goes into a message.
    fn beginning(&self) -> String {
        self.as_str().chars().take(40).collect()
    }

    fn parse(&self) -> Result<jiff::Timestamp, TimestampError> {
        self.as_str()
            .parse()
            .map_err(|_| TimestampError::NotRfc3339(self.beginning()))
    }
}
