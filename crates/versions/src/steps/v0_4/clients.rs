//! The single active client of 0.4: the receiving client if it is active, otherwise the first
//! one.

use agenthost_protocol::action::Action;
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::session::{
    ActiveClient, ActiveClientRemoved, ActiveClientSet, SessionAction, SessionState,
};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::version::Release;
use agenthost_protocol::wire::{Json, Object};

use crate::chain::VersionChain;
use crate::document::{JsonDispatch, JsonEnvelope};
use crate::edit::{remove_fields, set_field};
use crate::state_source::TranslationContext;
use crate::step::UpgradeRefusal;

/// Replaces the list of active clients by a single one.
pub(super) fn fold_active_clients(context: &TranslationContext<'_>, session: &mut Object) {
    let Some(Json::Array(mut clients)) = session.shift_remove("activeClients") else {
        return;
    };
    let is_own = |client: &Json| {
        let id = client.get("clientId").and_then(Json::as_str);
        id == Some(context.client.client_id().as_str())
    };
    // A single active client is the same for every receiver. Reading the client id would make
    // the translation client-specific.
    let own = match clients.len() {
        0 | 1 => 0,
        _ => clients.iter().position(is_own).unwrap_or(0),
    };
    if own < clients.len() {
        set_field(session, "activeClient", clients.swap_remove(own));
    }
}

/// Rewrites a change of the active clients as the change of the single visible one.
pub(super) fn rewrite_active_client(
    context: &TranslationContext<'_>,
    before: &SessionState,
    action: &Action,
) -> Vec<Action> {
    let after = context.state_after(action);
    // Without a state after it, the action had no effect.
    let after = after.as_ref().and_then(ChannelState::as_session);
    let after = after.unwrap_or(before);
    let (before, after) = (
        visible_client(context, before),
        visible_client(context, after),
    );
    // A client that removes itself without being active needs the current active client: its
    // own reducer applies the removal to the visible one.
    let own = matches!(
        action,
        Action::Session(SessionAction::ActiveClientRemoved(removed))
            if removed.client_id == *context.client.client_id()
    );
    let action = match (before, after) {
        (before, after) if before == after && !own => return Vec::new(),
        (_, Some(client)) => SessionAction::ActiveClientSet(ActiveClientSet {
            active_client: client.clone(),
        }),
        (Some(client), None) => SessionAction::ActiveClientRemoved(ActiveClientRemoved {
            client_id: client.client_id.clone(),
        }),
        (None, None) => return Vec::new(),
    };
    vec![Action::Session(action)]
}

/// Downgrades the action: the visible client changed, has other tools, or was removed.
pub(super) fn downgrade_active_client(
    context: &TranslationContext<'_>,
    envelope: &mut JsonEnvelope,
) {
    let session = envelope.channel.as_deref().map(Uri::from);
    let after = session.and_then(|session| context.states.session(&session));
    let after = after
        .as_deref()
        .and_then(|after| visible_client(context, after));
    let before = context.state_before.and_then(ChannelState::as_session);
    let before = before.and_then(|before| visible_client(context, before));
    let action = &mut envelope.action;
    if let (Some(before), Some(after)) = (before, after)
        && before != after
        && differ_only_in_tools(before, after)
        && let Some(Json::Object(mut client)) = action.shift_remove("activeClient")
    {
        set_field(action, "type", "session/activeClientToolsChanged");
        let tools = client.shift_remove("tools");
        set_field(
            action,
            "tools",
            tools.unwrap_or_else(|| Vec::<Json>::new().into()),
        );
        return;
    }
    set_field(action, "type", "session/activeClientChanged");
    remove_fields(action, &["clientId"]);
    // A client left, and the state before is unknown: the action contains the currently visible
    // client.
    if let (false, Some(client)) = (action.contains_key("activeClient"), after)
        && let Ok(Some(client)) = VersionChain::for_release(Release::V0_5_0).downgrade_part(
            context,
            "ActiveClient",
            client,
        )
    {
        set_field(action, "activeClient", client);
    }
}

/// Upgrades an action with which a client becomes active or inactive.
pub(super) fn upgrade_active_client(context: &TranslationContext<'_>, action: &mut Object) {
    if action.get("activeClient").is_some_and(Json::is_object) {
        set_field(action, "type", "session/activeClientSet");
        return;
    }
    remove_fields(action, &["activeClient"]);
    set_field(action, "type", "session/activeClientRemoved");
    set_field(action, "clientId", context.client.client_id().as_str());
}

/// Upgrades a change of a client's tools to an action with its complete entry.
pub(super) fn upgrade_client_tools(
    context: &TranslationContext<'_>,
    dispatch: &mut JsonDispatch,
) -> Result<(), UpgradeRefusal> {
    let session = context
        .states
        .session(&Uri::from(dispatch.channel.as_str()));
    let own = session.as_deref().and_then(|session| {
        let mut clients = session.active_clients.iter();
        clients.find(|client| client.client_id == *context.client.client_id())
    });
    let own = own.map(|own| {
        VersionChain::for_release(Release::V0_5_0).downgrade_part(context, "ActiveClient", own)
    });
    let Some(Ok(Some(mut own))) = own else {
        let reason = "only an active client can change its tools".to_owned();
        return Err(UpgradeRefusal::Invalid(reason));
    };
    if let Some(tools) = dispatch.action.shift_remove("tools") {
        set_field(&mut own, "tools", tools);
    }
    set_field(&mut dispatch.action, "type", "session/activeClientSet");
    set_field(&mut dispatch.action, "activeClient", own);
    Ok(())
}

fn visible_client<'a>(
    context: &TranslationContext<'_>,
    session: &'a SessionState,
) -> Option<&'a ActiveClient> {
    let clients = &session.active_clients;
    let own = match clients.len() {
        0 | 1 => None,
        _ => {
            let client = context.client.client_id();
            clients.iter().find(|other| other.client_id == *client)
        }
    };
    own.or(clients.first())
}

fn differ_only_in_tools(before: &ActiveClient, after: &ActiveClient) -> bool {
    let before = ActiveClient {
        tools: after.tools.clone(),
        ..before.clone()
    };
    before == *after
}
