//! What is particular about an agent that speaks ACP.

use agenthost_protocol::common::ProtectedResource;

use super::trust::{Trust, Trusting};
use crate::known::{KnownAgent, TokenUse};
use crate::relay::TakesServers;

/// What is particular about an agent.
#[derive(Debug, Clone, Default)]
pub struct AcpProfile {
    /// Values of modes and options, and names of options that are on or off,
    /// that let it do everything without asking.
    pub trusting: Vec<String>,
    /// Whether such values may be chosen.
    pub trust: Trust,
    /// How to sign in, for people.
    pub sign_in: Option<String>,
    /// What becomes of tokens that clients hand over.
    pub token: Option<TokenUse>,
    /// How many sessions of its own it can have.
    pub sessions: AgentSessions,
    /// Whether it gets to the tools that the host offers.
    pub host_tools: HostTools,
    /// How it takes servers of tools.
    pub tool_servers: TakesServers,
    /// What it reads by itself of what customizes agents: beginnings of paths
    /// in the folders of a session, or in the home directory after `~/`.
    pub reads: Vec<String>,
}

/// Whether an agent gets to the tools that the host offers: those of clients,
/// and of servers of tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum HostTools {
    /// It is told how.
    #[default]
    Offered,
    /// It is not.
    Withheld,
}

/// How many sessions of its own an agent can have in one process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AgentSessions {
    /// As many as there are chats.
    #[default]
    Many,
    /// One: a second would end the first. So its sessions here have one chat.
    One,
}

impl AcpProfile {
    /// That of an agent that is known. Nobody may have it do everything yet.
    #[must_use]
    pub fn of(known: &KnownAgent) -> Self {
        AcpProfile {
            trusting: known.trusting.clone(),
            trust: Trust::Refused,
            sign_in: Some(known.sign_in.clone()),
            token: known.token.clone(),
            sessions: if known.one_session_per_process {
                AgentSessions::One
            } else {
                AgentSessions::Many
            },
            host_tools: if known.host_tools {
                HostTools::Offered
            } else {
                HostTools::Withheld
            },
            tool_servers: known.tool_servers,
            reads: known.reads.clone(),
        }
    }

    pub(crate) fn rule(&self) -> Trusting<'_> {
        Trusting {
            known: &self.trusting,
            trust: self.trust,
        }
    }

    /// What clients can hand over a token for (AUT-1). It never has to be
    /// there: an agent may be signed in by itself (AUT-14).
    pub(crate) fn resources(&self) -> Option<Vec<ProtectedResource>> {
        let token = self.token.as_ref()?;
        let listed = |list: &[String]| (!list.is_empty()).then(|| list.to_vec());
        let resource = ProtectedResource {
            resource: token.resource.clone(),
            resource_name: token.name.clone(),
            authorization_servers: listed(&token.authorization_servers),
            jwks_uri: None,
            scopes_supported: listed(&token.scopes),
            bearer_methods_supported: None,
            resource_signing_alg_values_supported: None,
            resource_documentation: None,
            resource_policy_uri: None,
            resource_tos_uri: None,
            required: Some(false),
        };
        Some(vec![resource])
    }
}
