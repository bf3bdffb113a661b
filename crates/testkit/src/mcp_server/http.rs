//! The server by HTTP on loopback, with a little authorization of its own.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::TestServer;

/// Where the server says what tokens are for.
pub const RESOURCE_PATH: &str = "/.well-known/oauth-protected-resource/mcp";

type Answer = Response<BoxBody<Bytes, Infallible>>;
type Mcp = StreamableHttpService<TestServer, LocalSessionManager>;

/// What the server wants of who comes.
#[derive(Debug, Clone, Default)]
pub struct Protection {
    /// The token that is good; without one, nobody needs any.
    pub token: Option<String>,
    /// The token that is also good for `needs_scope`.
    pub wide_token: Option<String>,
    /// What it says it is, in place of itself.
    pub claims: Option<String>,
    /// Whether it says nothing about itself.
    pub silent: bool,
}

/// A server that runs until this is dropped.
pub struct HttpServer {
    address: SocketAddr,
    protection: Arc<Mutex<Protection>>,
    _tasks: JoinSet<()>,
}

impl HttpServer {
    /// Starts one that keeps a session, and streams.
    ///
    /// # Panics
    ///
    /// If there is no port to be had.
    pub async fn start(protection: Protection) -> Self {
        Self::start_with(protection, StreamableHttpServerConfig::default()).await
    }

    /// Starts one that keeps nothing, and answers with plain JSON.
    ///
    /// # Panics
    ///
    /// If there is no port to be had.
    pub async fn start_stateless(protection: Protection) -> Self {
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true);
        Self::start_with(protection, config).await
    }

    async fn start_with(protection: Protection, config: StreamableHttpServerConfig) -> Self {
        #[expect(clippy::expect_used, reason = "a test fails by panicking")]
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        #[expect(clippy::expect_used, reason = "a test fails by panicking")]
        let address = listener.local_addr().expect("it has an address");
        let protection = Arc::new(Mutex::new(protection));
        let server = TestServer::default();
        let mcp = StreamableHttpService::new(
            move || Ok(server.clone()),
            Arc::new(LocalSessionManager::default()),
            config,
        );
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(listener, address, mcp, Arc::clone(&protection)));
        HttpServer {
            address,
            protection,
            _tasks: tasks,
        }
    }

    /// Where it is.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// Changes what it wants.
    pub fn protect(&self, change: impl FnOnce(&mut Protection)) {
        change(&mut lock(&self.protection));
    }
}

async fn accept(
    listener: TcpListener,
    address: SocketAddr,
    mcp: Mcp,
    protection: Arc<Mutex<Protection>>,
) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let (mcp, protection) = (mcp.clone(), Arc::clone(&protection));
        let service = service_fn(move |request| {
            let protection = lock(&protection).clone();
            let mcp = mcp.clone();
            async move { Ok::<_, Infallible>(answer(address, mcp, protection, request).await) }
        });
        connections.spawn(async move {
            let connection = hyper::server::conn::http1::Builder::new();
            drop(
                connection
                    .serve_connection(TokioIo::new(stream), service)
                    .await,
            );
        });
    }
}

async fn answer(
    address: SocketAddr,
    mcp: Mcp,
    protection: Protection,
    request: Request<Incoming>,
) -> Answer {
    let own = format!("http://{address}/mcp");
    if request.uri().path().starts_with("/.well-known/") {
        if protection.silent {
            return plain(StatusCode::NOT_FOUND, String::new(), None);
        }
        let metadata = json!({
            "resource": protection.claims.unwrap_or(own),
            "resource_name": "Test server",
            "authorization_servers": [format!("http://{address}/authorization")],
            "scopes_supported": ["read", "write"],
        });
        return plain(StatusCode::OK, metadata.to_string(), None);
    }
    let metadata = match protection.silent {
        true => String::new(),
        false => format!(r#", resource_metadata="http://{address}{RESOURCE_PATH}""#),
    };
    let shown = request.headers().get(AUTHORIZATION);
    let shown = shown.and_then(|shown| shown.to_str().ok()?.strip_prefix("Bearer "));
    let shown = shown.map(str::to_owned);
    let is_wide = shown.is_some() && shown == protection.wide_token;
    if protection.token.is_some() && shown != protection.token && !is_wide {
        let header = format!(r#"Bearer realm="test", scope="read"{metadata}"#);
        return plain(StatusCode::UNAUTHORIZED, String::new(), Some(header));
    }
    let (head, body) = request.into_parts();
    let Ok(body) = body.collect().await else {
        return plain(StatusCode::BAD_REQUEST, String::new(), None);
    };
    let body = body.to_bytes();
    let asks_more = String::from_utf8_lossy(&body).contains(r#""needs_scope""#);
    if asks_more && protection.wide_token.is_some() && !is_wide {
        let header = format!(r#"Bearer error="insufficient_scope", scope="read write"{metadata}"#);
        return plain(StatusCode::FORBIDDEN, String::new(), Some(header));
    }
    mcp.handle(Request::from_parts(head, Full::new(body))).await
}

fn plain(status: StatusCode, body: String, challenge: Option<String>) -> Answer {
    let mut response = Response::new(Full::new(Bytes::from(body)).boxed());
    *response.status_mut() = status;
    let challenge = challenge.and_then(|text| text.try_into().ok());
    let headers = response.headers_mut();
    headers.extend(challenge.map(|challenge| (WWW_AUTHENTICATE, challenge)));
    response
}

fn lock(protection: &Mutex<Protection>) -> MutexGuard<'_, Protection> {
    protection.lock().unwrap_or_else(PoisonError::into_inner)
}
