//! Fetches the protected resource metadata of a server (RFC 9728).

use std::time::Duration;

use agenthost_protocol::common::{McpAuthReason, McpAuthRequirement, ProtectedResource};
use agenthost_protocol::wire;
use futures_util::StreamExt;
use reqwest::{Client, Url};

use super::challenge::{AuthChallenge, ChallengeReason};
use super::origin::{is_same_origin, is_within_resource, parse_web_url};

/// Maximum size of a metadata document, because the server is not trusted.
const MAX_METADATA_BYTES: usize = 256 * 1024;

/// Timeout for the response of one metadata URL.
const METADATA_TIMEOUT: Duration = Duration::from_secs(10);

/// Well-known path of metadata documents (RFC 9728). The path of the resource follows it.
const WELL_KNOWN_PATH: &str = "/.well-known/oauth-protected-resource";

/// The token that the rejected request had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PresentedToken {
    /// The request had no token.
    Absent,
    /// The request had a token, and the server rejected it.
    Rejected,
}

/// Returns the data that clients need to obtain a token for a server. A server without metadata
/// is treated as its own resource, with an authorization server at the same origin.
pub(crate) async fn fetch_requirement(
    client: &Client,
    server: &Url,
    challenge: &AuthChallenge,
    presented: PresentedToken,
) -> McpAuthRequirement {
    let mut resource = None;
    for url in metadata_urls(server, challenge) {
        resource = fetch_metadata(client, server, url).await;
        if resource.is_some() {
            break;
        }
    }
    McpAuthRequirement {
        reason: match (challenge.reason, presented) {
            (ChallengeReason::InsufficientScope, _) => McpAuthReason::InsufficientScope,
            (ChallengeReason::TokenRequired, PresentedToken::Rejected) => McpAuthReason::Expired,
            (ChallengeReason::TokenRequired, PresentedToken::Absent) => McpAuthReason::Required,
        },
        oauth_client: None,
        resource: resource.unwrap_or_else(|| own_resource(server)),
        required_scopes: challenge.scopes.clone(),
        description: challenge.description.clone(),
    }
}

/// Returns the candidate URLs of the metadata: the one in the challenge, then the well-known
/// ones. A URL with another origin is used only with TLS.
fn metadata_urls(server: &Url, challenge: &AuthChallenge) -> Vec<Url> {
    let named = challenge.metadata_url.as_deref().and_then(parse_web_url);
    let named = named.filter(|url| url.scheme() == "https" || is_same_origin(url, server));
    let path = server.path().trim_end_matches('/');
    let known = [
        format!("{WELL_KNOWN_PATH}{path}"),
        WELL_KNOWN_PATH.to_owned(),
    ];
    let known = known.into_iter().map(|path| {
        let mut url = server.clone();
        url.set_path(&path);
        url.set_query(None);
        url.set_fragment(None);
        url
    });
    let mut places: Vec<_> = named.into_iter().chain(known).collect();
    places.dedup();
    places
}

async fn fetch_metadata(client: &Client, server: &Url, url: Url) -> Option<ProtectedResource> {
    let text = tokio::time::timeout(METADATA_TIMEOUT, fetch_text(client, url)).await;
    let resource: ProtectedResource = wire::from_str(&text.ok()??).ok()?;
    if is_within_resource(server, &resource.resource) {
        return Some(resource);
    }
    tracing::warn!(
        "ignored protected resource metadata: the MCP server is not part of the resource"
    );
    None
}

async fn fetch_text(client: &Client, url: Url) -> Option<String> {
    let response = client.get(url).send().await.ok()?;
    let response = response.error_for_status().ok()?;
    let mut pieces = response.bytes_stream();
    let mut bytes = Vec::new();
    while let Some(piece) = pieces.next().await {
        bytes.extend_from_slice(&piece.ok()?);
        if bytes.len() > MAX_METADATA_BYTES {
            return None;
        }
    }
    String::from_utf8(bytes).ok()
}

/// Describes the server as its own resource, for servers without metadata.
fn own_resource(server: &Url) -> ProtectedResource {
    let mut resource = server.clone();
    resource.set_query(None);
    resource.set_fragment(None);
    ProtectedResource {
        resource: resource.to_string(),
        resource_name: None,
        authorization_servers: Some(vec![server.origin().ascii_serialization()]),
        jwks_uri: None,
        scopes_supported: None,
        bearer_methods_supported: None,
        resource_signing_alg_values_supported: None,
        resource_documentation: None,
        resource_policy_uri: None,
        resource_tos_uri: None,
        required: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looked_at(server: &str, named: Option<&str>) -> Vec<String> {
        let challenge = AuthChallenge {
            metadata_url: named.map(str::to_owned),
            ..AuthChallenge::default()
        };
        let places = metadata_urls(&Url::parse(server).unwrap(), &challenge);
        places.iter().map(Url::to_string).collect()
    }

    #[test]
    fn metadata_is_fetched_only_from_permitted_urls() {
        assert_eq!(
            looked_at("https://a.b/mcp?x=1", Some("https://a.b/meta")),
            [
                "https://a.b/meta",
                "https://a.b/.well-known/oauth-protected-resource/mcp",
                "https://a.b/.well-known/oauth-protected-resource",
            ]
        );
        assert_eq!(
            looked_at("https://a.b/", Some("http://169.254.169.254/secrets")),
            ["https://a.b/.well-known/oauth-protected-resource"]
        );
        assert_eq!(
            looked_at("https://a.b/", Some("file:///etc/passwd")).len(),
            1
        );
    }
}
