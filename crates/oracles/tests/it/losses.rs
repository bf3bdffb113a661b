//! What may differ between what an official client makes of actions and what
//! it would have been told had it come later: each with its reason. All else
//! is a mistake.

use agenthost_protocol::version::Release;

/// A difference that is known, and accepted.
pub(crate) struct Loss {
    /// The releases that have it.
    releases: std::ops::RangeInclusive<Release>,
    /// The action, or every action if there is none.
    action: Option<&'static str>,
    /// Where: the beginning of a path, without the numbers of entries.
    place: &'static str,
    /// Why nothing can be done, or is worth it.
    why: &'static str,
}

/// All of them.
const LOSSES: &[Loss] = &[];

/// Why a difference is accepted, if it is.
pub(crate) fn accepted(release: Release, action: &str, place: &str) -> Option<&'static str> {
    let found = LOSSES.iter().find(|loss| {
        loss.releases.contains(&release)
            && loss.action.is_none_or(|name| name == action)
            && place.starts_with(loss.place)
    });
    found.map(|loss| loss.why)
}
