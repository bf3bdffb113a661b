//! Access tokens of clients, which are stored in memory only.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use agenthost_core::{AccessToken, Principal, TokenKey};
use agenthost_protocol::uri::Uri;
use agenthost_stdx::sync::lock;

/// A store for the access tokens of all clients. Clones share the tokens.
#[derive(Debug, Clone, Default)]
pub struct TokenStore(Arc<Mutex<TokenTable>>);

/// The access tokens that a session may use. Clones share the tokens.
#[derive(Debug, Clone, Default)]
pub struct SessionTokens {
    store: TokenStore,
    session: Option<Uri>,
}

#[derive(Debug, Default)]
struct TokenTable {
    tokens: BTreeMap<TokenKey, AccessToken>,
    /// The principals with tokens that a session uses.
    principals: BTreeMap<Uri, Vec<Principal>>,
}

impl TokenStore {
    /// Stores a token, or removes the one with this key.
    pub fn insert(&self, key: TokenKey, token: Option<AccessToken>) {
        let mut table = self.lock();
        match token {
            Some(token) => table.tokens.insert(key, token),
            None => table.tokens.remove(&key),
        };
    }

    /// Sets the principals with tokens that a session uses, in order of precedence
    /// (AUT-13).
    pub fn set_principals(&self, session: Uri, principals: Vec<Principal>) {
        let mut table = self.lock();
        if principals.is_empty() {
            table.principals.remove(&session)
        } else {
            table.principals.insert(session, principals)
        };
    }

    /// Returns the tokens that a session may use.
    #[must_use]
    pub fn for_session(&self, session: &Uri) -> SessionTokens {
        SessionTokens {
            store: self.clone(),
            session: Some(session.clone()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, TokenTable> {
        lock(&self.0)
    }
}

impl SessionTokens {
    /// Returns the token for a resource from the first of the session's principals that has
    /// one.
    #[must_use]
    pub fn token(&self, resource: &str) -> Option<AccessToken> {
        let table = self.store.lock();
        let principals = table.principals.get(self.session.as_ref()?)?;
        principals.iter().find_map(|principal| {
            let key = TokenKey {
                principal: principal.clone(),
                resource: resource.to_owned(),
            };
            table.tokens.get(&key).cloned()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// AUT-13: a token is used for the sessions of its owner.
    #[test]
    fn sessions_use_the_tokens_of_their_principals() {
        let tokens = TokenStore::default();
        let who = |name: &str| Principal(name.to_owned());
        let give = |name: &str, token: Option<&str>| {
            let place = TokenKey {
                principal: who(name),
                resource: "r".to_owned(),
            };
            tokens.insert(
                place,
                token.map(|token| AccessToken::from(token.to_owned())),
            );
        };
        let (ours, theirs) = (Uri::from("ahp-session:/1"), Uri::from("ahp-session:/2"));
        let shown = |session: &Uri| {
            let token = tokens.for_session(session).token("r");
            token.map(|token| token.reveal().to_owned())
        };
        give("ann", Some("a"));
        assert_eq!(shown(&ours), None);
        tokens.set_principals(ours.clone(), vec![who("bob"), who("ann")]);
        tokens.set_principals(theirs.clone(), vec![who("cid")]);
        assert_eq!(shown(&ours).as_deref(), Some("a"));
        give("bob", Some("b"));
        assert_eq!(shown(&ours).as_deref(), Some("b"));
        assert_eq!(shown(&theirs), None);
        give("bob", None);
        assert_eq!(shown(&ours).as_deref(), Some("a"));
        tokens.set_principals(ours.clone(), Vec::new());
        assert_eq!(shown(&ours), None);
    }
}
