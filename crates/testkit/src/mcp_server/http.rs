//! The test server by HTTP on loopback, with optional bearer tokens.

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

/// The path of the protected resource metadata.
pub const RESOURCE_PATH: &str = "/.well-known/oauth-protected-resource/mcp";

type TestHttpResponse = Response<BoxBody<Bytes, Infallible>>;
type TestMcpService = StreamableHttpService<TestServer, LocalSessionManager>;

/// The authorization that the server requires.
#[derive(Debug, Clone, Default)]
pub struct TestAuth {
    /// The valid token; without one, requests need no token.
    pub token: Option<String>,
    /// The token that is also valid for `needs_scope`.
    pub wide_token: Option<String>,
    /// The resource in the metadata, instead of the server's URL.
    pub claimed_resource: Option<String>,
    /// `true` if the server has no protected resource metadata.
    pub hides_metadata: bool,
}

/// A running server, which stops when it is dropped.
pub struct HttpServer {
    address: SocketAddr,
    auth: Arc<Mutex<TestAuth>>,
    _tasks: JoinSet<()>,
}

impl HttpServer {
    /// Starts a server with sessions and streamed responses.
    ///
    /// # Panics
    ///
    /// If no port is available.
    pub async fn start(auth: TestAuth) -> Self {
        Self::start_with(auth, StreamableHttpServerConfig::default()).await
    }

    /// Starts a stateless server that responds with plain JSON.
    ///
    /// # Panics
    ///
    /// If no port is available.
    pub async fn start_stateless(auth: TestAuth) -> Self {
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true);
        Self::start_with(auth, config).await
    }

    async fn start_with(auth: TestAuth, config: StreamableHttpServerConfig) -> Self {
        #[expect(clippy::expect_used, reason = "a test fails by panicking")]
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        #[expect(clippy::expect_used, reason = "a test fails by panicking")]
        let address = listener.local_addr().expect("it has an address");
        let protection = Arc::new(Mutex::new(auth));
        let server = TestServer::default();
        let mcp = StreamableHttpService::new(
            move || Ok(server.clone()),
            Arc::new(LocalSessionManager::default()),
            config,
        );
        let mut tasks = JoinSet::new();
        tasks.spawn(accept_connections(
            listener,
            address,
            mcp,
            Arc::clone(&protection),
        ));
        HttpServer {
            address,
            auth: protection,
            _tasks: tasks,
        }
    }

    /// Returns the URL of the MCP endpoint.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// Changes the required authorization.
    pub fn update_auth(&self, change: impl FnOnce(&mut TestAuth)) {
        change(&mut lock_auth(&self.auth));
    }
}

async fn accept_connections(
    listener: TcpListener,
    address: SocketAddr,
    mcp: TestMcpService,
    auth: Arc<Mutex<TestAuth>>,
) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let (mcp, protection) = (mcp.clone(), Arc::clone(&auth));
        let service = service_fn(move |request| {
            let protection = lock_auth(&protection).clone();
            let mcp = mcp.clone();
            async move { Ok::<_, Infallible>(handle_request(address, mcp, protection, request).await) }
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

async fn handle_request(
    address: SocketAddr,
    mcp: TestMcpService,
    auth: TestAuth,
    request: Request<Incoming>,
) -> TestHttpResponse {
    let own = format!("http://{address}/mcp");
    if request.uri().path().starts_with("/.well-known/") {
        if auth.hides_metadata {
            return text_response(StatusCode::NOT_FOUND, String::new(), None);
        }
        let metadata = json!({
            "resource": auth.claimed_resource.unwrap_or(own),
            "resource_name": "Test server",
            "authorization_servers": [format!("http://{address}/authorization")],
            "scopes_supported": ["read", "write"],
        });
        return text_response(StatusCode::OK, metadata.to_string(), None);
    }
    let metadata = if auth.hides_metadata {
        String::new()
    } else {
        format!(r#", resource_metadata="http://{address}{RESOURCE_PATH}""#)
    };
    let presented_token = request.headers().get(AUTHORIZATION);
    let shown = presented_token.and_then(|shown| shown.to_str().ok()?.strip_prefix("Bearer "));
    let shown = shown.map(str::to_owned);
    let is_wide = shown.is_some() && shown == auth.wide_token;
    if auth.token.is_some() && shown != auth.token && !is_wide {
        let header = format!(r#"Bearer realm="test", scope="read"{metadata}"#);
        return text_response(StatusCode::UNAUTHORIZED, String::new(), Some(header));
    }
    let (head, body) = request.into_parts();
    let Ok(body) = body.collect().await else {
        return text_response(StatusCode::BAD_REQUEST, String::new(), None);
    };
    let body = body.to_bytes();
    let asks_more = String::from_utf8_lossy(&body).contains(r#""needs_scope""#);
    if asks_more && auth.wide_token.is_some() && !is_wide {
        let header = format!(r#"Bearer error="insufficient_scope", scope="read write"{metadata}"#);
        return text_response(StatusCode::FORBIDDEN, String::new(), Some(header));
    }
    mcp.handle(Request::from_parts(head, Full::new(body))).await
}

fn text_response(status: StatusCode, body: String, challenge: Option<String>) -> TestHttpResponse {
    let mut response = Response::new(Full::new(Bytes::from(body)).boxed());
    *response.status_mut() = status;
    let challenge = challenge.and_then(|text| text.try_into().ok());
    let headers = response.headers_mut();
    headers.extend(challenge.map(|challenge| (WWW_AUTHENTICATE, challenge)));
    response
}

fn lock_auth(auth: &Mutex<TestAuth>) -> MutexGuard<'_, TestAuth> {
    auth.lock().unwrap_or_else(PoisonError::into_inner)
}
