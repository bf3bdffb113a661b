//! What became of an action.

use crate::ids::TurnId;
use crate::timestamp::TimestampError;

/// What a reducer did with an action.
///
/// Tells what happened to the state. Whether a client was allowed to send the
/// action is another question, and not answered here (DSP-12).
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Outcome {
    /// The state changed, or was set to what it already was.
    Applied,
    /// The action does not apply to the state as it is: an unknown name, a
    /// turn that is over, a step that is not next. Nothing changed.
    NoOp,
    /// The action belongs to another kind of channel. Nothing changed.
    WrongChannel,
    /// The action would break the state. Nothing changed.
    Invalid(Invalid),
}

/// How an action would break the state.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    /// A turn can't end, because nobody can say when.
    #[error(transparent)]
    Timestamp(#[from] TimestampError),
    /// A turn can't start, because the running one would be lost.
    #[error("turn `{active}` is in progress")]
    TurnInProgress {
        /// The running turn.
        active: TurnId,
    },
}

impl Outcome {
    /// Applied if something changed.
    pub(crate) fn applied_if(changed: bool) -> Self {
        if changed {
            Outcome::Applied
        } else {
            Outcome::NoOp
        }
    }
}
