//! What a server says when it wants a token (`WWW-Authenticate`, RFC 6750 and
//! RFC 9728).

use rmcp::transport::streamable_http_client::{AuthRequiredError, InsufficientScopeError};

/// Longest header that is looked at, in bytes.
const LONGEST: usize = 8 * 1024;

/// Most scopes that are believed.
const SCOPES: usize = 100;

/// What a server wants.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Challenge {
    /// Where it says what tokens are for, and who gives them out.
    pub(super) metadata: Option<String>,
    /// What a token has to allow.
    pub(super) scopes: Option<Vec<String>>,
    /// What is missing.
    pub(super) lack: Lack,
    /// A sentence for people.
    pub(super) description: Option<String>,
}

/// What is missing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Lack {
    /// A token, or one that is still good.
    #[default]
    Token,
    /// A token that allows more.
    Scope,
}

impl Challenge {
    /// Reads a header. One that makes no sense still means that a token is
    /// wanted.
    pub(super) fn parse(header: &str) -> Self {
        let mut challenge = Challenge::default();
        let header = header.get(..LONGEST.min(header.len())).unwrap_or_default();
        for (name, value) in parameters(header) {
            match name.to_ascii_lowercase().as_str() {
                "resource_metadata" => challenge.metadata = Some(value),
                "scope" => {
                    let scopes = value.split_whitespace().take(SCOPES);
                    challenge.scopes = Some(scopes.map(str::to_owned).collect());
                }
                "error" if value == "insufficient_scope" => challenge.lack = Lack::Scope,
                "error_description" => {
                    let plain = value.chars().filter(|c| !c.is_control());
                    challenge.description = Some(plain.take(300).collect());
                }
                _ => {}
            }
        }
        challenge
    }

    /// The challenge that an error comes from, if it does.
    pub(super) fn behind(error: &(dyn std::error::Error + 'static)) -> Option<Self> {
        let mut next = Some(error);
        while let Some(error) = next {
            if let Some(required) = error.downcast_ref::<AuthRequiredError>() {
                return Some(Challenge::parse(&required.www_authenticate_header));
            }
            if let Some(more) = error.downcast_ref::<InsufficientScopeError>() {
                let challenge = Challenge::parse(&more.www_authenticate_header);
                return Some(Challenge {
                    lack: Lack::Scope,
                    ..challenge
                });
            }
            next = error.source();
        }
        None
    }
}

/// All `name=value` and `name="value"` of a header, whatever stands between.
fn parameters(header: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut rest = header;
    while let Some((before, after)) = rest.split_once('=') {
        let separators = |c: char| c == ',' || c.is_whitespace();
        let name = before.trim_end().rsplit(separators).next();
        let name = name.unwrap_or_default().to_owned();
        let (value, left) = match after.strip_prefix('"') {
            Some(quoted) => unquoted(quoted),
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

/// What is in quotes, and what comes after.
fn unquoted(text: &str) -> (String, &str) {
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
    fn headers_are_read() {
        let full = Challenge::parse(
            r#"Basic realm="a=b, c", Bearer realm="x", error="insufficient_scope", scope="files:read  files:write", resource_metadata="https://a.b/.well-known/x?y=1", error_description="say \"please\"""#,
        );
        assert_eq!(
            full,
            Challenge {
                metadata: Some("https://a.b/.well-known/x?y=1".to_owned()),
                scopes: Some(vec!["files:read".to_owned(), "files:write".to_owned()]),
                lack: Lack::Scope,
                description: Some("say \"please\"".to_owned()),
            }
        );
        let plain = Challenge::parse("Bearer error=invalid_token,scope=read");
        assert_eq!(plain.scopes, Some(vec!["read".to_owned()]));
        assert_eq!(plain.lack, Lack::Token);
    }

    #[test]
    fn nonsense_is_a_challenge_without_details() {
        for header in ["", "Bearer", "=", "\"", "a=\"", "é=\\", "====", "a=\"\\"] {
            let challenge = Challenge::parse(header);
            assert_eq!(challenge.lack, Lack::Token, "{header}");
            assert_eq!(challenge.metadata, None, "{header}");
        }
    }
}
