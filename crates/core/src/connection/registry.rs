//! Registry of connections and of clients, connected or in their grace period.

use std::collections::{BTreeMap, BTreeSet};

use agenthost_protocol::connection::{ClientCapabilities, Implementation};
use agenthost_protocol::ids::{ClientId, ServerSeq};
use agenthost_protocol::number::Millis;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::version::Release;
use serde::{Deserialize, Serialize};

use crate::host::input::ConnectionId;
use crate::policy::scope::AccessScope;

/// Identity of a peer, as the transport authenticated it. It never depends on data that the
/// peer sends about itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Principal(pub String);

/// The peer of a connection, as the transport authenticated it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerIdentity {
    /// The owner of client ids and access tokens.
    pub principal: Principal,
    /// The requests and actions that the peer may send.
    pub scope: AccessScope,
    /// The name that the user has given a paired device. A peer with the token of the host has
    /// none.
    pub device_name: Option<String>,
}

impl PeerIdentity {
    /// Creates the identity of a peer that may do everything.
    pub fn with_all_rights(principal: Principal) -> Self {
        PeerIdentity {
            principal,
            scope: AccessScope::Terminal,
            device_name: None,
        }
    }
}

/// Stored data of a client. `reconnect` carries none of it (HSK-15), so the host keeps it
/// across disconnects and restarts.
#[derive(Debug, Clone, PartialEq)]
pub struct ClientRecord {
    /// Owner of the client id: the principal that used it first (HSK-24).
    pub principal: Principal,
    /// The negotiated version, as the client wrote it.
    pub version: String,
    /// Capabilities that the client declared.
    pub capabilities: ClientCapabilities,
    /// Locale of the client's user.
    pub locale: Option<String>,
    /// Name and version of the program.
    pub info: Option<Implementation>,
    /// Chats of which the client has received the latest turns only. Actions on the other
    /// turns can't be replayed to it.
    pub windowed: BTreeSet<Uri>,
    /// `true` if several programs share the client id, such as two browser tabs with the
    /// same storage. The actions that one of them has seen say nothing about the others.
    pub shared: bool,
    /// The writer epoch in which the client was last attached. If several programs share
    /// the client id, that of the first.
    pub epoch: ServerSeq,
}

impl ClientRecord {
    /// Returns the protocol release of the client.
    pub fn release(&self) -> Release {
        Release::named(&self.version).unwrap_or(Release::CURRENT)
    }
}

/// A client that the store remembers: it left longer ago than the grace period.
#[derive(Debug, Clone, PartialEq)]
pub struct RememberedClient {
    pub record: ClientRecord,
    /// The end of its grace period.
    pub left_at: Millis,
}

/// A client that is connected or in its grace period.
#[derive(Debug, Clone)]
pub(crate) struct ClientEntry {
    pub(crate) record: ClientRecord,
    pub(crate) presence: ClientPresence,
}

#[derive(Debug, Clone)]
pub(crate) enum ClientPresence {
    /// Connected, the newest connection last. There may be two for a short time when a page
    /// is reloaded (HSK-23).
    Active(Vec<ConnectionId>),
    /// Disconnected, with the grace period that is running.
    Grace(GracePeriodId),
}

/// Identity of one grace period. A client that reconnects and disconnects again gets a new
/// one, so the timer of the earlier one has no effect.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GracePeriodId(pub u64);

#[derive(Debug, Clone)]
pub(crate) struct ConnectionEntry {
    pub(crate) peer: PeerIdentity,
    /// The client, once the handshake is complete.
    pub(crate) client: Option<ClientId>,
    pub(crate) subscriptions: BTreeSet<Uri>,
    /// Protocol release of the connection.
    pub(crate) release: Release,
    /// `true` once a `reconnect` was refused because the client is unknown: the client was
    /// connected before.
    pub(crate) reconnect_refused: bool,
}

/// All present clients and open connections. Clients that left longer ago are only in the store.
#[derive(Debug, Clone, Default)]
pub(crate) struct ClientRegistry {
    pub(crate) connections: BTreeMap<ConnectionId, ConnectionEntry>,
    pub(crate) clients: BTreeMap<ClientId, ClientEntry>,
    /// The remembered client that the next handshake concerns, loaded from the store.
    returning: Option<(ClientId, ClientRecord)>,
    /// Devices that were revoked in this run. Their clients are not remembered.
    pub(crate) revoked: BTreeSet<Principal>,
    /// The latest grace period. Clients from the store, from before the host started, are
    /// in the first.
    last_grace_period: GracePeriodId,
}

