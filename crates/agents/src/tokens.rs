//! Tokens that clients handed over, in memory and nowhere else.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agenthost_core::{Token, TokenPlace};

/// All tokens there are. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Tokens(Arc<Mutex<Kept>>);

#[derive(Debug, Default)]
struct Kept {
    given: u64,
    tokens: BTreeMap<TokenPlace, (u64, Token)>,
}

impl Tokens {
    /// Keeps a token, or forgets the last of its kind.
    pub fn keep(&self, place: TokenPlace, token: Option<Token>) {
        let mut kept = self.lock();
        kept.given += 1;
        let given = kept.given;
        match token {
            Some(token) => kept.tokens.insert(place, (given, token)),
            None => kept.tokens.remove(&place),
        };
    }

    /// A token for a resource. A session is shared by all who use the host, so
    /// it is the latest that anybody gave (AUT-13).
    #[must_use]
    pub fn latest(&self, resource: &str) -> Option<Token> {
        let kept = self.lock();
        let fitting = kept
            .tokens
            .iter()
            .filter(|(place, _)| place.resource == resource);
        let latest = fitting.max_by_key(|(_, (given, _))| *given);
        latest.map(|(_, (_, token))| token.clone())
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
