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

/// The configuration with which the host is started.
#[derive(Debug, Clone)]
pub struct HostConfig {
    /// Name and version of the host, as sent in the handshake.
    pub server: Implementation,
    /// The agents that the host offers, the default agent first.
    pub agents: Vec<AgentInfo>,
    /// The configuration schema of sessions, by agent.
    pub schemas: BTreeMap<ProviderId, SessionConfigSchema>,
    /// Configuration values that no client may select, by agent.
    pub forbidden_values: BTreeMap<ProviderId, Vec<ForbiddenValue>>,
    /// Folders that clients may use in addition to those of sessions.
    pub granted_roots: Vec<GrantedRoot>,
    /// The folder in which file dialogs of clients start.
    pub default_directory: Option<Uri>,
    /// Agents that support customizations; `None` if the host reads no customizations.
    pub customizable: Option<BTreeSet<ProviderId>>,
    /// The time that a disconnected client has to reconnect before the host drops it.
    pub grace_period: Millis,
    /// Maximum number of subscriptions per connection.
    pub max_subscriptions: usize,
    /// Maximum number of sessions (`limits.sessions`).
    pub max_sessions: usize,
}
