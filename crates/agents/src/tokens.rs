//! Tokens that clients handed over, in memory and nowhere else.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agenthost_core::{Principal, Token, TokenPlace};
use agenthost_protocol::uri::Uri;

/// All tokens there are. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Tokens(Arc<Mutex<Kept>>);

/// The tokens that a session may use. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct SessionTokens {
    all: Tokens,
    session: Option<Uri>,
}

#[derive(Debug, Default)]
struct Kept {
    tokens: BTreeMap<TokenPlace, Token>,
    /// Whose tokens sessions use.
    users: BTreeMap<Uri, Vec<Principal>>,
}

impl Tokens {
    /// Keeps a token, or forgets the last of its kind.
    pub fn keep(&self, place: TokenPlace, token: Option<Token>) {
        let mut kept = self.lock();
        match token {
            Some(token) => kept.tokens.insert(place, token),
            None => kept.tokens.remove(&place),
        };
    }

    /// A session uses the tokens of these, the first of them first (AUT-13).
    pub fn use_for(&self, session: Uri, principals: Vec<Principal>) {
        let mut kept = self.lock();
        match principals.is_empty() {
            true => kept.users.remove(&session),
            false => kept.users.insert(session, principals),
        };
    }

    /// What a session may use of them.
    #[must_use]
    pub fn of_session(&self, session: &Uri) -> SessionTokens {
        SessionTokens {
            all: self.clone(),
            session: Some(session.clone()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SessionTokens {
    /// The token for a resource: of the first who has one among those whose
    /// tokens the session uses.
    #[must_use]
    pub fn token(&self, resource: &str) -> Option<Token> {
        let kept = self.all.lock();
        let principals = kept.users.get(self.session.as_ref()?)?;
        principals.iter().find_map(|principal| {
            let place = TokenPlace {
                principal: principal.clone(),
                resource: resource.to_owned(),
            };
            kept.tokens.get(&place).cloned()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// AUT-13: a token serves the sessions of who gave it.
    #[test]
    fn sessions_use_the_tokens_of_their_own() {
        let tokens = Tokens::default();
        let who = |name: &str| Principal(name.to_owned());
        let give = |name: &str, token: Option<&str>| {
            let place = TokenPlace {
                principal: who(name),
                resource: "r".to_owned(),
            };
            tokens.keep(place, token.map(|token| Token::from(token.to_owned())));
        };
        let (ours, theirs) = (Uri::from("ahp-session:/1"), Uri::from("ahp-session:/2"));
        let shown = |session: &Uri| {
            let token = tokens.of_session(session).token("r");
            token.map(|token| token.reveal().to_owned())
        };
        give("ann", Some("a"));
        assert_eq!(shown(&ours), None);
        tokens.use_for(ours.clone(), vec![who("bob"), who("ann")]);
        tokens.use_for(theirs.clone(), vec![who("cid")]);
        assert_eq!(shown(&ours).as_deref(), Some("a"));
        give("bob", Some("b"));
        assert_eq!(shown(&ours).as_deref(), Some("b"));
        assert_eq!(shown(&theirs), None);
        give("bob", None);
        assert_eq!(shown(&ours).as_deref(), Some("a"));
        tokens.use_for(ours.clone(), Vec::new());
        assert_eq!(shown(&ours), None);
    }
}
