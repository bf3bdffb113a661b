//! Protected resources and the challenges they raise. None of these types
//! ever holds a bearer token.

use crate::wire::Wire;

/// What a client has to know to get a token for a resource (RFC 9728, in that
/// RFC's spelling).
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(case = "snake")]
pub struct ProtectedResource {
    /// Identifier of the resource: an `https` URL without a fragment.
    pub resource: String,
    /// Name for people.
    pub resource_name: Option<String>,
    /// Where tokens are issued.
    pub authorization_servers: Option<Vec<String>>,
    /// Where the resource publishes its keys.
    pub jwks_uri: Option<String>,
    /// Scopes that can be asked for.
    pub scopes_supported: Option<Vec<String>>,
    /// How a bearer token may be presented.
    pub bearer_methods_supported: Option<Vec<String>>,
    /// Signing algorithms of signed responses.
    pub resource_signing_alg_values_supported: Option<Vec<String>>,
    /// Documentation for people.
    pub resource_documentation: Option<String>,
    /// What the resource does with data.
    pub resource_policy_uri: Option<String>,
    /// Its terms of service.
    pub resource_tos_uri: Option<String>,
    /// AHP's addition: `false` if the agent also works without a token.
    /// Absent means `true` (AUT-1).
    pub required: Option<bool>,
}

/// Why an MCP server asks for authentication.
#[derive(Debug, Clone, PartialEq, Eq, Wire)]
pub enum McpAuthReason {
    /// There was no token yet.
    Required,
    /// The token is no longer accepted.
    Expired,
    /// The token is fine but does not allow enough.
    InsufficientScope,
    /// A reason of a newer version.
    #[wire(unknown)]
    Unknown(String),
}

/// An OAuth client registered beforehand, to use instead of registering one.
#[derive(Clone, PartialEq, Wire)]
pub struct McpOAuthClient {
    /// Identifier at the authorization server.
    pub client_id: String,
    /// Secret of a confidential client. State is visible to every subscriber,
    /// so it is only here if all of them may hold it (SEC-4).
    pub client_secret: Option<String>,
}

/// Shows all but the secret.
impl std::fmt::Debug for McpOAuthClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("McpOAuthClient")
            .field("client_id", &self.client_id)
            .finish_non_exhaustive()
    }
}

/// A challenge by an MCP server: for the server as a whole, or for one tool
/// call that needs more.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct McpAuthRequirement {
    /// Why it asks.
    pub reason: McpAuthReason,
    /// The client to authorize as, if one is registered.
    pub oauth_client: Option<McpOAuthClient>,
    /// The resource to get a token for; it names its authorization servers.
    pub resource: ProtectedResource,
    /// Scopes that this challenge wants, whatever the resource supports.
    pub required_scopes: Option<Vec<String>>,
    /// A hint for people.
    pub description: Option<String>,
}
