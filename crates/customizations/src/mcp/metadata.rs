//! What a server needs a token for (protected resource metadata, RFC 9728).

use std::time::Duration;

use agenthost_protocol::common::{McpAuthReason, McpAuthRequirement, ProtectedResource};
use agenthost_protocol::wire;
use futures_util::StreamExt;
use reqwest::{Client, Url};

use super::challenge::{Challenge, Lack};
use super::origin::{is_part_of, same_origin, web_address};

/// Longest metadata, in bytes.
const LONGEST: usize = 256 * 1024;

/// How long one place may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// What stands before the path of a resource in the address of its metadata.
const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// Whether a token was shown to the server when it asked for one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    /// There was none to show.
    Nothing,
    /// One was, and was refused.
    Token,
}

/// What clients have to know to get a token. A server that does not say is
/// taken to be its own resource, with a server of tokens at the same place.
pub(super) async fn requirement(
    client: &Client,
    server: &Url,
    challenge: &Challenge,
    shown: Shown,
) -> McpAuthRequirement {
    let mut resource = None;
    for place in places(server, challenge) {
        resource = read(client, server, place).await;
        if resource.is_some() {
            break;
        }
    }
    McpAuthRequirement {
        reason: match (challenge.lack, shown) {
            (Lack::Scope, _) => McpAuthReason::InsufficientScope,
            (Lack::Token, Shown::Token) => McpAuthReason::Expired,
            (Lack::Token, Shown::Nothing) => McpAuthReason::Required,
        },
        oauth_client: None,
        resource: resource.unwrap_or_else(|| own(server)),
        required_scopes: challenge.scopes.clone(),
        description: challenge.description.clone(),
    }
}

/// Where the metadata may be: where the server says, then where everyone
/// looks. Another server is asked only over TLS.
fn places(server: &Url, challenge: &Challenge) -> Vec<Url> {
    let named = challenge.metadata.as_deref().and_then(web_address);
    let named = named.filter(|url| url.scheme() == "https" || same_origin(url, server));
    let path = server.path().trim_end_matches('/');
    let known = [format!("{WELL_KNOWN}{path}"), WELL_KNOWN.to_owned()];
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

async fn read(client: &Client, server: &Url, place: Url) -> Option<ProtectedResource> {
    let text = tokio::time::timeout(PATIENCE, text(client, place)).await;
    let resource: ProtectedResource = wire::from_str(&text.ok()??).ok()?;
    if is_part_of(server, &resource.resource) {
        return Some(resource);
    }
    tracing::warn!("a server of tools names a resource that it is not part of");
    None
}

async fn text(client: &Client, place: Url) -> Option<String> {
    let response = client.get(place).send().await.ok()?;
    let response = response.error_for_status().ok()?;
    let mut pieces = response.bytes_stream();
    let mut bytes = Vec::new();
    while let Some(piece) = pieces.next().await {
        bytes.extend_from_slice(&piece.ok()?);
        if bytes.len() > LONGEST {
            return None;
        }
    }
    String::from_utf8(bytes).ok()
}

/// The server as its own resource.
fn own(server: &Url) -> ProtectedResource {
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
        let challenge = Challenge {
            metadata: named.map(str::to_owned),
            ..Challenge::default()
        };
        let places = places(&Url::parse(server).unwrap(), &challenge);
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
