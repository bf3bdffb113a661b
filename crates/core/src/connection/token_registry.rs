//! Whose tokens a session uses.
//!
//! A token is its principal's: a session uses that of whoever asked for something
//! last, then of those who asked before, then of those who take part in it. Nobody
//! else's serves it (AUT-10, AUT-13).

use std::collections::BTreeMap;

use agenthost_protocol::ids::ClientId;
use agenthost_protocol::uri::Uri;

use crate::connection::auth::TokenKey;
use crate::connection::registry::Principal;
use crate::host::Host;
use crate::host::effect::{Effect, Effects};

/// Most principals that a session remembers to have asked for something.
const MAX_SESSION_PRINCIPALS: usize = 16;

/// Which tokens there are, and who may use them. The tokens themselves are
/// elsewhere.
#[derive(Debug, Clone, Default)]
pub(crate) struct TokenRegistry {
    /// When each was given.
    pub(crate) nonces: BTreeMap<TokenKey, u128>,
    /// Who made a session, started turns or servers in it; the latest first.
    principals: BTreeMap<Uri, Vec<Principal>>,
    /// Whose tokens sessions use, as it was last told.
    published: BTreeMap<Uri, Vec<Principal>>,
}

impl Host {
    /// A client wants something of a session that may need a token.
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

    /// Tells whose tokens a session uses, if that is something else than before.
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

    /// A session is gone: nobody's tokens are for it.
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
