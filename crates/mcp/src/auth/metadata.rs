//! What a server needs a token for (protected resource metadata, RFC 9728).

use std::time::Duration;

use agenthost_protocol::common::{McpAuthReason, McpAuthRequirement, ProtectedResource};
use agenthost_protocol::wire;
use futures_util::StreamExt;
use reqwest::{Client, Url};

use super::challenge::{AuthChallenge, ChallengeReason};
use super::origin::{is_same_origin, is_within_resource, parse_web_url};

/// Longest metadata, in bytes.
const MAX_METADATA_BYTES: usize = 256 * 1024;

/// How long one place may take to answer.
const METADATA_TIMEOUT: Duration = Duration::from_secs(10);

/// What stands before the path of a resource in the address of its metadata.
const WELL_KNOWN_PATH: &str = "/.well-known/oauth-protected-resource";

/// Whether a token was shown to the server when it asked for one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PresentedToken {
    /// There was none to show.
    Absent,
    /// One was, and was refused.
    Rejected,
}

/// What clients have to know to get a token. A server that does not say is
/// taken to be its own resource, with a server of tokens at the same place.
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

/// Where the metadata may be: where the server says, then where everyone
/// looks. Another server is asked only over TLS.
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
    tracing::warn!("a server of tools names a resource that it is not part of");
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

/// The server as its own resource.
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
    fn metadata_is_looked_for_where_it_may_be() {
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
