//! What may differ between what an official client makes of actions and what
//! it would have been told had it come later: each with its reason. All else
//! is a mistake.

use std::ops::RangeInclusive;

use agenthost_protocol::version::Release;

/// A difference that is known, and accepted.
struct Loss {
    /// The releases that have it.
    releases: RangeInclusive<Release>,
    /// After which actions; any of them if there is none.
    actions: &'static [&'static str],
    /// Where: the beginning of a path, without the numbers of entries.
    place: &'static str,
    /// Which way it differs.
    way: Way,
}

/// How what a client made of actions differs from what it would be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// It has what is no longer there.
    Kept,
    /// It does not have what is there.
    Missing,
    /// It has another value.
    Other,
    /// Any of these.
    Any,
}

/// All of them, each with why nothing can be done, or is worth it.
const LOSSES: &[Loss] = &[
    // An order of chats can't be told; it is seen when one subscribes.
    Loss {
        releases: Release::V0_4..=Release::V0_9,
        actions: &["session/chatsReordered"],
        place: "Session chats[]",
        way: Way::Any,
    },
    // Told by the session's list of chats alone.
    Loss {
        releases: Release::V0_4..=Release::V0_9,
        actions: &["chat/isReadChanged", "chat/isArchivedChanged"],
        place: "Chat status",
        way: Way::Other,
    },
    // No action moves a session or a chat: lists are told.
    Loss {
        releases: Release::V0_5_0..=Release::V0_6,
        actions: &[
            "session/workingDirectorySet",
            "session/workingDirectoryRemoved",
            "session/workingDirectoryReplaced",
        ],
        place: "Session workingDirectory",
        way: Way::Any,
    },
    Loss {
        releases: Release::V0_1..=Release::V0_4,
        actions: &[
            "session/workingDirectorySet",
            "session/workingDirectoryRemoved",
            "session/workingDirectoryReplaced",
        ],
        place: "Session summary.workingDirectory",
        way: Way::Any,
    },
    Loss {
        releases: Release::V0_4..=Release::V0_6,
        actions: &["chat/workingDirectorySet", "chat/workingDirectoryRemoved"],
        place: "Chat workingDirectory",
        way: Way::Any,
    },
    // Who contributes a call, and what it is for, is said when it starts, and
    // never again.
    Loss {
        releases: Release::V0_4..=Release::V0_6,
        actions: &["chat/toolCallReady"],
        place: "Chat activeTurn.responseParts[].toolCall.contributor",
        way: Way::Any,
    },
    Loss {
        releases: Release::V0_4..=Release::V0_6,
        actions: &["chat/toolCallReady"],
        place: "Chat activeTurn.responseParts[].toolCall.intention",
        way: Way::Any,
    },
    Loss {
        releases: Release::V0_1..=Release::V0_3,
        actions: &["chat/toolCallReady"],
        place: "Session activeTurn.responseParts[].toolCall.contributor",
        way: Way::Any,
    },
    Loss {
        releases: Release::V0_1..=Release::V0_2,
        actions: &["chat/toolCallReady"],
        place: "Session activeTurn.responseParts[].toolCall.toolClientId",
        way: Way::Any,
    },
    // A delta always has some input: where none has come yet it is empty.
    Loss {
        releases: Release::V0_4..=Release::V0_6,
        actions: &["chat/toolCallDelta"],
        place: "Chat activeTurn.responseParts[].toolCall.partialInput",
        way: Way::Kept,
    },
    Loss {
        releases: Release::V0_1..=Release::V0_3,
        actions: &["chat/toolCallDelta"],
        place: "Session activeTurn.responseParts[].toolCall.partialInput",
        way: Way::Kept,
    },
    // Reducers do not look at the `_meta` of what happens to a call.
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
        way: Way::Any,
    },
    // Somebody edits input that is not there, or not in the state: from 0.7 on
    // reducers leave that to whoever keeps it.
    Loss {
        releases: Release::V0_4..=Release::V0_6,
        actions: &["chat/toolCallConfirmed"],
        place: "Chat activeTurn.responseParts[].toolCall.toolInput",
        way: Way::Any,
    },
    Loss {
        releases: Release::V0_1..=Release::V0_3,
        actions: &["chat/toolCallConfirmed"],
        place: "Session activeTurn.responseParts[].toolCall.toolInput",
        way: Way::Any,
    },
    // That a call waits for authentication can't be told, nor what was added
    // to it then.
    Loss {
        releases: Release::V0_4..=Release::V0_5_2,
        actions: &["chat/toolCallAuthRequired", "chat/toolCallAuthResolved"],
        place: "Chat activeTurn.responseParts[].toolCall._meta",
        way: Way::Any,
    },
    // Clients get older turns as an answer, and keep them where they like.
    Loss {
        releases: Release::V0_4..=Release::V0_5_0,
        actions: &["chat/turnsLoaded"],
        place: "Chat turns",
        way: Way::Any,
    },
    Loss {
        releases: Release::V0_1..=Release::V0_3,
        actions: &["chat/turnsLoaded"],
        place: "Session turns",
        way: Way::Any,
    },
    // What a session waits for is not known: its chats tell.
    Loss {
        releases: Release::V0_5_0..=Release::V0_5_0,
        actions: &["session/inputNeededSet", "session/inputNeededRemoved"],
        place: "Session status",
        way: Way::Other,
    },
    Loss {
        releases: Release::V0_4..=Release::V0_4,
        actions: &["session/inputNeededSet", "session/inputNeededRemoved"],
        place: "Session summary.status",
        way: Way::Other,
    },
    Loss {
        releases: Release::V0_4..=Release::V0_5_2,
        actions: &["session/inputNeededSet", "session/inputNeededRemoved"],
        place: "Session chats[].status",
        way: Way::Other,
    },
    // A turn that goes on and has said the same thing twice: both are called
    // the same then. Nothing is ever added to them.
    Loss {
        releases: Release::V0_1..=Release::V0_1,
        actions: &["chat/turnResume"],
        place: "Session activeTurn.responseParts[].id",
        way: Way::Other,
    },
    // A session gets ready once, before anything has happened in it.
    Loss {
        releases: Release::V0_1..=Release::V0_1,
        actions: &["session/ready"],
        place: "Session summary.status",
        way: Way::Other,
    },
    // What a chat is doing, in words, is told by the session's list of chats
    // alone.
    Loss {
        releases: Release::V0_4..=Release::V0_4,
        actions: &["chat/activityChanged"],
        place: "Chat activity",
        way: Way::Any,
    },
    // A model that was chosen can be changed, but not taken back.
    Loss {
        releases: Release::V0_1..=Release::V0_4,
        actions: &["chat/draftChanged", "chat/turnStarted", "chat/truncated"],
        place: "Session summary.model",
        way: Way::Kept,
    },
    Loss {
        releases: Release::V0_4..=Release::V0_4,
        actions: &["chat/draftChanged", "chat/turnStarted", "chat/truncated"],
        place: "Session chats[].model",
        way: Way::Kept,
    },
    Loss {
        releases: Release::V0_4..=Release::V0_4,
        actions: &["chat/draftChanged", "chat/turnStarted", "chat/truncated"],
        place: "Session chats[].agent",
        way: Way::Kept,
    },
];

/// Whether a difference is accepted.
pub(crate) fn is_accepted(release: Release, action: &str, place: &str, way: Way) -> bool {
    LOSSES.iter().any(|loss| {
        loss.releases.contains(&release)
            && (loss.actions.is_empty() || loss.actions.contains(&action))
            && place.starts_with(loss.place)
            && (loss.way == Way::Any || loss.way == way)
    })
}
