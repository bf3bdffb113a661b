//! The states and the client that steps may read during a translation.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;

use agenthost_protocol::action::Action;
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::chat::ChatState;
use agenthost_protocol::ids::ClientId;
use agenthost_protocol::outcome::Outcome;
use agenthost_protocol::session::{SessionState, SessionSummary};
use agenthost_protocol::state_view::StateView;
use agenthost_protocol::uri::{LEGACY_ROOT_URIS, Uri};
use agenthost_protocol::version::Release;

/// Read access to the states of the host, in the 1.0 encoding.
pub trait StateSource {
    /// Returns the state of a channel.
    fn state(&self, channel: &Uri) -> Option<ChannelState>;

    /// Returns the entry of a session in the session list.
    fn session_summary(&self, session: &Uri) -> Option<Arc<SessionSummary>>;

    /// Returns the session that a chat, terminal or changeset belongs to.
    fn session_of(&self, channel: &Uri) -> Option<Uri>;
}

impl dyn StateSource + '_ {
    /// Returns the state of a session.
    pub fn session(&self, session: &Uri) -> Option<Arc<SessionState>> {
        let ChannelState::Session(state) = self.state(session)? else {
            return None;
        };
        Some(state)
    }

    /// Returns the state of a chat.
    pub fn chat(&self, chat: &Uri) -> Option<Arc<ChatState>> {
        let ChannelState::Chat(state) = self.state(chat)? else {
            return None;
        };
        Some(state)
    }

    /// Returns the default chat of a session.
    pub fn default_chat(&self, session: &Uri) -> Option<Uri> {
        self.session(session)?.default_chat.clone()
    }
}

impl StateSource for StateView {
    fn state(&self, channel: &Uri) -> Option<ChannelState> {
        let found = self.channels.iter().find(|(uri, ..)| uri == channel);
        found.map(|(_, _, state)| state.clone())
    }

    fn session_summary(&self, session: &Uri) -> Option<Arc<SessionSummary>> {
        let found = self.summaries.iter().find(|one| one.resource == *session);
        found.map(Arc::clone)
    }

    fn session_of(&self, channel: &Uri) -> Option<Uri> {
        let found = self.channels.iter().find(|(uri, ..)| uri == channel);
        found.and_then(|(_, session, _)| session.clone())
    }
}

/// The client that a message is translated for.
///
/// Most messages are identical for all clients of a version and are translated once. The client
/// id and the URI mapping differ between clients: a translation that uses them is made for each
/// client, see [`TargetClient::take_client_specific`].
#[derive(Debug, Clone)]
pub struct TargetClient {
    release: Release,
    client_id: ClientId,
    /// Mapping from sessions to chats. Up to 0.3 a session and its chat are one channel; the
    /// chat is fixed when the client subscribes.
    session_chats: BTreeMap<Uri, Uri>,
    /// URI that the client uses for the root channel.
    root_uri: String,
    is_client_specific: Cell<bool>,
}

impl TargetClient {
    /// Creates a client of a release, without mapped sessions.
    pub fn new(release: Release, client: ClientId) -> Self {
        let [documented, _] = LEGACY_ROOT_URIS;
        TargetClient {
            release,
            client_id: client,
            session_chats: BTreeMap::new(),
            root_uri: documented.to_owned(),
            is_client_specific: Cell::new(false),
        }
    }

    /// Returns the release that the client uses.
    pub fn release(&self) -> Release {
        self.release
    }

    /// Returns the client id, and marks the translation as specific to this client.
    pub fn client_id(&self) -> &ClientId {
        self.is_client_specific.set(true);
        &self.client_id
    }

    /// Returns `true` if the client has this id. Does not mark the translation as
    /// client-specific, because senders use it after translation.
    pub fn has_client_id(&self, client: &ClientId) -> bool {
        self.client_id == *client
    }

    /// Returns the chat that a session is mapped to for this client, if the client has
    /// subscribed to it.
    pub fn chat_of(&self, session: &Uri) -> Option<&Uri> {
        self.session_chats.get(session)
    }

    /// Returns the session that a chat is mapped to for this client.
    pub fn session_of(&self, chat: &Uri) -> Option<&Uri> {
        let mut pairs = self.session_chats.iter();
        pairs.find_map(|(session, shown)| (shown == chat).then_some(session))
    }

    /// Maps a session to a chat for this client.
    pub fn map_session(&mut self, session: Uri, chat: Uri) {
        self.session_chats.insert(session, chat);
    }

    /// Removes the mapping of a session, after the client has unsubscribed.
    pub fn unmap_session(&mut self, session: &Uri) -> Option<Uri> {
        self.session_chats.remove(session)
    }

    /// Returns the URI that the client uses for the root channel (0.1 only), and marks the
    /// translation as client-specific.
    pub fn root_uri(&self) -> &str {
        self.is_client_specific.set(true);
        &self.root_uri
    }

    /// Sets the URI that the client uses for the root channel.
    pub fn set_root_uri(&mut self, root: &str) {
        root.clone_into(&mut self.root_uri);
    }

    /// Returns `true` if a translation since the last call used client-specific data.
    pub fn take_client_specific(&self) -> bool {
        self.is_client_specific.replace(false)
    }
}

/// The client and the states of a translation.
#[derive(Clone, Copy)]
pub struct TranslationContext<'a> {
    /// Client that the message is translated for.
    pub client: &'a TargetClient,
    /// States of the host; for an action, immediately after it.
    pub states: &'a dyn StateSource,
    /// For an action, the state of its channel immediately before it.
    pub state_before: Option<&'a ChannelState>,
}

impl TranslationContext<'_> {
    /// Returns the state of the action's channel after the action; `None` if the state before
    /// is unknown, or the action was not applied. For
    /// [`VersionStep::rewrite`](crate::step::VersionStep::rewrite), which does not receive the
    /// channel.
    pub(crate) fn state_after(&self, action: &Action) -> Option<ChannelState> {
        let mut state = self.state_before?.clone();
        let applied = state.reduce(action) == Outcome::Applied;
        applied.then_some(state)
    }

    /// Returns the chat that a session is mapped to for the client, or would be mapped to.
    pub(crate) fn chat_for_session(&self, session: &Uri) -> Option<Uri> {
        let sticky = self.client.chat_of(session).cloned();
        sticky.or_else(|| self.states.default_chat(session))
    }
}
