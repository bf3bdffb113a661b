//! Clients of older versions.
//!
//! The host speaks 1.0. What an older client says goes up to that before the
//! host hears it, and what the host says goes down before the client does; the
//! steps between are those of `agenthost_versions`. Here is what they need of
//! each such client, and nothing of it for any other.

pub(crate) mod aliases;
pub(crate) mod cache;
pub(crate) mod channel_recovery;
pub(crate) mod handshake;
mod host_files;
pub(crate) mod inbound;
mod live_state;
pub(crate) mod outbound;
mod replay;
pub(crate) mod response;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use agenthost_core::{ClientQuirks, ConnectionId, Host};
use agenthost_protocol::action::Rejection;
use agenthost_protocol::ids::ClientId;
use agenthost_protocol::rpc::RequestId;
use agenthost_protocol::state_view::StateView;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::version::Release;
use agenthost_protocol::wire::{Json, Object};
use agenthost_versions::{JsonDispatch, TargetClient, VersionChain};

pub(crate) use aliases::AddressMapping;
use aliases::SessionAliases;
pub(crate) use cache::{DowngradeCache, LegacyMessages};
use channel_recovery::NamedCursor;
pub(crate) use inbound::{InboundKind, named_channels};
pub(crate) use outbound::{ActionContext, DowngradeError};
pub(crate) use replay::PastState;
pub(crate) use response::LegacyResponse;

/// Most of what a client was sent, or sent itself, that is remembered until
/// there is an answer to it.
const MAX_OPEN_ENTRIES: usize = 1_024;

/// Whether a connection is known to speak the host's version, so that what it
/// says can be read without asking anybody.
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

/// All connections, as far as versions are concerned.
#[derive(Debug, Default)]
pub(crate) struct LegacyClients {
    clients: BTreeMap<ConnectionId, LegacyClient>,
    /// Connections that have not said yet what they speak.
    unidentified: BTreeMap<ConnectionId, CurrentVersionFlag>,
    /// What sessions are called for clients that read a provider from the name.
    aliases: Arc<SessionAliases>,
}

/// A client of an older version.
#[derive(Debug)]
pub(crate) struct LegacyClient {
    chain: VersionChain,
    target: TargetClient,
    quirks: ClientQuirks,
    /// The version that was agreed on, as the client gets to see it.
    version: Json,
    /// Channels that it asked for. It may be subscribed to more, so that it
    /// can be told what another version says elsewhere.
    subscriptions: BTreeSet<Uri>,
    /// What it dispatched and has not seen come back, by its own number.
    dispatched: VecDeque<(Json, DispatchedAction)>,
    /// What it was asked, by the id of the request.
    host_requests: BTreeMap<RequestId, &'static str>,
    /// The cursors that it came back with, until they are answered.
    cursors: Vec<NamedCursor>,
    /// Requests that it has made, with what there is to know when they are
    /// answered.
    open_requests: BTreeMap<RequestId, OpenLegacyRequest>,
}

/// An action as a client sent it.
#[derive(Debug)]
struct DispatchedAction {
    channel: Option<String>,
    action: Object,
}

impl DispatchedAction {
    /// Why it was refused. What the host calls it is nothing to the client.
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

/// A request that was not answered yet.
#[derive(Debug, Default)]
struct OpenLegacyRequest {
    /// What there was when it was carried out.
    state_view: StateView,
    /// What to dispatch for the client when it has succeeded.
    follow_ups: Vec<JsonDispatch>,
    /// For a replay: where its channels were when the client left.
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

    /// Brings second names up to date, if a client needs them.
    fn refresh_aliases(&mut self, host: &Host) {
        let mut clients = self.clients.values();
        let needed = clients.any(|peer| peer.quirks.provider_schemes);
        if needed && !self.aliases.is_current(host) {
            self.aliases = Arc::new(SessionAliases::build(host, &self.aliases));
        }
    }

    /// A connection has said hello and was understood in the host's version.
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
            host_requests: BTreeMap::new(),
            cursors: Vec::new(),
            open_requests: BTreeMap::new(),
        }
    }

    /// How the client is told names, if not as the host has them.
    fn address_mapping(&self, aliases: &Arc<SessionAliases>) -> Option<AddressMapping> {
        self.quirks.provider_schemes.then(|| AddressMapping {
            aliases: Arc::clone(aliases),
            uses_host_files: self.quirks.remote_files,
        })
    }

    /// The name that the host has for what the client calls so.
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

    /// Without chats, one is its session; without drafts, what is chosen for a
    /// chat is chosen for its session. Either way who follows a session has to
    /// hear of its chat.
    fn needs_default_chat(&self) -> bool {
        !self.release().capabilities().drafts
    }

    fn push_dispatched(&mut self, number: Json, action: DispatchedAction) {
        if self.dispatched.len() >= MAX_OPEN_ENTRIES {
            self.dispatched.pop_front();
        }
        self.dispatched.push_back((number, action));
    }

    /// What the client sent under a number of its own.
    fn take_dispatched(&mut self, number: &Json) -> Option<DispatchedAction> {
        let index = self
            .dispatched
            .iter()
            .position(|(known, _)| known == number)?;
        self.dispatched.remove(index).map(|(_, sent)| sent)
    }
}
