//! Authenticates clients at the WebSocket upgrade, before the first message of the protocol.
//!
//! A program presents the token of the host. The page of the host presents the cookie of its
//! device, which is accepted only together with the page's own origin.

mod attempt_limiter;
pub(crate) mod cookie;
pub(crate) mod device_directory;
pub(crate) mod device_registry;
pub(crate) mod pairing_code;
mod scope_name;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use agenthost_stdx::hex::encode_hex;
use agenthost_stdx::private_file;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use subtle::ConstantTimeEq;

use crate::auth::cookie::{CookieTransport, DeviceCookie};

/// Origin of the web views of VS Code on the desktop.
const VSCODE_ORIGIN: &str = "vscode-file://vscode-app";

/// The checks of an upgrade request: host, origin and token.
#[derive(Debug, Clone)]
pub(crate) struct UpgradeGuard {
    pub(crate) token: String,
    pub(crate) address: SocketAddr,
    /// `true` if the listener uses TLS.
    pub(crate) is_tls: bool,
    pub(crate) allowed_origins: Vec<String>,
    pub(crate) allowed_hosts: Vec<String>,
}

/// A credential that a request presents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RequestCredential {
    /// The token of the host. It has been checked.
    Token,
    /// Secrets from cookies. They have not been checked.
    Cookies(Vec<CookieSecret>),
}

/// The secret of a device, from a cookie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CookieSecret {
    pub(crate) cookie: DeviceCookie,
    pub(crate) secret: String,
}

/// The reason for which an upgrade request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UpgradeRejection {
    /// The web page that sent the request is not allowed to connect.
    ForeignOrigin,
    /// The `Host` header does not name this host, as in a DNS rebinding attack.
    UnknownHost,
    /// A cookie came with a request that the page of the host did not send.
    ForeignCookie,
    /// The token or the cookie is missing or wrong.
    InvalidToken,
}

impl UpgradeRejection {
    pub(crate) fn status(self) -> StatusCode {
        match self {
            UpgradeRejection::ForeignOrigin
            | UpgradeRejection::UnknownHost
            | UpgradeRejection::ForeignCookie => StatusCode::FORBIDDEN,
            UpgradeRejection::InvalidToken => StatusCode::UNAUTHORIZED,
        }
    }

    pub(crate) fn reason(self) -> &'static str {
        match self {
            UpgradeRejection::ForeignOrigin => "this origin is not allowed to connect\n",
            UpgradeRejection::UnknownHost => "unknown host name in the `Host` header\n",
            UpgradeRejection::ForeignCookie => {
                "a cookie is accepted only from the page of this host\n"
            }
            UpgradeRejection::InvalidToken => {
                "a token is needed: `?tkn=…` or `Authorization: Bearer …`, or a paired device\n"
            }
        }
    }
}

