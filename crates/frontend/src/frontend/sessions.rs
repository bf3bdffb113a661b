//! The session list, and the commands on sessions.

use std::collections::BTreeMap;

use agenthost_protocol::common::SessionStatus;
use agenthost_protocol::root::{ListSessionsParams, ListSessionsResult};
use agenthost_protocol::rpc::HostNotification;
use agenthost_protocol::session::{
    DisposeSessionParams, PartialSessionSummary, SessionAction, SessionConfigChanged,
    SessionIsArchivedChanged, SessionIsReadChanged, SessionSummary, SessionTitleChanged,
};
use agenthost_protocol::sorted::SortedSet;
use agenthost_protocol::uri::{RootChannel, Uri};
use agenthost_protocol::wire::{Json, Object};

use super::Frontend;
use super::responses::{ResponsePurpose, discard};

/// Sessions that are requested at once.
const SESSIONS_PER_PAGE: u64 = 500;

/// Waiting sessions that the page subscribes to, for their requests in the inbox.
const MAX_WAITING_SESSIONS: usize = 50;

/// All sessions of the host.
#[derive(Debug, Default)]
pub(super) struct SessionTable {
    summaries: BTreeMap<Uri, SessionSummary>,
    /// Sessions of the pages that have arrived, until the list is complete.
    incoming: BTreeMap<Uri, SessionSummary>,
    /// Number of the newest request for the list; pages of earlier ones are ignored.
    generation: u64,
}

impl SessionTable {
    pub(super) fn summaries(&self) -> impl Iterator<Item = &SessionSummary> {
        self.summaries.values()
    }

    /// Restores summaries that were saved. The host sends the present ones.
    pub(super) fn restore(&mut self, summaries: Vec<SessionSummary>) {
        let entries = summaries.into_iter();
        let entries = entries.map(|summary| (summary.resource.clone(), summary));
        self.summaries.clear();
        self.summaries.extend(entries);
    }

    /// Returns a copy of the list, for a later comparison.
    pub(super) fn snapshot(&self) -> BTreeMap<Uri, SessionSummary> {
        self.summaries.clone()
    }

    pub(super) fn get(&self, session: &Uri) -> Option<&SessionSummary> {
        self.summaries.get(session)
    }
}

impl Frontend {
    /// Requests the list from its beginning.
    pub(super) fn list_sessions(&mut self) {
        self.sessions.generation += 1;
        self.sessions.incoming.clear();
        self.request_session_page(None);
    }

    fn request_session_page(&mut self, cursor: Option<String>) {
        let generation = self.sessions.generation;
        let params = ListSessionsParams {
            channel: RootChannel,
            limit: Some(SESSIONS_PER_PAGE),
            cursor,
            meta: None,
        };
        self.request(&params, ResponsePurpose::Sessions { generation });
    }

    pub(super) fn add_session_page(&mut self, generation: u64, page: ListSessionsResult) {
        if generation != self.sessions.generation {
            return;
        }
        let entries = page.items.into_iter();
        let entries = entries.map(|summary| (summary.resource.clone(), summary));
        self.sessions.incoming.extend(entries);
        match page.next_cursor {
            Some(cursor) => {
                // The first page is shown at once.
                let incoming = self.sessions.incoming.clone();
                self.sessions.summaries.extend(incoming);
                self.request_session_page(Some(cursor));
            }
            None => {
                self.sessions.summaries = std::mem::take(&mut self.sessions.incoming);
                self.note_return();
            }
        }
        self.dirty.sessions = true;
        self.sync_subscriptions();
    }

    pub(super) fn handle_notification(&mut self, notification: HostNotification) {
        match notification {
            HostNotification::SessionAdded(added) => {
                let summary = added.summary;
                let session = summary.resource.clone();
                self.sessions
                    .incoming
                    .insert(session.clone(), summary.clone());
                self.sessions.summaries.insert(session, summary);
            }
            HostNotification::SessionRemoved(removed) => {
                self.sessions.incoming.remove(&removed.session);
                self.sessions.summaries.remove(&removed.session);
                self.drop_first_message(&removed.session);
                if self.session.as_ref() == Some(&removed.session) {
                    self.leave_session();
                }
            }
            HostNotification::SessionSummaryChanged(changed) => {
                let session = &changed.session;
                let tables = [&mut self.sessions.incoming, &mut self.sessions.summaries];
                for summary in tables
                    .into_iter()
                    .filter_map(|table| table.get_mut(session))
                {
                    merge_summary(summary, &changed.changes);
                }
            }
            HostNotification::AuthRequired(required) => self.add_required_token(&required),
            // Actions are updates of their own, and the page does not use the others.
            HostNotification::Action(_)
            | HostNotification::Progress(_)
            | HostNotification::OtlpExportLogs(_)
            | HostNotification::OtlpExportTraces(_)
            | HostNotification::OtlpExportMetrics(_) => return,
        }
        self.dirty.sessions = true;
        self.mark_unsaved();
        self.sync_subscriptions();
        // The user sees the session that is open.
        self.mark_selected_read();
    }

