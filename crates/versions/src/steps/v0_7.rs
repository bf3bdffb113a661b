//! 0.8 ↔ 0.7: from 0.8 on, customizations are enabled per session, workspace or globally, and
//! working directories can be replaced.
//!
//! Lost: the individual enablement decisions of a customization, and client tool calls that
//! other clients execute.

mod up;

use agenthost_protocol::action::Action;
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::common::SessionStatus;
use agenthost_protocol::ids::InputNeededId;
use agenthost_protocol::outcome::Outcome;
use agenthost_protocol::session::{
    InputNeededRemoved, SessionAction, SessionInputRequest, SessionWorkingDirectoryRemoved,
    SessionWorkingDirectorySet,
};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::version::Release;
use agenthost_protocol::wire::{Json, Object};

use crate::document::{JsonCall, JsonDispatch, JsonEnvelope};
use crate::edit::{move_field, remove_fields, set_field, take_object, text_field};
use crate::rows::StoredRow;
use crate::state_source::TranslationContext;
use crate::step;
use crate::step::{PartFate, UpgradeRefusal};

pub(crate) struct StepV0_7;

impl step::VersionStep for StepV0_7 {
    fn older_release(&self) -> Release {
        Release::V0_7
    }

    fn rewrite(&self, context: &TranslationContext<'_>, action: Action) -> Vec<Action> {
        let before = context.state_before;
        if let Action::Session(SessionAction::WorkingDirectoryReplaced(_)) = &action
            && let Some(before) = before
        {
            return rewrite_directories(before, &action);
        }
        if let Action::Session(SessionAction::InputNeededSet(set)) = &action
            && !is_visible(context, &set.request)
        {
            return remove_replaced_request(context, before, &set.request);
        }
        if let Action::Session(SessionAction::InputNeededRemoved(removed)) = &action
            && let Some(request) =
                before.and_then(|before| find_request(before, removed.id.as_str()))
            && !is_visible(context, request)
        {
            return Vec::new();
        }
        vec![action]
    }

    fn downgrade_part(
        &self,
        context: &TranslationContext<'_>,
        name: &'static str,
        part: &mut Object,
    ) -> PartFate {
        match name {
            "Customization" | "ChildCustomization" if has_enablement(part) => {
                flatten_enablement(part)
            }
            "CustomizationToggled" => flatten_enablement(part),
            "ClientPluginCustomization" => {
                flatten_enablement(part);
                remove_fields(part, &["childEnablement"]);
            }
            "AuthRequiredParams" => {
                if let Some(mut resource) = take_object(part, "resource") {
                    move_field(&mut resource, part, "resource");
                }
            }
            "MultipleWorkingDirectoriesCapability" => remove_fields(part, &["primaryReplacement"]),
            "SessionInputRequest" if is_for_other_client(context, part) => return PartFate::Drop,
            "SessionState" => mark_client_tool_wait(part),
            _ => {}
        }
        PartFate::Keep
    }

    fn downgrade_action(
        &self,
        _at: &TranslationContext<'_>,
        envelope: JsonEnvelope,
    ) -> Vec<JsonEnvelope> {
        if envelope.action_type() == "session/workingDirectoryReplaced" {
            return Vec::new();
        }
        vec![envelope]
    }

    fn downgrade_request(&self, _at: &TranslationContext<'_>, call: &mut JsonCall) {
        remove_fields(&mut call.params, &["_meta"]);
    }

    fn upgrade_dispatch(
        &self,
        context: &TranslationContext<'_>,
        dispatch: &mut JsonDispatch,
    ) -> Result<(), UpgradeRefusal> {
        if dispatch.action_type() == "session/customizationToggled" {
            up::upgrade_toggle(context, dispatch);
        }
        Ok(())
    }

    fn upgrade_part(&self, name: &'static str, part: &mut Object) -> PartFate {
        let decides = match name {
            "ClientPluginCustomization" => true,
            "ChildCustomization" => text_field(part, "type") == Some("mcpServer"),
            _ => false,
        };
        if decides {
            up::set_global_enablement(part);
        }
        PartFate::Keep
    }

    fn migrate_part(
        &self,
        _row: &StoredRow<'_>,
        name: &'static str,
        part: &mut Object,
    ) -> PartFate {
        match name {
            "CustomizationToggled" => up::set_session_enablement(name, part),
            "Customization" | "ChildCustomization" if has_enablement(part) => {
                up::set_session_enablement(name, part);
            }
            "ClientPluginCustomization" => up::set_global_enablement(part),
            _ => {}
        }
        PartFate::Keep
    }
}

