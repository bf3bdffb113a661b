//! 0.2 ↔ 0.1: no channels.
//!
//! An action contains its own address, notifications are wrapped in one method `notification`,
//! and the version is a number. Customizations are references to plugins, identified by their
//! URI; attachments are URIs.
//!
//! Lost: changesets, watches, the selection of a custom agent, the children of a plugin,
//! attachments without a URI. A system notification in a response becomes text of the agent.

mod address;
mod attachments;
mod customizations;
mod notices;

use agenthost_protocol::channel::ChannelKind;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::version::Release;
use agenthost_protocol::wire::{Json, Object};

use crate::document::{JsonCall, JsonDispatch, JsonEnvelope};
use crate::edit::{remove_fields, set_field, text_field};
use crate::state_source::TranslationContext;
use crate::step;
use crate::step::{PartFate, UpgradeRefusal};

pub(crate) struct StepV0_1;

/// Actions on sessions that 0.1 does not have.
const ACTIONS_SINCE_V0_2: &[&str] = &["session/agentChanged", "session/changesetsChanged"];

impl step::VersionStep for StepV0_1 {
    fn older_release(&self) -> Release {
        Release::V0_1
    }

    fn has_snapshots(&self, kind: ChannelKind) -> bool {
        // In 0.1 every subscription has a snapshot, so channels without one can't be subscribed
        // to.
        !matches!(kind, ChannelKind::Changeset | ChannelKind::ResourceWatch)
    }

    fn downgrade_part(
        &self,
        _at: &TranslationContext<'_>,
        name: &'static str,
        part: &mut Object,
    ) -> PartFate {
        match name {
            "Message" | "UsageInfo" | "ModelInfo" => remove_fields(part, &["_meta"]),
            "SessionSummary" | "PartialSessionSummary" => {
                remove_fields(part, &["agent", "changesets"])
            }
            "Turn" | "ActiveTurn" => notices::downgrade_turn_notices(part),
            "Attachment" => return attachments::downgrade_attachment(part),
            "Customization" => customizations::to_session_entry(part),
            "ClientPluginCustomization" => customizations::to_reference(part),
            "AgentInfo" => customizations::unwrap_agent_references(part),
            "SessionState" | "ChatState" | "CustomizationsChanged" => {
                customizations::make_uris_unique(part);
            }
            _ => {}
        }
        PartFate::Keep
    }

    fn downgrade_action(
        &self,
        context: &TranslationContext<'_>,
        mut envelope: JsonEnvelope,
    ) -> Vec<JsonEnvelope> {
        if ACTIONS_SINCE_V0_2.contains(&envelope.action_type()) {
            return Vec::new();
        }
        let channel = envelope.channel.take().unwrap_or_default();
        let session = Uri::from(channel.as_str());
        let told = match envelope.action_type() {
            "session/customizationUpdated" | "session/customizationRemoved" => {
                customizations::customizations_changed(context, &session)
                    .map(|all| envelope.action = all)
            }
            "session/customizationToggled" => {
                customizations::replace_id_with_uri(context, &session, &mut envelope.action)
            }
            "session/responsePart" => {
                notices::downgrade_added_notice(context, &session, &mut envelope.action);
                Some(())
            }
            _ => Some(()),
        };
        let addressed =
            told.and_then(|()| address::set_action_address(&mut envelope.action, channel));
        addressed.map(|()| envelope).into_iter().collect()
    }

    fn downgrade_state(
        &self,
        context: &TranslationContext<'_>,
        kind: ChannelKind,
        resource: &mut String,
        _state: &mut Object,
    ) {
        if kind == ChannelKind::Root {
            context.client.root_uri().clone_into(resource);
        }
    }

    fn downgrade_result(&self, _at: &TranslationContext<'_>, method: &str, result: &mut Json) {
        let Json::Object(result) = result else {
            return;
        };
        match method {
            "initialize" => remove_fields(result, &["completionTriggerCharacters", "telemetry"]),
            "reconnect" => remove_fields(result, &["missing"]),
            _ => {}
        }
    }

    fn downgrade_notification(
        &self,
        _at: &TranslationContext<'_>,
        call: JsonCall,
    ) -> Vec<JsonCall> {
        address::wrap_notification(call).into_iter().collect()
    }

    fn downgrade_request(&self, _at: &TranslationContext<'_>, call: &mut JsonCall) {
        remove_fields(&mut call.params, &["channel"]);
        if call.method == "resourceWrite" {
            to_whole_write(&mut call.params);
        }
    }

    fn upgrade_part(&self, name: &'static str, part: &mut Object) -> PartFate {
        match name {
            "Attachment" => attachments::upgrade_attachment(part),
            "ClientPluginCustomization" => customizations::to_plugin(part),
            _ => {}
        }
        PartFate::Keep
    }

    fn upgrade_params(
        &self,
        _at: &TranslationContext<'_>,
        call: &mut JsonCall,
    ) -> Result<Vec<JsonDispatch>, UpgradeRefusal> {
        address::set_params_channel(call)?;
        Ok(Vec::new())
    }

    fn upgrade_dispatch(
        &self,
        context: &TranslationContext<'_>,
        dispatch: &mut JsonDispatch,
    ) -> Result<(), UpgradeRefusal> {
        dispatch.channel = address::take_action_channel(&mut dispatch.action)?;
        if dispatch.action_type() == "session/customizationToggled" {
            let session = Uri::from(dispatch.channel.as_str());
            customizations::replace_uri_with_id(context, &session, &mut dispatch.action);
        }
        Ok(())
    }
}

/// Converts a write to one of a whole file, which is all that 0.1 has. A write that appends,
/// inserts or has a precondition may create a file, but must not replace one.
fn to_whole_write(params: &mut Object) {
    let adds = text_field(params, "mode").is_some_and(|mode| mode != "truncate");
    if adds || params.contains_key("ifMatch") {
        set_field(params, "createOnly", true);
    }
    remove_fields(params, &["mode", "position", "ifMatch"]);
}
