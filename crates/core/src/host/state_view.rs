//! The state around something, for whoever puts it into the words of an older
//! version.
//!
//! The host speaks one version. Clients of others are told by the edge, which
//! may have to look at more than the action itself, and as it was right then:
//! by the time it gets there, more has happened. So a scene goes with it.

use std::sync::Arc;

use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::ids::ClientId;
use agenthost_protocol::session::SessionSummary;
use agenthost_protocol::uri::Uri;

use crate::connection::registry::ClientRecord;
use crate::host::Host;
use crate::host::input::ConnectionId;

/// A part of the host's state at one moment. States are shared, not copied.
#[derive(Debug, Clone, Default)]
pub struct StateView {
    /// Channels, each with the session it belongs to.
    pub channels: Vec<(Uri, Option<Uri>, ChannelState)>,
    /// What the list of sessions shows of the sessions among them.
    pub summaries: Vec<Arc<SessionSummary>>,
}

impl Host {
    /// The state of some channels with their sessions and the default chats of
    /// these, as far as it is in memory.
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
        self.channels.contains(channel)
    }
}
