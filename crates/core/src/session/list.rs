//! The list of sessions: its entries, and the changes that a client missed.
//!
//! Notifications about the list are not replayed (ROOT-16), and a client is
//! meant to list the sessions again when it comes back. VS Code does not, so it
//! is told what changed.

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

/// Most sessions that a client is told of at once, the latest first.
const MAX_CATCH_UP_SESSIONS: usize = 1_000;

/// Most removed sessions that are remembered.
pub const MAX_REMOVED_SESSIONS: usize = 1_000;

/// A session that was listed once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemovedSession {
    /// The session.
    pub session: Uri,
    /// Its agent.
    pub provider: ProviderId,
    /// The last action before it was removed.
    pub seq: ServerSeq,
}

/// When entries of the list changed, since the host started; and the last
/// sessions that were removed, also before.
#[derive(Debug, Clone)]
pub(crate) struct ListChanges {
    /// The last number before the host started: nothing is known of what
    /// changed until then.
    start_seq: ServerSeq,
    changed: BTreeMap<Uri, ServerSeq>,
    /// The oldest first.
    removed: VecDeque<RemovedSession>,
    /// Rises whenever a session comes, goes, or gets another default chat or
    /// other folders.
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

    /// Takes note that the entry of a session changed.
    pub(crate) fn record_change(&mut self, session: &Uri, seq: ServerSeq) {
        self.changed.insert(session.clone(), seq);
    }

    /// Takes note that a session is new, or has another default chat or other
    /// folders.
    pub(crate) fn record_identity_change(&mut self, session: &Uri, seq: ServerSeq) {
        self.version += 1;
        self.record_change(session, seq);
    }

    /// Takes note that a session is gone.
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
    /// A number that rises whenever a session comes, goes, or gets another
    /// default chat or other folders.
    pub fn list_version(&self) -> u64 {
        self.sessions.changes.version
    }

    /// The last sessions that were removed from the list, the oldest first.
    pub fn removed_sessions(&self) -> impl Iterator<Item = &RemovedSession> {
        let removed = self.sessions.changes.removed.iter();
        removed.filter(|removed| !self.sessions.contains(&removed.session))
    }

    /// Brings what a session says it does, and what lists show of it, up to
    /// date (SES-23, ROOT-12).
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

    /// Lists a session as it is now, and tells who watches the list.
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
        match renamed {
            true => self
                .sessions
                .changes
                .record_identity_change(session, self.log.seq),
            false => self.sessions.changes.record_change(session, self.log.seq),
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

    /// Tells a client how the list changed since it was here, if it keeps the
    /// list over an outage and watches it.
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

    /// A session that is new to the client is added; of any other it is told
    /// all that can change.
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
