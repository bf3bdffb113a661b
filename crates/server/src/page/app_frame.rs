//! The document of the frame in which the page shows an MCP App.
//!
//! The document is empty; the page sends it the HTML of the app in a message. Its policy has the
//! directive `sandbox`, so the app has an origin that equals no other one: it reads no cookies,
//! no storage and nothing of the page, and it opens no window and no other address. Network
//! requests can only reach the domains in the query, which the page has shown to the user.
//!
//! The document is the same for everybody and has no data, so a request needs no cookie. A page
//! of another origin cannot embed it (`frame-ancestors`), and on its own it does nothing.

use std::fmt::Write;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};

use crate::page::HttpState;
use crate::page::files::not_found;

const DOCUMENT: &str = include_str!("app_frame.html");

/// Maximum number of domains in a query.
const MAX_DOMAINS: usize = 32;

/// Maximum length of a domain, and of one of its labels, as in DNS.
const MAX_DOMAIN_BYTES: usize = 253;
const MAX_LABEL_BYTES: usize = 63;

/// The domains that an app may use, as sources of a policy, each after a space.
#[derive(Debug, Default, PartialEq, Eq)]
struct AppSources {
    /// Sources for network requests.
    connect: String,
    /// Sources for scripts, styles, images, fonts and media.
    resource: String,
}

/// Responds with the document. The query has fields `connect`, `socket` and `resource`, each with
/// a domain: `/app-frame?connect=api.example.com&resource=*.example.com`.
pub(crate) async fn serve_app_frame(
    State(state): State<HttpState>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    if let Err(rejection) = state.guard.check_request(&headers) {
        return state.refuse(rejection);
    }
    if !state.files.has_index() {
        return not_found();
    }
    let sources = AppSources::parse(uri.query().unwrap_or_default());
    let policy = sources.map(|sources| HeaderValue::try_from(sources.policy()));
    let Some(Ok(policy)) = policy else {
        let reason = "expected `connect`, `socket` and `resource` with domains\n";
        return (StatusCode::BAD_REQUEST, reason).into_response();
    };
    let mut response = Response::new(Body::from(DOCUMENT));
    let fields = response.headers_mut();
    fields.insert(header::CONTENT_SECURITY_POLICY, policy);
    for (name, value) in [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CACHE_CONTROL, "no-cache"),
        // A name lookup would be a way to send data past the policy.
        (HeaderName::from_static("x-dns-prefetch-control"), "off"),
    ] {
        fields.insert(name, HeaderValue::from_static(value));
    }
    response
}

impl AppSources {
    /// Parses a query; `None` if anything in it is not a known field with a valid domain.
    fn parse(query: &str) -> Option<Self> {
        let mut sources = AppSources::default();
        let fields = query.split('&').filter(|field| !field.is_empty());
        for (index, field) in fields.enumerate() {
            let (name, domain) = field.split_once('=')?;
            if index >= MAX_DOMAINS || !is_domain(domain) {
                return None;
            }
            let (list, scheme) = match name {
                "connect" => (&mut sources.connect, "https"),
                "socket" => (&mut sources.connect, "wss"),
                "resource" => (&mut sources.resource, "https"),
                _ => return None,
            };
            write!(list, " {scheme}://{domain}").ok()?;
        }
        Some(sources)
    }

    fn policy(&self) -> String {
        let resource = &self.resource;
        let connect = match self.connect.as_str() {
            "" => " 'none'",
            sources => sources,
        };
        format!(
            "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'{resource}; \
             style-src 'unsafe-inline'{resource}; img-src data: blob:{resource}; \
             font-src data:{resource}; media-src data: blob:{resource}; connect-src{connect}; \
             frame-src 'none'; worker-src 'none'; object-src 'none'; base-uri 'none'; \
             form-action 'none'; frame-ancestors 'self'"
        )
    }
}

/// Returns `true` for `HOST`, `*.HOST` and both with `:PORT`. No character of a valid domain has
/// a meaning in a policy.
fn is_domain(text: &str) -> bool {
    let (host, port) = match text.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (text, None),
    };
    let is_port = |port: &str| {
        port.bytes().all(|byte| byte.is_ascii_digit())
            && port.parse().is_ok_and(|port: u16| port > 0)
    };
    let (name, min_labels) = match host.strip_prefix("*.") {
        Some(name) => (name, 2),
        None => (host, 1),
    };
    let is_label = |label: &str| {
        let mut bytes = label.bytes();
        (1..=MAX_LABEL_BYTES).contains(&label.len())
            && bytes.all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'))
    };
    host.len() <= MAX_DOMAIN_BYTES
        && port.is_none_or(is_port)
        && name.split('.').all(is_label)
        && name.split('.').count() >= min_labels
}

#[cfg(test)]
mod tests {
    use super::{AppSources, MAX_DOMAINS};

    #[test]
    fn domains_become_sources() {
        let query = "connect=api.example.com&socket=live.example.com:8443&resource=*.cdn.example";
        let sources = AppSources::parse(query).unwrap();
        let connect = " https://api.example.com wss://live.example.com:8443";
        assert_eq!(sources.connect, connect);
        assert_eq!(sources.resource, " https://*.cdn.example");
        assert_eq!(AppSources::parse(""), Some(AppSources::default()));
    }

    #[test]
    fn a_query_cannot_add_a_csp_directive() {
        for wrong in [
            "connect=a.example;script-src",
            "connect=a.example%3B",
            "connect=a.example%20*",
            "connect=a.example, b",
            "connect=*",
            "connect=*.com",
            "connect=a.*.com",
            "connect='self'",
            "connect=https://a.example",
            "connect=data:",
            "connect=a.example/path",
            "connect=a.example:0",
            "connect=a.example:+1",
            "connect=a.example:99999",
            "connect=a..example",
            "connect=",
            "connect",
            "connect=A.example",
            "connect=ü.example",
            "connect=\u{212a}.example",
            "connect=a\r\nx: y",
            "frame=a.example",
            "Connect=a.example",
            "sandbox=allow-same-origin",
        ] {
            assert_eq!(AppSources::parse(wrong), None, "{wrong}");
        }
        let long = format!("connect={}.example", "a".repeat(64));
        assert_eq!(AppSources::parse(&long), None);
        let many = vec!["connect=a.example"; MAX_DOMAINS];
        assert!(AppSources::parse(&many.join("&")).is_some());
        let more = vec!["connect=a.example"; MAX_DOMAINS + 1];
        assert_eq!(AppSources::parse(&more.join("&")), None);
    }
}
