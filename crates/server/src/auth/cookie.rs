//! The cookie with the secret of a paired device.

use axum::http::{HeaderMap, header};

use super::device_directory::COOKIE_LIFETIME_MS;

/// Length of a secret: 256 bits in hexadecimal.
const SECRET_CHARS: usize = 64;

/// Limit on cookies of the right name that are tried.
const MAX_CANDIDATES: usize = 4;

/// Name and attributes of the cookie of a host. Cookies are shared by all ports of a machine,
/// so the name contains the port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DeviceCookie {
    pub(crate) port: u16,
    pub(crate) transport: CookieTransport,
}

/// The connection between the browser and the first server that it talks to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CookieTransport {
    /// HTTP without TLS.
    Plain,
    /// HTTPS: the browser never sends the cookie without TLS.
    Secure,
}

impl DeviceCookie {
    fn name(self) -> String {
        match self.transport {
            CookieTransport::Plain => format!("agenthost-{}", self.port),
            // With this prefix, no other host of the domain can set the cookie.
            CookieTransport::Secure => format!("__Host-agenthost-{}", self.port),
        }
    }

    fn attributes(self) -> &'static str {
        match self.transport {
            CookieTransport::Plain => "HttpOnly; SameSite=Strict; Path=/",
            CookieTransport::Secure => "HttpOnly; SameSite=Strict; Path=/; Secure",
        }
    }

    /// Returns the `Set-Cookie` value that stores a secret.
    pub(crate) fn set(self, secret: &str) -> String {
        let seconds = COOKIE_LIFETIME_MS / 1_000;
        let (name, attributes) = (self.name(), self.attributes());
        format!("{name}={secret}; {attributes}; Max-Age={seconds}")
    }

    /// Returns the `Set-Cookie` value that removes the cookie.
    pub(crate) fn remove(self) -> String {
        format!("{}=; {}; Max-Age=0", self.name(), self.attributes())
    }

    /// Returns the well-formed secrets in the cookies of a request.
    pub(crate) fn secrets(self, headers: &HeaderMap) -> Vec<String> {
        let name = self.name();
        let values = headers.get_all(header::COOKIE).iter();
        let values = values.filter_map(|value| value.to_str().ok());
        let pairs = values.flat_map(|value| value.split(';'));
        let pairs = pairs.filter_map(|pair| pair.trim().split_once('='));
        let secrets = pairs.filter(|(key, _)| *key == name);
        let secrets = secrets.map(|(_, secret)| secret.to_owned());
        secrets
            .filter(|secret| is_secret(secret))
            .take(MAX_CANDIDATES)
            .collect()
    }
}

fn is_secret(text: &str) -> bool {
    text.len() == SECRET_CHARS && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: DeviceCookie = DeviceCookie {
        port: 8080,
        transport: CookieTransport::Plain,
    };

    fn secrets(cookies: &[&str]) -> Vec<String> {
        let mut headers = HeaderMap::new();
        for cookie in cookies {
            headers.append(header::COOKIE, cookie.parse().unwrap());
        }
        PLAIN.secrets(&headers)
    }

    #[test]
    fn a_cookie_has_strict_attributes() {
        assert_eq!(
            PLAIN.set("ab"),
            "agenthost-8080=ab; HttpOnly; SameSite=Strict; Path=/; Max-Age=2592000"
        );
        let secure = DeviceCookie {
            transport: CookieTransport::Secure,
            ..PLAIN
        };
        assert_eq!(
            secure.set("ab"),
            "__Host-agenthost-8080=ab; HttpOnly; SameSite=Strict; Path=/; Secure; Max-Age=2592000"
        );
        assert_eq!(
            PLAIN.remove(),
            "agenthost-8080=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0"
        );
    }

    #[test]
    fn only_the_cookie_of_this_host_is_read() {
        let (a, b) = ("a".repeat(64), "b".repeat(64));
        let own = format!("x=1; agenthost-8080={a};agenthost-9={b}");
        assert_eq!(secrets(&[&own]), std::slice::from_ref(&a));
        let second = format!("agenthost-8080={b}");
        assert_eq!(secrets(&[&own, &second]), [a, b.clone()]);
        for wrong in [
            format!("__Host-agenthost-8080={b}"),
            format!("agenthost-8080={b}c"),
            format!("agenthost-8080=\"{b}\""),
            "agenthost-8080=".to_owned(),
            "agenthost-8080".to_owned(),
            String::new(),
        ] {
            assert!(secrets(&[&wrong]).is_empty(), "{wrong}");
        }
        assert_eq!(secrets(&[second.as_str(); 9]).len(), MAX_CANDIDATES);
    }
}
