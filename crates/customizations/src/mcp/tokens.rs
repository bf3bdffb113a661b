//! Tokens that people gave, by what they are for. Only ever in memory.
//!
//! A server asks for one token, but several principals may have given one:
//! the newest is used, for all sessions (AUT-13). When it is taken back, the
//! one before it is, if there is one.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use agenthost_core::{Principal, Token, TokenPlace};
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
    /// The newest last.
    given: BTreeMap<String, Vec<(Principal, Given)>>,
    last: u64,
}

impl Tokens {
    /// Takes a token, or takes one back.
    pub(super) fn put(&self, place: TokenPlace, token: Option<Token>) {
        {
            let mut known = self.lock();
            known.last = known.last.saturating_add(1);
            let number = known.last;
            let of_resource = known.given.entry(place.resource.clone()).or_default();
            of_resource.retain(|(principal, _)| *principal != place.principal);
            let given = token.map(|token| Given { token, number });
            of_resource.extend(given.map(|given| (place.principal, given)));
            if of_resource.is_empty() {
                known.given.remove(&place.resource);
            }
        }
        self.changes.send_replace(());
    }

    /// The token to use for a resource.
    pub(super) fn newest(&self, resource: &str) -> Option<Given> {
        let known = self.lock();
        let (_, given) = known.given.get(resource)?.last()?;
        Some(given.clone())
    }

    /// The number of what was given last, whatever it is for.
    pub(super) fn last(&self) -> u64 {
        self.lock().last
    }

    /// Hears of every change from now on.
    pub(super) fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    /// Waits for a token for a resource that was given later than some other.
    pub(super) async fn later_than(&self, resource: &str, number: u64) -> Given {
        let mut changes = self.changes();
        loop {
            match self.newest(resource) {
                Some(given) if given.number > number => return given,
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

    fn place(who: &str) -> TokenPlace {
        TokenPlace {
            principal: Principal(who.to_owned()),
            resource: "r".to_owned(),
        }
    }

    #[tokio::test]
    async fn the_newest_token_is_used() {
        let tokens = Tokens::default();
        let newest = || tokens.newest("r").map(|one| one.token.reveal().to_owned());
        let given = |text: &str| Some(Token::from(text.to_owned()));
        assert_eq!(newest(), None);
        tokens.put(place("ann"), given("1"));
        tokens.put(place("bob"), given("2"));
        assert_eq!(newest().as_deref(), Some("2"));
        tokens.put(place("bob"), None);
        assert_eq!(newest().as_deref(), Some("1"));
        let (later, ()) = tokio::join!(tokens.later_than("r", tokens.last()), async {
            tokens.put(place("ann"), given("1"));
        });
        assert_eq!(later.number, 4);
        tokens.put(place("ann"), None);
        assert_eq!(newest(), None);
        assert!(!format!("{later:?}").contains('1'));
    }
}
