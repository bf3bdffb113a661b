//! Serves clients of legacy releases.
//!
//! The host speaks 1.0. Messages of a legacy client are upgraded before the host receives them,
//! and messages of the host are downgraded before the client receives them.
//! `agenthost_versions` has the version steps. This module has the state that the steps need
//! for each legacy client; other clients have none here.

pub(crate) mod aliases;
pub(crate) mod cache;
pub(crate) mod channel_recovery;
pub(crate) mod handshake;
mod host_files;
pub(crate) mod inbound;
mod live_state;
mod open_entries;
pub(crate) mod outbound;
mod replay;
pub(crate) mod response;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use agenthost_core::{ClientQuirks, ConnectionId, Host};
use agenthost_protocol::action::Rejection;
use agenthost_protocol::ids::ClientId;
use agenthost_protocol::state_view::StateView;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::version::Release;
use agenthost_protocol::wire::{Json, Object};
use agenthost_versions::{JsonDispatch, TargetClient, VersionChain};

pub(crate) use aliases::AddressMapping;
use aliases::SessionAliases;
pub(crate) use cache::{DowngradeCache, LegacyMessages};
use channel_recovery::NamedCursor;
pub(crate) use handshake::reconnecting_client;
pub(crate) use inbound::{InboundKind, named_channels};
use open_entries::OpenEntries;
pub(crate) use outbound::{ActionContext, DowngradeError};
pub(crate) use replay::PastState;
pub(crate) use response::LegacyResponse;

/// Limit on the open entries of each kind that are stored for a client: dispatched actions, its
/// requests and host requests.
const MAX_OPEN_ENTRIES: usize = 1_024;

/// A flag that is set once a connection is known to speak the current version. The task of the
/// connection then decodes its messages without the loop.
#[derive(Debug, Clone, Default)]
pub(crate) struct CurrentVersionFlag(Arc<AtomicBool>);

impl CurrentVersionFlag {
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The protocol versions of all connections.
#[derive(Debug, Default)]
pub(crate) struct LegacyClients {
    clients: BTreeMap<ConnectionId, LegacyClient>,
    /// Connections that have not completed the handshake.
    unidentified: BTreeMap<ConnectionId, CurrentVersionFlag>,
    /// Aliases of sessions, for clients that read the provider from the URI scheme.
    aliases: Arc<SessionAliases>,
}

/// A client of a legacy release, or one that needs other URIs than the host has.
#[derive(Debug)]
pub(crate) struct LegacyClient {
    chain: VersionChain,
    target: TargetClient,
    quirks: ClientQuirks,
    /// The agreed version, in the encoding of the client.
    version: Json,
    /// Channels that the client subscribed to. The host may subscribe it to more, because a
    /// legacy release has some of their state in other channels.
    subscriptions: BTreeSet<Uri>,
    /// Actions that the client dispatched and whose echo it has not received, by `clientSeq`.
    dispatched: VecDeque<(Json, DispatchedAction)>,
    /// The methods of open host requests to the client, by request id.
    host_requests: OpenEntries<&'static str>,
    /// The cursors of its `reconnect`, until the response is sent.
    cursors: Vec<NamedCursor>,
    /// Open requests of the client, with the data that their responses need.
    open_requests: OpenEntries<OpenLegacyRequest>,
}

/// An action in the encoding of its client.
#[derive(Debug)]
struct DispatchedAction {
    channel: Option<String>,
    action: Object,
}

impl DispatchedAction {
    /// Returns the reason of a rejection, with the action type of the client in place of that
    /// of the host.
    fn rejection_reason(&self, rejection: &Rejection) -> String {
        let reason = rejection.rejection_reason.clone();
        let name = |action: Option<&Json>| {
            let name = action.and_then(Json::as_str);
            name.map(|name| format!("`{name}`"))
        };
        let host_name = name(rejection.action.0.get("type"));
        match (name(self.action.get("type")), host_name) {
            (Some(client_name), Some(host_name)) => reason.replace(&host_name, &client_name),
            _ => reason,
        }
    }
}

/// An open request of a legacy client.
#[derive(Debug, Default)]
struct OpenLegacyRequest {
    /// The channel states right after the request was executed.
    state_view: StateView,
    /// Actions to dispatch for the client if the request succeeds.
    follow_ups: Vec<JsonDispatch>,
    /// For a replay: the states of its channels when the client disconnected.
    past_states: Vec<PastState>,
}

impl LegacyClients {
    pub(crate) fn handle_connected(
        &mut self,
        connection: ConnectionId,
        version_flag: CurrentVersionFlag,
    ) {
        self.unidentified.insert(connection, version_flag);
    }

