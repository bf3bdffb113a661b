//! Tokens that agents and MCP servers require. The page passes a token on and does not keep it.

use agenthost_client::ClientResponse;
use agenthost_protocol::root::{AuthRequiredParams, AuthRequiredReason, AuthenticateParams};
use agenthost_protocol::session::{McpServerStartRequested, SessionAction};
use agenthost_protocol::sorted::{SortedMap, SortedSet};
use agenthost_protocol::uri::{RootChannel, Uri};
use agenthost_view::customizations::{TokenRequirement, challenged_servers, required_scopes};

use super::Frontend;
use super::responses::{ResponsePurpose, decode};
use crate::input::Secret;

/// Sessions and resources per session with requests for tokens that are kept.
const MAX_REQUIRED: usize = 50;

/// The tokens that the host has requested and got.
#[derive(Debug, Default)]
pub(super) struct TokenTable {
    /// Requests by the session that they are for. The host does not repeat them.
    required: SortedMap<Uri, Vec<TokenRequirement>>,
    /// Resources for which this page has sent a token.
    pub(super) given: SortedSet<String>,
}

impl TokenTable {
    /// Returns the requests for a session.
    pub(super) fn of_session(&self, session: &Uri) -> &[TokenRequirement] {
        self.required.get(session).map_or(&[], Vec::as_slice)
    }
}

impl Frontend {
    /// Keeps a request of the host for a token.
    pub(super) fn add_required_token(&mut self, params: &AuthRequiredParams) {
        let expired = params.reason == Some(AuthRequiredReason::Expired);
        let token = TokenRequirement::of_resource(&params.resource, expired);
        self.tokens.given.remove(&token.resource);
        self.dirty.panels = true;
        if params.channel.as_str() == RootChannel::URI {
            let text = if expired {
                "has expired"
            } else {
                "is required"
            };
            let text = format!("the token for {} {text}: see Customizations", token.name);
            return self.add_note(text, None);
        }
        let required = &mut self.tokens.required;
        if required.len() >= MAX_REQUIRED && !required.contains_key(&params.channel) {
            return;
        }
        let of_session = required.or_default(params.channel.clone());
        of_session.retain(|other| other.resource != token.resource);
        if of_session.len() < MAX_REQUIRED {
            of_session.push(token);
        }
    }

    pub(super) fn send_token(
        &mut self,
        id: u64,
        resource: String,
        token: Secret,
        expires_in: Option<u64>,
    ) {
        let token = token.0.trim();
        if token.is_empty() {
            return self.fail(id, "the token is empty".to_owned());
        }
        let scopes = self.required_scopes(&resource);
        let params = AuthenticateParams {
            channel: RootChannel,
            resource: resource.clone(),
            token: token.to_owned(),
            expires_in,
            scopes: (!scopes.is_empty()).then_some(scopes),
            meta: None,
        };
        let purpose = ResponsePurpose::SignIn {
            command: id,
            resource,
        };
        self.request(&params, purpose);
    }

    pub(super) fn withdraw_token(&mut self, id: u64, resource: String) {
        let params = AuthenticateParams {
            channel: RootChannel,
            resource: resource.clone(),
            token: String::new(),
            expires_in: None,
            scopes: None,
            meta: None,
        };
        let purpose = ResponsePurpose::SignOut {
            command: id,
            resource,
        };
        self.request(&params, purpose);
    }

    /// Reports that the host has accepted a token or has removed it, or why it has not.
    pub(super) fn finish_token(
        &mut self,
        id: u64,
        resource: &str,
        is_given: bool,
        response: ClientResponse,
    ) {
        if let Err(error) = decode::<AuthenticateParams>(response) {
            return self.fail(id, error.to_string());
        }
        if is_given {
            self.tokens.given.insert(resource.to_owned());
            self.tokens.required.retain(|_, tokens| {
                tokens.retain(|token| token.resource != resource);
                !tokens.is_empty()
            });
            self.dirty.sessions = true;
            self.start_challenged_servers(resource);
        } else {
            self.tokens.given.remove(resource);
        }
        self.dirty.panels = true;
        self.done(id);
    }

    /// Starts the servers that wait for a token. The host uses the tokens of a device only in
    /// sessions in which it has started a turn or a server.
    fn start_challenged_servers(&mut self, resource: &str) {
        let channels = self.engine.iter().flat_map(|engine| engine.channels());
        let sessions = channels.filter_map(|channel| Some((channel, self.session_state(channel)?)));
        let servers = sessions.flat_map(|(channel, session)| {
            let servers = challenged_servers(session, resource).into_iter();
            servers.map(|server| (channel.clone(), server))
        });
        let servers: Vec<_> = servers.collect();
        for (session, id) in servers {
            let action = McpServerStartRequested { id };
            let action = SessionAction::McpServerStartRequested(action).into();
            let Some(engine) = &mut self.engine else {
                return;
            };
            if let Err(error) = engine.dispatch(&session, action) {
                self.add_note(error.to_string(), None);
            }
            self.mark_channel(&session);
        }
    }

    /// Returns the scopes that the followed sessions require for a resource. The user was told
    /// that the token must have them.
    fn required_scopes(&self, resource: &str) -> Vec<String> {
        let channels = self.engine.iter().flat_map(|engine| engine.channels());
        let sessions = channels.filter_map(|channel| self.session_state(channel));
        let scopes = sessions.flat_map(|session| required_scopes(session, resource));
        let scopes: SortedSet<_> = scopes.collect();
        scopes.into_iter().collect()
    }
}
