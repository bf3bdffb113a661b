//! The session list: its entries, and the changes that a client missed.
//!
//! Notifications about the list are not replayed (ROOT-16), and a client should list the
//! sessions again when it reconnects. VS Code does not, so the host sends it the changes.

pub(crate) mod retention;

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use agenthost_protocol::ids::{ProviderId, ServerSeq};
use agenthost_protocol::root::{
    SessionAddedParams, SessionRemovedParams, SessionSummaryChangedParams,
};
use agenthost_protocol::rpc::HostNotification;
use agenthost_protocol::session::{SessionAction, SessionActivityChanged, SessionSummary};
use agenthost_protocol::uri::{RootChannel, Uri};

use crate::host::Host;
use crate::host::effect::{Effect, Effects, StoreWrite};
use crate::host::input::ConnectionId;
use crate::session::{provisional, summary};

/// Maximum number of changed sessions that a reconnecting client is notified of, the most
/// recently modified first.
const MAX_CATCH_UP_SESSIONS: usize = 1_000;

/// Maximum number of removed sessions that the host remembers.
pub const MAX_REMOVED_SESSIONS: usize = 1_000;

/// A session that was removed from the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemovedSession {
    /// URI of the removed session.
    pub session: Uri,
    /// The agent that it had.
    pub provider: ProviderId,
    /// The last sequence number before the removal.
    pub seq: ServerSeq,
}

/// The sequence numbers at which entries of the list changed since the host started, and the
/// last removed sessions, also of earlier runs.
#[derive(Debug, Clone)]
pub(crate) struct ListChanges {
    /// The last sequence number before the host started. Changes up to it are not known.
    start_seq: ServerSeq,
    changed: BTreeMap<Uri, ServerSeq>,
    /// The oldest removal first.
    removed: VecDeque<RemovedSession>,
    /// Incremented when a session is added, removed, or gets another default chat or other
    /// folders.
    version: u64,
}

impl ListChanges {
    pub(crate) fn since(started: ServerSeq, mut removed: Vec<RemovedSession>) -> Self {
        removed.sort_by_key(|removed| removed.seq);
        ListChanges {
            start_seq: started,
            changed: BTreeMap::new(),
            removed: removed.into(),
            version: 0,
        }
    }

    /// Records that the entry of a session has changed.
    pub(crate) fn record_change(&mut self, session: &Uri, seq: ServerSeq) {
        self.changed.insert(session.clone(), seq);
    }

    /// Records that a session is new, or has another default chat or other folders.
    pub(crate) fn record_identity_change(&mut self, session: &Uri, seq: ServerSeq) {
        self.version += 1;
        self.record_change(session, seq);
    }

    /// Records that a session was removed. Evicts the oldest removal if there are too many.
    pub(crate) fn record_removal(&mut self, removed: RemovedSession) {
        self.version += 1;
        self.changed.remove(&removed.session);
        if self.removed.len() >= MAX_REMOVED_SESSIONS {
            self.removed.pop_front();
        }
        self.removed.push_back(removed);
    }

    fn may_have_missed(&self, session: &Uri, seen: ServerSeq) -> bool {
        seen <= self.start_seq || self.changed.get(session).is_some_and(|seq| *seq >= seen)
    }
}

impl Host {
    /// Returns a version that is incremented when a session is added, removed, or gets another
    /// default chat or other folders.
    pub fn list_version(&self) -> u64 {
        self.sessions.changes.version
    }

    /// Returns the last sessions that were removed from the list, the oldest first.
    pub fn removed_sessions(&self) -> impl Iterator<Item = &RemovedSession> {
        let removed = self.sessions.changes.removed.iter();
        removed.filter(|removed| !self.sessions.contains(&removed.session))
    }

    /// Updates the activity of a session and its entry in the list (SES-23, ROOT-12).
    pub(crate) fn sync_session(&mut self, session: &Uri, out: &mut Effects) {
        let Some(state) = self.session(session) else {
            return;
        };
        let activity = summary::activity(state);
        if state.metadata.activity != activity {
            let changed = SessionActivityChanged { activity };
            self.originate(session, SessionAction::ActivityChanged(changed), out);
        }
        let (Some(state), Some(before)) = (self.session(session), self.sessions.get(session))
        else {
            return;
        };
        let after = summary::summarize_session(state, before);
        self.publish_summary(session, after, out);
    }

    /// Stores the new summary of a session and notifies the subscribers of the list.
    pub(crate) fn publish_summary(
        &mut self,
        session: &Uri,
        after: SessionSummary,
        out: &mut Effects,
    ) {
        let before = self.sessions.get(session);
        let changes = before.and_then(|before| summary::session_changes(before, &after));
        let Some(changes) = changes else {
            return;
        };
        let hidden = provisional::maker(&after).is_some();
        let renamed = before.is_some_and(|before| {
            let (old, new) = (&before.metadata, &after.metadata);
            before.default_chat != after.default_chat
                || old.working_directories != new.working_directories
        });
        let listed = Arc::new(after);
        self.sessions.insert(session.clone(), Arc::clone(&listed));
        out.write(StoreWrite::Session(listed));
        if hidden {
            return;
        }
        if renamed {
            self.sessions
                .changes
                .record_identity_change(session, self.log.seq)
        } else {
            self.sessions.changes.record_change(session, self.log.seq)
        }
        let changed = SessionSummaryChangedParams {
            channel: RootChannel,
            session: session.clone(),
            changes,
        };
        self.notify_root_subscribers(
            HostNotification::SessionSummaryChanged(Box::new(changed)),
            out,
        );
    }

    /// Sends a reconnected client the changes of the list that it missed, if it caches the list
    /// and subscribes to the root channel.
    pub(crate) fn send_list_changes(
        &self,
        connection: ConnectionId,
        seen: ServerSeq,
        out: &mut Effects,
    ) {
        let root = self.channels.get(&Uri::from(RootChannel));
        let watches = root.is_some_and(|root| root.subscribers.contains_key(&connection));
        if !watches || !self.connection_quirks(connection).keeps_list {
            return;
        }
        let mut tell = |notification| {
            out.push(Effect::Notify {
                notification: Arc::new(notification),
                to: vec![connection],
            });
        };
        for removed in self.removed_sessions() {
            if removed.seq >= seen {
                tell(HostNotification::SessionRemoved(SessionRemovedParams {
                    channel: RootChannel,
                    session: removed.session.clone(),
                }));
            }
        }
        let mut missed: Vec<_> = self
            .listed_sessions()
            .filter(|summary| {
                self.sessions
                    .changes
                    .may_have_missed(&summary.resource, seen)
            })
            .collect();
        missed.sort_by_key(|summary| Reverse(summary.modified_at.to_millis().ok()));
        for summary in missed.into_iter().take(MAX_CATCH_UP_SESSIONS) {
            tell(self.catch_up_notification(summary, seen));
        }
    }

    /// Returns the notification for one changed session: added, if it is new to the client,
    /// otherwise changed with all fields.
    fn catch_up_notification(&self, listed: &SessionSummary, seen: ServerSeq) -> HostNotification {
        let channel = self.channels.get(&listed.resource);
        if channel.is_some_and(|channel| channel.created_seq >= seen) {
            return HostNotification::SessionAdded(Box::new(SessionAddedParams {
                channel: RootChannel,
                summary: listed.clone(),
            }));
        }
        HostNotification::SessionSummaryChanged(Box::new(SessionSummaryChangedParams {
            channel: RootChannel,
            session: listed.resource.clone(),
            changes: summary::all_fields(listed),
        }))
    }
}
