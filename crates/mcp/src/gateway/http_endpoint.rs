//! HTTP endpoint of one chat (streamable HTTP transport of MCP).

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::Json;
use agenthost_stdx::hex::encode_hex;
use agenthost_stdx::sync::lock;
use bytes::Bytes;
use futures_util::stream::unfold;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, Limited, StreamBody};
use hyper::body::{Body, Frame, Incoming};
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderName};
use hyper::http::HeaderValue;
use hyper::{Method, Request, Response, StatusCode};
use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage};
use serde_json::json;
use tokio::sync::mpsc;

use super::http_session::{HttpSession, ReplyExpectation};
use crate::MAX_MESSAGE_BYTES;
use crate::manager::McpContext;

/// Header with the id of the HTTP session that a request belongs to.
const SESSION_ID_HEADER: HeaderName = HeaderName::from_static("mcp-session-id");

/// Maximum number of HTTP sessions of one chat; a further one evicts the oldest.
const MAX_HTTP_SESSIONS: usize = 16;

/// Timeout for responses other than those of tool calls.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(60);

/// Timeout for the body of a request.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// Interval of the SSE comments that keep a stream open while a tool call runs. Agents close
/// streams without data.
const SSE_KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);

/// Response with a complete or a streamed body.
pub(super) type HttpResponse = Response<UnsyncBoxBody<Bytes, Infallible>>;

/// The endpoint of one chat and its HTTP sessions.
pub(super) struct HttpEndpoint {
    shared: Arc<McpContext>,
    session: Uri,
    chat: Uri,
    http_sessions: Mutex<VecDeque<(String, Arc<HttpSession>)>>,
}

impl HttpEndpoint {
    pub(super) fn new(shared: &Arc<McpContext>, session: &Uri, chat: &Uri) -> Self {
        HttpEndpoint {
            shared: Arc::clone(shared),
            session: session.clone(),
            chat: chat.clone(),
            http_sessions: Mutex::default(),
        }
    }

    pub(super) fn belongs_to(&self, session: &Uri) -> bool {
        self.session == *session
    }

    /// Handles a request that has presented the secret of the chat.
    pub(super) async fn handle_request(&self, request: Request<Incoming>) -> HttpResponse {
        let named = session_id(request.headers());
        match *request.method() {
            Method::POST => {
                let body = request.into_body();
                if body.size_hint().lower() > MAX_MESSAGE_BYTES as u64 {
                    return status_response(StatusCode::PAYLOAD_TOO_LARGE);
                }
                let body = Limited::new(body, MAX_MESSAGE_BYTES).collect();
                let body = match tokio::time::timeout(BODY_TIMEOUT, body).await {
                    Ok(Ok(body)) => body.to_bytes(),
                    Ok(Err(_)) => return status_response(StatusCode::PAYLOAD_TOO_LARGE),
                    Err(_) => return status_response(StatusCode::REQUEST_TIMEOUT),
                };
                match read_message(&body) {
                    Ok((message, wants)) => self.handle_post(message, wants, named).await,
                    Err(malformed) => malformed.to_response(),
                }
            }
            Method::GET => match named.map(|named| self.find_session(&named)) {
                Some(Some(visit)) => stream_response(visit.subscribe_notifications()),
                Some(None) => status_response(StatusCode::NOT_FOUND),
                None => status_response(StatusCode::METHOD_NOT_ALLOWED),
            },
            Method::DELETE => match named.and_then(|named| self.remove_session(&named)) {
                Some(_visit) => status_response(StatusCode::NO_CONTENT),
                None => status_response(StatusCode::NOT_FOUND),
            },
            _ => status_response(StatusCode::METHOD_NOT_ALLOWED),
        }
    }

    async fn handle_post(
        &self,
        message: Json,
        wants: ReplyExpectation,
        named: Option<String>,
    ) -> HttpResponse {
        let method = message.get("method").and_then(Json::as_str);
        let begins = method == Some("initialize");
        let takes_long = method == Some("tools/call");
        let (http_session, begun) = match (begins, named) {
            (true, _) => match self.start_session() {
                Some((name, http_session)) => (http_session, Some(name)),
                None => return status_response(StatusCode::SERVICE_UNAVAILABLE),
            },
            (false, Some(named)) => match self.find_session(&named) {
                Some(http_session) => (http_session, None),
                // The agent must initialize a new session.
                None => return status_response(StatusCode::NOT_FOUND),
            },
            (false, None) => return status_response(StatusCode::BAD_REQUEST),
        };
        let is_told = matches!(wants, ReplyExpectation::NoResponse);
        let Some(mut answer) = http_session.send(&message, wants).await else {
            return status_response(StatusCode::BAD_REQUEST);
        };
        if is_told {
            return status_response(StatusCode::ACCEPTED);
        }
        if takes_long {
            // A stream with keep-alive comments, because agents close a silent connection.
            return stream_response(answer);
        }
        let Ok(Some(line)) = tokio::time::timeout(RESPONSE_TIMEOUT, answer.recv()).await else {
            return status_response(StatusCode::BAD_GATEWAY);
        };
        let mut answer = Response::new(Full::from(line).boxed_unsync());
        let headers = answer.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(name) = begun.and_then(|name| HeaderValue::try_from(name).ok()) {
            headers.insert(SESSION_ID_HEADER, name);
        }
        answer
    }

