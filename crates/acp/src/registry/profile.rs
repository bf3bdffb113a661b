//! The properties of an agent that differ from those of a generic ACP agent.

use agenthost_agents::McpPreference;
use agenthost_protocol::common::ProtectedResource;

use crate::registry::credentials::CredentialPlaces;
use crate::registry::{KnownAgent, TokenBinding};
use crate::session::auto_approve::{AutoApprovePolicy, AutoApproveRules};

/// Properties that are specific to one agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AcpProfile {
    /// Values of modes and options, and names of boolean options, that let the agent do
    /// everything without approval.
    pub auto_approve_values: Vec<String>,
    /// The policy for such values.
    pub auto_approve: AutoApprovePolicy,
    /// Instructions for signing in, for users.
    pub sign_in_hint: Option<String>,
    /// Texts in errors with which the agent says that it is not set up.
    pub sign_in_errors: Vec<String>,
    /// The places in which the agent finds its credentials, if it opens sessions without any.
    pub credentials: Option<CredentialPlaces>,
    /// The use of tokens that clients provide.
    pub token_binding: Option<TokenBinding>,
    /// The number of sessions that one process can have.
    pub sessions: SessionMultiplicity,
    /// The access of the agent to the tools that the host offers.
    pub host_tools: HostToolAccess,
    /// The transport by which the agent prefers to reach MCP servers.
    pub mcp_preference: McpPreference,
    /// Customizations that the agent reads itself, as prefixes of paths in the folders of a
    /// session, or in the home directory after `~/`.
    pub native_customizations: Vec<String>,
}

/// The access of an agent to the tools that the host offers: those of clients and of MCP
/// servers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum HostToolAccess {
    /// The agent gets the gateway as an MCP server.
    #[default]
    Offered,
    /// The agent does not get the gateway.
    Withheld,
}

/// The number of sessions that an agent can have in one process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SessionMultiplicity {
    /// One agent session for each chat.
    #[default]
    Many,
    /// One: a second session would end the first. Sessions of the host with this agent have one
    /// chat.
    One,
}

impl AcpProfile {
    /// Returns the profile of a known agent. Values that disable approval are forbidden.
    #[must_use]
    pub fn of(known: &KnownAgent) -> Self {
        AcpProfile {
            auto_approve_values: known.trusting.clone(),
            auto_approve: AutoApprovePolicy::Forbidden,
            sign_in_hint: Some(known.sign_in.clone()),
            sign_in_errors: known.sign_in_errors.clone(),
            credentials: known.credentials.clone(),
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

    /// Returns the resources that clients can provide a token for (AUT-1). A token is never
    /// required, because the agent may be signed in itself (AUT-14).
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
