//! Tokens that clients hand over, for what agents need them for.
//!
//! The host itself keeps no token: it goes on to the agents at once, in
//! memory, and is in no state, log or answer (AUT-10). Known here is only who
//! gave one for what, so that it can be told when it is no longer good.

use std::sync::Arc;

use agenthost_protocol::common::{McpAuthRequirement, ProtectedResource};
use agenthost_protocol::number::Millis;
use agenthost_protocol::root::{AuthRequiredParams, AuthRequiredReason, AuthenticateParams};
use agenthost_protocol::rpc::HostNotification;
use agenthost_protocol::session::{McpServerState, SessionInputRequest};
use agenthost_protocol::uri::{RootChannel, Uri};

use crate::clients::Principal;
use crate::customizations::servers;
use crate::effect::{Answer, Effect, Effects};
use crate::env::Env;
use crate::host::Host;
use crate::input::{ConnectionId, Input};
use crate::refusal::Failure;

/// Longest token, in bytes.
const LONGEST: usize = 64 * 1024;

/// A token. Nobody gets to see it by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// The token itself, for whoever has to present it.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl From<String> for Token {
    fn from(token: String) -> Self {
        Token(token)
    }
}

/// Shows nothing of it.
impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

/// Who gave a token, and what it is for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TokenPlace {
    /// Who gave it.
    pub principal: Principal,
    /// What it is for.
    pub resource: String,
}

impl Host {
    /// Takes a token for something that an agent said it needs one for, or
    /// takes one back (AUT-2 to AUT-5).
    pub(crate) fn authenticate(
        &mut self,
        env: &Env,
        connection: ConnectionId,
        params: AuthenticateParams,
        out: &mut Effects,
    ) -> Result<Answer, Failure> {
        let invalid = |reason: &str| Failure::InvalidParams(reason.to_owned());
        let challenges = self.challenges(&params.resource);
        let Some(known) = self.clients.connections.get(&connection) else {
            return Err(Failure::NotInitialized);
        };
        let place = TokenPlace {
            principal: known.principal.clone(),
            resource: params.resource.clone(),
        };
        let has_one = self.tokens.given.contains_key(&place);
        if self.protected(&params.resource).is_none() && challenges.is_empty() && !has_one {
            return Err(invalid(
                "resource: no agent or server here needs a token for this",
            ));
        }
        if let (Some(scopes), false) = (&params.scopes, params.token.is_empty())
            && let Some(missing) = missing_scope(&challenges, scopes)
        {
            let reason = format!("scopes: `{missing}` is needed, too");
            return Err(Failure::InvalidParams(reason));
        }
        if params.token.is_empty() {
            self.tokens.given.remove(&place);
            out.push(Effect::Token { place, token: None });
            return Ok(Answer::Empty);
        }
        if params.token.len() > LONGEST || params.token.chars().any(char::is_control) {
            return Err(invalid("token: expected a line of at most 64 KiB"));
        }
        if params.expires_in == Some(0) {
            return Err(invalid("expiresIn: expected a number of at least 1"));
        }
        self.tokens.given.insert(place.clone(), env.nonce);
        if let Some(seconds) = params.expires_in {
            let millis = i64::try_from(seconds.saturating_mul(1_000)).unwrap_or(i64::MAX);
            let expired = Input::TokenExpired {
                place: place.clone(),
                given: env.nonce,
            };
            out.later(Millis(millis), expired);
        }
        let token = Some(Token(params.token));
        out.push(Effect::Token { place, token });
        Ok(Answer::Empty)
    }

    /// A token is not good any more, unless there is a newer one (AUT-6).
    pub(crate) fn expire_token(&mut self, place: TokenPlace, given: u128, out: &mut Effects) {
        if self.tokens.given.get(&place) != Some(&given) {
            return;
        }
        self.tokens.given.remove(&place);
        let connections = self.clients.connections.iter();
        let to = connections
            .filter(|(_, one)| one.client.is_some() && one.principal == place.principal)
            .map(|(connection, _)| *connection)
            .collect();
        if let Some(resource) = self.protected(&place.resource).cloned() {
            let channel = Uri::from(RootChannel);
            ask_for_token(channel, resource, AuthRequiredReason::Expired, to, out);
        }
        out.push(Effect::Token { place, token: None });
    }

    /// An agent wants somebody to sign in: who follows the session gets to know
    /// what a token would be good for (AUT-7).
    pub(crate) fn need_token(&mut self, session: &Uri, out: &mut Effects) {
        let agent = self.session(session).and_then(|one| self.agent_of(one));
        let resources = agent.and_then(|agent| agent.protected_resources.clone());
        let channel = self.channels.get(session);
        let to: Vec<_> = channel
            .into_iter()
            .flat_map(|channel| channel.subscribers.keys().copied())
            .collect();
        for resource in resources.into_iter().flatten() {
            let reason = AuthRequiredReason::Required;
            ask_for_token(session.clone(), resource, reason, to.clone(), out);
        }
    }

    /// What servers and calls of their tools wait for (AUT-2).
    fn challenges(&self, resource: &str) -> Vec<&McpAuthRequirement> {
        let mut found = Vec::new();
        for session in self.customizing.keys() {
            let Some(state) = self.session(session) else {
                continue;
            };
            found.extend(servers(state).filter_map(|one| match &one.server.state {
                McpServerState::AuthRequired(requirement) => Some(&**requirement),
                _ => None,
            }));
            let entries = state.input_needed.iter().flat_map(|list| list.items());
            found.extend(entries.filter_map(|entry| match entry {
                SessionInputRequest::ToolAuthentication(entry) => Some(&entry.tool_call.0.auth),
                _ => None,
            }));
        }
        found.retain(|requirement| requirement.resource.resource == resource);
        found
    }

    /// What agents need tokens for.
    fn protected(&self, resource: &str) -> Option<&ProtectedResource> {
        let agents = self.config.agents.iter();
        let mut all = agents.flat_map(|agent| agent.protected_resources.iter().flatten());
        all.find(|one| one.resource == resource)
    }
}

/// A scope that a challenge wants and a token does not have (AUT-11).
fn missing_scope<'a>(challenges: &[&'a McpAuthRequirement], scopes: &[String]) -> Option<&'a str> {
    let wanted = challenges.iter().map(|one| one.required_scopes.as_ref());
    let mut wanted = wanted.flatten().flatten();
    wanted
        .find(|wanted| !scopes.contains(wanted))
        .map(String::as_str)
}

fn ask_for_token(
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
