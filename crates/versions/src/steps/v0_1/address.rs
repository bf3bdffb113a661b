//! Where 0.1 says what something is about.

use agenthost_protocol::uri::{OLD_ROOTS, RootChannel};
use agenthost_protocol::wire::{Json, Object};
use serde_json::json;

use crate::document::Call;
use crate::edit::{default, list_mut, remove, rename, set, text};
use crate::step::Refused;

/// Notifications, and what they were called inside of `notification`.
const NOTIFICATIONS: &[(&str, &str)] = &[
    ("root/sessionAdded", "notify/sessionAdded"),
    ("root/sessionRemoved", "notify/sessionRemoved"),
    ("root/sessionSummaryChanged", "notify/sessionSummaryChanged"),
    ("auth/required", "notify/authRequired"),
];

/// Puts the channel of an action into it. `None` if 0.1 has no such channels,
/// and so no such action.
pub(super) fn put_in(action: &mut Object, channel: String) -> Option<()> {
    match area(action)? {
        Area::Root => {}
        Area::Named(field) => set(action, field, channel),
    }
    Some(())
}

/// Takes the channel of an action out of it.
pub(super) fn take_out(action: &mut Object) -> Result<String, Refused> {
    match area(action) {
        Some(Area::Root) => Ok(RootChannel::URI.to_owned()),
        Some(Area::Named(field)) => match action.shift_remove(field) {
            Some(Json::String(address)) => Ok(channel(&address).to_owned()),
            _ => Err(Refused::Invalid(format!("the action has no `{field}`"))),
        },
        None => Err(Refused::Unknown("there is no such action".to_owned())),
    }
}

/// Gives the parameters of a request their channel.
pub(super) fn params(call: &mut Call) -> Result<(), Refused> {
    let field = match call.method.as_str() {
        "subscribe" | "unsubscribe" => Some("resource"),
        "createSession" | "disposeSession" | "fetchTurns" => Some("session"),
        "createTerminal" | "disposeTerminal" => Some("terminal"),
        _ => None,
    };
    let params = &mut call.params;
    if let Some(field) = field {
        let Some(address) = text(params, field) else {
            let method = &call.method;
            let missing = format!("`{method}` has no `{field}`");
            return Err(Refused::Invalid(missing));
        };
        let channel = channel(address).to_owned();
        remove(params, &[field]);
        set(params, "channel", channel);
        return Ok(());
    }
    default(params, "channel", RootChannel::URI);
    match call.method.as_str() {
        "initialize" => {
            name_version(params);
            name_channels(params, "initialSubscriptions");
        }
        "reconnect" => name_channels(params, "subscriptions"),
        _ => {}
    }
    Ok(())
}

/// Puts a notification into the one that 0.1 has for all; `None` if it does
/// not know this one.
pub(super) fn wrap(call: Call) -> Option<Call> {
    let mut names = NOTIFICATIONS.iter();
    let (_, name) = names.find(|(method, _)| *method == call.method)?;
    let mut notification = Object::new();
    set(&mut notification, "type", *name);
    notification.extend(call.params);
    remove(&mut notification, &["channel"]);
    let mut params = Object::new();
    params.insert("notification".to_owned(), Json::Object(notification));
    Some(Call {
        method: "notification".to_owned(),
        params,
    })
}

enum Area {
    Root,
    Named(&'static str),
}

fn area(action: &Object) -> Option<Area> {
    let (area, _) = text(action, "type")?.split_once('/')?;
    match area {
        "root" => Some(Area::Root),
        "session" => Some(Area::Named("session")),
        "terminal" => Some(Area::Named("terminal")),
        _ => None,
    }
}

/// Addresses are opaque, but for the root's.
fn channel(address: &str) -> &str {
    if OLD_ROOTS.contains(&address) {
        return RootChannel::URI;
    }
    address
}

fn name_channels(params: &mut Object, field: &str) {
    for address in list_mut(params, field).into_iter().flatten() {
        if let Some(known) = address.as_str() {
            *address = Json::from(channel(known));
        }
    }
}

/// The version was a number, and there was only one.
fn name_version(params: &mut Object) {
    if params.get("protocolVersion") == Some(&Json::from(1)) {
        rename(params, "protocolVersion", "protocolVersions");
        set(params, "protocolVersions", json!(["0.1.0"]));
    }
}
