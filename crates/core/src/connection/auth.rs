//! Accepts the access tokens that clients send for agents and MCP servers.
//!
//! The host does not keep tokens: it passes each one on in memory at once, and no state,
//! log or response contains it (AUT-10). This module only tracks which principal has sent a
//! token for which resource, so that the client can be notified when the token expires.

use std::sync::Arc;

use agenthost_protocol::common::{McpAuthRequirement, ProtectedResource};
use agenthost_protocol::number::Millis;
use agenthost_protocol::root::{AuthRequiredParams, AuthRequiredReason, AuthenticateParams};
use agenthost_protocol::rpc::HostNotification;
use agenthost_protocol::session::{McpServerState, SessionInputRequest};
use agenthost_protocol::uri::{RootChannel, Uri};
use agenthost_protocol::wire::Json;
use serde::{Deserialize, Serialize};

use crate::connection::registry::Principal;
use crate::customization::mcp_servers;
use crate::host::Host;
use crate::host::effect::audit::{AuditKind, audit_details, audit_text};
use crate::host::effect::{Effect, Effects, ResponseBody};
use crate::host::error::RequestFailure;
use crate::host::input::{ConnectionId, Input};
use crate::host::step::Env;

/// Limit for the size of a token. A larger one is refused.
const MAX_TOKEN_BYTES: usize = 64 * 1024;

/// An access token. Its `Debug` output hides the secret.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessToken(String);

impl AccessToken {
    /// Returns the secret, for the code that presents the token.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl From<String> for AccessToken {
    fn from(token: String) -> Self {
        AccessToken(token)
    }
}

/// Hides the secret in logs and panics.
impl std::fmt::Debug for AccessToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AccessToken(…)")
    }
}

/// Identity of a token: its owner and its resource.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TokenKey {
    /// Principal that sent the token.
    pub principal: Principal,
    /// URI of the protected resource.
    pub resource: String,
}

impl Host {
    /// Accepts a token for a resource that an agent or MCP server needs one for, or removes
    /// it if the token is empty (AUT-2 to AUT-5).
    pub(crate) fn authenticate(
        &mut self,
        env: &Env,
        connection: ConnectionId,
        params: AuthenticateParams,
        out: &mut Effects,
    ) -> Result<ResponseBody, RequestFailure> {
        let invalid = |reason: &str| RequestFailure::InvalidParams(reason.to_owned());
        let challenges = self.open_challenges(&params.resource);
        let Some(known) = self.clients.connections.get(&connection) else {
            return Err(RequestFailure::NotInitialized);
        };
        let place = TokenKey {
            principal: known.peer.principal.clone(),
            resource: params.resource.clone(),
        };
        let has_one = self.tokens.nonces.contains_key(&place);
        if self.find_protected_resource(&params.resource).is_none()
            && challenges.is_empty()
            && !has_one
        {
            return Err(invalid(
                "resource: no agent or MCP server needs a token for it",
            ));
        }
        if let (Some(scopes), false) = (&params.scopes, params.token.is_empty())
            && let Some(missing) = missing_scope(&challenges, scopes)
        {
            let reason = format!("scopes: `{missing}` is required");
            return Err(RequestFailure::InvalidParams(reason));
        }
        let details = audit_details([("resource", Some(Json::from(audit_text(&place.resource))))]);
        let actor = self.audit_actor(connection);
        if params.token.is_empty() {
            self.tokens.nonces.remove(&place);
            out.audit(AuditKind::TokenRemoved, actor, None, details);
            out.push(Effect::StoreToken {
                key: place,
                token: None,
            });
            return Ok(ResponseBody::Empty);
        }
        if params.token.len() > MAX_TOKEN_BYTES || params.token.chars().any(char::is_control) {
            return Err(invalid("token: expected a line of at most 64 KiB"));
        }
        if params.expires_in == Some(0) {
            return Err(invalid("expiresIn: expected a number of at least 1"));
        }
        out.audit(AuditKind::TokenStored, actor, None, details);
        self.tokens.nonces.insert(place.clone(), env.nonce);
        if let Some(seconds) = params.expires_in {
            let millis = i64::try_from(seconds.saturating_mul(1_000)).unwrap_or(i64::MAX);
            let expired = Input::TokenExpired {
                key: place.clone(),
                nonce: env.nonce,
            };
            out.schedule(Millis(millis), expired);
        }
        let token = Some(AccessToken(params.token));
        out.push(Effect::StoreToken { key: place, token });
        Ok(ResponseBody::Empty)
    }

