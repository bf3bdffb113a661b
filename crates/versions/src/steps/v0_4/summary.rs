//! Downgrades session summaries, and moves the summary into the session state.

use agenthost_protocol::number::Millis;
use agenthost_protocol::timestamp::Timestamp;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::Object;

use super::selection::ModelChoice;
use crate::edit::{
    list_objects_mut, object_mut, remove_fields, set_default, set_field, text_field,
};
use crate::state_source::TranslationContext;

/// Fields of the session state that belong to the summary in 0.4.
const SUMMARY_FIELDS: &[&str] = &[
    "provider",
    "title",
    "status",
    "activity",
    "project",
    "workingDirectory",
    "annotations",
];

/// Downgrades a complete summary.
pub(super) fn downgrade_summary(context: &TranslationContext<'_>, summary: &mut Object) {
    downgrade_partial_summary(summary);
    set_default(summary, "createdAt", 0);
    set_default(summary, "modifiedAt", 0);
    if let Some(session) = text_field(summary, "resource").map(Uri::from) {
        ModelChoice::of_session(context, &session).write_to(summary);
    }
}

pub(super) fn downgrade_partial_summary(summary: &mut Object) {
    remove_fields(summary, &["_meta"]);
    for field in ["createdAt", "modifiedAt"] {
        let Some(time) = summary.shift_remove(field) else {
            continue;
        };
        if let Some(millis) = time.as_str().and_then(to_millis) {
            set_field(summary, field, millis);
        }
    }
}

/// Adds the selection to a partial summary, because no other notification updates it in the
/// session list.
pub(super) fn add_choice_to_changes(context: &TranslationContext<'_>, params: &mut Object) {
    let Some(session) = text_field(params, "session").map(Uri::from) else {
        return;
    };
    if let Some(changes) = object_mut(params, "changes") {
        ModelChoice::of_session(context, &session).write_to(changes);
    }
}

/// Moves the summary fields of a session state into `summary`. The state has no creation time,
/// so it is read from the session list.
pub(super) fn fold_summary(context: &TranslationContext<'_>, session: &Uri, state: &mut Object) {
    let mut summary = Object::new();
    set_field(&mut summary, "resource", session.as_str());
    for field in SUMMARY_FIELDS {
        if let Some(value) = state.shift_remove(*field) {
            set_field(&mut summary, field, value);
        }
    }
    let times = match context.states.session_summary(session) {
        Some(listed) => {
            let changes = listed.changes.as_ref().map(serde_json::to_value);
            if let Some(Ok(changes)) = changes {
                set_field(&mut summary, "changes", changes);
            }
            [&listed.created_at, &listed.modified_at].map(|time| to_millis(time.as_str()))
        }
        None => [latest_change_millis(state); 2],
    };
    let [created, modified] = times.map(Option::unwrap_or_default);
    set_field(&mut summary, "createdAt", created);
    set_field(&mut summary, "modifiedAt", modified);
    ModelChoice::of_session(context, session).write_to(&mut summary);
    set_field(state, "summary", summary);
}

/// Returns the latest modification time of the session's chats.
fn latest_change_millis(state: &mut Object) -> Option<i64> {
    let chats = list_objects_mut(state, "chats");
    let times = chats.filter_map(|chat| to_millis(text_field(chat, "modifiedAt")?));
    times.max()
}

fn to_millis(time: &str) -> Option<i64> {
    let Millis(millis) = Timestamp::from(time).to_millis().ok()?;
    Some(millis)
}
