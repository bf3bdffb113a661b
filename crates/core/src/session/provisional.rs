//! Provisional sessions: sessions without a message.
//!
//! A client may create a session as soon as its user picks an agent, and another one when the
//! user picks the next. Such a session exists only for its creator: it is not in the list, its
//! agent is not started, and it is removed with its creator. The first message makes it an
//! ordinary session.

use std::sync::Arc;

use agenthost_protocol::ids::{ClientId, ProviderId};
use agenthost_protocol::root::SessionAddedParams;
use agenthost_protocol::rpc::HostNotification;
use agenthost_protocol::session::SessionSummary;
use agenthost_protocol::uri::{RootChannel, Uri};
use agenthost_protocol::wire::Json;

use crate::changeset::driver::WorktreeDisposal;
use crate::host::Host;
use crate::host::effect::audit::RemovalReason;
use crate::host::effect::{Effects, StoreWrite};

/// Key of the creator of a provisional session in the `_meta` of its summary. No client
/// receives the summary while the key is set.
const PROVISIONAL_META_KEY: &str = "agenthost.provisionalFor";

/// Maximum number of provisional sessions per client.
const MAX_PROVISIONAL_SESSIONS: usize = 20;

/// Marks a summary as that of a provisional session.
pub(crate) fn set_maker(summary: &mut SessionSummary, maker: &ClientId) {
    let meta = summary.meta.get_or_insert_default();
    meta.insert(PROVISIONAL_META_KEY.to_owned(), Json::from(maker.as_str()));
}

/// Returns the creator of a provisional session; `None` for ordinary sessions.
pub(crate) fn maker(summary: &SessionSummary) -> Option<ClientId> {
    let maker = summary.meta.as_ref()?.get(PROVISIONAL_META_KEY)?.as_str()?;
    Some(ClientId::from(maker))
}

impl Host {
    /// Returns `true` if the URI equals the alias under which VS Code sees another session of
    /// the agent.
    pub(crate) fn is_alias_taken(&self, session: &Uri, provider: &ProviderId) -> bool {
        let id = session.as_str().strip_prefix(provider.as_str());
        let other = id.and_then(|id| id.strip_prefix(":/"));
        let other = other.map(|id| Uri::from(format!("ahp-session:/{id}")));
        let other = other.and_then(|other| self.sessions.get(&other));
        other.is_some_and(|other| other.metadata.provider == *provider)
    }

    /// Removes the oldest provisional sessions of a client if it has too many.
    pub(crate) fn evict_provisional(&mut self, client: &ClientId, out: &mut Effects) {
        let sessions = self.sessions.summaries();
        let theirs = sessions.filter(|summary| maker(summary).as_ref() == Some(client));
        let mut theirs: Vec<_> = theirs
            .map(|summary| {
                (
                    summary.created_at.to_millis().ok(),
                    summary.resource.clone(),
                )
            })
            .collect();
        theirs.sort();
        let surplus = theirs.len().saturating_sub(MAX_PROVISIONAL_SESSIONS);
        for (_, session) in theirs.into_iter().take(surplus) {
            self.remove_provisional(&session, out);
        }
    }

    /// Turns a provisional session into an ordinary one, because a turn has started in it.
    pub(crate) fn confirm_provisional(&mut self, chat: &Uri, out: &mut Effects) {
        let Some(session) = self.session_of(chat).cloned() else {
            return;
        };
        let listed = self.sessions.get(&session);
        let Some(listed) = listed.filter(|listed| maker(listed).is_some()) else {
            return;
        };
        let mut summary = (**listed).clone();
        if let Some(meta) = &mut summary.meta {
            meta.shift_remove(PROVISIONAL_META_KEY);
        }
        summary.meta = summary.meta.filter(|meta| !meta.is_empty());
        let listed = Arc::new(summary);
        self.sessions.insert(session.clone(), Arc::clone(&listed));
        out.write(StoreWrite::Session(Arc::clone(&listed)));
        self.announce_session(&listed, out);
        self.open_or_isolate(&session, out);
    }

    /// Announces a new session to the subscribers of the root channel.
    pub(crate) fn announce_session(&mut self, summary: &SessionSummary, out: &mut Effects) {
        self.sessions
            .changes
            .record_identity_change(&summary.resource, self.log.seq);
        let added = SessionAddedParams {
            channel: RootChannel,
            summary: summary.clone(),
        };
        self.notify_root_subscribers(HostNotification::SessionAdded(Box::new(added)), out);
        self.sync_session_count(out);
    }

    /// Returns the sessions that are visible to clients.
    pub fn listed_sessions(&self) -> impl Iterator<Item = &Arc<SessionSummary>> {
        let sessions = self.sessions.summaries();
        sessions.filter(|summary| maker(summary).is_none())
    }

    /// Removes the provisional sessions of a client that the host has dropped.
    pub(crate) fn dispose_provisional(&mut self, client: &ClientId, out: &mut Effects) {
        let sessions = self.sessions.iter();
        let theirs = sessions.filter(|(_, summary)| maker(summary).as_ref() == Some(client));
        let theirs: Vec<_> = theirs.map(|(session, _)| session.clone()).collect();
        for session in theirs {
            self.remove_provisional(&session, out);
        }
    }

    fn remove_provisional(&mut self, session: &Uri, out: &mut Effects) {
        let worktree = WorktreeDisposal::KeepWork;
        self.remove_session(session, RemovalReason::Unused, worktree, out);
    }

    /// Removes provisional sessions whose creators the host no longer knows.
    pub(crate) fn dispose_orphaned_provisional(&mut self, out: &mut Effects) {
        let makers = self
            .sessions
            .summaries()
            .filter_map(|summary| maker(summary));
        let gone: Vec<_> = makers
            .filter(|client| !self.clients.clients.contains_key(client))
            .collect();
        for client in gone {
            self.dispose_provisional(&client, out);
        }
    }
}
