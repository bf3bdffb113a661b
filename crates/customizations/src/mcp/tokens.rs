//! Tokens that people gave, by who gave them and what they are for. Only ever
//! in memory.
//!
//! A server asks for one token, but several principals may have given one. A
//! session uses that of the first of its own who has one, and nobody else's
//! (AUT-13). When it is taken back, it is the turn of the next.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use agenthost_core::{Principal, Token, TokenPlace};
use agenthost_protocol::uri::Uri;
use tokio::sync::watch;

/// A token, and which one of all that were ever given it is.
#[derive(Debug, Clone)]
pub(super) struct Given {
    /// The token.
    pub(super) token: Token,
    /// Counts up, from 1.
    pub(super) number: u64,
}

/// All tokens that are good, as far as is known.
#[derive(Debug, Default)]
pub(super) struct Tokens {
    known: Mutex<Known>,
    changes: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct Known {
    given: BTreeMap<TokenPlace, Given>,
    last: u64,
    /// Whose tokens sessions use.
    users: BTreeMap<Uri, Vec<Principal>>,
}

impl Tokens {
    /// Takes a token, or takes one back.
    pub(super) fn put(&self, place: TokenPlace, token: Option<Token>) {
        {
            let mut known = self.lock();
            known.last = known.last.saturating_add(1);
            let number = known.last;
            match token {
                Some(token) => known.given.insert(place, Given { token, number }),
                None => known.given.remove(&place),
            };
        }
        self.changes.send_replace(());
    }

    /// A session uses the tokens of these, the first of them first.
    pub(super) fn use_for(&self, session: &Uri, principals: Vec<Principal>) {
        {
            let mut known = self.lock();
            match principals.is_empty() {
                true => known.users.remove(session),
                false => known.users.insert(session.clone(), principals),
            };
        }
        self.changes.send_replace(());
    }

    /// The token that a session uses for a resource.
    pub(super) fn of(&self, session: &Uri, resource: &str) -> Option<Given> {
        let known = self.lock();
        let principals = known.users.get(session)?;
        principals.iter().find_map(|principal| {
            let place = TokenPlace {
                principal: principal.clone(),
                resource: resource.to_owned(),
            };
            known.given.get(&place).cloned()
        })
    }

    /// Hears of every change from now on.
    pub(super) fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    /// Waits until a session uses another token for a resource than one that
    /// did not help.
    pub(super) async fn other_than(&self, session: &Uri, resource: &str, number: u64) -> Given {
        let mut changes = self.changes();
        loop {
            match self.of(session, resource) {
                Some(given) if given.number != number => return given,
                Some(_) | None => {}
            }
            if changes.changed().await.is_err() {
                // Whoever waits here holds the sender, so it can't be gone.
                std::future::pending::<()>().await;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn who(name: &str) -> Principal {
        Principal(name.to_owned())
    }

    fn place(name: &str) -> TokenPlace {
        TokenPlace {
            principal: who(name),
            resource: "r".to_owned(),
        }
    }

    /// AUT-13: a session uses the token of the first who has one, and that of
    /// nobody else.
    #[tokio::test]
    async fn a_session_uses_the_tokens_of_its_own() {
        let tokens = Tokens::default();
        let (ours, theirs) = (Uri::from("ahp-session:/1"), Uri::from("ahp-session:/2"));
        let used = |session: &Uri| {
            let given = tokens.of(session, "r");
            given.map(|given| given.token.reveal().to_owned())
        };
        let given = |text: &str| Some(Token::from(text.to_owned()));
        tokens.put(place("ann"), given("1"));
        assert_eq!(used(&ours), None);
        tokens.use_for(&ours, vec![who("bob"), who("ann")]);
        tokens.use_for(&theirs, vec![who("cid")]);
        assert_eq!(used(&ours).as_deref(), Some("1"));
        tokens.put(place("bob"), given("2"));
        assert_eq!(used(&ours).as_deref(), Some("2"));
        assert_eq!(used(&theirs), None);
        // Another order is another token, though an older one.
        let (other, ()) = tokio::join!(tokens.other_than(&ours, "r", 2), async {
            tokens.use_for(&ours, vec![who("ann"), who("bob")]);
        });
        assert_eq!(other.number, 1);
        tokens.put(place("ann"), None);
        assert_eq!(used(&ours).as_deref(), Some("2"));
        let (other, ()) = tokio::join!(tokens.other_than(&ours, "r", 2), async {
            tokens.put(place("bob"), given("3"));
        });
        assert_eq!(other.number, 4);
        tokens.use_for(&ours, Vec::new());
        assert_eq!(used(&ours), None);
        assert!(!format!("{other:?}").contains('3'));
    }
}
