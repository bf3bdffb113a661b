//! Gateway over HTTP, for agents that don't start MCP servers themselves.
//!
//! Any process of this machine can connect to the port, and so can a page in a browser. So each
//! request must have the secret of a chat, must address this machine by a loopback name (no
//! other name that resolves to it, DNS rebinding), and must not have the origin of a remote
//! page.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener as StdListener};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::Duration;

use agenthost_net::{LogLimiter, PendingConnections, PendingLimits, PendingSlot};
use agenthost_protocol::uri::Uri;
use agenthost_stdx::sync::lock;
use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, CONNECTION, HOST, HeaderMap, ORIGIN, WWW_AUTHENTICATE};
use hyper::http::HeaderValue;
use hyper::service::service_fn;
use hyper::{Request, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use sha2::{Digest, Sha256};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::GatewayAddress;
use super::http_endpoint::{HttpEndpoint, HttpResponse, status_response};
use crate::auth::origin::parse_web_url;
use crate::manager::McpContext;

/// The path of the only endpoint.
const MCP_PATH: &str = "/mcp";

/// Values of `Host` and `Origin` that mean this machine.
const LOOPBACK_NAMES: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];

/// Maximum number of connections that have presented a secret. Further ones get status 503.
const MAX_AGENT_CONNECTIONS: usize = 256;

/// Limits on connections without a valid secret. All of them come from this machine.
const PENDING_LIMITS: PendingLimits = PendingLimits {
    connections: 64,
    per_address: 64,
    timeout: Duration::from_secs(10),
    crowded_timeout: Duration::from_secs(3),
};

/// Timeout for the next complete request header of a connection.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum size of the read buffer of a connection, and so of a request header.
const MAX_REQUEST_BUFFER_BYTES: usize = 64 * 1024;

/// Maximum number of headers of a request. Peers without a valid secret send requests, too.
const MAX_REQUEST_HEADERS: usize = 64;

/// Gateway over HTTP. The port is opened when the first agent requests its target.
#[derive(Clone)]
pub struct HttpGateway {
    shared: Arc<McpContext>,
    address: GatewayAddress,
    state: Arc<Mutex<HttpGatewayState>>,
    log: Arc<LogLimiter>,
}

/// A connection of an agent, or of a peer that has not presented a secret yet.
struct HttpAgentConnection {
    slot: PendingSlot,
    permits: Arc<Semaphore>,
    /// Set by the first request with a valid secret.
    permit: OnceLock<OwnedSemaphorePermit>,
}

/// URL and headers with which an agent connects to the gateway.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpGatewayTarget {
    /// URL of the endpoint on the loopback interface.
    pub url: String,
    /// Headers of each request; they have the secret of the chat.
    pub headers: Vec<(String, String)>,
}

/// Omits the headers, because they have the secret.
impl std::fmt::Debug for HttpGatewayTarget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpGatewayTarget")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

/// Omits the secrets, so that they are not logged.
impl std::fmt::Debug for HttpGateway {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpGateway").finish_non_exhaustive()
    }
}

#[derive(Default)]
struct HttpGatewayState {
    port: Option<u16>,
    /// Endpoints by the digest of their secret. A lookup by digest does not leak a secret
    /// through its duration.
    endpoints: BTreeMap<[u8; 32], Arc<HttpEndpoint>>,
}

impl HttpGateway {
    /// Creates a gateway without a port.
    pub(crate) fn new(shared: Arc<McpContext>, address: GatewayAddress) -> Self {
        HttpGateway {
            shared,
            address,
            state: Arc::default(),
            log: Arc::default(),
        }
    }

    /// Returns the target for the agent of a chat, and opens the port if necessary.
    ///
    /// Must be called within a tokio runtime.
    ///
    /// # Errors
    ///
    /// Returns an error if the port can't be opened.
    pub fn target_for(&self, session: &Uri, chat: &Uri) -> io::Result<HttpGatewayTarget> {
        let mut state = self.lock();
        let port = match state.port {
            Some(port) => port,
            None => self.open_port()?,
        };
        state.port = Some(port);
        let secret = self.address.chat_secret(session.as_str(), chat.as_str());
        state
            .endpoints
            .entry(secret_digest(&secret))
            .or_insert_with(|| Arc::new(HttpEndpoint::new(&self.shared, session, chat)));
        Ok(HttpGatewayTarget {
            url: format!("http://127.0.0.1:{port}{MCP_PATH}"),
            headers: vec![("Authorization".to_owned(), format!("Bearer {secret}"))],
        })
    }

