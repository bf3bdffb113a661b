//! The same tools by HTTP, for agents that start no servers themselves.
//!
//! Anybody on this machine, and any page in a browser on it, can come to a port.
//! So whoever comes has to show the secret of a chat, has to have meant this
//! machine by a name of its own (no other name that leads here, DNS rebinding),
//! and must not be a page from elsewhere.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener as StdListener};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agenthost_protocol::uri::Uri;
use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, HOST, HeaderMap, ORIGIN, WWW_AUTHENTICATE};
use hyper::http::HeaderValue;
use hyper::service::service_fn;
use hyper::{Request, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use sha2::{Digest, Sha256};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use super::super::origin::web_address;
use super::super::servers::Shared;
use super::GatewayAddress;
use super::seat::{Answer, Seat, refused};

/// The only place that there is.
const PATH: &str = "/mcp";

/// Names that this machine has for itself.
const OWN_NAMES: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];

/// Most connections at once. Others wait.
const CONNECTIONS: usize = 256;

/// How long it may take to say what is wanted, and how long a connection is
/// kept that nothing comes by.
const PATIENCE: Duration = Duration::from_secs(30);

/// Where agents that want HTTP find the tools of their session. The port is
/// opened when the first of them is told of it.
#[derive(Clone)]
pub struct WebGateway {
    shared: Arc<Shared>,
    address: GatewayAddress,
    state: Arc<Mutex<State>>,
}

/// What an agent is told.
#[derive(Clone, PartialEq, Eq)]
pub struct WebPlace {
    /// Where the tools are.
    pub url: String,
    /// What has to be sent with each request.
    pub headers: Vec<(String, String)>,
}

/// Leaves out the headers: they are how the host knows who comes.
impl std::fmt::Debug for WebPlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WebPlace")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

/// Leaves out the secrets.
impl std::fmt::Debug for WebGateway {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WebGateway").finish_non_exhaustive()
    }
}

#[derive(Default)]
struct State {
    port: Option<u16>,
    /// Chats that somebody was told of, by a digest of their secret: how long it
    /// takes to find one says nothing about another.
    seats: BTreeMap<[u8; 32], Arc<Seat>>,
}

impl WebGateway {
    /// One that is not open yet.
    pub(in super::super) fn new(shared: Arc<Shared>, address: GatewayAddress) -> Self {
        WebGateway {
            shared,
            address,
            state: Arc::default(),
        }
    }

    /// Where the agent of a chat finds the tools of its session.
    ///
    /// Has to be called in a runtime.
    ///
    /// # Errors
    ///
    /// If no port can be opened.
    pub fn place(&self, session: &Uri, chat: &Uri) -> io::Result<WebPlace> {
        let mut state = self.lock();
        let port = match state.port {
            Some(port) => port,
            None => self.open()?,
        };
        state.port = Some(port);
        let secret = self.address.secret_of(session.as_str(), chat.as_str());
        state
            .seats
            .entry(digest(&secret))
            .or_insert_with(|| Arc::new(Seat::new(&self.shared, session, chat)));
        Ok(WebPlace {
            url: format!("http://127.0.0.1:{port}{PATH}"),
            headers: vec![("Authorization".to_owned(), format!("Bearer {secret}"))],
        })
    }

    /// A session is over: nobody comes for its tools any more.
    pub(in super::super) fn forget(&self, session: &Uri) {
        self.lock().seats.retain(|_, seat| !seat.is_of(session));
    }

    /// Opens a port that only this machine can reach.
    fn open(&self) -> io::Result<u16> {
        let listener = StdListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port();
        let listener = TcpListener::from_std(listener)?;
        self.shared.tasks.spawn(self.clone().serve(listener, port));
        Ok(port)
    }

