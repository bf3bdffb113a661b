//! Tokens that people gave, by who gave them and what they are for. Only ever
//! in memory.
//!
//! A server asks for one token, but several principals may have given one. A
//! session uses that of the first of its own who has one, and nobody else's
//! (AUT-13). When it is taken back, it is the turn of the next.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use agenthost_core::{AccessToken, Principal, TokenKey};
use agenthost_protocol::uri::Uri;
use agenthost_stdx::sync::lock;
use tokio::sync::watch;

/// A token, and which one of all that were ever given it is.
#[derive(Debug, Clone)]
pub(crate) struct IssuedToken {
    /// The token.
    pub(crate) token: AccessToken,
    /// Counts up, from 1.
    pub(crate) number: u64,
}

/// All tokens that are good, as far as is known.
#[derive(Debug, Default)]
pub(crate) struct McpTokens {
    table: Mutex<McpTokenTable>,
    changes: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct McpTokenTable {
    tokens: BTreeMap<TokenKey, IssuedToken>,
    last_number: u64,
    /// Whose tokens sessions use.
    principals: BTreeMap<Uri, Vec<Principal>>,
}

impl McpTokens {
    /// Takes a token, or takes one back.
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

    /// A session uses the tokens of these, the first of them first.
    pub(crate) fn set_principals(&self, session: &Uri, principals: Vec<Principal>) {
        {
            let mut table = self.lock();
            match principals.is_empty() {
                true => table.principals.remove(session),
                false => table.principals.insert(session.clone(), principals),
            };
        }
        self.changes.send_replace(());
    }

    /// The token that a session uses for a resource.
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

    /// Hears of every change from now on.
    pub(crate) fn subscribe_changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    /// Waits until a session uses another token for a resource than one that
    /// did not help.
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
                // Whoever waits here holds the sender, so it can't be gone.
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

    /// AUT-13: a session uses the token of the first who has one, and that of
    /// nobody else.
    #[tokio::test]
    async fn a_session_uses_the_tokens_of_its_own() {
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
        // Another order is another token, though an older one.
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
