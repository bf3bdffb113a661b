//! Parser for the challenge of a server that requires a token (`WWW-Authenticate`, RFC 6750 and
//! RFC 9728).

use rmcp::transport::streamable_http_client::{AuthRequiredError, InsufficientScopeError};

/// Maximum length of the header. A longer header is cut off here, because the server is not
/// trusted.
const MAX_HEADER_BYTES: usize = 8 * 1024;

/// Maximum number of scopes in a challenge; further ones are dropped.
const MAX_SCOPES: usize = 100;

/// The parsed challenge of a server that requires a token.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct AuthChallenge {
    /// URL of the protected resource metadata, which names the authorization servers.
    pub(crate) metadata_url: Option<String>,
    /// Scopes that the token must have.
    pub(crate) scopes: Option<Vec<String>>,
    pub(crate) reason: ChallengeReason,
    /// Error description for the user, without control characters.
    pub(crate) description: Option<String>,
}

/// The reason for which the server rejected the request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum ChallengeReason {
    /// The request had no valid token.
    #[default]
    TokenRequired,
    /// The token was valid but lacks a scope.
    InsufficientScope,
}

impl AuthChallenge {
    /// Parses a `WWW-Authenticate` header. A malformed header still results in a challenge,
    /// without details.
    pub(crate) fn parse(header: &str) -> Self {
        let mut challenge = AuthChallenge::default();
        let header = header
            .get(..MAX_HEADER_BYTES.min(header.len()))
            .unwrap_or_default();
        for (name, value) in parse_parameters(header) {
            match name.to_ascii_lowercase().as_str() {
                "resource_metadata" => challenge.metadata_url = Some(value),
                "scope" => {
                    let scopes = value.split_whitespace().take(MAX_SCOPES);
                    challenge.scopes = Some(scopes.map(str::to_owned).collect());
                }
                "error" if value == "insufficient_scope" => {
                    challenge.reason = ChallengeReason::InsufficientScope
                }
                "error_description" => {
                    let plain = value.chars().filter(|c| !c.is_control());
                    challenge.description = Some(plain.take(300).collect());
                }
                _ => {}
            }
        }
        challenge
    }

    /// Returns the challenge that caused an error, found along its chain of sources.
    pub(crate) fn from_error(error: &(dyn std::error::Error + 'static)) -> Option<Self> {
        let mut next = Some(error);
        while let Some(error) = next {
            if let Some(required) = error.downcast_ref::<AuthRequiredError>() {
                return Some(AuthChallenge::parse(&required.www_authenticate_header));
            }
            if let Some(more) = error.downcast_ref::<InsufficientScopeError>() {
                let challenge = AuthChallenge::parse(&more.www_authenticate_header);
                return Some(AuthChallenge {
                    reason: ChallengeReason::InsufficientScope,
                    ..challenge
                });
            }
            next = error.source();
        }
        None
    }
}

/// Returns all `name=value` and `name="value"` parameters of a header and skips the text
/// between them.
fn parse_parameters(header: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut rest = header;
    while let Some((before, after)) = rest.split_once('=') {
        let separators = |c: char| c == ',' || c.is_whitespace();
        let name = before.trim_end().rsplit(separators).next();
        let name = name.unwrap_or_default().to_owned();
        let (value, left) = match after.strip_prefix('"') {
            Some(quoted) => parse_quoted(quoted),
            None => {
                let end = after.find(separators).unwrap_or(after.len());
                let (value, left) = after.split_at(end);
                (value.to_owned(), left)
            }
        };
        found.push((name, value));
        rest = left;
    }
    found
}

/// Parses a quoted string. Returns its value and the text after the closing quote.
fn parse_quoted(text: &str) -> (String, &str) {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((at, c)) = characters.next() {
        match c {
            '"' => return (value, text.get(at.saturating_add(1)..).unwrap_or_default()),
            '\\' => value.extend(characters.next().map(|(_, c)| c)),
            c => value.push(c),
        }
    }
    (value, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn authentication_headers_are_parsed() {
        let full = AuthChallenge::parse(
            r#"Basic realm="a=b, c", Bearer realm="x", error="insufficient_scope", scope="files:read  files:write", resource_metadata="https://a.b/.well-known/x?y=1", error_description="say \"please\"""#,
        );
        assert_eq!(
            full,
            AuthChallenge {
                metadata_url: Some("https://a.b/.well-known/x?y=1".to_owned()),
                scopes: Some(vec!["files:read".to_owned(), "files:write".to_owned()]),
                reason: ChallengeReason::InsufficientScope,
                description: Some("say \"please\"".to_owned()),
            }
        );
        let plain = AuthChallenge::parse("Bearer error=invalid_token,scope=read");
        assert_eq!(plain.scopes, Some(vec!["read".to_owned()]));
        assert_eq!(plain.reason, ChallengeReason::TokenRequired);
    }

    #[test]
    fn a_malformed_header_is_a_challenge_without_details() {
        for header in ["", "Bearer", "=", "\"", "a=\"", "é=\\", "====", "a=\"\\"] {
            let challenge = AuthChallenge::parse(header);
            assert_eq!(challenge.reason, ChallengeReason::TokenRequired, "{header}");
            assert_eq!(challenge.metadata_url, None, "{header}");
        }
    }
}
