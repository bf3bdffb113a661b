//! Tracks the principals whose tokens a session may use.
//!
//! A token belongs to its principal. A session uses the tokens of the principal that made
//! the last request in it, then of earlier ones, then of its active clients. It never uses
//! the token of any other principal (AUT-10, AUT-13).

use std::collections::BTreeMap;

use agenthost_protocol::ids::ClientId;
use agenthost_protocol::uri::Uri;
use serde::{Deserialize, Serialize};

use crate::connection::auth::TokenKey;
use crate::connection::registry::Principal;
use crate::host::Host;
use crate::host::effect::{Effect, Effects};

/// Limit for the principals of past requests that are tracked for a session.
const MAX_SESSION_PRINCIPALS: usize = 16;

/// Tokens by owner and resource, and the principals of each session. The tokens themselves
/// are stored outside of this crate.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct TokenRegistry {
    /// Nonce of each token, to recognize the timer of a replaced one.
    #[serde(skip)]
    pub(crate) nonces: BTreeMap<TokenKey, u128>,
    /// Principals that created a session or started turns or MCP servers in it; the latest
    /// first.
    principals: BTreeMap<Uri, Vec<Principal>>,
    /// Principals of each session, as they were last published.
    published: BTreeMap<Uri, Vec<Principal>>,
}

impl TokenRegistry {
    /// Forgets what was published, because its receiver has ended.
    pub(crate) fn forget_published(&mut self) {
        self.published.clear();
    }
}

impl Host {
    /// Records the principal of a client that requests work in a session which may need a
    /// token.
    pub(crate) fn record_principal(&mut self, session: &Uri, client: &ClientId, out: &mut Effects) {
        if let Some(client) = self.clients.clients.get(client) {
            let principal = client.record.principal.clone();
            let askers = self.tokens.principals.entry(session.clone()).or_default();
            askers.retain(|other| *other != principal);
            askers.insert(0, principal);
            askers.truncate(MAX_SESSION_PRINCIPALS);
        }
        self.sync_token_principals(session, out);
    }

    /// Publishes the principals whose tokens a session may use, if they changed.
    pub(crate) fn sync_token_principals(&mut self, session: &Uri, out: &mut Effects) {
        let Some(state) = self.session(session) else {
            return;
        };
        let askers = self.tokens.principals.get(session).into_iter().flatten();
        let active = state.active_clients.iter().filter_map(|active| {
            let client = self.clients.clients.get(&active.client_id)?;
            Some(&client.record.principal)
        });
        let mut principals: Vec<Principal> = Vec::new();
        for principal in askers.chain(active) {
            if !principals.contains(principal) {
                principals.push(principal.clone());
            }
        }
        let published = self.tokens.published.entry(session.clone()).or_default();
        if *published != principals {
            published.clone_from(&principals);
            let session = session.clone();
            out.push(Effect::SetTokenPrincipals {
                session,
                principals,
            });
        }
    }

    /// Removes the principals of a removed session.
    pub(crate) fn drop_principals(&mut self, session: &Uri, out: &mut Effects) {
        self.tokens.principals.remove(session);
        let told = self.tokens.published.remove(session);
        if told.is_some_and(|told| !told.is_empty()) {
            out.push(Effect::SetTokenPrincipals {
                session: session.clone(),
                principals: Vec::new(),
            });
        }
    }
}
