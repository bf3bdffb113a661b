//! The configuration of a host.

use std::collections::{BTreeMap, BTreeSet};

use agenthost_protocol::common::SessionConfigSchema;
use agenthost_protocol::connection::Implementation;
use agenthost_protocol::ids::ProviderId;
use agenthost_protocol::number::Millis;
use agenthost_protocol::root::AgentInfo;
use agenthost_protocol::uri::Uri;

use crate::agent::ForbiddenValue;
use crate::resource::GrantedRoot;

/// The agents that a host offers. It is replaced as a whole when agents are installed or
/// configured while the host runs.
#[derive(Debug, Clone, Default)]
pub struct AgentCatalog {
    /// Descriptions for clients, the default agent first.
    pub agents: Vec<AgentInfo>,
    /// The configuration schema of sessions, by agent.
    pub schemas: BTreeMap<ProviderId, SessionConfigSchema>,
    /// Configuration values that no client may select, by agent.
    pub forbidden_values: BTreeMap<ProviderId, Vec<ForbiddenValue>>,
    /// Agents that support customizations; `None` if the host reads no customizations.
    pub customizable: Option<BTreeSet<ProviderId>>,
    /// Agents that accept steering messages during a turn.
    pub steerable: BTreeSet<ProviderId>,
}

/// The configuration with which the host is started.
#[derive(Debug, Clone)]
pub struct HostConfig {
    /// Name and version of the host, as sent in the handshake.
    pub server: Implementation,
    /// The agents that the host offers.
    pub catalog: AgentCatalog,
    /// Folders that clients may use in addition to those of sessions.
    pub granted_roots: Vec<GrantedRoot>,
    /// The folder in which file dialogs of clients start.
    pub default_directory: Option<Uri>,
    /// The time that a disconnected client has to reconnect before the host releases its tools
    /// and its places in sessions.
    pub grace_period: Millis,
    /// The time for which a released client can still reconnect (`retention.client_days`).
    pub client_retention: Millis,
    /// Maximum number of released clients that the store remembers
    /// (`limits.remembered_clients`).
    pub max_remembered_clients: usize,
    /// Maximum number of subscriptions per connection.
    pub max_subscriptions: usize,
    /// Maximum number of sessions (`limits.sessions`).
    pub max_sessions: usize,
}
