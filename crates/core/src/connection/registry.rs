//! Who is connected, and who was a moment ago.

use std::collections::{BTreeMap, BTreeSet};

use agenthost_protocol::connection::{ClientCapabilities, Implementation};
use agenthost_protocol::ids::{ClientId, ServerSeq};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::version::Release;

use crate::host::input::ConnectionId;

/// Who a peer is, as the transport authenticated it. What a peer says about
/// itself never counts as this.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Principal(pub String);

/// What is remembered of a client. `reconnect` carries none of it (HSK-15), so
/// it is kept over a disconnect and over a restart of the host.
#[derive(Debug, Clone, PartialEq)]
pub struct ClientRecord {
    /// Who may use the name: whoever used it first (HSK-24).
    pub principal: Principal,
    /// The version that was agreed on, as the client wrote it.
    pub version: String,
    /// What it can do.
    pub capabilities: ClientCapabilities,
    /// The language of its user.
    pub locale: Option<String>,
    /// What it is.
    pub info: Option<Implementation>,
    /// Chats of which it has seen the latest turns only. What happened to the
    /// others can't be told it one by one.
    pub windowed: BTreeSet<Uri>,
    /// Whether several programs go by this name, such as two tabs of a browser
    /// that started from the same memory. What one of them has seen says
    /// nothing about the others.
    pub shared: bool,
    /// The writer epoch in which it was last attached. Of several programs that
    /// share the name, that of the first.
    pub epoch: ServerSeq,
}

impl ClientRecord {
    /// The release that it is spoken to in.
    pub fn release(&self) -> Release {
        Release::named(&self.version).unwrap_or(Release::CURRENT)
    }
}

/// A client that is here, or was.
#[derive(Debug, Clone)]
pub(crate) struct ClientEntry {
    pub(crate) record: ClientRecord,
    pub(crate) presence: ClientPresence,
}

#[derive(Debug, Clone)]
pub(crate) enum ClientPresence {
    /// Connected, the newest connection last. There may be two for a moment
    /// when a page is loaded again (HSK-23).
    Active(Vec<ConnectionId>),
    /// Gone, but perhaps not for long.
    Grace(GracePeriodId),
}

/// One time of many that a client left. Who came back and left again has a grace
/// period of its own for that.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GracePeriodId(pub u64);

/// A connection.
#[derive(Debug, Clone)]
pub(crate) struct ConnectionEntry {
    pub(crate) principal: Principal,
    /// The client, once it has said who it is.
    pub(crate) client: Option<ClientId>,
    pub(crate) subscriptions: BTreeSet<Uri>,
    /// What it speaks.
    pub(crate) release: Release,
    /// `true` once a `reconnect` was refused because its client is not known any
    /// more: the client was here before.
    pub(crate) reconnect_refused: bool,
}

/// All clients and connections.
#[derive(Debug, Clone, Default)]
pub(crate) struct ClientRegistry {
    pub(crate) connections: BTreeMap<ConnectionId, ConnectionEntry>,
    pub(crate) clients: BTreeMap<ClientId, ClientEntry>,
    /// The latest of all. Those who were here before the host started left at
    /// the first.
    last_grace_period: GracePeriodId,
}

impl ClientRegistry {
    /// The client of a connection that is past its handshake.
    pub(crate) fn client_of(&self, connection: ConnectionId) -> Option<&ClientId> {
        self.connections.get(&connection)?.client.as_ref()
    }

    /// Whether another principal has the name already.
    pub(crate) fn is_owned_by_other(&self, id: &ClientId, principal: &Principal) -> bool {
        self.clients
            .get(id)
            .is_some_and(|client| client.record.principal != *principal)
    }

    /// A connection turns out to be a client's.
    pub(crate) fn attach(&mut self, connection: ConnectionId, id: &ClientId, record: ClientRecord) {
        if let Some(connection) = self.connections.get_mut(&connection) {
            connection.client = Some(id.clone());
            connection.release = record.release();
        }
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

    /// A connection is gone. Says whether it was the last of its client.
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

    /// Clients that are not here, and when they left.
    pub(crate) fn absent_clients(&self) -> Vec<(ClientId, GracePeriodId)> {
        let absent = self.clients.iter();
        let absent = absent.filter_map(|(id, client)| match client.presence {
            ClientPresence::Grace(departure) => Some((id.clone(), departure)),
            ClientPresence::Active(_) => None,
        });
        absent.collect()
    }

    /// The grace period of a client after a departure is over. Says whether it
    /// is forgotten.
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

/// What a connection leaves behind.
#[derive(Debug, Default)]
pub(crate) struct DetachedConnection {
    /// The channels it was subscribed to.
    pub(crate) subscriptions: BTreeSet<Uri>,
    /// The client, if this was its last connection.
    pub(crate) departed_client: Option<(ClientId, GracePeriodId)>,
}
