//! Masks secrets in text: tokens of well-known formats, private keys, credentials in headers and
//! URLs, and patterns of the user.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use regex_automata::meta::{BuildError, Config, Regex};
use regex_automata::util::syntax;

/// The text in place of a secret.
pub const REDACTED_TEXT: &str = "[redacted]";

/// Maximum size of all compiled patterns, in bytes.
const MAX_PATTERN_BYTES: usize = 4 * 1024 * 1024;

/// Formats of secrets. If a pattern has a group, only the group is the secret. No pattern matches
/// across quotation marks, so that text in JSON stays JSON.
const SECRET_FORMATS: &[&str] = &[
    // AWS: ids of access keys, and the keys themselves by their names.
    r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    r#"(?i)aws_?secret_?access_?key[\\"']{0,2}\s*[:=]\s*[\\"']{0,2}([a-z0-9/+=]{40})"#,
    // GitHub and GitLab.
    r"\bgh[pousr]_[A-Za-z0-9]{36,}",
    r"\bgithub_pat_[A-Za-z0-9_]{22,}",
    r"\bgl(?:pat|ptt|dt|rt|cbt|oas|soat|ft|agent)-[A-Za-z0-9_-]{20,}",
    // Anthropic and OpenAI.
    r"\bsk-(?:ant-|proj-|svcacct-|admin-)?[A-Za-z0-9_-]{20,}",
    // Slack, Google, npm, PyPI, Hugging Face, Stripe.
    r"\bxox[a-z]-[A-Za-z0-9-]{10,}",
    r"\bxapp-[0-9]-[A-Za-z0-9-]{10,}",
    r"\bAIza[A-Za-z0-9_-]{35}",
    r"\bnpm_[A-Za-z0-9]{36}",
    r"\bpypi-[A-Za-z0-9_-]{50,}",
    r"\bhf_[A-Za-z0-9]{30,}",
    r"\b[rs]k_live_[A-Za-z0-9]{20,}",
    // JSON Web Tokens.
    r"\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*",
    // Private keys, also those that are cut off.
    r#"-----BEGIN [A-Z ]*PRIVATE KEY-----[^"']*?(?:-----END [A-Z ]*PRIVATE KEY-----|["']|\z)"#,
    // Headers.
    r#"(?i)\bauthorization[\\"']{0,2}\s*[:=]\s*[\\"']{0,2}(?:bearer|basic|token)\s+([a-z0-9._~+/=-]+)"#,
    r"(?i)\bbearer\s+([a-z0-9._~+/=-]{16,})",
    r#"(?i)\bx-api-key[\\"']{0,2}\s*[:=]\s*[\\"']{0,2}([a-z0-9._~+/=-]{8,})"#,
    // Passwords and tokens in URLs.
    r#"(?i)\b[a-z][a-z0-9+.-]*://[^\s/:@"'\\<>{}]*:([^\s/@"'\\<>{}]+)@"#,
    r#"(?i)[?&](?:tkn|token|access_token|api_key|key|password)=([^&#\s"'\\<>]{8,})"#,
];

/// Finds secrets in text. Clones share the compiled patterns.
#[derive(Debug, Clone)]
pub struct SecretRedactor {
    /// `None` is impossible: a test compiles the formats. All text would be masked then.
    regex: Option<Arc<Regex>>,
}

impl Default for SecretRedactor {
    /// Returns a redactor of the well-known formats.
    fn default() -> Self {
        static WELL_KNOWN: OnceLock<SecretRedactor> = OnceLock::new();
        let redactor = WELL_KNOWN.get_or_init(|| SecretRedactor {
            regex: compile(SECRET_FORMATS).ok().map(Arc::new),
        });
        redactor.clone()
    }
}

/// The error of a pattern that can't be used.
#[derive(Debug, thiserror::Error)]
#[error("pattern `{pattern}`: {problem}")]
pub struct PatternError {
    pub pattern: String,
    pub problem: String,
}

impl SecretRedactor {
    /// Creates a redactor of the well-known formats and of additional patterns.
    ///
    /// # Errors
    ///
    /// If an additional pattern is no regular expression, is too large, or matches the empty text.
    pub fn new(additional: &[String]) -> Result<Self, PatternError> {
        for pattern in additional {
            check_pattern(pattern)?;
        }
        let patterns = SECRET_FORMATS.iter().copied();
        let patterns: Vec<_> = patterns
            .chain(additional.iter().map(String::as_str))
            .collect();
        let built = compile(&patterns);
        let regex = built.map_err(|error| PatternError {
            pattern: additional.join(" "),
            problem: error.to_string(),
        })?;
        Ok(SecretRedactor {
            regex: Some(Arc::new(regex)),
        })
    }

