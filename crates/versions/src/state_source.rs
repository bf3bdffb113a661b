//! What steps may look at.

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

/// The host's state, in the words of 1.0.
pub trait StateSource {
    /// The state of a channel.
    fn state(&self, channel: &Uri) -> Option<ChannelState>;

    /// What the list of sessions shows of a session.
    fn session_summary(&self, session: &Uri) -> Option<Arc<SessionSummary>>;

    /// The session that a chat, a terminal or a changeset belongs to.
    fn session_of(&self, channel: &Uri) -> Option<Uri>;
}

impl dyn StateSource + '_ {
    /// The state of a session.
    pub fn session(&self, session: &Uri) -> Option<Arc<SessionState>> {
        let ChannelState::Session(state) = self.state(session)? else {
            return None;
        };
        Some(state)
    }

    /// The state of a chat.
    pub fn chat(&self, chat: &Uri) -> Option<Arc<ChatState>> {
        let ChannelState::Chat(state) = self.state(chat)? else {
            return None;
        };
        Some(state)
    }

    /// The chat that is meant when a session is named.
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

/// Whom something is translated for.
///
/// Most of what is sent is the same for all clients of a version and is made
/// once. Who the client is and what it calls things differs between two of them:
/// what was made with that is made for each, see [`TargetClient::take_client_specific`].
#[derive(Debug, Clone)]
pub struct TargetClient {
    release: Release,
    client_id: ClientId,
    /// Up to 0.3 a session and its chat are one; which chat that is stays as
    /// it was when the client subscribed.
    session_chats: BTreeMap<Uri, Uri>,
    /// What it calls the root channel.
    root_uri: String,
    is_client_specific: Cell<bool>,
}

impl TargetClient {
    /// A client of a release.
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

    /// What it speaks.
    pub fn release(&self) -> Release {
        self.release
    }

    /// Who it is. What is made with this is made for this client alone.
    pub fn client_id(&self) -> &ClientId {
        self.is_client_specific.set(true);
        &self.client_id
    }

    /// Whether it goes by a name. Asked by whoever sends what was made, it makes
    /// nothing personal.
    pub fn has_client_id(&self, client: &ClientId) -> bool {
        self.client_id == *client
    }

    /// The chat that this client sees as a session, if it is one that it
    /// subscribed to.
    pub fn chat_of(&self, session: &Uri) -> Option<&Uri> {
        self.session_chats.get(session)
    }

    /// The session that this client sees a chat as.
    pub fn session_of(&self, chat: &Uri) -> Option<&Uri> {
        let mut pairs = self.session_chats.iter();
        pairs.find_map(|(session, shown)| (shown == chat).then_some(session))
    }

    /// From now on the client sees this chat as that session.
    pub fn map_session(&mut self, session: Uri, chat: Uri) {
        self.session_chats.insert(session, chat);
    }

    /// The client does not follow a session any more.
    pub fn unmap_session(&mut self, session: &Uri) -> Option<Uri> {
        self.session_chats.remove(session)
    }

    /// What the client calls the root channel (0.1 only).
    pub fn root_uri(&self) -> &str {
        self.is_client_specific.set(true);
        &self.root_uri
    }

    /// The client called the root channel this.
    pub fn set_root_uri(&mut self, root: &str) {
        root.clone_into(&mut self.root_uri);
    }

    /// Whether anything was made with what is the client's own since this was
    /// last asked.
    pub fn take_client_specific(&self) -> bool {
        self.is_client_specific.replace(false)
    }
}

/// What a step translates for, and when.
#[derive(Clone, Copy)]
pub struct TranslationContext<'a> {
    /// For whom.
    pub client: &'a TargetClient,
    /// The host's state. For an action: right after it.
    pub states: &'a dyn StateSource,
    /// For an action: the state of its channel right before it.
    pub state_before: Option<&'a ChannelState>,
}

impl TranslationContext<'_> {
    /// The state of the action's channel with the action applied; `None` if
    /// what was before is not known, or nothing came of it. Rewording needs
    /// it, which does not get to know the channel.
    pub(crate) fn state_after(&self, action: &Action) -> Option<ChannelState> {
        let mut state = self.state_before?.clone();
        let applied = state.reduce(action) == Outcome::Applied;
        applied.then_some(state)
    }

    /// The chat that the viewer sees as a session, or would see.
    pub(crate) fn chat_for_session(&self, session: &Uri) -> Option<Uri> {
        let sticky = self.client.chat_of(session).cloned();
        sticky.or_else(|| self.states.default_chat(session))
    }
}