/// Returns `true` if the part has enablement decisions.
fn has_enablement(part: &Object) -> bool {
    matches!(text_field(part, "type"), Some("plugin" | "mcpServer"))
}

/// Replaces the decisions by the effective value: that of the first decision, or enabled if
/// there is none.
fn flatten_enablement(part: &mut Object) {
    let decisions = part.shift_remove("enablement");
    let first = decisions.as_ref().and_then(|list| list.get(0));
    let enabled = first.is_none_or(|first| first.get("enabled") == Some(&Json::Bool(true)));
    set_field(part, "enabled", enabled);
}

/// Returns `true` if the client shows the request. Up to 0.7 every open request is an input
/// request to the user, so a tool call that another client executes must be hidden.
fn is_visible(context: &TranslationContext<'_>, request: &SessionInputRequest) -> bool {
    match request {
        SessionInputRequest::ToolClientExecution(tool) => {
            tool.client_id == *context.client.client_id()
        }
        SessionInputRequest::ChatInput(_)
        | SessionInputRequest::ToolConfirmation(_)
        | SessionInputRequest::ToolAuthentication(_)
        | SessionInputRequest::Unknown(_) => true,
    }
}

/// Like [`is_visible`], negated, for a request in JSON.
fn is_for_other_client(context: &TranslationContext<'_>, request: &Object) -> bool {
    text_field(request, "kind") == Some("toolClientExecution")
        && text_field(request, "clientId") != Some(context.client.client_id().as_str())
}

/// Removes a visible request that a hidden one with the same id replaces.
fn remove_replaced_request(
    context: &TranslationContext<'_>,
    before: Option<&ChannelState>,
    request: &SessionInputRequest,
) -> Vec<Action> {
    let Some((before, key)) = before.zip(request.key()) else {
        return Vec::new();
    };
    if !find_request(before, key).is_some_and(|old| is_visible(context, old)) {
        return Vec::new();
    }
    let id = InputNeededId::from(key);
    let removed = SessionAction::InputNeededRemoved(InputNeededRemoved { id });
    vec![Action::Session(removed)]
}

/// Returns the open request of a session with the given id.
fn find_request<'a>(session: &'a ChannelState, key: &str) -> Option<&'a SessionInputRequest> {
    let mut waiting = session.as_session()?.input_needed.as_ref()?.items();
    waiting.find(|request| request.key() == Some(key))
}

/// Sets the status to input needed if the client has to execute a tool call, as the reducer of
/// 0.7 does. The snapshot must agree with it.
fn mark_client_tool_wait(session: &mut Object) {
    let waiting = session.get("inputNeeded").and_then(Json::as_array);
    if waiting.is_some_and(Vec::is_empty) {
        // All requests are hidden, so the list must be absent.
        session.shift_remove("inputNeeded");
        return;
    }
    let runs_tool = waiting.into_iter().flatten().any(|request| {
        let kind = request.get("kind").and_then(Json::as_str);
        kind == Some("toolClientExecution")
    });
    let bits = session.get("status").and_then(Json::as_u64);
    let bits = bits.and_then(|bits| u32::try_from(bits).ok());
    if let (true, Some(bits)) = (runs_tool, bits) {
        let status = SessionStatus::from_bits(bits).with_activity(SessionStatus::INPUT_NEEDED);
        set_field(session, "status", status.bits());
    }
}

/// Rewrites a replacement of directories: 0.7 can only remove and append them. Removes all
/// directories from the first difference on, and appends the new ones.
fn rewrite_directories(before: &ChannelState, action: &Action) -> Vec<Action> {
    let mut after = before.clone();
    if !matches!(after.reduce(action), Outcome::Applied) {
        return Vec::new();
    }
    let (before, after) = (directories(before), directories(&after));
    let mut both = before.iter().zip(after);
    let same = both.position(|(old, new)| old != new);
    let same = same.unwrap_or(before.len().min(after.len()));
    let gone = before.iter().skip(same).map(|directory| {
        let directory = directory.clone();
        SessionAction::WorkingDirectoryRemoved(SessionWorkingDirectoryRemoved { directory })
    });
    let come = after.iter().skip(same).map(|directory| {
        let directory = directory.clone();
        SessionAction::WorkingDirectorySet(SessionWorkingDirectorySet { directory })
    });
    gone.chain(come).map(Action::Session).collect()
}

fn directories(state: &ChannelState) -> &[Uri] {
    let session = state.as_session();
    let directories = session.and_then(|session| session.metadata.working_directories.as_deref());
    directories.unwrap_or_default()
}