    /// Takes agents in until all ends.
    async fn serve(self, listener: TcpListener, port: u16) {
        let places = Arc::new(Semaphore::new(CONNECTIONS));
        let stopping = self.shared.stopping.clone();
        let serving = async {
            while let Ok(place) = Arc::clone(&places).acquire_owned().await {
                let stream = match listener.accept().await {
                    Ok((stream, _)) => stream,
                    Err(error) => {
                        tracing::warn!(%error, "an agent could not come in");
                        // There is no room for more files, for example.
                        tokio::time::sleep(Duration::from_millis(100)).await;
                        continue;
                    }
                };
                let gateway = self.clone();
                self.shared.tasks.spawn(async move {
                    gateway.attend(stream, port).await;
                    drop(place);
                });
            }
        };
        stopping.run_until_cancelled(serving).await;
    }

    async fn attend(&self, stream: TcpStream, port: u16) {
        let answering =
            service_fn(
                |request| async move { Ok::<_, Infallible>(self.answer(request, port).await) },
            );
        let connection = hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(PATIENCE)
            .serve_connection(TokioIo::new(stream), answering);
        let ended = self.shared.stopping.run_until_cancelled(connection).await;
        if let Some(Err(error)) = ended {
            tracing::debug!(%error, "a connection for tools ended");
        }
    }

    async fn answer(&self, request: Request<Incoming>, port: u16) -> Answer {
        let headers = request.headers();
        if !is_meant(headers, port) || !is_from_here(headers) {
            tracing::warn!("somebody came for tools from elsewhere");
            return refused(StatusCode::FORBIDDEN);
        }
        let Some(seat) = self.seat(headers) else {
            tracing::warn!("somebody came for tools who was not asked to");
            let mut answer = refused(StatusCode::UNAUTHORIZED);
            let challenge = HeaderValue::from_static("Bearer");
            answer.headers_mut().insert(WWW_AUTHENTICATE, challenge);
            return answer;
        };
        if request.uri().path() != PATH {
            return refused(StatusCode::NOT_FOUND);
        }
        seat.answer(request).await
    }

    /// The chat whose secret was shown.
    fn seat(&self, headers: &HeaderMap) -> Option<Arc<Seat>> {
        let shown = headers.get(AUTHORIZATION)?.to_str().ok()?;
        let (scheme, secret) = shown.split_once(' ')?;
        if !scheme.eq_ignore_ascii_case("bearer") {
            return None;
        }
        self.lock().seats.get(&digest(secret.trim())).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn digest(secret: &str) -> [u8; 32] {
    Sha256::digest(secret).into()
}

/// Whether a request was meant for this port of this machine, by a name of its
/// own.
fn is_meant(headers: &HeaderMap, port: u16) -> bool {
    let mut hosts = headers.get_all(HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else {
        return false;
    };
    let own = |name: &str| format!("{name}:{port}");
    OWN_NAMES.iter().any(|name| *host == own(name))
}

/// Whether a request is of no page, or of one of this machine.
fn is_from_here(headers: &HeaderMap) -> bool {
    headers.get_all(ORIGIN).iter().all(|origin| {
        let origin = origin.to_str().ok().and_then(web_address);
        let host = origin.as_ref().and_then(|origin| origin.host_str());
        host.is_some_and(|host| OWN_NAMES.contains(&host))
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
    fn only_this_machine_by_its_own_names_is_meant() {
        for good in ["127.0.0.1:80", "localhost:80", "[::1]:80"] {
            assert!(is_meant(&headers(HOST, &[good]), 80), "{good}");
        }
        for bad in [
            "127.0.0.1",
            "127.0.0.1:81",
            "evil.example:80",
            "localhost.evil:80",
            "",
        ] {
            assert!(!is_meant(&headers(HOST, &[bad]), 80), "{bad}");
        }
        assert!(!is_meant(&headers(HOST, &["localhost:80", "evil:80"]), 80));
        assert!(!is_meant(&HeaderMap::new(), 80));
    }

    #[test]
    fn only_pages_of_this_machine_may_come() {
        for good in [&[][..], &["http://localhost:5173"], &["http://127.0.0.1"]] {
            assert!(is_from_here(&headers(ORIGIN, good)), "{good:?}");
        }
        for bad in [
            "null",
            "https://evil.example",
            "http://localhost.evil",
            "file:///x",
        ] {
            assert!(!is_from_here(&headers(ORIGIN, &[bad])), "{bad}");
        }
    }
}
