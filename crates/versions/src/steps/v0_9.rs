//! 1.0 ↔ 0.9: from 1.0 on, there are canvases, background work, movable chats and an order of
//! chats.
//!
//! Lost: all of these, the changesets and change counts of a chat, and the disable conditions
//! of automations. The read and archived flags of a chat are still in the chat catalogue of its
//! session.

use agenthost_protocol::channel::{ChannelKind, ChannelState};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::version::Release;
use agenthost_protocol::wire;
use agenthost_protocol::wire::{Json, Object};

use crate::document::{JsonCall, JsonDispatch, JsonEnvelope};
use crate::edit::{object_mut, remove_fields, replace_text, set_default, set_field, text_field};
use crate::state_source::TranslationContext;
use crate::step;
use crate::step::{PartFate, UpgradeRefusal};

pub(crate) struct StepV0_9;

/// Key in `_meta` under which the host stores the `nonce` of a client plugin.
const NONCE_META_KEY: &str = "agenthost.nonce";

/// Actions that 0.9 does not have.
const ACTIONS_SINCE_V1_0: &[&str] = &[
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

impl step::VersionStep for StepV0_9 {
    fn older_release(&self) -> Release {
        Release::V0_9
    }

    fn has_snapshots(&self, kind: ChannelKind) -> bool {
        kind != ChannelKind::Canvas
    }

    fn downgrade_part(
        &self,
        _at: &TranslationContext<'_>,
        name: &'static str,
        part: &mut Object,
    ) -> PartFate {
        match name {
            "ChatState" => remove_fields(
                part,
                &[
                    "changes",
                    "movable",
                    "changesets",
                    "backgroundWork",
                    "canvases",
                ],
            ),
            "ChatSummary" | "PartialChatSummary" => remove_fields(part, &["changes", "movable"]),
            "SessionSummary" | "PartialSessionSummary" => {
                remove_fields(part, &["chats", "defaultChat"])
            }
            "ChangesetState" | "ChangesetStatusChanged" => {
                replace_text(part, "status", "recomputing", "computing");
            }
            "McpServerState" => remove_fields(part, &["blocking"]),
            "ConfigPropertySchema" | "SessionConfigPropertySchema" => {
                remove_fields(part, &["minItems", "maxItems"]);
            }
            "AutomationDefinition" | "AutomationDefinitionPatch" => {
                remove_fields(part, &["disableConditions"]);
            }
            "Customization" => move_nonce_from_meta(part),
            "AutomationEntry" => remove_fields(part, &["runCount", "customizations"]),
            "AutomationSessionTemplate" | "AutomationCapabilities" => {
                remove_fields(part, &["customizations"]);
            }
            _ => {}
        }
        PartFate::Keep
    }

    fn downgrade_action(
        &self,
        _at: &TranslationContext<'_>,
        envelope: JsonEnvelope,
    ) -> Vec<JsonEnvelope> {
        let changes = envelope.action.get("changes").and_then(Json::as_object);
        // An update without a field that 0.9 has is not sent.
        let nothing = envelope.action_type() == "session/chatUpdated"
            && changes.is_some_and(Object::is_empty);
        if nothing || ACTIONS_SINCE_V1_0.contains(&envelope.action_type()) {
            return Vec::new();
        }
        vec![envelope]
    }

    /// Drops an update without a field that 0.9 has.
    fn downgrade_notification(
        &self,
        _at: &TranslationContext<'_>,
        call: JsonCall,
    ) -> Vec<JsonCall> {
        let changes = call.params.get("changes").and_then(Json::as_object);
        if call.method == "root/sessionSummaryChanged" && changes.is_some_and(Object::is_empty) {
            return Vec::new();
        }
        vec![call]
    }

    fn upgrade_dispatch(
        &self,
        context: &TranslationContext<'_>,
        dispatch: &mut JsonDispatch,
    ) -> Result<(), UpgradeRefusal> {
        if dispatch.action_type() == "automation/updateRequested" {
            keep_customizations(context, dispatch);
        }
        Ok(())
    }

    fn upgrade_part(&self, name: &'static str, part: &mut Object) -> PartFate {
        match name {
            // Clients of 0.2 to 0.9 may omit the type, which 1.0 requires. A downgrade keeps
            // the field, because some of these clients read it.
            "ClientPluginCustomization" => set_default(part, "type", "plugin"),
            "ToolResultContent" if text_field(part, "type") == Some("fileEdit") => {
                drop_invalid_edit(part)
            }
            _ => {}
        }
        PartFate::Keep
    }
}

/// Moves the nonce of a client plugin to the field in which hosts up to 0.9 published it. VS
/// Code caches the content of a plugin until the nonce changes.
fn move_nonce_from_meta(customization: &mut Object) {
    let Some(meta) = object_mut(customization, "_meta") else {
        return;
    };
    let nonce = meta.shift_remove(NONCE_META_KEY);
    if meta.is_empty() && nonce.is_some() {
        remove_fields(customization, &["_meta"]);
    }
    if let Some(nonce) = nonce {
        set_field(customization, "nonce", nonce);
    }
}

/// Removes invalid fields of an edit, so that the rest of the result can be decoded. Until 0.9
/// the sides and counts of an edit were not typed.
fn drop_invalid_edit(edit: &mut Object) {
    for side in ["before", "after"] {
        if edit.get(side).is_some_and(|side| !is_side(side)) {
            remove_fields(edit, &[side]);
        }
    }
    if edit.get("diff").is_some_and(|diff| !is_diff(diff)) {
        remove_fields(edit, &["diff"]);
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

/// Adds the customizations of the current template. A client of 0.9 replaces the whole session
/// template, but does not know this field, so the update must not remove it.
fn keep_customizations(context: &TranslationContext<'_>, dispatch: &mut JsonDispatch) {
    let Some(ChannelState::Automations(state)) =
        context.states.state(&Uri::from(dispatch.channel.as_str()))
    else {
        return;
    };
    let resource = text_field(&dispatch.action, "resource").unwrap_or_default();
    let mut entries = state.entries.items();
    let known = entries
        .find(|entry| entry.resource.as_str() == resource)
        .and_then(|entry| entry.definition.session.customizations.as_ref());
    let template =
        object_mut(&mut dispatch.action, "changes").and_then(|it| object_mut(it, "session"));
    if let (Some(known), Some(template)) = (known, template) {
        set_default(template, "customizations", wire::to_json(known));
    }
}