impl ClientRegistry {
    /// Returns the client of a connection whose handshake is complete.
    pub(crate) fn client_of(&self, connection: ConnectionId) -> Option<&ClientId> {
        self.connections.get(&connection)?.client.as_ref()
    }

    /// Sets the remembered client that the next handshake concerns.
    pub(crate) fn set_returning(&mut self, returning: Option<(ClientId, ClientRecord)>) {
        self.returning = returning;
    }

    /// Returns the record of a client that is present, or that was loaded for this handshake.
    pub(crate) fn record(&self, id: &ClientId) -> Option<&ClientRecord> {
        let present = self.clients.get(id).map(|client| &client.record);
        present.or_else(|| self.remembered_record(id))
    }

    /// Returns the record of a client that is not present, and that was loaded for this handshake.
    pub(crate) fn remembered_record(&self, id: &ClientId) -> Option<&ClientRecord> {
        let (returning, record) = self.returning.as_ref()?;
        (returning == id && !self.clients.contains_key(id)).then_some(record)
    }

    /// Returns `true` if the client id belongs to another principal.
    pub(crate) fn is_owned_by_other(&self, id: &ClientId, principal: &Principal) -> bool {
        self.record(id)
            .is_some_and(|record| record.principal != *principal)
    }

    /// Assigns a connection to its client.
    pub(crate) fn attach(&mut self, connection: ConnectionId, id: &ClientId, record: ClientRecord) {
        if let Some(connection) = self.connections.get_mut(&connection) {
            connection.client = Some(id.clone());
            connection.release = record.release();
        }
        self.returning = None;
        let client = self
            .clients
            .entry(id.clone())
            .or_insert_with(|| ClientEntry {
                record: record.clone(),
                presence: ClientPresence::Grace(GracePeriodId::default()),
            });
        client.record = record;
        match &mut client.presence {
            ClientPresence::Active(connections) => connections.push(connection),
            ClientPresence::Grace(_) => client.presence = ClientPresence::Active(vec![connection]),
        }
    }

    /// Removes a connection, and starts a grace period if it was the last one of its
    /// client.
    pub(crate) fn detach(&mut self, connection: ConnectionId) -> DetachedConnection {
        let Some(gone) = self.connections.remove(&connection) else {
            return DetachedConnection::default();
        };
        let mut left = None;
        if let Some(id) = gone.client
            && let Some(client) = self.clients.get_mut(&id)
            && let ClientPresence::Active(connections) = &mut client.presence
        {
            connections.retain(|other| *other != connection);
            if connections.is_empty() {
                self.last_grace_period.0 += 1;
                client.presence = ClientPresence::Grace(self.last_grace_period);
                left = Some((id, self.last_grace_period));
            }
        }
        DetachedConnection {
            subscriptions: gone.subscriptions,
            departed_client: left,
        }
    }

    /// Returns the disconnected clients with their grace periods.
    pub(crate) fn absent_clients(&self) -> Vec<(ClientId, GracePeriodId)> {
        let absent = self.clients.iter();
        let absent = absent.filter_map(|(id, client)| match client.presence {
            ClientPresence::Grace(departure) => Some((id.clone(), departure)),
            ClientPresence::Active(_) => None,
        });
        absent.collect()
    }

    /// Removes a client whose grace period has expired. Returns `false` if it has
    /// reconnected.
    pub(crate) fn remove_expired(&mut self, id: &ClientId, grace_period: GracePeriodId) -> bool {
        let client = self.clients.get(id);
        let absent = client.is_some_and(|client| match client.presence {
            ClientPresence::Grace(left) => left == grace_period,
            ClientPresence::Active(_) => false,
        });
        if absent {
            self.clients.remove(id);
        }
        absent
    }
}

/// The data of a removed connection.
#[derive(Debug, Default)]
pub(crate) struct DetachedConnection {
    /// Channels that the connection was subscribed to.
    pub(crate) subscriptions: BTreeSet<Uri>,
    /// The client and its grace period, if this was its last connection.
    pub(crate) departed_client: Option<(ClientId, GracePeriodId)>,
}
