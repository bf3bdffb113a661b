//! Customizations of 0.1: references to plugins, identified by their URI.

use agenthost_protocol::session::{Customization, SessionState};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::version::Release;
use agenthost_protocol::wire::{Json, Object};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use crate::chain::VersionChain;
use crate::edit::{
    list_mut, list_objects_mut, move_field, object_mut, remove_fields, rename_field, set_default,
    set_field, text_field,
};
use crate::state_source::TranslationContext;

/// Fields of a reference to a plugin.
const REFERENCE_FIELDS: &[&str] = &["uri", "displayName", "icons", "nonce"];

/// Converts a customization to a plain reference.
pub(super) fn to_reference(customization: &mut Object) {
    rename_field(customization, "name", "displayName");
    customization.retain(|field, _| REFERENCE_FIELDS.contains(&field.as_str()));
}

/// Converts a customization to the entry of a session. The id stays until [`make_uris_unique`]
/// has processed the whole list.
pub(super) fn to_session_entry(customization: &mut Object) {
    let mut whole = std::mem::take(customization);
    move_field(&mut whole, customization, "id");
    let load = whole.shift_remove("load");
    let enabled = whole.shift_remove("enabled").unwrap_or(Json::Bool(true));
    let client = whole.shift_remove("clientId");
    to_reference(&mut whole);
    set_field(customization, "customization", Json::Object(whole));
    set_field(customization, "enabled", enabled);
    if let Some(client) = client {
        set_field(customization, "clientId", client);
    }
    if let Some(Json::Object(mut load)) = load {
        for (from, to) in [("kind", "status"), ("message", "statusMessage")] {
            if let Some(said) = load.shift_remove(from) {
                set_field(customization, to, said);
            }
        }
    }
}

/// Makes the URIs of a list of session entries unique and removes the ids. In 0.1 the URI is
/// the identity, but several customizations can have the same one.
pub(super) fn make_uris_unique(owner: &mut Object) {
    let name = |one: &Json| -> Option<(String, String)> {
        let uri = one.get("customization")?.get("uri")?.as_str()?;
        Some((one.get("id")?.as_str()?.to_owned(), uri.to_owned()))
    };
    let all = owner.get("customizations").and_then(Json::as_array);
    let names: Vec<_> = all.into_iter().flatten().filter_map(name).collect();
    for one in list_objects_mut(owner, "customizations") {
        let id = one.shift_remove("id");
        let id = id.as_ref().and_then(Json::as_str);
        if let Some(reference) = object_mut(one, "customization")
            && let Some(address) = id.and_then(|id| unique_uri(&names, id))
        {
            set_field(reference, "uri", address);
        }
    }
}

/// Returns the URI of a customization, with its id as fragment if another one has the same URI.
/// `names` has the ids and URIs of all customizations.
fn unique_uri(names: &[(String, String)], id: &str) -> Option<String> {
    let (_, uri) = names.iter().find(|(other, _)| other == id)?;
    let same = names.iter().filter(|(_, other)| other == uri).count();
    Some(match same {
        1 => uri.clone(),
        _ => format!("{uri}#{}", utf8_percent_encode(id, NON_ALPHANUMERIC)),
    })
}

/// Replaces session entries in an agent by plain references.
pub(super) fn unwrap_agent_references(agent: &mut Object) {
    for customization in list_mut(agent, "customizations").into_iter().flatten() {
        let whole = customization.as_object_mut();
        let reference = whole.and_then(|whole| whole.shift_remove("customization"));
        if let Some(reference) = reference {
            *customization = reference;
        }
    }
}

/// Converts a client's reference to a plugin; its id is the URI.
pub(super) fn to_plugin(reference: &mut Object) {
    rename_field(reference, "displayName", "name");
    remove_fields(reference, &["description"]);
    if let Some(uri) = text_field(reference, "uri").map(str::to_owned) {
        set_default(reference, "name", uri.as_str());
        set_default(reference, "id", uri);
    }
    set_default(reference, "enabled", true);
}

/// Returns an action with all customizations of a session, because 0.1 can't update a single
/// one.
pub(super) fn customizations_changed(
    context: &TranslationContext<'_>,
    session: &Uri,
) -> Option<Object> {
    let session = context.states.session(session)?;
    let chain = VersionChain::for_release(Release::V0_1);
    let down = |one: &Customization| chain.downgrade_part(context, "Customization", one).ok()?;
    let all = session_customizations(&session)
        .filter_map(down)
        .map(Json::Object)
        .collect();
    let mut action = Object::new();
    set_field(&mut action, "type", "session/customizationsChanged");
    set_field(&mut action, "customizations", Json::Array(all));
    make_uris_unique(&mut action);
    Some(action)
}

/// Replaces the id of a customization by its URI. Returns `None` if it is not visible in 0.1.
pub(super) fn replace_id_with_uri(
    context: &TranslationContext<'_>,
    session: &Uri,
    action: &mut Object,
) -> Option<()> {
    let id = text_field(action, "id")?;
    let session = context.states.session(session)?;
    let uri = unique_uri(&visible_ids(&session), id)?;
    remove_fields(action, &["id"]);
    set_field(action, "uri", uri);
    Some(())
}

/// Replaces the URI of a customization by its id. The id of a plugin from a client of 0.1 is
/// its URI.
pub(super) fn replace_uri_with_id(
    context: &TranslationContext<'_>,
    session: &Uri,
    action: &mut Object,
) {
    let Some(uri) = text_field(action, "uri") else {
        return;
    };
    let shown = context
        .states
        .session(session)
        .map(|session| visible_ids(&session));
    let shown = shown.unwrap_or_default();
    let mut ids = shown.iter().map(|(id, _)| id);
    let known = ids.find(|id| unique_uri(&shown, id).as_deref() == Some(uri));
    let id = known.cloned().unwrap_or_else(|| uri.to_owned());
    remove_fields(action, &["uri"]);
    set_field(action, "id", id);
}

fn session_customizations(session: &SessionState) -> impl Iterator<Item = &Customization> {
    let all = session.customizations.iter();
    all.flat_map(|customizations| customizations.items())
}

/// Returns the ids and URIs of the customizations that are visible in 0.1: all except MCP
/// servers.
fn visible_ids(session: &SessionState) -> Vec<(String, String)> {
    let seen = |one: &&Customization| !matches!(one, Customization::McpServer(_));
    let seen = session_customizations(session)
        .filter(seen)
        .filter_map(Customization::base);
    seen.map(|base| (base.id.to_string(), base.uri.to_string()))
        .collect()
}
