//! Access tokens by principal and resource, in memory only.
//!
//! A server requires one token, but several principals may have provided one. A session uses
//! the token of the first of its principals that has one, and never a token of another
//! principal (AUT-13). When that token is revoked, the session uses the token of the next
//! principal.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use agenthost_core::{AccessToken, Principal, TokenKey};
use agenthost_protocol::uri::Uri;
use agenthost_stdx::sync::lock;
use tokio::sync::watch;

/// A token with a number that identifies it among all tokens that the host has received.
#[derive(Debug, Clone)]
pub(crate) struct IssuedToken {
    pub(crate) token: AccessToken,
    /// Increases with every change of the table, starting at 1.
    pub(crate) number: u64,
}

/// The valid tokens, and the principals of each session.
#[derive(Debug, Default)]
pub(crate) struct McpTokens {
    table: Mutex<McpTokenTable>,
    changes: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct McpTokenTable {
    tokens: BTreeMap<TokenKey, IssuedToken>,
    last_number: u64,
    /// Principals of each session, in the order in which their tokens are tried.
    principals: BTreeMap<Uri, Vec<Principal>>,
}

impl McpTokens {
    /// Stores a token, or removes it with `None`.
    pub(crate) fn set(&self, key: TokenKey, token: Option<AccessToken>) {
        {
            let mut table = self.lock();
            table.last_number = table.last_number.saturating_add(1);
            let number = table.last_number;
            match token {
                Some(token) => table.tokens.insert(key, IssuedToken { token, number }),
                None => table.tokens.remove(&key),
            };
        }
        self.changes.send_replace(());
    }

    /// Sets the principals whose tokens a session uses, in order of preference.
    pub(crate) fn set_principals(&self, session: &Uri, principals: Vec<Principal>) {
        {
            let mut table = self.lock();
            if principals.is_empty() {
                table.principals.remove(session)
            } else {
                table.principals.insert(session.clone(), principals)
            };
        }
        self.changes.send_replace(());
    }

    /// Returns the token that a session uses for a resource.
    pub(crate) fn token_for(&self, session: &Uri, resource: &str) -> Option<IssuedToken> {
        let table = self.lock();
        let principals = table.principals.get(session)?;
        principals.iter().find_map(|principal| {
            let key = TokenKey {
                principal: principal.clone(),
                resource: resource.to_owned(),
            };
            table.tokens.get(&key).cloned()
        })
    }

    /// Returns a receiver that is notified of every later change.
    pub(crate) fn subscribe_changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    /// Waits until the session has a token for the resource with another number than the
    /// rejected one.
    pub(crate) async fn wait_for_new_token(
        &self,
        session: &Uri,
        resource: &str,
        number: u64,
    ) -> IssuedToken {
        let mut changes = self.subscribe_changes();
        loop {
            match self.token_for(session, resource) {
                Some(given) if given.number != number => return given,
                Some(_) | None => {}
            }
            if changes.changed().await.is_err() {
                // Not reachable: `self` holds the sender, so the channel can't be closed here.
                std::future::pending::<()>().await;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, McpTokenTable> {
        lock(&self.table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn who(name: &str) -> Principal {
        Principal(name.to_owned())
    }

    fn place(name: &str) -> TokenKey {
        TokenKey {
            principal: who(name),
            resource: "r".to_owned(),
        }
    }

    /// AUT-13: a session uses the token of its first principal that has one, and never that of
    /// another principal.
    #[tokio::test]
    async fn a_session_uses_the_tokens_of_its_principals() {
        let tokens = McpTokens::default();
        let (ours, theirs) = (Uri::from("ahp-session:/1"), Uri::from("ahp-session:/2"));
        let used = |session: &Uri| {
            let given = tokens.token_for(session, "r");
            given.map(|given| given.token.reveal().to_owned())
        };
        let given = |text: &str| Some(AccessToken::from(text.to_owned()));
        tokens.set(place("ann"), given("1"));
        assert_eq!(used(&ours), None);
        tokens.set_principals(&ours, vec![who("bob"), who("ann")]);
        tokens.set_principals(&theirs, vec![who("cid")]);
        assert_eq!(used(&ours).as_deref(), Some("1"));
        tokens.set(place("bob"), given("2"));
        assert_eq!(used(&ours).as_deref(), Some("2"));
        assert_eq!(used(&theirs), None);
        // A new order of principals selects another token, even one that was stored earlier.
        let (other, ()) = tokio::join!(tokens.wait_for_new_token(&ours, "r", 2), async {
            tokens.set_principals(&ours, vec![who("ann"), who("bob")]);
        });
        assert_eq!(other.number, 1);
        tokens.set(place("ann"), None);
        assert_eq!(used(&ours).as_deref(), Some("2"));
        let (other, ()) = tokio::join!(tokens.wait_for_new_token(&ours, "r", 2), async {
            tokens.set(place("bob"), given("3"));
        });
        assert_eq!(other.number, 4);
        tokens.set_principals(&ours, Vec::new());
        assert_eq!(used(&ours), None);
        assert!(!format!("{other:?}").contains('3'));
    }
}