    /// Removes the endpoints of a session that has ended.
    pub(crate) fn remove_session(&self, session: &Uri) {
        self.lock()
            .endpoints
            .retain(|_, endpoint| !endpoint.belongs_to(session));
    }

    /// Opens a port on the loopback interface and spawns the task that accepts its connections.
    fn open_port(&self) -> io::Result<u16> {
        let listener = StdListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port();
        let listener = TcpListener::from_std(listener)?;
        self.shared.tasks.spawn(self.clone().serve(listener, port));
        Ok(port)
    }

    /// Accepts connections until the host stops.
    async fn serve(self, listener: TcpListener, port: u16) {
        let pending = PendingConnections::new(PENDING_LIMITS);
        let permits = Arc::new(Semaphore::new(MAX_AGENT_CONNECTIONS));
        let stopping = self.shared.stopping.clone();
        let serving = async {
            loop {
                let (stream, peer) = match listener.accept().await {
                    Ok(accepted) => accepted,
                    Err(error) => {
                        if let Some(suppressed) = self.log.permit() {
                            tracing::warn!(%error, suppressed, "failed to accept a connection of an agent");
                        }
                        // The error can be temporary, for example if the process has no free
                        // file descriptor.
                        tokio::time::sleep(Duration::from_millis(100)).await;
                        continue;
                    }
                };
                let connection = HttpAgentConnection {
                    slot: pending.admit(peer.ip()),
                    permits: Arc::clone(&permits),
                    permit: OnceLock::new(),
                };
                let gateway = self.clone();
                self.shared.tasks.spawn(async move {
                    gateway.serve_connection(stream, port, connection).await;
                });
                // A burst of connections must not evict one whose task has not run yet.
                tokio::task::yield_now().await;
            }
        };
        stopping.run_until_cancelled(serving).await;
    }

    async fn serve_connection(&self, stream: TcpStream, port: u16, agent: HttpAgentConnection) {
        let agent = &agent;
        let answering = service_fn(|request| async move {
            Ok::<_, Infallible>(self.handle_request(request, port, agent).await)
        });
        let connection = hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(REQUEST_TIMEOUT)
            .max_buf_size(MAX_REQUEST_BUFFER_BYTES)
            .max_headers(MAX_REQUEST_HEADERS)
            .serve_connection(TokioIo::new(stream), answering);
        let ended = tokio::select! {
            biased;
            () = agent.slot.wait_evicted() => return,
            () = agent.authentication_timed_out() => return,
            ended = self.shared.stopping.run_until_cancelled(connection) => ended,
        };
        if let Some(Err(error)) = ended
            && let Some(suppressed) = self.log.permit()
        {
            tracing::debug!(%error, suppressed, "gateway connection failed");
        }
    }

    async fn handle_request(
        &self,
        request: Request<Incoming>,
        port: u16,
        agent: &HttpAgentConnection,
    ) -> HttpResponse {
        let headers = request.headers();
        if !is_own_host(headers, port) || !is_own_origin(headers) {
            self.warn_rejected("foreign host or origin");
            return closing_response(StatusCode::FORBIDDEN);
        }
        let Some(endpoint) = self.find_endpoint(headers) else {
            self.warn_rejected("invalid secret");
            let mut answer = closing_response(StatusCode::UNAUTHORIZED);
            let challenge = HeaderValue::from_static("Bearer");
            answer.headers_mut().insert(WWW_AUTHENTICATE, challenge);
            return answer;
        };
        if !agent.authenticate() {
            return closing_response(StatusCode::SERVICE_UNAVAILABLE);
        }
        if request.uri().path() != MCP_PATH {
            return status_response(StatusCode::NOT_FOUND);
        }
        endpoint.handle_request(request).await
    }