    /// Removes a token that has expired, unless it was replaced, and notifies its
    /// principal's connections (AUT-6).
    pub(crate) fn expire_token(&mut self, key: TokenKey, nonce: u128, out: &mut Effects) {
        if self.tokens.nonces.get(&key) != Some(&nonce) {
            return;
        }
        self.tokens.nonces.remove(&key);
        let connections = self.clients.connections.iter();
        let to = connections
            .filter(|(_, one)| one.client.is_some() && one.peer.principal == key.principal)
            .map(|(connection, _)| *connection)
            .collect();
        if let Some(resource) = self.find_protected_resource(&key.resource).cloned() {
            let channel = Uri::from(RootChannel);
            notify_auth_required(channel, resource, AuthRequiredReason::Expired, to, out);
        }
        out.push(Effect::StoreToken { key, token: None });
    }

    /// Notifies the subscribers of a session that its agent needs a token, with the
    /// resources of the agent (AUT-7).
    pub(crate) fn require_auth(&mut self, session: &Uri, out: &mut Effects) {
        let agent = self
            .session(session)
            .and_then(|one| self.agent_of_session(one));
        let resources = agent.and_then(|agent| agent.protected_resources.clone());
        let channel = self.channels.get(session);
        let to: Vec<_> = channel
            .into_iter()
            .flat_map(|channel| channel.subscribers.keys().copied())
            .collect();
        for resource in resources.into_iter().flatten() {
            let reason = AuthRequiredReason::Required;
            notify_auth_required(session.clone(), resource, reason, to.clone(), out);
        }
    }

    /// Returns the authentication requirements of a resource that MCP servers and their
    /// tool calls wait for (AUT-2).
    fn open_challenges(&self, resource: &str) -> Vec<&McpAuthRequirement> {
        let mut found = Vec::new();
        for session in self.customizations.sessions() {
            let Some(state) = self.session(session) else {
                continue;
            };
            found.extend(
                mcp_servers(state).filter_map(|one| match &one.server.state {
                    McpServerState::AuthRequired(requirement) => Some(&**requirement),
                    McpServerState::Starting(_)
                    | McpServerState::Ready
                    | McpServerState::Error(_)
                    | McpServerState::Stopped
                    | McpServerState::Unknown(_) => None,
                }),
            );
            let entries = state.input_needed.iter().flat_map(|list| list.items());
            found.extend(entries.filter_map(|entry| match entry {
                SessionInputRequest::ToolAuthentication(entry) => Some(&entry.tool_call.0.auth),
                SessionInputRequest::ChatInput(_)
                | SessionInputRequest::ToolConfirmation(_)
                | SessionInputRequest::ToolClientExecution(_)
                | SessionInputRequest::Unknown(_) => None,
            }));
        }
        found.retain(|requirement| requirement.resource.resource == resource);
        found
    }

    /// Finds a protected resource among those of all agents.
    fn find_protected_resource(&self, resource: &str) -> Option<&ProtectedResource> {
        let agents = self.config.catalog.agents.iter();
        let mut all = agents.flat_map(|agent| agent.protected_resources.iter().flatten());
        all.find(|one| one.resource == resource)
    }
}

/// Returns a required scope that the token does not have (AUT-11).
fn missing_scope<'a>(challenges: &[&'a McpAuthRequirement], scopes: &[String]) -> Option<&'a str> {
    let wanted = challenges.iter().map(|one| one.required_scopes.as_ref());
    let mut wanted = wanted.flatten().flatten();
    wanted
        .find(|wanted| !scopes.contains(wanted))
        .map(String::as_str)
}

fn notify_auth_required(
    channel: Uri,
    resource: ProtectedResource,
    reason: AuthRequiredReason,
    to: Vec<ConnectionId>,
    out: &mut Effects,
) {
    if to.is_empty() {
        return;
    }
    let required = AuthRequiredParams {
        channel,
        resource,
        reason: Some(reason),
    };
    out.push(Effect::Notify {
        notification: Arc::new(HostNotification::AuthRequired(Box::new(required))),
        to,
    });
}
