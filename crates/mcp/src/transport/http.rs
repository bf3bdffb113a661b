//! HTTP transport to MCP servers.
//!
//! It differs from the transport of `rmcp` in three ways: responses have a size limit, the
//! token can change while the server is connected, and no error quotes text from the server.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agenthost_protocol::wire::Json;
use agenthost_stdx::sync::lock;

use crate::auth::tokens::IssuedToken;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use reqwest::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue, WWW_AUTHENTICATE,
};
use reqwest::{Client, RequestBuilder, Response, StatusCode, redirect};
use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::common::http_header::{
    EVENT_STREAM_MIME_TYPE, HEADER_LAST_EVENT_ID, HEADER_SESSION_ID, JSON_MIME_TYPE,
};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, HttpStatusError, InsufficientScopeError, SseError, StreamableHttpClient,
    StreamableHttpError, StreamableHttpPostResponse,
};
use rustls_native_certs::load_native_certs;
use sse_stream::Sse;
use tokio::sync::Notify;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::{self, ClientConfig, RootCertStore};

use super::sse::bounded_events;
use crate::MAX_MESSAGE_BYTES;
use crate::auth::origin::is_same_origin;
use crate::server::raw_result::wrap_raw_result;

/// Timeout for the TCP and TLS connection to a server.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum number of redirects of one request.
const MAX_REDIRECTS: usize = 5;