    /// Returns a text without its secrets.
    #[must_use]
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let Some(regex) = &self.regex else {
            return Cow::Borrowed(REDACTED_TEXT);
        };
        let mut redacted = String::new();
        let mut end = 0;
        for captures in regex.captures_iter(text) {
            let group = captures
                .get_group(1)
                .or_else(|| captures.get_match().map(|found| found.span()));
            let Some(span) = group else {
                continue;
            };
            // Patterns match bytes.
            let start = text.floor_char_boundary(span.start).max(end);
            let until = text.ceil_char_boundary(span.end);
            redacted.push_str(text.get(end..start).unwrap_or_default());
            redacted.push_str(REDACTED_TEXT);
            end = until;
        }
        if end == 0 {
            return Cow::Borrowed(text);
        }
        redacted.push_str(text.get(end..).unwrap_or_default());
        Cow::Owned(redacted)
    }
}

fn check_pattern(pattern: &str) -> Result<(), PatternError> {
    let failed = |problem: String| PatternError {
        pattern: pattern.to_owned(),
        problem,
    };
    let regex = compile(&[pattern]).map_err(|error| {
        let syntax = error.syntax_error().map(ToString::to_string);
        failed(syntax.unwrap_or_else(|| error.to_string()))
    })?;
    match regex.is_match("") {
        true => Err(failed("it matches the empty text".to_owned())),
        false => Ok(()),
    }
}

fn compile(patterns: &[&str]) -> Result<Regex, Box<BuildError>> {
    Regex::builder()
        .configure(
            Config::new()
                .utf8_empty(false)
                .nfa_size_limit(Some(MAX_PATTERN_BYTES)),
        )
        .syntax(syntax::Config::new().unicode(false).utf8(false))
        .build_many(patterns)
        .map_err(Box::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redact(text: &str) -> String {
        let redactor = SecretRedactor::new(&["corp-[0-9]{6}".to_owned()]).unwrap();
        redactor.redact(text).into_owned()
    }

    /// The tokens are put together here, so that no scanner takes this file for a leak.
    #[test]
    fn secrets_of_known_formats_are_masked() {
        let letters = "a1B2".repeat(12);
        let secrets = [
            format!("AKIA{}", "Z7".repeat(8)),
            format!("ghp_{}", &letters[..36]),
            format!("github_pat_{letters}"),
            format!("glpat-{}", &letters[..20]),
            format!("sk-{letters}"),
            format!("sk-ant-api03-{letters}"),
            format!("sk-proj-{letters}"),
            format!("xoxb-{letters}"),
            format!("npm_{}", &letters[..36]),
            format!(
                "eyJ{}.eyJ{}.{}",
                &letters[..20],
                &letters[..20],
                &letters[..8]
            ),
            format!("-----BEGIN RSA PRIVATE KEY-----\n{letters}\n-----END RSA PRIVATE KEY-----"),
            format!("-----BEGIN OPENSSH PRIVATE KEY-----\\n{letters}"),
            "corp-123456".to_owned(),
        ];
        for secret in secrets {
            assert_eq!(redact(&secret), REDACTED_TEXT, "{secret}");
            assert_eq!(
                redact(&format!("é {secret} é")).matches("é").count().min(1),
                1
            );
        }
    }

    #[test]
    fn only_the_secret_part_of_headers_and_addresses_is_masked() {
        let key = "k".repeat(40);
        for (text, expected) in [
            (
                "Authorization: Bearer abc.def-1234",
                "Authorization: Bearer [redacted]",
            ),
            (
                r#"{"authorization":"Basic dXNlcjpwdw=="}"#,
                r#"{"authorization":"Basic [redacted]"}"#,
            ),
            ("postgres://me:pa55@db/x", "postgres://me:[redacted]@db/x"),
            ("https://host:8080/path@x", "https://host:8080/path@x"),
            (
                "ws://h/?tkn=0123456789abcdef&x=1",
                "ws://h/?tkn=[redacted]&x=1",
            ),
            (
                r#""http://localhost","x":"me@example.org""#,
                r#""http://localhost","x":"me@example.org""#,
            ),
            ("the bearer of bad news", "the bearer of bad news"),
            ("a sketch-book, risk-free", "a sketch-book, risk-free"),
        ] {
            assert_eq!(redact(text), expected);
        }
        let aws = format!("aws_secret_access_key = {key}");
        assert_eq!(redact(&aws), "aws_secret_access_key = [redacted]");
    }

    #[test]
    fn a_pattern_that_cannot_be_used_is_refused() {
        let message = |pattern: &str| {
            let refused = SecretRedactor::new(&[pattern.to_owned()]);
            refused.unwrap_err().to_string()
        };
        assert!(
            message("(").starts_with("pattern `(`: "),
            "{}",
            message("(")
        );
        assert_eq!(message("a*"), "pattern `a*`: it matches the empty text");
        assert!(message("(?:a{1000}){1000}").contains("pattern"));
    }
}
