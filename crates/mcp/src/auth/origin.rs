//! Checks of web URLs and their origins.

use reqwest::Url;

/// Parses an `http` or `https` URL with a host.
pub(crate) fn parse_web_url(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok()?;
    (matches!(url.scheme(), "http" | "https") && url.has_host()).then_some(url)
}

/// Returns `true` if scheme, host and port of two URLs are the same.
pub(crate) fn is_same_origin(one: &Url, other: &Url) -> bool {
    one.origin() == other.origin()
}

/// Returns `true` if a server may request tokens for a resource, which must contain the server.
/// Otherwise any server could request the token of another one (RFC 9728, 3.3).
pub(crate) fn is_within_resource(server: &Url, resource: &str) -> bool {
    let Some(resource) = parse_web_url(resource) else {
        return false;
    };
    let folder = resource.path().trim_end_matches('/');
    let rest = server.path().strip_prefix(folder);
    is_same_origin(server, &resource)
        && resource.fragment().is_none()
        && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_can_request_only_tokens_of_its_own_resource() {
        let server = Url::parse("https://a.b/mcp/one").unwrap();
        for own in [
            "https://a.b",
            "https://a.b/",
            "https://a.b/mcp",
            "https://a.b/mcp/one/",
        ] {
            assert!(is_within_resource(&server, own), "{own}");
        }
        for other in [
            "http://a.b",
            "https://a.b:8443",
            "https://c.d/mcp",
            "https://a.b/mc",
            "https://a.b/mcp/two",
            "https://a.b/mcp#x",
            "file:///mcp",
            "nonsense",
        ] {
            assert!(!is_within_resource(&server, other), "{other}");
        }
    }
}