    /// Starts an HTTP session with a random id. Returns `None` if the system has no random
    /// bytes.
    fn start_session(&self) -> Option<(String, Arc<HttpSession>)> {
        let mut random = [0; 16];
        getrandom::fill(&mut random).ok()?;
        let name = encode_hex(&random);
        let http_session = Arc::new(HttpSession::start(&self.shared, &self.session, &self.chat));
        let mut http_sessions = self.lock();
        http_sessions.retain(|(_, http_session)| !http_session.is_over());
        if http_sessions.len() >= MAX_HTTP_SESSIONS {
            http_sessions.pop_front();
        }
        http_sessions.push_back((name.clone(), Arc::clone(&http_session)));
        Some((name, http_session))
    }

    fn find_session(&self, named: &str) -> Option<Arc<HttpSession>> {
        let http_sessions = self.lock();
        let mut http_sessions = http_sessions.iter().filter(|(_, visit)| !visit.is_over());
        let found = http_sessions.find(|(name, _)| name == named);
        found.map(|(_, visit)| Arc::clone(visit))
    }

    fn remove_session(&self, named: &str) -> Option<Arc<HttpSession>> {
        let mut http_sessions = self.lock();
        let at = http_sessions.iter().position(|(name, _)| name == named)?;
        http_sessions.remove(at).map(|(_, visit)| visit)
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(String, Arc<HttpSession>)>> {
        lock(&self.http_sessions)
    }
}

/// The error of a body that is no JSON-RPC message.
#[derive(Debug, PartialEq, Eq)]
enum InvalidBody {
    NotJson,
    /// The JSON is no request, notification or response.
    NotJsonRpc,
}

impl InvalidBody {
    fn to_response(&self) -> HttpResponse {
        let (code, message) = match self {
            InvalidBody::NotJson => (-32700, "the body is not JSON"),
            InvalidBody::NotJsonRpc => (-32600, "the body is not a JSON-RPC 2.0 message"),
        };
        let error = json!({"code": code, "message": message});
        let error = json!({"jsonrpc": "2.0", "id": null, "error": error});
        let mut answer = Response::new(Full::from(error.to_string()).boxed_unsync());
        *answer.status_mut() = StatusCode::BAD_REQUEST;
        let kind = HeaderValue::from_static("application/json");
        answer.headers_mut().insert(CONTENT_TYPE, kind);
        answer
    }
}

/// Parses a message and determines if it expects a response. The gateway server skips invalid
/// messages without a response, so they must be rejected here.
fn read_message(body: &[u8]) -> Result<(Json, ReplyExpectation), InvalidBody> {
    let message: Json = serde_json::from_slice(body).map_err(|_| InvalidBody::NotJson)?;
    if !message.is_object() {
        return Err(InvalidBody::NotJsonRpc);
    }
    let read: ClientJsonRpcMessage =
        serde_json::from_value(message.clone()).map_err(|_| InvalidBody::NotJsonRpc)?;
    let wants = match read {
        JsonRpcMessage::Request(request) => {
            let id = serde_json::to_value(&request.id).map_err(|_| InvalidBody::NotJsonRpc)?;
            ReplyExpectation::Response(id.to_string())
        }
        JsonRpcMessage::Notification(_) if message.get("id").is_some() => {
            return Err(InvalidBody::NotJsonRpc);
        }
        JsonRpcMessage::Notification(_)
        | JsonRpcMessage::Response(_)
        | JsonRpcMessage::Error(_) => ReplyExpectation::NoResponse,
    };
    Ok((message, wants))
}

/// Returns a response with a status and an empty body.
pub(super) fn status_response(status: StatusCode) -> HttpResponse {
    let mut answer = Response::new(Full::default().boxed_unsync());
    *answer.status_mut() = status;
    answer
}

fn session_id(headers: &HeaderMap) -> Option<String> {
    headers
        .get(SESSION_ID_HEADER)?
        .to_str()
        .ok()
        .map(str::to_owned)
}

/// Returns a response that streams messages as events until the sender is dropped.
fn stream_response(messages: mpsc::Receiver<String>) -> HttpResponse {
    let events = unfold(messages, |mut messages| async {
        let event = match tokio::time::timeout(SSE_KEEP_ALIVE_INTERVAL, messages.recv()).await {
            Ok(Some(line)) => format!("event: message\ndata: {line}\n\n"),
            Ok(None) => return None,
            Err(_) => ":\n\n".to_owned(),
        };
        Some((Ok(Frame::data(Bytes::from(event))), messages))
    });
    let mut answer = Response::new(StreamBody::new(events).boxed_unsync());
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    answer
}
