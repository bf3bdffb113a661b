//! Tokens that agents, MCP servers and tool calls require.

use agenthost_protocol::common::{McpAuthReason, McpAuthRequirement, ProtectedResource};
use agenthost_protocol::ids::CustomizationId;
use agenthost_protocol::root::AgentInfo;
use agenthost_protocol::session::{
    Customization, McpServerCustomization, McpServerState, SessionInputRequest, SessionState,
};
use agenthost_protocol::sorted::SortedSet;
use serde::Serialize;

use super::row::{MAX_MESSAGE, MAX_NAME};
use crate::visible_text::{visible_label, visible_text};

/// Agents, resources, scopes and authorization servers that are shown.
const MAX_LISTED: usize = 50;

/// Longer addresses are not shown as links.
const MAX_LINK: usize = 2048;

/// A token that an agent or an MCP server requires.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenRequirement {
    /// Name of the resource, or its identifier.
    pub name: String,
    /// Identifier of the resource, for `authenticate`.
    pub resource: String,
    /// Identifier of the resource, to be shown.
    pub address: String,
    /// Explanation for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Scopes that the token must have.
    pub scopes: Vec<String>,
    /// Authorization servers that issue tokens.
    pub authorization_servers: Vec<TokenLink>,
    /// Page that explains the resource to developers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub documentation: Option<TokenLink>,
    /// `true` if an earlier token has expired.
    pub expired: bool,
}

/// An address in the metadata of a resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TokenLink {
    /// Address to be shown.
    pub label: String,
    /// Address to be opened; absent if it is not one of the web.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// An agent that uses protected resources.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AgentTokens {
    /// Id of the agent.
    pub key: String,
    /// Display name of the agent.
    pub label: String,
    pub resources: Vec<AgentResource>,
}

/// A protected resource of an agent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AgentResource {
    /// Token that the resource accepts.
    pub token: TokenRequirement,
    /// `false` if the agent also works without a token.
    pub required: bool,
}

impl TokenRequirement {
    /// Returns the requirement of a protected resource.
    pub fn of_resource(resource: &ProtectedResource, expired: bool) -> Self {
        let name = resource.resource_name.as_ref();
        let name = name.filter(|name| !name.trim().is_empty());
        let servers = resource.authorization_servers.iter().flatten();
        TokenRequirement {
            name: visible_label(name.unwrap_or(&resource.resource), MAX_NAME),
            resource: resource.resource.clone(),
            address: visible_label(&resource.resource, MAX_NAME),
            description: None,
            scopes: Vec::new(),
            authorization_servers: servers
                .take(MAX_LISTED)
                .map(|url| TokenLink::new(url))
                .collect(),
            documentation: resource
                .resource_documentation
                .as_deref()
                .map(TokenLink::new),
            expired,
        }
    }

    /// Returns the requirement of an MCP server or of a call to one of its tools.
    pub fn of_challenge(challenge: &McpAuthRequirement) -> Self {
        let description = challenge.description.as_ref();
        let scopes = challenge.required_scopes.iter().flatten().take(MAX_LISTED);
        let expired = match challenge.reason {
            McpAuthReason::Expired => true,
            McpAuthReason::Required
            | McpAuthReason::InsufficientScope
            | McpAuthReason::Unknown(_) => false,
        };
        TokenRequirement {
            description: description.map(|text| visible_label(text, MAX_MESSAGE)),
            scopes: scopes.map(|scope| visible_label(scope, MAX_NAME)).collect(),
            ..Self::of_resource(&challenge.resource, expired)
        }
    }
}

impl TokenLink {
    fn new(address: &str) -> Self {
        let scheme = address.split_once("://").map(|(scheme, _)| scheme);
        let is_web = scheme.is_some_and(|scheme| {
            scheme.eq_ignore_ascii_case("https") || scheme.eq_ignore_ascii_case("http")
        });
        let is_plain = address.len() <= MAX_LINK
            && !address.contains(char::is_whitespace)
            && visible_text(address) == address;
        TokenLink {
            label: visible_label(address, MAX_NAME),
            url: (is_web && is_plain).then(|| address.to_owned()),
        }
    }
}

impl AgentTokens {
    /// Returns the agents of a host that use protected resources.
    pub fn of_agents(agents: &[AgentInfo]) -> Vec<Self> {
        let agents = agents.iter().filter_map(|agent| {
            let resources = agent.protected_resources.iter().flatten();
            let resources = resources.take(MAX_LISTED).map(|resource| AgentResource {
                token: TokenRequirement::of_resource(resource, false),
                required: resource.required != Some(false),
            });
            let resources: Vec<_> = resources.collect();
            (!resources.is_empty()).then(|| AgentTokens {
                key: agent.provider.to_string(),
                label: visible_label(&agent.display_name, MAX_NAME),
                resources,
            })
        });
        agents.take(MAX_LISTED).collect()
    }
}

/// Returns the tokens that the MCP servers of a session wait for.
pub fn required_tokens(session: &SessionState) -> Vec<TokenRequirement> {
    let challenges = servers(session).filter_map(server_challenge);
    challenges
        .take(MAX_LISTED)
        .map(TokenRequirement::of_challenge)
        .collect()
}

/// Returns the MCP servers of a session that wait for a token for a resource.
pub fn challenged_servers(session: &SessionState, resource: &str) -> Vec<CustomizationId> {
    let challenged = servers(session).filter(|server| {
        let challenge = server_challenge(server);
        challenge.is_some_and(|challenge| challenge.resource.resource == resource)
    });
    let ids = challenged.map(|server| server.base.id.clone());
    ids.take(MAX_LISTED).collect()
}

/// Returns all scopes that a session requires for a resource, as the host named them.
pub fn required_scopes(session: &SessionState, resource: &str) -> SortedSet<String> {
    let calls = session.input_needed.iter().flat_map(|open| open.items());
    let calls = calls.filter_map(|entry| match entry {
        SessionInputRequest::ToolAuthentication(entry) => Some(&entry.tool_call.0.auth),
        SessionInputRequest::ChatInput(_)
        | SessionInputRequest::ToolConfirmation(_)
        | SessionInputRequest::ToolClientExecution(_)
        | SessionInputRequest::Unknown(_) => None,
    });
    let all = servers(session).filter_map(server_challenge).chain(calls);
    let all = all.filter(|challenge| challenge.resource.resource == resource);
    let scopes = all.flat_map(|challenge| challenge.required_scopes.iter().flatten());
    scopes.cloned().collect()
}

/// Returns the MCP servers of a session, also those inside of containers.
fn servers(session: &SessionState) -> impl Iterator<Item = &McpServerCustomization> {
    let all = session.customizations.iter().flat_map(|all| all.items());
    all.flat_map(|one| {
        let children = one.children().unwrap_or_default().iter();
        let inside = children.filter_map(|child| child.as_mcp_server());
        let own = match one {
            Customization::McpServer(server) => Some(&**server),
            Customization::Plugin(_) | Customization::Directory(_) | Customization::Unknown(_) => {
                None
            }
        };
        own.into_iter().chain(inside)
    })
}

fn server_challenge(server: &McpServerCustomization) -> Option<&McpAuthRequirement> {
    match &server.state {
        McpServerState::AuthRequired(challenge) => Some(challenge),
        McpServerState::Starting(_)
        | McpServerState::Ready
        | McpServerState::Error(_)
        | McpServerState::Stopped
        | McpServerState::Unknown(_) => None,
    }
}
