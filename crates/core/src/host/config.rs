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

/// What the host is told when it starts.
#[derive(Debug, Clone)]
pub struct HostConfig {
    /// What it calls itself.
    pub server: Implementation,
    /// The agents it offers, the default one first.
    pub agents: Vec<AgentInfo>,
    /// What can be configured about sessions of each agent.
    pub schemas: BTreeMap<ProviderId, SessionConfigSchema>,
    /// Values that nobody may choose for sessions of each agent.
    pub forbidden_values: BTreeMap<ProviderId, Vec<ForbiddenValue>>,
    /// Folders that clients may use, besides those of sessions.
    pub granted_roots: Vec<GrantedRoot>,
    /// Where a user starts to look for files.
    pub default_directory: Option<Uri>,
    /// Agents that take notice of customizations; `None` if nobody reads any.
    pub customizable: Option<BTreeSet<ProviderId>>,
    /// How long a client may be gone before it is forgotten.
    pub grace_period: Millis,
    /// Most subscriptions of one connection.
    pub max_subscriptions: usize,
    /// Most sessions that there may be at a time (`limits.sessions`).
    pub max_sessions: usize,
}
