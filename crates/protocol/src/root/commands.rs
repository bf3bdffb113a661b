//! Commands about the host as a whole.

use crate::common::Meta;
use crate::session::SessionSummary;
use crate::uri::RootChannel;
use crate::wire::Wire;

/// `listSessions`: the sessions, the latest change first.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ListSessionsParams {
    /// The root channel.
    pub channel: RootChannel,
    /// Most to return at once.
    pub limit: Option<u64>,
    /// Where to go on.
    pub cursor: Option<String>,
    /// Free data.
    pub meta: Option<Meta>,
}

/// Answer to `listSessions`.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ListSessionsResult {
    /// Where to go on; absent if these were the last.
    pub next_cursor: Option<String>,
    /// The sessions.
    pub items: Vec<SessionSummary>,
}

/// `authenticate`: hands a token to the host. Never log one of these.
#[derive(Clone, PartialEq, Wire)]
pub struct AuthenticateParams {
    /// The root channel.
    pub channel: RootChannel,
    /// The resource that the token is for.
    pub resource: String,
    /// The token; empty takes the last one back (AUT-4).
    pub token: String,
    /// For how many seconds it is good.
    pub expires_in: Option<u64>,
    /// What it allows.
    pub scopes: Option<Vec<String>>,
    /// Free data.
    pub meta: Option<Meta>,
}

/// Shows all but the token (AUT-10).
impl std::fmt::Debug for AuthenticateParams {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AuthenticateParams")
            .field("resource", &self.resource)
            .field("expires_in", &self.expires_in)
            .field("scopes", &self.scopes)
            .finish_non_exhaustive()
    }
}
