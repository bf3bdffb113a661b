//! Links to the page of the running host, with a one-time code in their fragment.
//!
//! The fragment of a URL is not sent to any server. The token of the host is never part of a
//! link.

use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::path::Path;
use std::time::{Duration, SystemTime};

use agenthost_server::{AccessScope, HOST_FILE, PairingCode, PairingRequest, create_pairing_code};
use agenthost_stdx::private_file;
use anyhow::{Context, bail};

/// Timeout for the running host to accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// An address of the documentation range. No packet is sent to it: the system only selects the
/// interface that would be used.
const ROUTE_PROBE: &str = "192.0.2.1:9";

/// A one-time code and the link that contains it.
pub(crate) struct PageLink {
    pub(crate) code: PairingCode,
    pub(crate) link: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PageAddress {
    base: String,
    pub(crate) reach: PageReach,
}

/// The machines that can open the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PageReach {
    /// Only the machine of the host.
    Local,
    /// Other machines as well, as far as this program knows.
    Network,
}

impl PageAddress {
    /// Finds the page of the host that runs with a data directory.
    pub(crate) fn of_running_host(data_directory: &Path) -> anyhow::Result<Self> {
        let path = data_directory.join(HOST_FILE);
        let text = match private_file::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Err(no_host()),
            Err(error) => {
                return Err(error).with_context(|| format!("read `{}`", path.display()));
            }
        };
        let file: serde_json::Value = serde_json::from_str(&text)
            .with_context(|| format!("read `{}`: it is malformed", path.display()))?;
        let Some(url) = file.get("url").and_then(serde_json::Value::as_str) else {
            bail!(
                "the running host has no address for a browser\nhint: start it with \
                 `agenthost serve --listen 127.0.0.1:8123`"
            );
        };
        let (scheme, address) = split_url(url).context("the address of the host is malformed")?;
        let mut target = address;
        if target.ip().is_unspecified() {
            target.set_ip(loopback_like(target.ip()));
        }
        // A killed host leaves its file behind.
        if TcpStream::connect_timeout(&target, CONNECT_TIMEOUT).is_err() {
            return Err(no_host());
        }
        Ok(Self::of_listener(scheme, address))
    }

    /// Returns the page at a WebSocket URL of a host.
    pub(crate) fn of_url(url: &str) -> Option<Self> {
        let (scheme, address) = split_url(url)?;
        Some(Self::of_listener(scheme, address))
    }

    /// Parses the address that the user gave for the page.
    pub(crate) fn parse(url: &str) -> anyhow::Result<Self> {
        let rest = url
            .strip_prefix("https://")
            .or_else(|| url.strip_prefix("http://"));
        let is_plain = |rest: &str| !rest.contains(['?', '#', '@', ' ', '\\']);
        match rest.map(|rest| rest.trim_end_matches('/')) {
            Some(rest) if !rest.is_empty() && is_plain(rest) => Ok(PageAddress {
                base: url.trim_end_matches('/').to_owned(),
                reach: PageReach::Network,
            }),
            _ => bail!(
                "`{url}` is not the address of a page\nhint: use an address such as \
                 https://box.example"
            ),
        }
    }

    /// Creates a code for a device, and the link to the page with that code.
    pub(crate) fn create_link(
        &self,
        data_directory: &Path,
        name: Option<String>,
        scope: AccessScope,
    ) -> anyhow::Result<PageLink> {
        let request = PairingRequest { name, scope };
        let code = create_pairing_code(data_directory, request, now_ms())
            .context("create a pairing code in the data directory")?;
        let link = format!("{}/#code={code}", self.base);
        Ok(PageLink { code, link })
    }

    fn of_listener(scheme: &str, mut address: SocketAddr) -> Self {
        if address.ip().is_unspecified() {
            let route = outbound_address();
            address.set_ip(route.unwrap_or_else(|| loopback_like(address.ip())));
        }
        // Browsers send a cookie to all ports of its host name. With a name of its own, the cookie
        // of this host does not reach other servers on this machine.
        let authority = if address.ip().is_loopback() && scheme == "http" {
            let port = address.port();
            format!("agenthost-{port}.localhost:{port}")
        } else {
            address.to_string()
        };
        PageAddress {
            base: format!("{scheme}://{authority}"),
            reach: if address.ip().is_loopback() {
                PageReach::Local
            } else {
                PageReach::Network
            },
        }
    }
}

/// Returns the time in milliseconds since 1970.
fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    })
}

fn no_host() -> anyhow::Error {
    anyhow::anyhow!("no host is running\nhint: start one with `agenthost start`")
}

/// Splits a WebSocket URL of a host into the scheme of its page and its address.
fn split_url(url: &str) -> Option<(&'static str, SocketAddr)> {
    let (scheme, rest) = match url.strip_prefix("wss://") {
        Some(rest) => ("https", rest),
        None => ("http", url.strip_prefix("ws://")?),
    };
    let address = rest.trim_end_matches('/').parse().ok()?;
    Some((scheme, address))
}

/// Returns the address under which other machines of the network reach this one.
fn outbound_address() -> Option<IpAddr> {
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    socket.connect(ROUTE_PROBE).ok()?;
    Some(socket.local_addr().ok()?.ip())
}

/// Returns the loopback address of the same version.
fn loopback_like(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V4(_) => IpAddr::from([127, 0, 0, 1]),
        IpAddr::V6(_) => IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base(url: &str) -> String {
        PageAddress::of_url(url).unwrap().base
    }

    #[test]
    fn the_page_has_the_address_of_the_host() {
        let own_name = "http://agenthost-8123.localhost:8123";
        assert_eq!(base("ws://127.0.0.1:8123/"), own_name);
        assert_eq!(base("ws://192.0.2.7:8123/"), "http://192.0.2.7:8123");
        assert_eq!(base("wss://[::1]:8123/"), "https://[::1]:8123");
        assert!(!base("ws://0.0.0.0:8123/").contains("0.0.0.0"));
        assert_eq!(PageAddress::of_url("http://127.0.0.1:1/"), None);
    }

    #[test]
    fn a_configured_page_address_is_a_plain_http_url() {
        let parsed = PageAddress::parse("https://box.example/").unwrap();
        assert_eq!(parsed.base, "https://box.example");
        for wrong in [
            "box.example",
            "https://",
            "javascript:alert(1)",
            "https://a@b",
            "https://a/?tkn=1",
            "https://a/#b",
        ] {
            assert!(PageAddress::parse(wrong).is_err(), "{wrong}");
        }
    }
}
