//! Derives summaries of sessions and chats from their states, and the differences between
//! summaries.

use agenthost_protocol::chat::{ChatSummary, PartialChatSummary};
use agenthost_protocol::common::{Meta, SessionStatus};
use agenthost_protocol::session::{
    PartialSessionSummary, SessionChatSummary, SessionLifecycle, SessionState, SessionSummary,
};
use agenthost_protocol::timestamp::Timestamp;
use agenthost_protocol::wire::Json;

/// The `_meta` key of a session in the list for the reason for which it could not be created.
const CREATION_ERROR_META_KEY: &str = "agenthost.creationError";

/// Maximum length of that reason in characters. The state of the session has all of it.
const MAX_LISTED_REASON_CHARS: usize = 400;

/// Returns the status of a session: that of its default chat, unless another chat needs the
/// user or has failed (AGG-8, AGG-9), or the session could not be created. The flags are the
/// session's own.
pub(crate) fn status(session: &SessionState) -> SessionStatus {
    if session.lifecycle == SessionLifecycle::Failed {
        return session.metadata.status.with_activity(SessionStatus::ERROR);
    }
    let activity = driving_chat(session).map_or(SessionStatus::IDLE, |chat| chat.status.activity());
    session.metadata.status.with_activity(activity)
}

/// Returns the chat that determines the status of a session.
fn driving_chat(session: &SessionState) -> Option<&ChatSummary> {
    let with = |activity: SessionStatus| {
        let mut chats = session.chats.items();
        chats.find(|chat| chat.status.activity() == activity)
    };
    let default = session.default_chat.as_ref().and_then(|default| {
        let mut chats = session.chats.items();
        chats.find(|chat| chat.resource == *default)
    });
    let latest = || {
        let chats = session.chats.items();
        chats.max_by_key(|chat| chat.modified_at.to_millis().ok())
    };
    with(SessionStatus::INPUT_NEEDED)
        .or_else(|| with(SessionStatus::ERROR))
        .or(default)
        .or_else(latest)
}

/// Returns the activity of a session as text: that of the chat that determines its status.
pub(crate) fn activity(session: &SessionState) -> Option<String> {
    driving_chat(session).and_then(|chat| chat.activity.clone())
}

/// Returns the summary of a session, given the previous one.
pub(crate) fn summarize_session(session: &SessionState, before: &SessionSummary) -> SessionSummary {
    let mut metadata = session.metadata.clone();
    metadata.status = status(session);
    metadata
        .annotations
        .clone_from(&before.metadata.annotations);
    metadata.activity = activity(session);
    let chats = session.chats.items().map(|chat| SessionChatSummary {
        resource: chat.resource.clone(),
        title: chat.title.clone(),
        origin: chat.origin.clone(),
        interactivity: chat.interactivity,
        status: Some(chat.status),
        changes: chat.changes.clone(),
    });
    SessionSummary {
        metadata,
        resource: before.resource.clone(),
        created_at: before.created_at.clone(),
        modified_at: modified_at(session).unwrap_or_else(|| before.modified_at.clone()),
        changes: before.changes.clone(),
        meta: listed_meta(session, before),
        chats: Some(chats.collect()),
        default_chat: session.default_chat.clone(),
    }
}

/// Returns the `_meta` of a session in the list. Clients do not subscribe to all sessions, so the
/// list has the reason for which one could not be created.
fn listed_meta(session: &SessionState, before: &SessionSummary) -> Option<Meta> {
    let mut meta = before.meta.clone();
    if let Some(error) = &session.creation_error {
        let reason: String = error
            .message
            .chars()
            .take(MAX_LISTED_REASON_CHARS)
            .collect();
        meta.get_or_insert_default()
            .insert(CREATION_ERROR_META_KEY.to_owned(), Json::from(reason));
    }
    meta
}

fn modified_at(session: &SessionState) -> Option<Timestamp> {
    let times = session.chats.items().map(|chat| &chat.modified_at);
    times.max_by_key(|time| time.to_millis().ok()).cloned()
}

