//! Authenticates clients at the WebSocket upgrade, before the first message of the protocol.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use agenthost_stdx::hex::encode_hex;
use agenthost_stdx::private_file;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use subtle::ConstantTimeEq;

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

/// The reason for which an upgrade request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UpgradeRejection {
    /// The web page that sent the request is not allowed to connect.
    ForeignOrigin,
    /// The `Host` header does not name this host, as in a DNS rebinding attack.
    UnknownHost,
    /// The token is missing or wrong.
    InvalidToken,
}

impl UpgradeRejection {
    pub(crate) fn status(self) -> StatusCode {
        match self {
            UpgradeRejection::ForeignOrigin | UpgradeRejection::UnknownHost => {
                StatusCode::FORBIDDEN
            }
            UpgradeRejection::InvalidToken => StatusCode::UNAUTHORIZED,
        }
    }

    pub(crate) fn reason(self) -> &'static str {
        match self {
            UpgradeRejection::ForeignOrigin => "this origin is not allowed to connect\n",
            UpgradeRejection::UnknownHost => "unknown host name in the `Host` header\n",
            UpgradeRejection::InvalidToken => {
                "a token is needed: `?tkn=…` or `Authorization: Bearer …`\n"
            }
        }
    }
}

impl UpgradeGuard {
    pub(crate) fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), UpgradeRejection> {
        // With two headers, a proxy might have checked the other one.
        if headers.get_all(header::HOST).iter().count() > 1 {
            return Err(UpgradeRejection::UnknownHost);
        }
        if headers.get_all(header::ORIGIN).iter().count() > 1 {
            return Err(UpgradeRejection::ForeignOrigin);
        }
        self.check_host(headers)?;
        self.check_origin(headers)?;
        let given = bearer_token(headers)
            .or_else(|| query_token(uri))
            .unwrap_or_default();
        // The comparison takes the same time for a wrong token as for a right one.
        if bool::from(given.as_bytes().ct_eq(self.token.as_bytes())) {
            Ok(())
        } else {
            Err(UpgradeRejection::InvalidToken)
        }
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
            Err(_) => name.eq_ignore_ascii_case("localhost"),
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
        // The `Host` header has been checked before.
        let host = headers
            .get(header::HOST)
            .and_then(|host| host.to_str().ok());
        let known = origin == VSCODE_ORIGIN
            || own("localhost")
            || own(&url_host(ip))
            || host.is_some_and(|host| origin == format!("{scheme}://{host}"))
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
mod tests {
    use super::*;

    fn gate() -> UpgradeGuard {
        UpgradeGuard {
            token: "secret".to_owned(),
            address: "127.0.0.1:8080".parse().unwrap(),
            is_tls: false,
            allowed_origins: vec!["https://allowed.example".to_owned()],
            allowed_hosts: vec!["host.example:8080".to_owned()],
        }
    }

    fn check(uri: &str, headers: &[(&str, &str)]) -> Result<(), UpgradeRejection> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let name: header::HeaderName = name.parse().unwrap();
            map.insert(name, value.parse().unwrap());
        }
        gate().check(&uri.parse().unwrap(), &map)
    }

    /// SEC-3, TRN-7: only the exact token is accepted.
    #[test]
    fn a_token_opens_the_gate_and_nothing_else_does() {
        let host = ("host", "127.0.0.1:8080");
        assert_eq!(check("/?tkn=secret", &[host]), Ok(()));
        assert_eq!(check("/?a=b&tkn=secret", &[host]), Ok(()));
        let bearer = ("authorization", "Bearer secret");
        assert_eq!(check("/", &[host, bearer]), Ok(()));
        for uri in [
            "/",
            "/?tkn=",
            "/?tkn=secre",
            "/?tkn=secrets",
            "/?tkn=SECRET",
        ] {
            assert_eq!(
                check(uri, &[host]),
                Err(UpgradeRejection::InvalidToken),
                "{uri}"
            );
        }
        let basic = ("authorization", "Basic secret");
        assert_eq!(
            check("/", &[host, basic]),
            Err(UpgradeRejection::InvalidToken)
        );
    }

    #[test]
    fn pages_of_others_stay_outside() {
        let host = ("host", "localhost:8080");
        let with = |origin| check("/?tkn=secret", &[host, ("origin", origin)]);
        assert_eq!(with("http://127.0.0.1:8080"), Ok(()));
        assert_eq!(with("http://localhost:8080"), Ok(()));
        assert_eq!(with("vscode-file://vscode-app"), Ok(()));
        assert_eq!(with("https://allowed.example"), Ok(()));
        for origin in [
            "https://evil.example",
            "null",
            "http://127.0.0.1:9",
            "http://localhost:8080.evil.example",
        ] {
            assert_eq!(
                with(origin),
                Err(UpgradeRejection::ForeignOrigin),
                "{origin}"
            );
        }
    }

    /// A page can point its own domain name at this machine (DNS rebinding).
    #[test]
    fn names_of_others_stay_outside() {
        let with = |host| check("/?tkn=secret", &[("host", host)]);
        for host in [
            "127.0.0.1:8080",
            "localhost",
            "LOCALHOST:1",
            "[::1]:8080",
            "127.9.9.9",
            "host.example:8080",
        ] {
            assert_eq!(with(host), Ok(()), "{host}");
        }
        for host in [
            "evil.example",
            "evil.example:8080",
            "192.0.2.1:8080",
            "localhost.evil.example",
            "",
        ] {
            assert_eq!(with(host), Err(UpgradeRejection::UnknownHost), "{host}");
        }
        assert_eq!(
            check("/?tkn=secret", &[]),
            Err(UpgradeRejection::UnknownHost)
        );
    }

    #[test]
    fn the_token_is_made_once_and_private() {
        let directory = tempfile::tempdir().unwrap();
        let first = load_or_create_token(directory.path()).unwrap();
        assert_eq!(first.len(), 64);
        assert_eq!(load_or_create_token(directory.path()).unwrap(), first);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = directory
                .path()
                .join("token")
                .metadata()
                .unwrap()
                .permissions()
                .mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }
}
