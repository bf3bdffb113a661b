//! 0.2 ↔ 0.1: before channels.
//!
//! What an action is about stands in the action itself, what is told without
//! being asked comes in an envelope of its own, and the version is a number.
//! Customizations are references to plugins, known by their address;
//! attachments are addresses.
//!
//! Lost: changesets, watches, the choice of an agent, what is in a plugin,
//! attachments without an address. A notification in an answer is text of the
//! agent.

mod address;
mod attachments;
mod customizations;
mod notices;

use agenthost_protocol::channel::ChannelKind;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::version::Release;
use agenthost_protocol::wire::{Json, Object};

use crate::document::{Call, Dispatch, Envelope};
use crate::edit::{remove, set, text};
use crate::step::{self, Fate, Refused};
use crate::world::Moment;

pub(crate) struct Step;

/// Actions on sessions that 0.1 has nothing like.
const NEW: &[&str] = &["session/agentChanged", "session/changesetsChanged"];

impl step::Step for Step {
    fn older(&self) -> Release {
        Release::V0_1
    }

    fn knows(&self, kind: ChannelKind) -> bool {
        // Whatever is subscribed to has a snapshot: there is nothing to follow
        // without one.
        !matches!(kind, ChannelKind::Changeset | ChannelKind::ResourceWatch)
    }

    fn part(&self, _at: &Moment<'_>, name: &'static str, part: &mut Object) -> Fate {
        match name {
            "Message" | "UsageInfo" | "ModelInfo" => remove(part, &["_meta"]),
            "SessionSummary" | "PartialSessionSummary" => remove(part, &["agent", "changesets"]),
            "Turn" | "ActiveTurn" => notices::in_turn(part),
            "Attachment" => return attachments::down(part),
            "Customization" => customizations::of_session(part),
            "ClientPluginCustomization" => customizations::refer(part),
            "AgentInfo" => customizations::of_agent(part),
            "SessionState" | "ChatState" | "CustomizationsChanged" => {
                customizations::tell_apart(part);
            }
            _ => {}
        }
        Fate::Keep
    }

    fn action(&self, at: &Moment<'_>, mut envelope: Envelope) -> Vec<Envelope> {
        if NEW.contains(&envelope.kind()) {
            return Vec::new();
        }
        let channel = envelope.channel.take().unwrap_or_default();
        let session = Uri::from(channel.as_str());
        let told = match envelope.kind() {
            "session/customizationUpdated" | "session/customizationRemoved" => {
                customizations::all_again(at, &session).map(|all| envelope.action = all)
            }
            "session/customizationToggled" => {
                customizations::name_by_uri(at, &session, &mut envelope.action)
            }
            "session/responsePart" => {
                notices::in_action(at, &session, &mut envelope.action);
                Some(())
            }
            _ => Some(()),
        };
        let addressed = told.and_then(|()| address::put_in(&mut envelope.action, channel));
        addressed.map(|()| envelope).into_iter().collect()
    }

    fn snapshot(
        &self,
        at: &Moment<'_>,
        kind: ChannelKind,
        resource: &mut String,
        _state: &mut Object,
    ) {
        if kind == ChannelKind::Root {
            at.viewer.root().clone_into(resource);
        }
    }

    fn result(&self, _at: &Moment<'_>, method: &str, result: &mut Json) {
        let Json::Object(result) = result else {
            return;
        };
        match method {
            "initialize" => remove(result, &["completionTriggerCharacters", "telemetry"]),
            "reconnect" => remove(result, &["missing"]),
            _ => {}
        }
    }

    fn notification(&self, _at: &Moment<'_>, call: Call) -> Vec<Call> {
        address::wrap(call).into_iter().collect()
    }

    fn request(&self, _at: &Moment<'_>, call: &mut Call) {
        remove(&mut call.params, &["channel"]);
        if call.method == "resourceWrite" {
            write_whole(&mut call.params);
        }
    }

    fn part_up(&self, name: &'static str, part: &mut Object) -> Fate {
        match name {
            "Attachment" => attachments::up(part),
            "ClientPluginCustomization" => customizations::plugin(part),
            _ => {}
        }
        Fate::Keep
    }

    fn params(&self, _at: &Moment<'_>, call: &mut Call) -> Result<Vec<Dispatch>, Refused> {
        address::params(call)?;
        Ok(Vec::new())
    }

    fn dispatch(&self, at: &Moment<'_>, dispatch: &mut Dispatch) -> Result<(), Refused> {
        dispatch.channel = address::take_out(&mut dispatch.action)?;
        if dispatch.kind() == "session/customizationToggled" {
            let session = Uri::from(dispatch.channel.as_str());
            customizations::name_by_id(at, &session, &mut dispatch.action);
        }
        Ok(())
    }
}

/// 0.1 writes whole files. What would add to one, or depends on what is in
/// it, may make a file but must not replace one.
fn write_whole(params: &mut Object) {
    let adds = text(params, "mode").is_some_and(|mode| mode != "truncate");
    if adds || params.contains_key("ifMatch") {
        set(params, "createOnly", true);
    }
    remove(params, &["mode", "position", "ifMatch"]);
}