impl UpgradeGuard {
    /// Checks an upgrade request. The caller has to check the secrets of cookies.
    pub(crate) fn check(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> Result<RequestCredential, UpgradeRejection> {
        self.check_request(headers)?;
        self.check_origin(headers)?;
        if let Some(given) = bearer_token(headers).or_else(|| query_token(uri)) {
            // The comparison takes the same time for a wrong token as for a right one.
            return if bool::from(given.as_bytes().ct_eq(self.token.as_bytes())) {
                Ok(RequestCredential::Token)
            } else {
                Err(UpgradeRejection::InvalidToken)
            };
        }
        let secrets = self.cookie_secrets(headers);
        if secrets.is_empty() {
            Err(UpgradeRejection::InvalidToken)
        } else if !self.is_own_origin(headers) {
            Err(UpgradeRejection::ForeignCookie)
        } else {
            Ok(RequestCredential::Cookies(secrets))
        }
    }

    /// Checks the `Host` header of a request, which any request for the page needs as well.
    pub(crate) fn check_request(&self, headers: &HeaderMap) -> Result<(), UpgradeRejection> {
        // With two headers, a proxy might have checked the other one.
        if headers.get_all(header::HOST).iter().count() > 1 {
            return Err(UpgradeRejection::UnknownHost);
        }
        if headers.get_all(header::ORIGIN).iter().count() > 1 {
            return Err(UpgradeRejection::ForeignOrigin);
        }
        self.check_host(headers)
    }

    /// Checks a request that only the page itself may send.
    pub(crate) fn check_page_request(&self, headers: &HeaderMap) -> Result<(), UpgradeRejection> {
        self.check_request(headers)?;
        if self.is_own_origin(headers) {
            Ok(())
        } else {
            Err(UpgradeRejection::ForeignOrigin)
        }
    }

    /// Returns the secrets of devices in the cookies of a request.
    pub(crate) fn cookie_secrets(&self, headers: &HeaderMap) -> Vec<CookieSecret> {
        // On a plain listener, a cookie for HTTPS comes through a proxy.
        let transports: &[CookieTransport] = if self.is_tls {
            &[CookieTransport::Secure]
        } else {
            &[CookieTransport::Plain, CookieTransport::Secure]
        };
        let port = self.address.port();
        let cookies = transports.iter().map(|transport| DeviceCookie {
            port,
            transport: *transport,
        });
        let found = cookies.flat_map(|cookie| {
            let secrets = cookie.secrets(headers).into_iter();
            secrets.map(move |secret| CookieSecret { cookie, secret })
        });
        found.collect()
    }

    /// Returns the cookie for a device whose page sent a request.
    pub(crate) fn cookie_for(&self, headers: &HeaderMap) -> DeviceCookie {
        let origin = headers.get(header::ORIGIN);
        let https = origin.is_some_and(|origin| origin.as_bytes().starts_with(b"https://"));
        DeviceCookie {
            port: self.address.port(),
            transport: if self.is_tls || https {
                CookieTransport::Secure
            } else {
                CookieTransport::Plain
            },
        }
    }

    /// Returns `true` if a request has the origin of the page: the scheme of the listener and
    /// the host that the request was sent to, which has been checked.
    fn is_own_origin(&self, headers: &HeaderMap) -> bool {
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        let (Some(origin), Some(host)) = (text(header::ORIGIN), text(header::HOST)) else {
            return false;
        };
        let scheme = if self.is_tls { "https" } else { "http" };
        // A proxy with TLS may stand before a host name that the user has configured.
        let is_proxied = self.allowed_hosts.iter().any(|allowed| allowed == host);
        origin == format!("{scheme}://{host}") || is_proxied && origin == format!("https://{host}")
    }

    fn check_host(&self, headers: &HeaderMap) -> Result<(), UpgradeRejection> {
        let host = headers
            .get(header::HOST)
            .and_then(|host| host.to_str().ok());
        let host = host.ok_or(UpgradeRejection::UnknownHost)?;
        if self.allowed_hosts.iter().any(|allowed| allowed == host) {
            return Ok(());
        }
        let name = host.rsplit_once(':').map_or(host, |(name, port)| {
            let is_port = port.bytes().all(|byte| byte.is_ascii_digit());
            if is_port { name } else { host }
        });
        let name = name.trim_start_matches('[').trim_end_matches(']');
        let known = match name.parse::<IpAddr>() {
            // DNS rebinding needs a domain name, so an IP address of this machine is safe.
            Ok(ip) => {
                let own = self.address.ip();
                ip.is_loopback() || ip == own || own.is_unspecified()
            }
            // Names below `localhost` are reserved and mean this machine (RFC 6761).
            Err(_) => {
                let name = name.to_ascii_lowercase();
                name == "localhost" || name.ends_with(".localhost")
            }
        };
        if known {
            Ok(())
        } else {
            Err(UpgradeRejection::UnknownHost)
        }
    }

    /// Checks the origin. A native client sends none; a page of the host itself sends the
    /// origin of the host.
    fn check_origin(&self, headers: &HeaderMap) -> Result<(), UpgradeRejection> {
        let Some(origin) = headers.get(header::ORIGIN) else {
            return Ok(());
        };
        let origin = origin
            .to_str()
            .map_err(|_| UpgradeRejection::ForeignOrigin)?;
        let scheme = if self.is_tls { "https" } else { "http" };
        let (ip, port) = (self.address.ip(), self.address.port());
        let own = |host: &str| origin == format!("{scheme}://{host}:{port}");
        let known = origin == VSCODE_ORIGIN
            || own("localhost")
            || own(&url_host(ip))
            || self.is_own_origin(headers)
            || self.allowed_origins.iter().any(|allowed| allowed == origin);
        if known {
            Ok(())
        } else {
            Err(UpgradeRejection::ForeignOrigin)
        }
    }
}

/// Returns an IP address in URL syntax, with brackets for IPv6.
pub(crate) fn url_host(ip: IpAddr) -> String {
    match ip {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
    }
}

fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then_some(token.trim())
}

fn query_token(uri: &Uri) -> Option<&str> {
    let mut pairs = uri.query()?.split('&');
    pairs.find_map(|pair| pair.strip_prefix("tkn="))
}

/// Loads the token of a data directory, and creates it on the first start.
pub(crate) fn load_or_create_token(directory: &Path) -> io::Result<String> {
    let path = directory.join("token");
    match private_file::read_to_string(&path) {
        Ok(token) if token.trim().len() >= 32 => return Ok(token.trim().to_owned()),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    let token = encode_hex(&bytes);
    private_file::replace(&path, token.as_bytes())?;
    Ok(token)
}

#[cfg(test)]
mod tests;
