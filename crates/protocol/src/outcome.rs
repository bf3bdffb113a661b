//! The result of a reducer.

use crate::ids::TurnId;
use crate::timestamp::TimestampError;

/// The effect of an action on a state.
///
/// It does not state if a client was permitted to dispatch the action, so it is no substitute
/// for validation (DSP-12).
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Outcome {
    /// The action was applied. The state can be equal to the previous one.
    Applied,
    /// The action does not apply to the current state: an unknown id, a turn that has ended, an
    /// illegal transition. The state did not change.
    NoOp,
    /// The action belongs to another kind of channel. The state did not change.
    WrongChannel,
    /// The action would make the state invalid. The state did not change.
    Invalid(Invalid),
}

/// The reason why an action would make the state invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    /// A turn can't end, because its end time can't be computed.
    #[error(transparent)]
    Timestamp(#[from] TimestampError),
    /// A turn can't start, because the active turn would be lost.
    #[error("turn `{active}` is in progress")]
    TurnInProgress {
        /// Id of the active turn.
        active: TurnId,
    },
}

impl Outcome {
    /// Returns [`Outcome::Applied`] if `changed` is `true`, otherwise [`Outcome::NoOp`].
    pub(crate) fn applied_if(changed: bool) -> Self {
        if changed {
            Outcome::Applied
        } else {
            Outcome::NoOp
        }
    }
}
