//! Requests and responses on the root channel.

use crate::common::Meta;
use crate::session::SessionSummary;
use crate::uri::RootChannel;
use crate::wire::Wire;

/// Parameters of the `listSessions` request, which lists sessions, most recently modified first.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ListSessionsParams {
    /// The root channel; always `ahp-root://`.
    pub channel: RootChannel,
    /// Maximum number of sessions in the response.
    pub limit: Option<u64>,
    /// Cursor of the page to load.
    pub cursor: Option<String>,
    /// Extension data (`_meta`) that the protocol does not define.
    pub meta: Option<Meta>,
}

/// Result of the `listSessions` request.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ListSessionsResult {
    /// Cursor of the next page; absent on the last page.
    pub next_cursor: Option<String>,
    /// Sessions, most recently modified first.
    pub items: Vec<SessionSummary>,
}

/// Parameters of the `authenticate` request, which sends a token to the host. Must never be
/// logged.
#[derive(Clone, PartialEq, Wire)]
pub struct AuthenticateParams {
    /// The root channel; always `ahp-root://`.
    pub channel: RootChannel,
    /// Identifier of the resource that the token is for.
    pub resource: String,
    /// Bearer token; an empty string revokes the previous one (AUT-4).
    pub token: String,
    /// Lifetime of the token, in seconds.
    pub expires_in: Option<u64>,
    /// Scopes of the token.
    pub scopes: Option<Vec<String>>,
    /// Extension data (`_meta`) that the protocol does not define.
    pub meta: Option<Meta>,
}

/// Omits the token (AUT-10).
impl std::fmt::Debug for AuthenticateParams {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AuthenticateParams")
            .field("resource", &self.resource)
            .field("expires_in", &self.expires_in)
            .field("scopes", &self.scopes)
            .finish_non_exhaustive()
    }
}
