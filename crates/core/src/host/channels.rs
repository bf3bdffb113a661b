//! The channels of the host, their states and their subscribers; views of states for drivers.

use std::collections::BTreeMap;
use std::sync::Arc;

use agenthost_protocol::ids::{ClientId, ServerSeq};
use agenthost_protocol::number::Millis;
use agenthost_protocol::session::SessionSummary;
use agenthost_protocol::state_view::StateView;
use agenthost_protocol::uri::Uri;

use crate::connection::registry::ClientRecord;
use crate::host::Host;
use crate::host::input::{ConnectionId, LoadedChannel};

#[derive(Debug, Clone, Default)]
pub(crate) struct ChannelTable(BTreeMap<Uri, ChannelEntry>);

/// A channel that clients can subscribe to.
#[derive(Debug, Clone)]
pub(crate) struct ChannelEntry {
    /// The session that the channel belongs to; `None` for channels of the host itself.
    pub(crate) session: Option<Uri>,
    /// The last sequence number before the channel was created. A client whose cursor is not
    /// past this number may know another channel with the same URI, but not this one.
    pub(crate) created_seq: ServerSeq,
    pub(crate) residency: ChannelResidency,
    pub(crate) subscribers: BTreeMap<ConnectionId, Subscription>,
}

/// A connection's subscription to a channel.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Subscription {
    /// Maximum time that the host may delay actions to merge them.
    pub(crate) max_latency: Millis,
    /// Number of the oldest turns of a chat that were not sent to the client.
    pub(crate) hidden_turns: usize,
    /// `true` if the client speaks an earlier release, or uses other URIs for sessions.
    pub(crate) is_legacy: bool,
}

/// Location of a channel's state.
#[derive(Debug, Clone)]
pub(crate) enum ChannelResidency {
    /// In memory. Of a chat, at least the latest turns are.
    Resident(LoadedChannel),
    /// In the store. It is loaded into memory before a step that needs it.
    Evicted,
}

impl ChannelEntry {
    /// Returns the part of the channel that is in memory.
    pub(crate) fn loaded(&self) -> Option<&LoadedChannel> {
        match &self.residency {
            ChannelResidency::Resident(loaded) => Some(loaded),
            ChannelResidency::Evicted => None,
        }
    }
}

impl ChannelTable {
    pub(crate) fn contains(&self, channel: &Uri) -> bool {
        self.0.contains_key(channel)
    }

    pub(crate) fn get(&self, channel: &Uri) -> Option<&ChannelEntry> {
        self.0.get(channel)
    }

    pub(crate) fn get_mut(&mut self, channel: &Uri) -> Option<&mut ChannelEntry> {
        self.0.get_mut(channel)
    }

    pub(crate) fn insert(&mut self, channel: Uri, entry: ChannelEntry) {
        self.0.insert(channel, entry);
    }

    pub(crate) fn remove(&mut self, channel: &Uri) -> Option<ChannelEntry> {
        self.0.remove(channel)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Uri, &ChannelEntry)> {
        self.0.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (&Uri, &mut ChannelEntry)> {
        self.0.iter_mut()
    }

    pub(crate) fn uris(&self) -> impl Iterator<Item = &Uri> {
        self.0.keys()
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = &ChannelEntry> {
        self.0.values()
    }
}

impl Host {
    /// Captures the states of some channels, their sessions and the sessions' default chats, as far
    /// as they are in memory.
    pub fn state_view<'a>(&self, channels: impl IntoIterator<Item = &'a Uri>) -> StateView {
        let mut view = StateView::default();
        for channel in channels {
            self.add_to_view(&mut view, channel);
            let session = self.session_of(channel).unwrap_or(channel);
            if let Some(summary) = self.sessions.get(session)
                && !view.summaries.iter().any(|one| one.resource == *session)
            {
                self.add_to_view(&mut view, session);
                if let Some(chat) = &summary.default_chat {
                    self.add_to_view(&mut view, chat);
                }
                view.summaries.push(Arc::clone(summary));
            }
        }
        view
    }

    fn add_to_view(&self, view: &mut StateView, channel: &Uri) {
        if view.channels.iter().any(|(known, ..)| known == channel) {
            return;
        }
        if let Some(state) = self.state(channel) {
            let owner = self.session_of(channel).cloned();
            view.channels.push((channel.clone(), owner, state.clone()));
        }
    }

    /// Returns the record of a client that is present, or that was loaded for its handshake.
    pub fn client_record(&self, client: &ClientId) -> Option<&ClientRecord> {
        self.clients.record(client)
    }

    /// Returns the client of a connection whose handshake has completed.
    pub fn client_at(&self, connection: ConnectionId) -> Option<&ClientId> {
        self.clients.client_of(connection)
    }

    /// Returns the summary of a session for the session list.
    pub fn session_summary(&self, session: &Uri) -> Option<&Arc<SessionSummary>> {
        self.sessions.get(session)
    }

    /// Returns `true` if the channel exists, in memory or in the store.
    pub fn has_channel(&self, channel: &Uri) -> bool {
        self.channels.contains(channel)
    }
}
