//! Captures views of the state for the edge, which translates messages for clients of earlier
//! releases.

use std::sync::Arc;

use agenthost_protocol::ids::ClientId;
use agenthost_protocol::session::SessionSummary;
use agenthost_protocol::state_view::StateView;
use agenthost_protocol::uri::Uri;

use crate::connection::registry::ClientRecord;
use crate::host::Host;
use crate::host::input::ConnectionId;

impl Host {
    /// Captures the states of some channels with their sessions and the default chats of these, as
    /// far as they are in memory.
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

    /// What is remembered of a client.
    pub fn client_record(&self, client: &ClientId) -> Option<&ClientRecord> {
        let client = self.clients.clients.get(client)?;
        Some(&client.record)
    }

    /// The client of a connection that is past its handshake.
    pub fn client_at(&self, connection: ConnectionId) -> Option<&ClientId> {
        self.clients.client_of(connection)
    }

    /// What the list of sessions shows of a session.
    pub fn session_summary(&self, session: &Uri) -> Option<&Arc<SessionSummary>> {
        self.sessions.get(session)
    }

    /// Whether there is such a channel, in memory or not.
    pub fn has_channel(&self, channel: &Uri) -> bool {
        self.channels.contains_key(channel)
    }
}
