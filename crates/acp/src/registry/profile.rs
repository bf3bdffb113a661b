//! What is particular about an agent that speaks ACP.

use agenthost_agents::McpPreference;
use agenthost_protocol::common::ProtectedResource;

use crate::registry::{KnownAgent, TokenBinding};
use crate::session::auto_approve::{AutoApprovePolicy, AutoApproveRules};

/// What is particular about an agent.
#[derive(Debug, Clone, Default)]
pub struct AcpProfile {
    /// Values of modes and options, and names of options that are on or off,
    /// that let it do everything without asking.
    pub auto_approve_values: Vec<String>,
    /// Whether such values may be chosen.
    pub auto_approve: AutoApprovePolicy,
    /// How to sign in, for people.
    pub sign_in_hint: Option<String>,
    /// What becomes of tokens that clients hand over.
    pub token_binding: Option<TokenBinding>,
    /// How many sessions of its own it can have.
    pub sessions: SessionMultiplicity,
    /// Whether it gets to the tools that the host offers.
    pub host_tools: HostToolAccess,
    /// How it takes servers of tools.
    pub mcp_preference: McpPreference,
    /// What it reads by itself of what customizes agents: beginnings of paths
    /// in the folders of a session, or in the home directory after `~/`.
    pub native_customizations: Vec<String>,
}

/// Whether an agent gets to the tools that the host offers: those of clients,
/// and of servers of tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum HostToolAccess {
    /// It is told how.
    #[default]
    Offered,
    /// It is not.
    Withheld,
}

/// How many sessions of its own an agent can have in one process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SessionMultiplicity {
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
            auto_approve_values: known.trusting.clone(),
            auto_approve: AutoApprovePolicy::Forbidden,
            sign_in_hint: Some(known.sign_in.clone()),
            token_binding: known.token.clone(),
            sessions: if known.one_session_per_process {
                SessionMultiplicity::One
            } else {
                SessionMultiplicity::Many
            },
            host_tools: if known.host_tools {
                HostToolAccess::Offered
            } else {
                HostToolAccess::Withheld
            },
            mcp_preference: known.tool_servers,
            native_customizations: known.reads.clone(),
        }
    }

    pub(crate) fn auto_approve_rules(&self) -> AutoApproveRules<'_> {
        AutoApproveRules {
            known_values: &self.auto_approve_values,
            policy: self.auto_approve,
        }
    }

    /// What clients can hand over a token for (AUT-1). It never has to be
    /// there: an agent may be signed in by itself (AUT-14).
    pub(crate) fn protected_resources(&self) -> Option<Vec<ProtectedResource>> {
        let token = self.token_binding.as_ref()?;
        let non_empty = |list: &[String]| (!list.is_empty()).then(|| list.to_vec());
        let resource = ProtectedResource {
            resource: token.resource.clone(),
            resource_name: token.name.clone(),
            authorization_servers: non_empty(&token.authorization_servers),
            jwks_uri: None,
            scopes_supported: non_empty(&token.scopes),
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
