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
const LOSSES: &[Loss] = &[
    Loss {
        releases: Release::V0_1..=Release::V0_9,
        action: Some("session/chatsReordered"),
        place: "Session chats[]",
        why: "an order of chats can't be told; it is seen when one subscribes",
    },
    Loss {
        releases: Release::V0_4..=Release::V0_9,
        action: Some("chat/isReadChanged"),
        place: "Chat status",
        why: "told by the session's list of chats alone",
    },
    Loss {
        releases: Release::V0_4..=Release::V0_9,
        action: Some("chat/isArchivedChanged"),
        place: "Chat status",
        why: "told by the session's list of chats alone",
    },
    Loss {
        releases: Release::V0_1..=Release::V0_6,
        action: Some("session/workingDirectorySet"),
        place: "Session workingDirectory",
        why: "no action moves a session; lists of sessions are told",
    },
    Loss {
        releases: Release::V0_1..=Release::V0_6,
        action: Some("session/workingDirectoryRemoved"),
        place: "Session workingDirectory",
        why: "no action moves a session; lists of sessions are told",
    },
    Loss {
        releases: Release::V0_1..=Release::V0_6,
        action: Some("session/workingDirectoryReplaced"),
        place: "Session workingDirectory",
        why: "no action moves a session; lists of sessions are told",
    },
    Loss {
        releases: Release::V0_1..=Release::V0_6,
        action: Some("chat/workingDirectorySet"),
        place: "Chat workingDirectory",
        why: "no action moves a chat; the session's list of chats is told",
    },
    Loss {
        releases: Release::V0_1..=Release::V0_6,
        action: Some("chat/workingDirectoryRemoved"),
        place: "Chat workingDirectory",
        why: "no action moves a chat; the session's list of chats is told",
    },
    Loss {
        releases: Release::V0_1..=Release::V0_6,
        action: Some("chat/toolCallReady"),
        place: "Chat activeTurn.responseParts[].toolCall.contributor",
        why: "who contributes a call is said when it starts, and never again",
    },
    Loss {
        releases: Release::V0_1..=Release::V0_6,
        action: Some("chat/toolCallReady"),
        place: "Chat activeTurn.responseParts[].toolCall.intention",
        why: "what a call is for is said when it starts, and never again",
    },
    Loss {
        releases: Release::V0_1..=Release::V0_6,
        action: Some("chat/toolCallDelta"),
        place: "Chat activeTurn.responseParts[].toolCall.partialInput",
        why: "input that has not come is empty input: a delta always has some",
    },
    Loss {
        releases: Release::V0_1..=Release::V0_5_0,
        action: Some("chat/turnsLoaded"),
        place: "Chat turns",
        why: "clients get older turns as an answer, and keep them where they like",
    },
    Loss {
        releases: Release::V0_1..=Release::V0_5_0,
        action: Some("session/inputNeededSet"),
        place: "Session status",
        why: "a session's list of what it waits for is not known; its chats tell",
    },
    Loss {
        releases: Release::V0_1..=Release::V0_5_0,
        action: Some("session/inputNeededRemoved"),
        place: "Session status",
        why: "a session's list of what it waits for is not known; its chats tell",
    },
];

/// Why a difference is accepted, if it is.
pub(crate) fn accepted(release: Release, action: &str, place: &str) -> Option<&'static str> {
    let found = LOSSES.iter().find(|loss| {
        loss.releases.contains(&release)
            && loss.action.is_none_or(|name| name == action)
            && place.starts_with(loss.place)
    });
    found.map(|loss| loss.why)
}
