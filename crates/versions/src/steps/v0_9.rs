//! 1.0 ↔ 0.9: canvases, background work, chats that move, an order of chats.
//!
//! Lost: all of these, what a chat shows of its own changes, and when
//! automations stop by themselves. Whether a chat was read or archived is in
//! its session's list of chats all the same.

use agenthost_protocol::channel::{ChannelKind, ChannelState};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::version::Release;
use agenthost_protocol::wire::{self, Json, Object};

use crate::document::{Call, Dispatch, Envelope};
use crate::edit::{default, object_mut, remove, replace_text, set, text};
use crate::step::{self, Fate, Refused};
use crate::world::Moment;

pub(crate) struct Step;

/// Where the host puts the `nonce` of a client's plugin, in `_meta`.
const NONCE: &str = "agenthost.nonce";

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
            "ChangesetState" | "ChangesetStatusChanged" => {
                replace_text(part, "status", "recomputing", "computing");
            }
            "McpServerState" => remove(part, &["blocking"]),
            "ConfigPropertySchema" | "SessionConfigPropertySchema" => {
                remove(part, &["minItems", "maxItems"]);
            }
            "AutomationDefinition" | "AutomationDefinitionPatch" => {
                remove(part, &["disableConditions"]);
            }
            "Customization" => show_nonce(part),
            "AutomationEntry" => remove(part, &["runCount", "customizations"]),
            "AutomationSessionTemplate" | "AutomationCapabilities" => {
                remove(part, &["customizations"]);
            }
            _ => {}
        }
        Fate::Keep
    }

    fn action(&self, _at: &Moment<'_>, envelope: Envelope) -> Vec<Envelope> {
        let changes = envelope.action.get("changes").and_then(Json::as_object);
        // A change of nothing but what 0.9 doesn't show is not told.
        let nothing =
            envelope.kind() == "session/chatUpdated" && changes.is_some_and(Object::is_empty);
        if nothing || NEW.contains(&envelope.kind()) {
            return Vec::new();
        }
        vec![envelope]
    }

    /// A change of nothing but what 0.9 doesn't show is not told.
    fn notification(&self, _at: &Moment<'_>, call: Call) -> Vec<Call> {
        let changes = call.params.get("changes").and_then(Json::as_object);
        if call.method == "root/sessionSummaryChanged" && changes.is_some_and(Object::is_empty) {
            return Vec::new();
        }
        vec![call]
    }

    fn dispatch(&self, at: &Moment<'_>, dispatch: &mut Dispatch) -> Result<(), Refused> {
        if dispatch.kind() == "automation/updateRequested" {
            keep_customizations(at, dispatch);
        }
        Ok(())
    }

    fn part_up(&self, name: &'static str, part: &mut Object) -> Fate {
        match name {
            // Clients of 0.2 to 0.9 need not say what it is; 1.0 wants to be
            // told. On the way down it stays: some of them do look at it.
            "ClientPluginCustomization" => default(part, "type", "plugin"),
            "ToolResultContent" if text(part, "type") == Some("fileEdit") => check_edit(part),
            _ => {}
        }
        Fate::Keep
    }
}

/// Puts the nonce of a client's plugin where hosts up to 0.9 showed it. VS Code
/// keeps what it found in a plugin until that changes.
fn show_nonce(customization: &mut Object) {
    let Some(meta) = object_mut(customization, "_meta") else {
        return;
    };
    let nonce = meta.shift_remove(NONCE);
    if meta.is_empty() && nonce.is_some() {
        remove(customization, &["_meta"]);
    }
    if let Some(nonce) = nonce {
        set(customization, "nonce", nonce);
    }
}

/// Until 0.9 the sides of an edit and its numbers could be anything. What 1.0
/// could not read is left out, so that the rest of the result arrives.
fn check_edit(edit: &mut Object) {
    for side in ["before", "after"] {
        if edit.get(side).is_some_and(|side| !is_side(side)) {
            remove(edit, &[side]);
        }
    }
    if edit.get("diff").is_some_and(|diff| !is_diff(diff)) {
        remove(edit, &["diff"]);
    }
}

fn is_side(side: &Json) -> bool {
    let text_at = |path| side.pointer(path).is_some_and(Json::is_string);
    text_at("/uri") && text_at("/content/uri")
}

fn is_diff(diff: &Json) -> bool {
    let fits = |field| diff.get(field).is_none_or(Json::is_u64);
    diff.is_object() && fits("added") && fits("removed")
}

/// A client of 0.9 writes the whole template of an automation's sessions, but
/// can't know the customizations in it: it leaves them as they are.
fn keep_customizations(at: &Moment<'_>, dispatch: &mut Dispatch) {
    let Some(ChannelState::Automations(state)) =
        at.world.state(&Uri::from(dispatch.channel.as_str()))
    else {
        return;
    };
    let resource = text(&dispatch.action, "resource").unwrap_or_default();
    let mut entries = state.entries.items();
    let known = entries
        .find(|entry| entry.resource.as_str() == resource)
        .and_then(|entry| entry.definition.session.customizations.as_ref());
    let template =
        object_mut(&mut dispatch.action, "changes").and_then(|it| object_mut(it, "session"));
    if let (Some(known), Some(template)) = (known, template) {
        default(template, "customizations", wire::to_json(known));
    }
}
