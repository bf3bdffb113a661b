//! Customizations: references to plugins, known by their address.

use agenthost_protocol::session::{Customization, CustomizationBase, SessionState};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::version::Release;
use agenthost_protocol::wire::{Json, Object};

use crate::chain::Chain;
use crate::edit::{default, list_mut, remove, rename, set, text};
use crate::world::Moment;

/// What a reference to a plugin says.
const REFERENCE: &[&str] = &["uri", "displayName", "icons", "nonce"];

/// Makes a customization a reference, and nothing else.
pub(super) fn refer(customization: &mut Object) {
    rename(customization, "name", "displayName");
    customization.retain(|field, _| REFERENCE.contains(&field.as_str()));
}

/// Makes a customization what a session has of it.
pub(super) fn of_session(customization: &mut Object) {
    let mut whole = std::mem::take(customization);
    let load = whole.shift_remove("load");
    let enabled = whole.shift_remove("enabled").unwrap_or(Json::Bool(true));
    let client = whole.shift_remove("clientId");
    refer(&mut whole);
    set(customization, "customization", Json::Object(whole));
    set(customization, "enabled", enabled);
    if let Some(client) = client {
        set(customization, "clientId", client);
    }
    if let Some(Json::Object(mut load)) = load {
        for (from, to) in [("kind", "status"), ("message", "statusMessage")] {
            if let Some(said) = load.shift_remove(from) {
                set(customization, to, said);
            }
        }
    }
}

/// An agent has the bare references. Those in it are a session's by now.
pub(super) fn of_agent(agent: &mut Object) {
    for customization in list_mut(agent, "customizations").into_iter().flatten() {
        let whole = customization.as_object_mut();
        let reference = whole.and_then(|whole| whole.shift_remove("customization"));
        if let Some(reference) = reference {
            *customization = reference;
        }
    }
}

/// Makes a client's reference a plugin, which goes by its address.
pub(super) fn plugin(reference: &mut Object) {
    rename(reference, "displayName", "name");
    remove(reference, &["description"]);
    if let Some(uri) = text(reference, "uri").map(str::to_owned) {
        default(reference, "name", uri.as_str());
        default(reference, "id", uri);
    }
    default(reference, "enabled", true);
}

/// The action that says all customizations of a session. 0.1 can't say that
/// one of them changed.
pub(super) fn all_again(at: &Moment<'_>, session: &Uri) -> Option<Object> {
    let session = at.world.session(session)?;
    let chain = Chain::to(Release::V0_1);
    let down = |one: &Customization| chain.part(at, "Customization", one).ok()?;
    let all = top(&session).filter_map(down).map(Json::Object).collect();
    let mut action = Object::new();
    set(&mut action, "type", "session/customizationsChanged");
    set(&mut action, "customizations", Json::Array(all));
    Some(action)
}

/// Names a customization by its address instead of its id. `None` if it is
/// none that 0.1 shows.
pub(super) fn name_by_uri(at: &Moment<'_>, session: &Uri, action: &mut Object) -> Option<()> {
    let id = text(action, "id")?;
    let session = at.world.session(session)?;
    let mut shown = shown(&session);
    let uri = shown.find(|base| base.id.as_str() == id)?.uri.to_string();
    remove(action, &["id"]);
    set(action, "uri", uri);
    Some(())
}

/// Names a customization by its id instead of its address. What a client of
/// 0.1 gave goes by its address all along.
pub(super) fn name_by_id(at: &Moment<'_>, session: &Uri, action: &mut Object) {
    let Some(uri) = text(action, "uri") else {
        return;
    };
    let session = at.world.session(session);
    let known = session.and_then(|session| {
        let base = shown(&session).find(|base| base.uri.as_str() == uri)?;
        Some(base.id.to_string())
    });
    let id = known.unwrap_or_else(|| uri.to_owned());
    remove(action, &["uri"]);
    set(action, "id", id);
}

fn top(session: &SessionState) -> impl Iterator<Item = &Customization> {
    let all = session.customizations.iter();
    all.flat_map(|customizations| customizations.items())
}

/// What a client of 0.1 sees: no servers of tools.
fn shown(session: &SessionState) -> impl Iterator<Item = &CustomizationBase> {
    let seen = |one: &&Customization| !matches!(one, Customization::McpServer(_));
    top(session).filter(seen).filter_map(Customization::base)
}