/// The error of an HTTP client that can't be created.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HttpClientError {
    /// The TLS configuration is invalid.
    #[error("{0}")]
    Tls(#[from] rustls::Error),
    /// The client can't be built.
    #[error("{0}")]
    Requests(#[from] reqwest::Error),
}

type HttpTransportError = StreamableHttpError<reqwest::Error>;

/// The bearer token of a server's requests. It may change at any time. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct BearerToken(Arc<Mutex<Option<IssuedToken>>>);

impl BearerToken {
    /// Replaces the token for all later requests.
    pub(crate) fn set(&self, token: Option<IssuedToken>) {
        *lock(&self.0) = token;
    }

    pub(crate) fn current(&self) -> Option<IssuedToken> {
        lock(&self.0).clone()
    }
}

/// Builds the client for all requests. It follows redirects only within the same origin,
/// because a request may contain secrets.
pub(crate) fn build_client() -> Result<Client, HttpClientError> {
    let policy = redirect::Policy::custom(|attempt| {
        let from = attempt.previous().last();
        let stays = from.is_some_and(|from| is_same_origin(from, attempt.url()));
        if stays && attempt.previous().len() <= MAX_REDIRECTS {
            attempt.follow()
        } else {
            attempt.stop()
        }
    });
    let client = Client::builder()
        .tls_backend_preconfigured(load_system_roots()?)
        .connect_timeout(CONNECT_TIMEOUT)
        .redirect(policy)
        .user_agent(concat!("agenthost/", env!("CARGO_PKG_VERSION")))
        .build()?;
    Ok(client)
}

/// Loads the root certificates of the system. Without any, servers with `https` fail, but
/// others still work.
fn load_system_roots() -> Result<ClientConfig, rustls::Error> {
    let mut roots = RootCertStore::empty();
    let (_, malformed) = roots.add_parsable_certificates(load_native_certs().certs);
    if roots.is_empty() || malformed > 0 {
        tracing::warn!(
            malformed,
            trusted = roots.len(),
            "system certificates are missing or malformed"
        );
    }
    let provider = Arc::new(ring::default_provider());
    let config =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    Ok(config?.with_root_certificates(roots).with_no_client_auth())
}

/// The transport to one server.
#[derive(Clone)]
pub(crate) struct HttpTransport {
    pub(crate) client: Client,
    pub(crate) bearer: BearerToken,
    /// Notified when a broken stream can't be resumed. Requests whose responses it carries
    /// would otherwise wait forever.
    pub(crate) suspicion: Arc<Notify>,
}

impl HttpTransport {
    fn add_headers(
        &self,
        mut request: RequestBuilder,
        session: Option<Arc<str>>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> RequestBuilder {
        let both = format!("{JSON_MIME_TYPE}, {EVENT_STREAM_MIME_TYPE}");
        request = request.header(ACCEPT, both);
        let token = self.bearer.current();
        for (name, value) in headers {
            // A token of a client replaces the one in the configuration.
            if token.is_none() || name != AUTHORIZATION {
                request = request.header(name, value);
            }
        }
        if let Some(session) = session {
            request = request.header(HEADER_SESSION_ID, session.as_ref());
        }
        match token {
            Some(token) => request.bearer_auth(token.token.reveal()),
            None => request,
        }
    }
}

impl StreamableHttpClient for HttpTransport {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, HttpTransportError> {
        let in_session = session.is_some();
        let request = self.add_headers(self.client.post(uri.as_ref()), session, headers);
        let response = request
            .json(&message)
            .send()
            .await
            .map_err(HttpTransportError::Client)?;
        let response = check_authorized(response)?;
        let status = response.status();
        if status == StatusCode::NOT_FOUND && in_session {
            return Err(HttpTransportError::SessionExpired);
        }
        let session = response.headers().get(HEADER_SESSION_ID);
        let session = session.and_then(|id| Some(id.to_str().ok()?.to_owned()));
        if status.is_success() && has_content_type(&response, EVENT_STREAM_MIME_TYPE) {
            let events = bounded_events(response.bytes_stream(), request_id(&message));
            return Ok(StreamableHttpPostResponse::Sse(events, session));
        }
        if status.is_success() && request_id(&message).is_none() {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        let is_json = has_content_type(&response, JSON_MIME_TYPE);
        let answer = if is_json {
            crate::transport::http::read_message(response).await?
        } else {
            None
        };
        match answer {
            Some(answer) if status.is_success() || matches!(answer, JsonRpcMessage::Error(_)) => {
                Ok(StreamableHttpPostResponse::Json(answer, session))
            }
            Some(_) | None if !status.is_success() => Err(status_error(status)),
            Some(_) | None => Err(HttpTransportError::UnexpectedServerResponse(
                "the response is not a JSON-RPC message".into(),
            )),
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        _token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), HttpTransportError> {
        let request = self.client.delete(uri.as_ref());
        let request = self.add_headers(request, Some(session), headers);
        let response = request.send().await.map_err(HttpTransportError::Client)?;
        let status = response.status();
        // Servers may reject `DELETE` (405), if they have no session to end.
        if status.is_success() || status == StatusCode::METHOD_NOT_ALLOWED {
            return Ok(());
        }
        Err(status_error(status))
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        _token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, HttpTransportError> {
        let mut request = self.add_headers(self.client.get(uri.as_ref()), session, headers);
        if let Some(last) = last {
            request = request.header(HEADER_LAST_EVENT_ID, last);
        }
        let response = request.send().await.map_err(|error| {
            self.suspicion.notify_one();
            HttpTransportError::Client(error)
        })?;
        let response = check_authorized(response)?;
        if response.status() == StatusCode::METHOD_NOT_ALLOWED {
            return Err(HttpTransportError::ServerDoesNotSupportSse);
        }
        if !response.status().is_success() {
            return Err(status_error(response.status()));
        }
        if !has_content_type(&response, EVENT_STREAM_MIME_TYPE) {
            return Err(HttpTransportError::UnexpectedContentType(None));
        }
        Ok(bounded_events(response.bytes_stream(), None))
    }
}

/// Returns the response, or an authorization error. Status 401 always means that a token is
/// required; status 403 means it only with a `WWW-Authenticate` header.
fn check_authorized(response: Response) -> Result<Response, HttpTransportError> {
    let header = response.headers().get(WWW_AUTHENTICATE);
    let header = header.map(|header| String::from_utf8_lossy(header.as_bytes()).into_owned());
    match (response.status(), header) {
        (StatusCode::UNAUTHORIZED, header) => Err(HttpTransportError::AuthRequired(
            AuthRequiredError::new(header.unwrap_or_default()),
        )),
        (StatusCode::FORBIDDEN, Some(header)) => Err(HttpTransportError::InsufficientScope(
            InsufficientScopeError::new(header, None),
        )),
        _ => Ok(response),
    }
}

/// Returns the id if the message is a request.
fn request_id(message: &ClientJsonRpcMessage) -> Option<Json> {
    match message {
        JsonRpcMessage::Request(request) => serde_json::to_value(&request.id).ok(),
        JsonRpcMessage::Response(_)
        | JsonRpcMessage::Notification(_)
        | JsonRpcMessage::Error(_) => None,
    }
}

fn status_error(status: StatusCode) -> HttpTransportError {
    HttpTransportError::HttpStatus(HttpStatusError::new(status.as_u16(), None))
}

fn has_content_type(response: &Response, kind: &str) -> bool {
    let found = response.headers().get(CONTENT_TYPE);
    found.is_some_and(|found| found.as_bytes().starts_with(kind.as_bytes()))
}

/// Reads the body of a response within the size limit. Returns `None` if it is no message.
async fn read_message(
    response: Response,
) -> Result<Option<ServerJsonRpcMessage>, HttpTransportError> {
    let mut pieces = response.bytes_stream();
    let mut bytes = Vec::new();
    while let Some(piece) = pieces.next().await {
        bytes.extend_from_slice(&piece.map_err(HttpTransportError::Client)?);
        if bytes.len() > MAX_MESSAGE_BYTES {
            let problem = "a response of more than 16 MiB".into();
            return Err(HttpTransportError::UnexpectedServerResponse(problem));
        }
    }
    let Ok(mut message) = serde_json::from_slice(&bytes) else {
        return Ok(None);
    };
    wrap_raw_result(&mut message);
    Ok(serde_json::from_value(message).ok())
}
