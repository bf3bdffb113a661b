//! Upgrades from 0.7 to 0.8.

use agenthost_protocol::session::{
    Customization, CustomizationEnablement, Enablement, SessionState,
};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire;
use agenthost_protocol::wire::{Json, Object};

use crate::document::JsonDispatch;
use crate::edit::{set_default, set_field, text_field};
use crate::state_source::TranslationContext;

/// Upgrades a toggle to a decision for the session; decisions with a wider scope are retained.
/// The list is sorted, session first.
pub(super) fn upgrade_toggle(context: &TranslationContext<'_>, dispatch: &mut JsonDispatch) {
    let Some(enabled) = dispatch.action.get("enabled").and_then(Json::as_bool) else {
        return;
    };
    dispatch.action.shift_remove("enabled");
    let session = context
        .states
        .session(&Uri::from(dispatch.channel.as_str()));
    let id = text_field(&dispatch.action, "id").unwrap_or_default();
    let known = session
        .as_deref()
        .and_then(|session| known_enablement(session, id));
    let mut decided = vec![CustomizationEnablement::Session(Enablement { enabled })];
    decided.extend(
        known
            .into_iter()
            .flatten()
            .filter(|decision| !matches!(decision, CustomizationEnablement::Session(_)))
            .cloned(),
    );
    set_field(&mut dispatch.action, "enablement", wire::to_json(&decided));
}

/// Converts the flag of a client's own plugin to a decision for all sessions.
pub(super) fn set_global_enablement(part: &mut Object) {
    if let Some(enabled) = part.shift_remove("enabled") {
        let decision = serde_json::json!({ "kind": "global", "enabled": enabled });
        set_default(part, "enablement", Json::Array(vec![decision]));
    }
}

/// Converts a stored flag to a decision for the session. An enabled customization needs no
/// decision.
pub(super) fn set_session_enablement(name: &str, part: &mut Object) {
    let Some(enabled) = part.shift_remove("enabled") else {
        return;
    };
    if name == "CustomizationToggled" || enabled == Json::Bool(false) {
        let decision = serde_json::json!({ "kind": "session", "enabled": enabled });
        set_default(part, "enablement", Json::Array(vec![decision]));
    }
}

/// Returns the current decisions for a customization, top-level or in a container.
fn known_enablement<'a>(
    session: &'a SessionState,
    id: &str,
) -> Option<&'a [CustomizationEnablement]> {
    let all = || session.customizations.iter().flat_map(|list| list.items());
    let top = all().find(|one| one.id().is_some_and(|it| it.as_str() == id));
    match top {
        Some(Customization::Plugin(plugin)) => plugin.enablement.as_deref(),
        Some(Customization::McpServer(server)) => server.enablement.as_deref(),
        Some(Customization::Directory(_) | Customization::Unknown(_)) => None,
        None => {
            let mut inside = all().filter_map(Customization::children).flatten();
            let child = inside.find(|one| one.id().is_some_and(|it| it.as_str() == id))?;
            child.as_mcp_server()?.enablement.as_deref()
        }
    }
}
