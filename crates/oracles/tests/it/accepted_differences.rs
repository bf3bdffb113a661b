//! Accepted differences between the state that an official client reduces from actions and the
//! state in a snapshot. Each has a reason; any other difference is a bug.

use std::ops::RangeInclusive;

use agenthost_protocol::version::Release;

/// A known and accepted difference.
struct Loss {
    /// Releases with this difference.
    releases: RangeInclusive<Release>,
    /// Actions after which it occurs; any action if empty.
    actions: &'static [&'static str],
    /// Start of its path, without list indices.
    place: &'static str,
    /// Kind of the difference.
    way: LossKind,
}

/// Kind of a difference between the reduced state and the snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LossKind {
    /// Only the reduced state has the value.
    Kept,
    /// Only the snapshot has the value.
    Missing,
    /// The values differ.
    Other,
    /// Any of the above.
    Any,
}

/// All accepted differences, each with the reason why it can't be avoided or is not worth the
/// effort.
const LOSSES: &[Loss] = &[
    // These releases have no action that reorders chats; the order is only visible in snapshots.
    Loss {
        releases: Release::V0_4..=Release::V0_9,
        actions: &["session/chatsReordered"],
        place: "Session chats[]",
        way: LossKind::Any,
    },
    // These flags are only published in the session's list of chats.
    Loss {
        releases: Release::V0_4..=Release::V0_9,
        actions: &["chat/isReadChanged", "chat/isArchivedChanged"],
        place: "Chat status",
        way: LossKind::Other,
    },
    // These releases have no action that changes a working directory; only lists are updated.
    Loss {
        releases: Release::V0_5_0..=Release::V0_6,
        actions: &[
            "session/workingDirectorySet",
            "session/workingDirectoryRemoved",
            "session/workingDirectoryReplaced",
        ],
        place: "Session workingDirectory",
        way: LossKind::Any,
    },
    Loss {
        releases: Release::V0_1..=Release::V0_4,
        actions: &[
            "session/workingDirectorySet",
            "session/workingDirectoryRemoved",
            "session/workingDirectoryReplaced",
        ],
        place: "Session summary.workingDirectory",
        way: LossKind::Any,
    },
    Loss {
        releases: Release::V0_4..=Release::V0_6,
        actions: &["chat/workingDirectorySet", "chat/workingDirectoryRemoved"],
        place: "Chat workingDirectory",
        way: LossKind::Any,
    },
    // Contributor and intention are sent when the call starts, and can't be changed later.
    Loss {
        releases: Release::V0_4..=Release::V0_6,
        actions: &["chat/toolCallReady"],
        place: "Chat activeTurn.responseParts[].toolCall.contributor",
        way: LossKind::Any,
    },
    Loss {
        releases: Release::V0_4..=Release::V0_6,
        actions: &["chat/toolCallReady"],
        place: "Chat activeTurn.responseParts[].toolCall.intention",
        way: LossKind::Any,
    },
    Loss {
        releases: Release::V0_1..=Release::V0_3,
        actions: &["chat/toolCallReady"],
        place: "Session activeTurn.responseParts[].toolCall.contributor",
        way: LossKind::Any,
    },
    Loss {
        releases: Release::V0_1..=Release::V0_2,
        actions: &["chat/toolCallReady"],
        place: "Session activeTurn.responseParts[].toolCall.toolClientId",
        way: LossKind::Any,
    },
    // A delta must have content, so it is empty if there is no input yet.
    Loss {
        releases: Release::V0_4..=Release::V0_6,
        actions: &["chat/toolCallDelta"],
        place: "Chat activeTurn.responseParts[].toolCall.partialInput",
        way: LossKind::Kept,
    },
    Loss {
        releases: Release::V0_1..=Release::V0_3,
        actions: &["chat/toolCallDelta"],
        place: "Session activeTurn.responseParts[].toolCall.partialInput",
        way: LossKind::Kept,
    },
    // Reducers ignore the `_meta` of actions on a tool call.
    Loss {
        releases: Release::V0_1..=Release::V0_3,
        actions: &[
            "chat/toolCallAuthRequired",
            "chat/toolCallAuthResolved",
            "chat/toolCallComplete",
            "chat/toolCallConfirmed",
            "chat/toolCallContentChanged",
            "chat/toolCallDelta",
            "chat/toolCallReady",
            "chat/toolCallResultConfirmed",
        ],
        place: "Session activeTurn.responseParts[].toolCall._meta",
        way: LossKind::Any,
    },
    // A client edits input that is missing from the state. From 0.7 on reducers leave such edits to
    // the host.
    Loss {
        releases: Release::V0_4..=Release::V0_6,
        actions: &["chat/toolCallConfirmed"],
        place: "Chat activeTurn.responseParts[].toolCall.toolInput",
        way: LossKind::Any,
    },
    Loss {
        releases: Release::V0_1..=Release::V0_3,
        actions: &["chat/toolCallConfirmed"],
        place: "Session activeTurn.responseParts[].toolCall.toolInput",
        way: LossKind::Any,
    },
    // These releases can't express that a call waits for authentication, nor the metadata that was
    // added meanwhile.
    Loss {
        releases: Release::V0_4..=Release::V0_5_2,
        actions: &["chat/toolCallAuthRequired", "chat/toolCallAuthResolved"],
        place: "Chat activeTurn.responseParts[].toolCall._meta",
        way: LossKind::Any,
    },
    // Clients get older turns in a response, and insert them into their state themselves.
    Loss {
        releases: Release::V0_4..=Release::V0_5_0,
        actions: &["chat/turnsLoaded"],
        place: "Chat turns",
        way: LossKind::Any,
    },
    Loss {
        releases: Release::V0_1..=Release::V0_3,
        actions: &["chat/turnsLoaded"],
        place: "Session turns",
        way: LossKind::Any,
    },
    // The pending input of a session is unknown in these releases; it follows from its chats.
    Loss {
        releases: Release::V0_5_0..=Release::V0_5_0,
        actions: &["session/inputNeededSet", "session/inputNeededRemoved"],
        place: "Session status",
        way: LossKind::Other,
    },
    Loss {
        releases: Release::V0_4..=Release::V0_4,
        actions: &["session/inputNeededSet", "session/inputNeededRemoved"],
        place: "Session summary.status",
        way: LossKind::Other,
    },
    Loss {
        releases: Release::V0_4..=Release::V0_5_2,
        actions: &["session/inputNeededSet", "session/inputNeededRemoved"],
        place: "Session chats[].status",
        way: LossKind::Other,
    },
    // A resumed turn with two parts of equal content: both get the same id. This is harmless, as
    // neither part is appended to any more.
    Loss {
        releases: Release::V0_1..=Release::V0_1,
        actions: &["chat/turnResume"],
        place: "Session activeTurn.responseParts[].id",
        way: LossKind::Other,
    },
    // A real host sends `session/ready` once, before the first turn.
    Loss {
        releases: Release::V0_1..=Release::V0_1,
        actions: &["session/ready"],
        place: "Session summary.status",
        way: LossKind::Other,
    },
    // The activity text of a chat is only published in the session's list of chats.
    Loss {
        releases: Release::V0_4..=Release::V0_4,
        actions: &["chat/activityChanged"],
        place: "Chat activity",
        way: LossKind::Any,
    },
    // A selected model can be replaced, but not removed.
    Loss {
        releases: Release::V0_1..=Release::V0_4,
        actions: &["chat/draftChanged", "chat/turnStarted", "chat/truncated"],
        place: "Session summary.model",
        way: LossKind::Kept,
    },
    Loss {
        releases: Release::V0_4..=Release::V0_4,
        actions: &["chat/draftChanged", "chat/turnStarted", "chat/truncated"],
        place: "Session chats[].model",
        way: LossKind::Kept,
    },
    Loss {
        releases: Release::V0_4..=Release::V0_4,
        actions: &["chat/draftChanged", "chat/turnStarted", "chat/truncated"],
        place: "Session chats[].agent",
        way: LossKind::Kept,
    },
];

/// Returns `true` if the difference is accepted.
pub(crate) fn is_accepted(release: Release, action: &str, place: &str, way: LossKind) -> bool {
    LOSSES.iter().any(|loss| {
        loss.releases.contains(&release)
            && (loss.actions.is_empty() || loss.actions.contains(&action))
            && place.starts_with(loss.place)
            && (loss.way == LossKind::Any || loss.way == way)
    })
}
