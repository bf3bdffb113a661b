//! Protected resources and their authentication requirements. These types never contain a
//! bearer token.

use crate::wire::Wire;

/// Metadata with which a client obtains a token for a resource (RFC 9728, in the spelling of
/// that RFC).
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(case = "snake")]
pub struct ProtectedResource {
    /// Identifier of the resource: an `https` URL without a fragment.
    pub resource: String,
    /// Display name of the resource.
    pub resource_name: Option<String>,
    /// Authorization servers that issue tokens for the resource.
    pub authorization_servers: Option<Vec<String>>,
    /// URL of the keys of the resource.
    pub jwks_uri: Option<String>,
    /// Scopes that clients can request.
    pub scopes_supported: Option<Vec<String>>,
    /// Methods to present a bearer token.
    pub bearer_methods_supported: Option<Vec<String>>,
    /// Signing algorithms of signed responses.
    pub resource_signing_alg_values_supported: Option<Vec<String>>,
    /// URL of the developer documentation.
    pub resource_documentation: Option<String>,
    /// URL of the data policy of the resource.
    pub resource_policy_uri: Option<String>,
    /// URL of the terms of service.
    pub resource_tos_uri: Option<String>,
    /// Addition of AHP: `false` if the agent also works without a token. Absent means `true`
    /// (AUT-1).
    pub required: Option<bool>,
}

/// The reason why an MCP server requires authentication.
#[derive(Debug, Clone, PartialEq, Eq, Wire)]
pub enum McpAuthReason {
    /// The server has not received a token.
    Required,
    /// The server no longer accepts the token.
    Expired,
    /// The token is valid, but its scopes are insufficient.
    InsufficientScope,
    /// A reason that a later protocol version defines.
    #[wire(unknown)]
    Unknown(String),
}

/// A pre-registered OAuth client, which replaces dynamic client registration.
#[derive(Clone, PartialEq, Wire)]
pub struct McpOAuthClient {
    /// Id of the client at the authorization server.
    pub client_id: String,
    /// Secret of a confidential client. Every subscriber can read the state, so the secret is
    /// only present if all of them may have it (SEC-4).
    pub client_secret: Option<String>,
}

/// Omits the client secret from logs.
impl std::fmt::Debug for McpOAuthClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("McpOAuthClient")
            .field("client_id", &self.client_id)
            .finish_non_exhaustive()
    }
}

/// An authentication requirement of an MCP server, for the whole server or for one tool call
/// that needs further scopes.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct McpAuthRequirement {
    /// Reason for the requirement.
    pub reason: McpAuthReason,
    /// Registered OAuth client to use, if any.
    pub oauth_client: Option<McpOAuthClient>,
    /// Resource that needs a token; it lists its authorization servers.
    pub resource: ProtectedResource,
    /// Scopes that are required now, independent of `scopes_supported`.
    pub required_scopes: Option<Vec<String>>,
    /// Explanation for the user.
    pub description: Option<String>,
}
