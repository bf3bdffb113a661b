//! Security headers of all HTTP responses.

use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;

/// The content security policy up to the sources of styles.
const POLICY_START: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; \
                            style-src 'self'";

/// The content security policy after the sources of styles. Trusted Types has two policies:
/// that of Svelte for its own templates, and that of the page for the URL of its worker.
const POLICY_END: &str = "; connect-src 'self'; img-src 'self' blob: data:; worker-src 'self'; \
                          manifest-src 'self'; frame-src 'self'; base-uri 'none'; \
                          form-action 'none'; frame-ancestors 'none'; \
                          require-trusted-types-for 'script'; \
                          trusted-types svelte-trusted-html agenthost-worker";

/// The headers that are the same for all responses.
const COMMON_HEADERS: [(HeaderName, HeaderValue); 4] = [
    (
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    ),
    (
        header::REFERRER_POLICY,
        HeaderValue::from_static("no-referrer"),
    ),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        HeaderValue::from_static("same-origin"),
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        HeaderValue::from_static("same-origin"),
    ),
];

/// Adds the security headers to a response. A response with a nonce has its own policy already.
pub(crate) async fn add_security_headers(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    for (name, value) in COMMON_HEADERS {
        headers.insert(name, value);
    }
    if !headers.contains_key(header::CONTENT_SECURITY_POLICY)
        && let Ok(policy) = HeaderValue::try_from(content_security_policy(None))
    {
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    response
}

/// Returns the content security policy, with a nonce for inline styles if there is one.
pub(crate) fn content_security_policy(nonce: Option<&str>) -> String {
    match nonce {
        Some(nonce) => format!("{POLICY_START} 'nonce-{nonce}'{POLICY_END}"),
        None => format!("{POLICY_START}{POLICY_END}"),
    }
}