    pub(crate) fn handle_disconnected(&mut self, connection: ConnectionId) {
        self.unidentified.remove(&connection);
        self.clients.remove(&connection);
    }

    pub(crate) fn contains(&self, connection: ConnectionId) -> bool {
        self.clients.contains_key(&connection)
    }

    /// Rebuilds the aliases if a client needs them and the session list has changed.
    fn refresh_aliases(&mut self, host: &Host) {
        let mut clients = self.clients.values();
        let needed = clients.any(|peer| peer.quirks.provider_schemes);
        if needed && !self.aliases.is_current(host) {
            self.aliases = Arc::new(SessionAliases::build(host, &self.aliases));
        }
    }

    /// Marks a connection as current after its handshake was accepted in the current version.
    fn mark_current(&mut self, connection: ConnectionId) {
        if let Some(version_flag) = self.unidentified.remove(&connection) {
            version_flag.set();
        }
    }
}

impl LegacyClient {
    fn new(release: Release, version: Json, client: ClientId, quirks: ClientQuirks) -> Self {
        LegacyClient {
            quirks,
            chain: VersionChain::for_release(release),
            target: TargetClient::new(release, client),
            version,
            subscriptions: BTreeSet::new(),
            dispatched: VecDeque::new(),
            host_requests: OpenEntries::default(),
            cursors: Vec::new(),
            open_requests: OpenEntries::default(),
        }
    }

    /// Returns the mapping of URIs for the client, or `None` if it gets the URIs of the host.
    fn address_mapping(&self, aliases: &Arc<SessionAliases>) -> Option<AddressMapping> {
        self.quirks.provider_schemes.then(|| AddressMapping {
            aliases: Arc::clone(aliases),
            uses_host_files: self.quirks.remote_files,
        })
    }

    /// Returns the URI of the host for a URI of the client, or `None` if both are the same.
    fn original_address(
        &self,
        host: &Host,
        aliases: &Arc<SessionAliases>,
        name: &str,
    ) -> Option<String> {
        let file = self
            .quirks
            .remote_files
            .then(|| host_files::to_file_uri(name));
        if let Some(Some(file)) = file {
            return Some(file);
        }
        let aliased = self.quirks.provider_schemes.then(|| aliases.resolve(name));
        if let Some(Some(aliased)) = aliased {
            return Some(aliased);
        }
        if !self.quirks.reprinted_uris {
            return None;
        }
        host.find_equivalent_channel(name).map(ToString::to_string)
    }

    fn release(&self) -> Release {
        self.target.release()
    }

    /// Returns `true` if a subscriber of a session also needs its default chat. A release
    /// without chats has the turns in the session; one without drafts has the selected model
    /// and agent of a chat in its session.
    fn needs_default_chat(&self) -> bool {
        !self.release().capabilities().drafts
    }

    fn push_dispatched(&mut self, number: Json, action: DispatchedAction) {
        if self.dispatched.len() >= MAX_OPEN_ENTRIES {
            self.dispatched.pop_front();
        }
        self.dispatched.push_back((number, action));
    }

    /// Removes and returns the action that the client dispatched under a `clientSeq`.
    fn take_dispatched(&mut self, number: &Json) -> Option<DispatchedAction> {
        let index = self
            .dispatched
            .iter()
            .position(|(known, _)| known == number)?;
        self.dispatched.remove(index).map(|(_, sent)| sent)
    }
}
