//! Converts between channels and the addresses in actions and parameters of 0.1.

use agenthost_protocol::uri::{LEGACY_ROOT_URIS, RootChannel};
use agenthost_protocol::wire::{Json, Object};
use serde_json::json;

use crate::document::JsonCall;
use crate::edit::{list_mut, remove_fields, rename_field, set_default, set_field, text_field};
use crate::step::UpgradeRefusal;

/// Notification methods, with their type inside of `notification` in 0.1.
const NOTIFICATIONS: &[(&str, &str)] = &[
    ("root/sessionAdded", "notify/sessionAdded"),
    ("root/sessionRemoved", "notify/sessionRemoved"),
    ("root/sessionSummaryChanged", "notify/sessionSummaryChanged"),
    ("auth/required", "notify/authRequired"),
];

/// Adds the channel to an action. Returns `None` if 0.1 has no such channel, and therefore no
/// such action.
pub(super) fn set_action_address(action: &mut Object, channel: String) -> Option<()> {
    match action_area(action)? {
        AddressArea::Root => {}
        AddressArea::Named(field) => set_field(action, field, channel),
    }
    Some(())
}

/// Removes the channel from an action and returns it.
pub(super) fn take_action_channel(action: &mut Object) -> Result<String, UpgradeRefusal> {
    match action_area(action) {
        Some(AddressArea::Root) => Ok(RootChannel::URI.to_owned()),
        Some(AddressArea::Named(field)) => match action.shift_remove(field) {
            Some(Json::String(address)) => Ok(to_channel(&address).to_owned()),
            _ => Err(UpgradeRefusal::Invalid(format!(
                "the action has no `{field}`"
            ))),
        },
        None => Err(UpgradeRefusal::Unknown(
            "there is no such action".to_owned(),
        )),
    }
}

/// Sets the channel in the parameters of a request.
pub(super) fn set_params_channel(call: &mut JsonCall) -> Result<(), UpgradeRefusal> {
    let field = match call.method.as_str() {
        "subscribe" | "unsubscribe" => Some("resource"),
        "createSession" | "disposeSession" | "fetchTurns" => Some("session"),
        "createTerminal" | "disposeTerminal" => Some("terminal"),
        _ => None,
    };
    let params = &mut call.params;
    if let Some(field) = field {
        let Some(address) = text_field(params, field) else {
            let method = &call.method;
            let missing = format!("`{method}` has no `{field}`");
            return Err(UpgradeRefusal::Invalid(missing));
        };
        let channel = to_channel(address).to_owned();
        remove_fields(params, &[field]);
        set_field(params, "channel", channel);
        return Ok(());
    }
    set_default(params, "channel", RootChannel::URI);
    match call.method.as_str() {
        "initialize" => {
            upgrade_version(params);
            upgrade_channels(params, "initialSubscriptions");
        }
        "reconnect" => upgrade_channels(params, "subscriptions"),
        _ => {}
    }
    Ok(())
}

/// Wraps a notification in the single notification method of 0.1; returns `None` if 0.1 does
/// not have it.
pub(super) fn wrap_notification(call: JsonCall) -> Option<JsonCall> {
    let mut names = NOTIFICATIONS.iter();
    let (_, name) = names.find(|(method, _)| *method == call.method)?;
    let mut notification = Object::new();
    set_field(&mut notification, "type", *name);
    notification.extend(call.params);
    remove_fields(&mut notification, &["channel"]);
    let mut params = Object::new();
    params.insert("notification".to_owned(), Json::Object(notification));
    Some(JsonCall {
        method: "notification".to_owned(),
        params,
    })
}

enum AddressArea {
    Root,
    Named(&'static str),
}

fn action_area(action: &Object) -> Option<AddressArea> {
    let (area, _) = text_field(action, "type")?.split_once('/')?;
    match area {
        "root" => Some(AddressArea::Root),
        "session" => Some(AddressArea::Named("session")),
        "terminal" => Some(AddressArea::Named("terminal")),
        _ => None,
    }
}

/// Converts the URI of the root channel; all other URIs are opaque.
fn to_channel(address: &str) -> &str {
    if LEGACY_ROOT_URIS.contains(&address) {
        return RootChannel::URI;
    }
    address
}

fn upgrade_channels(params: &mut Object, field: &str) {
    for address in list_mut(params, field).into_iter().flatten() {
        if let Some(known) = address.as_str() {
            *address = Json::from(to_channel(known));
        }
    }
}

/// Converts the version, which was a number with only one value.
fn upgrade_version(params: &mut Object) {
    if params.get("protocolVersion") == Some(&Json::from(1)) {
        rename_field(params, "protocolVersion", "protocolVersions");
        set_field(params, "protocolVersions", json!(["0.1.0"]));
    }
}
