//! The status of a session or chat: an activity and flags.

use std::fmt;

use serde::Serialize;

use crate::wire::{DecodeError, Node, Shape, Wire};

/// A bit set: the activity in bits 0 to 4, flags above. Unknown bits are retained (AGG-11).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct SessionStatus(u32);

impl SessionStatus {
    /// No turn is running.
    pub const IDLE: Self = SessionStatus(1);
    /// The last turn ended with an error.
    pub const ERROR: Self = SessionStatus(1 << 1);
    /// A turn is running.
    pub const IN_PROGRESS: Self = SessionStatus(1 << 3);
    /// A turn is running and waits for the user; includes `IN_PROGRESS`.
    pub const INPUT_NEEDED: Self = SessionStatus(1 << 4 | 1 << 3);
    /// The user has read it since its last change.
    pub const IS_READ: Self = SessionStatus(1 << 5);
    /// The user has archived it.
    pub const IS_ARCHIVED: Self = SessionStatus(1 << 6);

    const ACTIVITY_MASK: u32 = (1 << 5) - 1;

    /// Creates a status from raw bits, including unknown ones.
    pub const fn from_bits(bits: u32) -> Self {
        SessionStatus(bits)
    }

    /// Returns the raw bits, including unknown ones.
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// Returns `true` if all bits of `other` are set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns the activity without flags.
    pub const fn activity(self) -> Self {
        SessionStatus(self.0 & Self::ACTIVITY_MASK)
    }

    /// Returns the status with another activity and the same flags.
    #[must_use]
    pub const fn with_activity(self, activity: Self) -> Self {
        SessionStatus(self.0 & !Self::ACTIVITY_MASK | activity.0 & Self::ACTIVITY_MASK)
    }

    /// Returns the status with all bits of `flag` set.
    #[must_use]
    pub const fn with(self, flag: Self) -> Self {
        SessionStatus(self.0 | flag.0)
    }

    /// Returns the status with all bits of `flag` cleared.
    #[must_use]
    pub const fn without(self, flag: Self) -> Self {
        SessionStatus(self.0 & !flag.0)
    }

    /// Returns the status with a flag set or cleared.
    #[must_use]
    pub(crate) const fn flagged(self, flag: Self, set: bool) -> Self {
        if set {
            self.with(flag)
        } else {
            self.without(flag)
        }
    }
}

impl fmt::Debug for SessionStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let activity = match self.activity() {
            Self::IDLE => "idle",
            Self::ERROR => "error",
            Self::IN_PROGRESS => "in progress",
            Self::INPUT_NEEDED => "input needed",
            _ => "unknown activity",
        };
        let read = if self.contains(Self::IS_READ) {
            ", read"
        } else {
            ""
        };
        let archived = if self.contains(Self::IS_ARCHIVED) {
            ", archived"
        } else {
            ""
        };
        write!(f, "SessionStatus({}: {activity}{read}{archived})", self.0)
    }
}

impl Wire for SessionStatus {
    fn decode(node: Node<'_>) -> Result<Self, DecodeError> {
        u32::decode(node).map(SessionStatus)
    }

    fn shape() -> Shape {
        u32::shape()
    }
}