    /// Follows the sessions whose requests the inbox shows, and no others.
    pub(super) fn sync_subscriptions(&mut self) {
        let waiting = self.sessions.summaries().filter(|summary| {
            let status = summary.metadata.status;
            status.contains(SessionStatus::INPUT_NEEDED)
        });
        let waiting = waiting.map(|summary| summary.resource.clone());
        let mut wanted: SortedSet<_> = waiting.take(MAX_WAITING_SESSIONS).collect();
        wanted.extend(self.session.clone());
        wanted.extend(self.starting_sessions().cloned());
        let followed: SortedSet<_> = match &self.engine {
            Some(engine) => engine.channels().cloned().collect(),
            None => return,
        };
        for session in wanted.iter().filter(|uri| !followed.contains(*uri)) {
            self.follow(session);
        }
        for channel in followed.iter().filter(|uri| !wanted.contains(*uri)) {
            if self.sessions.summaries.contains_key(channel) {
                self.unfollow(channel);
            }
        }
    }

    pub(super) fn select_session(&mut self, id: u64, session: Uri) {
        self.show_session(session);
        self.done(id);
    }

    pub(super) fn show_session(&mut self, session: Uri) {
        if self.session.as_ref() != Some(&session) {
            self.leave_session();
            let chat = self.default_chat(&session);
            self.session = Some(session);
            self.sync_subscriptions();
            self.show_chat(chat);
        }
        self.mark_selected_read();
        self.dirty.sessions = true;
    }

    /// Ends the subscriptions of the selected session, its chat and its changes.
    pub(super) fn leave_session(&mut self) {
        if let Some(chat) = self.chat.take() {
            self.unfollow(&chat);
        }
        self.leave_changeset();
        self.session = None;
        self.slices.reset_timeline();
        self.dirty.chat = true;
        self.dirty.changes = true;
    }

    pub(super) fn rename(&mut self, id: u64, session: String, title: String) {
        let action = SessionAction::TitleChanged(SessionTitleChanged { title });
        self.dispatch(id, &Uri::from(session), action.into(), None);
    }

    pub(super) fn archive(&mut self, id: u64, session: String, is_archived: bool) {
        let action = SessionIsArchivedChanged { is_archived };
        let action = SessionAction::IsArchivedChanged(action);
        self.dispatch(id, &Uri::from(session), action.into(), None);
    }

    /// Marks the selected session as read, if it is not.
    fn mark_selected_read(&mut self) {
        if self.host.is_read_only() {
            return;
        }
        let summary = self.session.as_ref();
        let summary = summary.and_then(|session| self.sessions.get(session));
        let unread = summary.filter(|summary| {
            let status = summary.metadata.status;
            let is_over = !status.contains(SessionStatus::IN_PROGRESS);
            is_over && !status.contains(SessionStatus::IS_READ)
        });
        if let Some(session) = unread.map(|summary| summary.resource.to_string()) {
            self.mark_read(0, session);
        }
    }

    pub(super) fn mark_read(&mut self, id: u64, session: String) {
        let action = SessionAction::IsReadChanged(SessionIsReadChanged { is_read: true });
        self.dispatch(id, &Uri::from(session), action.into(), None);
    }

    pub(super) fn set_config(&mut self, id: u64, key: String, value: String) {
        let Some(session) = self.session.clone() else {
            return self.fail(id, "no session is selected".to_owned());
        };
        let mut config = Object::new();
        config.insert(key, Json::from(value));
        let action = SessionConfigChanged {
            config,
            replace: None,
        };
        let action = SessionAction::ConfigChanged(action);
        self.dispatch(id, &session, action.into(), None);
    }

    pub(super) fn delete(&mut self, id: u64, session: String) {
        let params = DisposeSessionParams {
            channel: Uri::from(session),
            meta: None,
        };
        self.request_for(id, &params, discard::<DisposeSessionParams>);
    }
}

/// Returns the URI of a folder that the user entered as a path or as a URI.
pub(super) fn folder_uri(folder: &str) -> Uri {
    // A single letter before the colon is a drive.
    let scheme = folder.split_once(':').map_or("", |(scheme, _)| scheme);
    let in_scheme = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    if scheme.len() > 1 && scheme.bytes().all(in_scheme) {
        return Uri::from(folder);
    }
    let mut path = String::with_capacity(folder.len());
    for byte in folder.bytes() {
        match byte {
            b'/' | b'-' | b'_' | b'.' | b'~' => path.push(char::from(byte)),
            _ if byte.is_ascii_alphanumeric() => path.push(char::from(byte)),
            _ => path.push_str(&format!("%{byte:02X}")),
        }
    }
    Uri::from(format!("file://{path}"))
}

/// Applies the changes of a summary. An absent field stays unchanged (SYN-5).
fn merge_summary(summary: &mut SessionSummary, changes: &PartialSessionSummary) {
    fn set<T: Clone>(field: &mut T, change: &Option<T>) {
        if let Some(change) = change {
            field.clone_from(change);
        }
    }
    fn set_option<T: Clone>(field: &mut Option<T>, change: &Option<T>) {
        if change.is_some() {
            field.clone_from(change);
        }
    }
    let metadata = &mut summary.metadata;
    set(&mut metadata.provider, &changes.provider);
    set(&mut metadata.title, &changes.title);
    set(&mut metadata.status, &changes.status);
    set_option(&mut metadata.activity, &changes.activity);
    set_option(&mut metadata.origin, &changes.origin);
    set_option(&mut metadata.project, &changes.project);
    set_option(
        &mut metadata.working_directories,
        &changes.working_directories,
    );
    set_option(&mut metadata.annotations, &changes.annotations);
    set(&mut summary.created_at, &changes.created_at);
    set(&mut summary.modified_at, &changes.modified_at);
    set_option(&mut summary.changes, &changes.changes);
    set_option(&mut summary.meta, &changes.meta);
    set_option(&mut summary.chats, &changes.chats);
    set_option(&mut summary.default_chat, &changes.default_chat);
}