/// Returns the changed fields between two summaries of a session; `None` if they are equal. A
/// field that can't be cleared is sent empty.
pub(crate) fn session_changes(
    before: &SessionSummary,
    after: &SessionSummary,
) -> Option<PartialSessionSummary> {
    if before == after {
        return None;
    }
    let (old, new) = (&before.metadata, &after.metadata);
    let activity =
        changed(&old.activity, &new.activity).then(|| new.activity.clone().unwrap_or_default());
    Some(PartialSessionSummary {
        title: changed(&old.title, &new.title).then(|| new.title.clone()),
        status: changed(&old.status, &new.status).then_some(new.status),
        activity,
        project: only_if(changed(&old.project, &new.project), &new.project),
        working_directories: only_if(
            changed(&old.working_directories, &new.working_directories),
            &new.working_directories,
        ),
        annotations: only_if(
            changed(&old.annotations, &new.annotations),
            &new.annotations,
        ),
        modified_at: changed(&before.modified_at, &after.modified_at)
            .then(|| after.modified_at.clone()),
        changes: only_if(changed(&before.changes, &after.changes), &after.changes),
        meta: only_if(changed(&before.meta, &after.meta), &after.meta),
        chats: only_if(changed(&before.chats, &after.chats), &after.chats),
        default_chat: only_if(
            changed(&before.default_chat, &after.default_chat),
            &after.default_chat,
        ),
        ..PartialSessionSummary::default()
    })
}

/// Returns all fields of a summary that can change.
pub(crate) fn all_fields(listed: &SessionSummary) -> PartialSessionSummary {
    let metadata = &listed.metadata;
    PartialSessionSummary {
        title: Some(metadata.title.clone()),
        status: Some(metadata.status),
        activity: Some(metadata.activity.clone().unwrap_or_default()),
        project: metadata.project.clone(),
        working_directories: metadata.working_directories.clone(),
        annotations: metadata.annotations.clone(),
        modified_at: Some(listed.modified_at.clone()),
        changes: listed.changes.clone(),
        meta: listed.meta.clone(),
        chats: listed.chats.clone(),
        default_chat: listed.default_chat.clone(),
        ..PartialSessionSummary::default()
    }
}

/// The update that the session's entry of a chat needs.
pub(crate) enum ChatChange {
    /// The entry is up to date.
    Unchanged,
    /// Only these fields have changed.
    Partial(Box<PartialChatSummary>),
    /// A field was cleared, which a partial update can't express, so the entry is replaced
    /// (SYN-5).
    Full,
}

pub(crate) fn chat_change(before: &ChatSummary, after: &ChatSummary) -> ChatChange {
    if before == after {
        return ChatChange::Unchanged;
    }
    let cleared = before.activity.is_some() && after.activity.is_none()
        || before.changes.is_some() && after.changes.is_none()
        || before.working_directories.is_some() && after.working_directories.is_none();
    // Some clients ignore these two fields in a partial update (CRT-1).
    let passed_over = changed(&before.movable, &after.movable)
        || changed(&before.interactivity, &after.interactivity);
    if cleared || passed_over {
        return ChatChange::Full;
    }
    ChatChange::Partial(Box::new(PartialChatSummary {
        title: changed(&before.title, &after.title).then(|| after.title.clone()),
        status: changed(&before.status, &after.status).then_some(after.status),
        activity: only_if(changed(&before.activity, &after.activity), &after.activity),
        modified_at: changed(&before.modified_at, &after.modified_at)
            .then(|| after.modified_at.clone()),
        changes: only_if(changed(&before.changes, &after.changes), &after.changes),
        working_directories: only_if(
            changed(&before.working_directories, &after.working_directories),
            &after.working_directories,
        ),
        ..PartialChatSummary::default()
    }))
}

fn changed<T: PartialEq>(before: &T, after: &T) -> bool {
    before != after
}

fn only_if<T: Clone>(condition: bool, value: &Option<T>) -> Option<T> {
    if condition { value.clone() } else { None }
}
