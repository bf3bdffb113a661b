//! What a list shows of a session, and the same within its state.

use agenthost_protocol::number::Millis;
use agenthost_protocol::timestamp::Timestamp;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::Object;

use super::selection::Selection;
use crate::edit::{default, object_mut, objects_in, remove, set, text};
use crate::world::Moment;

/// Fields that the state of a session has from its summary.
const SHARED: &[&str] = &[
    "provider",
    "title",
    "status",
    "activity",
    "project",
    "workingDirectory",
    "annotations",
];

/// Takes a summary down.
pub(super) fn whole(at: &Moment<'_>, summary: &mut Object) {
    partial(summary);
    default(summary, "createdAt", 0);
    default(summary, "modifiedAt", 0);
    if let Some(session) = text(summary, "resource").map(Uri::from) {
        Selection::of_session(at, &session).put(summary);
    }
}

/// Takes what changed of a summary down.
pub(super) fn partial(summary: &mut Object) {
    remove(summary, &["_meta"]);
    for field in ["createdAt", "modifiedAt"] {
        let Some(time) = summary.shift_remove(field) else {
            continue;
        };
        if let Some(millis) = time.as_str().and_then(to_millis) {
            set(summary, field, millis);
        }
    }
}

/// What changed of a summary says again what is chosen: nothing else in a list
/// does.
pub(super) fn choose_again(at: &Moment<'_>, params: &mut Object) {
    let Some(session) = text(params, "session").map(Uri::from) else {
        return;
    };
    if let Some(changes) = object_mut(params, "changes") {
        Selection::of_session(at, &session).put(changes);
    }
}

/// Puts the summary into the state of a session. When it was created is not in
/// there: the list of sessions knows.
pub(super) fn fold(at: &Moment<'_>, session: &Uri, state: &mut Object) {
    let mut summary = Object::new();
    set(&mut summary, "resource", session.as_str());
    for field in SHARED {
        if let Some(value) = state.shift_remove(*field) {
            set(&mut summary, field, value);
        }
    }
    let times = match at.world.listed(session) {
        Some(listed) => {
            let changes = listed.changes.as_ref().map(serde_json::to_value);
            if let Some(Ok(changes)) = changes {
                set(&mut summary, "changes", changes);
            }
            [&listed.created_at, &listed.modified_at].map(|time| to_millis(time.as_str()))
        }
        None => [latest(state); 2],
    };
    let [created, modified] = times.map(Option::unwrap_or_default);
    set(&mut summary, "createdAt", created);
    set(&mut summary, "modifiedAt", modified);
    Selection::of_session(at, session).put(&mut summary);
    set(state, "summary", summary);
}

/// When a chat of the session last changed.
fn latest(state: &mut Object) -> Option<i64> {
    let chats = objects_in(state, "chats");
    let times = chats.filter_map(|chat| to_millis(text(chat, "modifiedAt")?));
    times.max()
}

fn to_millis(time: &str) -> Option<i64> {
    let Millis(millis) = Timestamp::from(time).to_millis().ok()?;
    Some(millis)
}
