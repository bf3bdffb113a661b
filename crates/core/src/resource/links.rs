//! The URI schemes that clients may receive from agents and MCP servers.
//!
//! Clients open links and load content for the user. A URI with a scheme such as `javascript:`,
//! `data:` or `command:` would run something instead of showing it, so only the listed schemes
//! pass. Any other URI is shown as text.

use agenthost_protocol::uri::Uri;

use crate::resource::content;
use crate::resource::uris::GIT_SCHEME;

/// Schemes of links to content.
const LINK_SCHEMES: [&str; 6] = [
    "https",
    "http",
    "file",
    "mailto",
    content::CONTENT_SCHEME,
    GIT_SCHEME,
];

/// Schemes of web pages that a client may open for the user.
const WEB_SCHEMES: [&str; 2] = ["https", "http"];

/// Prefix of the schemes of the protocol's own channels.
const CHANNEL_SCHEME_PREFIX: &str = "ahp-";

/// Returns `true` if clients may receive a URI as a link or as a reference to content.
pub fn is_link(uri: &Uri) -> bool {
    scheme(uri).is_some_and(|scheme| {
        LINK_SCHEMES.contains(&scheme.as_str()) || scheme.starts_with(CHANNEL_SCHEME_PREFIX)
    })
}

/// Returns `true` if clients may open a URI in a browser.
pub fn is_web_page(uri: &Uri) -> bool {
    let host = |rest: &str| rest.starts_with("//") && rest.len() > 2;
    let rest = uri.as_str().split_once(':').map(|(_, rest)| rest);
    rest.is_some_and(host)
        && scheme(uri).is_some_and(|scheme| WEB_SCHEMES.contains(&scheme.as_str()))
}

/// Returns the scheme of a URI in lower case, or `None` if it has none or contains invalid
/// characters. Browsers ignore some of those, so `java\nscript:` must not pass as another
/// scheme.
fn scheme(uri: &Uri) -> Option<String> {
    let text = uri.as_str();
    let (scheme, _) = text.split_once(':')?;
    let first = |letter: char| letter.is_ascii_alphabetic();
    let rest = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    let plain = !text.contains(|letter: char| {
        letter.is_whitespace() || agenthost_protocol::label::is_invisible(letter)
    });
    let valid = scheme.starts_with(first) && scheme.bytes().all(rest) && plain;
    valid.then(|| scheme.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_schemes_are_links() {
        let good = [
            "https://example.org/a?b#c",
            "HTTP://example.org",
            "file:///work/a%20b.txt",
            "mailto:ada@example.org",
            "agenthost-content:/0/1/a.txt",
            "agenthost-git:/0/1/a.txt",
            "ahp-session:/1",
            "ahp-chat://default/x",
        ];
        for uri in good {
            assert!(is_link(&Uri::from(uri)), "{uri}");
        }
        let bad = [
            "javascript:alert(1)",
            "JavaScript:alert(1)",
            "java\nscript:alert(1)",
            " javascript:alert(1)",
            "\u{200b}https://example.org",
            "https://exam\u{202e}ple.org",
            "data:text/html,x",
            "vbscript:x",
            "command:workbench.action.terminal.new",
            "vscode://file/x",
            "src/main.rs",
            "//example.org",
            ":x",
            "",
        ];
        for uri in bad {
            assert!(!is_link(&Uri::from(uri)), "{uri}");
        }
    }

    #[test]
    fn only_http_urls_are_web_pages() {
        for uri in ["https://example.org", "http://127.0.0.1:1/x"] {
            assert!(is_web_page(&Uri::from(uri)), "{uri}");
        }
        for uri in [
            "file:///etc/passwd",
            "javascript:x",
            "https:",
            "https://",
            "ahp-chat://x",
        ] {
            assert!(!is_web_page(&Uri::from(uri)), "{uri}");
        }
    }
}