    fn warn_rejected(&self, reason: &str) {
        if let Some(suppressed) = self.log.permit() {
            tracing::warn!(reason, suppressed, "rejected gateway request");
        }
    }

    /// Returns the endpoint whose secret the request has.
    fn find_endpoint(&self, headers: &HeaderMap) -> Option<Arc<HttpEndpoint>> {
        let shown = headers.get(AUTHORIZATION)?.to_str().ok()?;
        let (scheme, secret) = shown.split_once(' ')?;
        if !scheme.eq_ignore_ascii_case("bearer") {
            return None;
        }
        self.lock()
            .endpoints
            .get(&secret_digest(secret.trim()))
            .cloned()
    }

    fn lock(&self) -> MutexGuard<'_, HttpGatewayState> {
        lock(&self.state)
    }
}

impl HttpAgentConnection {
    /// Promotes the connection after its first valid secret, so that it is not evicted. Returns
    /// `false` if there are too many such connections.
    fn authenticate(&self) -> bool {
        if self.permit.get().is_some() {
            return true;
        }
        let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() else {
            return false;
        };
        self.permit.set(permit).is_ok() && self.slot.promote()
    }

    /// Waits until the timeout for a valid secret has passed; forever if the connection has
    /// presented one.
    async fn authentication_timed_out(&self) {
        tokio::time::sleep(self.slot.timeout()).await;
        if self.permit.get().is_some() {
            std::future::pending::<()>().await;
        }
    }
}

/// Returns a response after which the connection is closed.
fn closing_response(status: StatusCode) -> HttpResponse {
    let mut answer = status_response(status);
    let close = HeaderValue::from_static("close");
    answer.headers_mut().insert(CONNECTION, close);
    answer
}

fn secret_digest(secret: &str) -> [u8; 32] {
    Sha256::digest(secret).into()
}

/// Returns `true` if the only `Host` header is a loopback name with this port.
fn is_own_host(headers: &HeaderMap, port: u16) -> bool {
    let mut hosts = headers.get_all(HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else {
        return false;
    };
    let own = |name: &str| format!("{name}:{port}");
    LOOPBACK_NAMES.iter().any(|name| *host == own(name))
}

/// Returns `true` if the request has no `Origin` header, or only loopback origins.
fn is_own_origin(headers: &HeaderMap) -> bool {
    headers.get_all(ORIGIN).iter().all(|origin| {
        let origin = origin.to_str().ok().and_then(parse_web_url);
        let host = origin.as_ref().and_then(|origin| origin.host_str());
        host.is_some_and(|host| LOOPBACK_NAMES.contains(&host))
    })
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderName;

    use super::*;

    fn headers(name: HeaderName, values: &[&str]) -> HeaderMap {
        let values = values.iter();
        let values = values.map(|value| (name.clone(), HeaderValue::from_str(value).unwrap()));
        values.collect()
    }

    #[test]
    fn only_loopback_host_headers_are_accepted() {
        for good in ["127.0.0.1:80", "localhost:80", "[::1]:80"] {
            assert!(is_own_host(&headers(HOST, &[good]), 80), "{good}");
        }
        for bad in [
            "127.0.0.1",
            "127.0.0.1:81",
            "evil.example:80",
            "localhost.evil:80",
            "",
        ] {
            assert!(!is_own_host(&headers(HOST, &[bad]), 80), "{bad}");
        }
        assert!(!is_own_host(
            &headers(HOST, &["localhost:80", "evil:80"]),
            80
        ));
        assert!(!is_own_host(&HeaderMap::new(), 80));
    }

    #[test]
    fn only_local_origins_are_accepted() {
        for good in [&[][..], &["http://localhost:5173"], &["http://127.0.0.1"]] {
            assert!(is_own_origin(&headers(ORIGIN, good)), "{good:?}");
        }
        for bad in [
            "null",
            "https://evil.example",
            "http://localhost.evil",
            "file:///x",
        ] {
            assert!(!is_own_origin(&headers(ORIGIN, &[bad])), "{bad}");
        }
    }
}
