//! 1.0 ↔ 0.9: canvases, background work, chats that move, an order of chats.
//!
//! Lost: all of these, and what a chat shows of its own changes. Whether a
//! chat was read or archived is in its session's list of chats all the same.

use agenthost_protocol::channel::ChannelKind;
use agenthost_protocol::version::Release;
use agenthost_protocol::wire::{Json, Object};

use crate::document::Envelope;
use crate::edit::{remove, replace_text};
use crate::step::{self, Fate};
use crate::world::Moment;

pub(crate) struct Step;

/// Actions that 0.9 has nothing like.
const NEW: &[&str] = &[
    "session/chatsReordered",
    "session/mcpServerBackgroundRequested",
    "chat/backgroundWorkSet",
    "chat/backgroundWorkRemoved",
    "chat/movableChanged",
    "chat/changesetsChanged",
    "chat/canvasesChanged",
    "chat/isReadChanged",
    "chat/isArchivedChanged",
    "canvas/stateChanged",
];

impl step::Step for Step {
    fn older(&self) -> Release {
        Release::V0_9
    }

    fn knows(&self, kind: ChannelKind) -> bool {
        kind != ChannelKind::Canvas
    }

    fn part(&self, _at: &Moment<'_>, name: &'static str, part: &mut Object) -> Fate {
        match name {
            "ChatState" => remove(
                part,
                &[
                    "changes",
                    "movable",
                    "changesets",
                    "backgroundWork",
                    "canvases",
                ],
            ),
            "ChatSummary" | "PartialChatSummary" => remove(part, &["changes", "movable"]),
            "SessionSummary" | "PartialSessionSummary" => remove(part, &["chats", "defaultChat"]),
            "Changeset" | "ChangesetState" => {
                replace_text(part, "status", "recomputing", "computing");
            }
            "McpServerState" => remove(part, &["blocking"]),
            _ => {}
        }
        Fate::Keep
    }

    fn action(&self, _at: &Moment<'_>, mut envelope: Envelope) -> Vec<Envelope> {
        if NEW.contains(&envelope.kind()) {
            return Vec::new();
        }
        if envelope.kind() == "changeset/statusChanged" {
            replace_text(&mut envelope.action, "status", "recomputing", "computing");
        }
        vec![envelope]
    }

    fn part_up(&self, _at: &Moment<'_>, name: &'static str, part: &mut Object) -> Fate {
        // Clients of 0.2 to 0.9 do not say what it is; 1.0 wants to be told.
        if name == "ClientPluginCustomization" && !part.contains_key("type") {
            part.insert("type".to_owned(), Json::from("plugin"));
        }
        Fate::Keep
    }
}
