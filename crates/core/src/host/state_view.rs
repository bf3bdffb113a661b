//! Snapshots of the states around an action, for encoding it in an earlier release.
//!
//! The core speaks one release. The server downgrades messages for legacy clients, and may need
//! more states than the action has, as they were at that step: when the server encodes the
//! message, later steps have changed them. So a view is sent along with the action.

use std::sync::Arc;

use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::ids::ClientId;
use agenthost_protocol::session::SessionSummary;
use agenthost_protocol::uri::Uri;

use crate::connection::registry::ClientRecord;
use crate::host::Host;
use crate::host::input::ConnectionId;

/// A part of the host's state after one step. The states are shared, not copied.
#[derive(Debug, Clone, Default)]
pub struct StateView {
    /// Channels, each with the session that owns it and its state.
    pub channels: Vec<(Uri, Option<Uri>, ChannelState)>,
    /// Summaries of the sessions among the channels.
    pub summaries: Vec<Arc<SessionSummary>>,
}

impl Host {
    /// Returns the resident states of some channels, of their sessions and of the default chats
    /// of these.
    pub fn state_view<'a>(&self, channels: impl IntoIterator<Item = &'a Uri>) -> StateView {
        let mut scene = StateView::default();
        for channel in channels {
            self.add_to_view(&mut scene, channel);
            let session = self.session_of(channel).unwrap_or(channel);
            if let Some(summary) = self.sessions.get(session)
                && !scene.summaries.iter().any(|one| one.resource == *session)
            {
                self.add_to_view(&mut scene, session);
                if let Some(chat) = &summary.default_chat {
                    self.add_to_view(&mut scene, chat);
                }
                scene.summaries.push(Arc::clone(summary));
            }
        }
        scene
    }

    fn add_to_view(&self, scene: &mut StateView, channel: &Uri) {
        if scene.channels.iter().any(|(known, ..)| known == channel) {
            return;
        }
        if let Some(state) = self.state(channel) {
            let owner = self.session_of(channel).cloned();
            scene.channels.push((channel.clone(), owner, state.clone()));
        }
    }

    /// Returns the stored record of a client.
    pub fn client_record(&self, client: &ClientId) -> Option<&ClientRecord> {
        let client = self.clients.clients.get(client)?;
        Some(&client.record)
    }

    /// Returns the client of a connection that has completed its handshake.
    pub fn client_at(&self, connection: ConnectionId) -> Option<&ClientId> {
        self.clients.client_of(connection)
    }

    /// Returns the summary of a session from the session list.
    pub fn session_summary(&self, session: &Uri) -> Option<&Arc<SessionSummary>> {
        self.sessions.get(session)
    }

    /// Returns `true` if a channel exists, resident or evicted.
    pub fn has_channel(&self, channel: &Uri) -> bool {
        self.channels.contains(channel)
    }
}
