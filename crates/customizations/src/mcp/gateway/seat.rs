//! A chat whose agent comes by HTTP (MCP's streamable HTTP).

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::Json;
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

use super::super::LONGEST_MESSAGE;
use super::super::servers::Shared;
use super::visit::{Visit, Wants};
use crate::package::hex;

/// Names the visit that a request belongs to.
const VISIT: HeaderName = HeaderName::from_static("mcp-session-id");

/// Most visits of one chat; the oldest ends for a new one.
const VISITS: usize = 16;

/// How long an answer may take that needs no tool.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long the body of a request may take to arrive.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// How often who waits for a tool hears that there is somebody still.
const SIGN_OF_LIFE: Duration = Duration::from_secs(15);

/// What is answered to a request.
pub(super) type Answer = Response<UnsyncBoxBody<Bytes, Infallible>>;

/// A chat whose agent comes by HTTP.
pub(super) struct Seat {
    shared: Arc<Shared>,
    session: Uri,
    chat: Uri,
    visits: Mutex<VecDeque<(String, Arc<Visit>)>>,
}

impl Seat {
    /// That of a chat.
    pub(super) fn new(shared: &Arc<Shared>, session: &Uri, chat: &Uri) -> Self {
        Seat {
            shared: Arc::clone(shared),
            session: session.clone(),
            chat: chat.clone(),
            visits: Mutex::default(),
        }
    }

    /// Whether it is of a session.
    pub(super) fn is_of(&self, session: &Uri) -> bool {
        self.session == *session
    }

    /// Answers its agent.
    pub(super) async fn answer(&self, request: Request<Incoming>) -> Answer {
        let named = visit_of(request.headers());
        match *request.method() {
            Method::POST => {
                let body = request.into_body();
                if body.size_hint().lower() > LONGEST_MESSAGE as u64 {
                    return refused(StatusCode::PAYLOAD_TOO_LARGE);
                }
                let body = Limited::new(body, LONGEST_MESSAGE).collect();
                let body = match tokio::time::timeout(BODY_TIMEOUT, body).await {
                    Ok(Ok(body)) => body.to_bytes(),
                    Ok(Err(_)) => return refused(StatusCode::PAYLOAD_TOO_LARGE),
                    Err(_) => return refused(StatusCode::REQUEST_TIMEOUT),
                };
                match read_message(&body) {
                    Ok((message, wants)) => self.post(message, wants, named).await,
                    Err(malformed) => malformed.answer(),
                }
            }
            Method::GET => match named.map(|named| self.find(&named)) {
                Some(Some(visit)) => stream(visit.notices()),
                Some(None) => refused(StatusCode::NOT_FOUND),
                None => refused(StatusCode::METHOD_NOT_ALLOWED),
            },
            Method::DELETE => match named.and_then(|named| self.take(&named)) {
                Some(_visit) => refused(StatusCode::NO_CONTENT),
                None => refused(StatusCode::NOT_FOUND),
            },
            _ => refused(StatusCode::METHOD_NOT_ALLOWED),
        }
    }

    async fn post(&self, message: Json, wants: Wants, named: Option<String>) -> Answer {
        let method = message.get("method").and_then(Json::as_str);
        let begins = method == Some("initialize");
        let takes_long = method == Some("tools/call");
        let (visit, begun) = match (begins, named) {
            (true, _) => match self.begin() {
                Some((name, visit)) => (visit, Some(name)),
                None => return refused(StatusCode::SERVICE_UNAVAILABLE),
            },
            (false, Some(named)) => match self.find(&named) {
                Some(visit) => (visit, None),
                // It has to begin again.
                None => return refused(StatusCode::NOT_FOUND),
            },
            (false, None) => return refused(StatusCode::BAD_REQUEST),
        };
        let is_told = matches!(wants, Wants::Nothing);
        let Some(mut answer) = visit.say(&message, wants).await else {
            return refused(StatusCode::BAD_REQUEST);
        };
        if is_told {
            return refused(StatusCode::ACCEPTED);
        }
        if takes_long {
            // Who waits for a long time gives up if nothing is heard at all.
            return stream(answer);
        }
        let Ok(Some(line)) = tokio::time::timeout(PATIENCE, answer.recv()).await else {
            return refused(StatusCode::BAD_GATEWAY);
        };
        let mut answer = Response::new(Full::from(line).boxed_unsync());
        let headers = answer.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(name) = begun.and_then(|name| HeaderValue::try_from(name).ok()) {
            headers.insert(VISIT, name);
        }
        answer
    }

    /// Lets an agent in; none if there is no chance to tell it from others.
    fn begin(&self) -> Option<(String, Arc<Visit>)> {
        let mut random = [0; 16];
        getrandom::fill(&mut random).ok()?;
        let name = hex(&random);
        let visit = Arc::new(Visit::begin(&self.shared, &self.session, &self.chat));
        let mut visits = self.lock();
        visits.retain(|(_, visit)| !visit.is_over());
        if visits.len() >= VISITS {
            visits.pop_front();
        }
        visits.push_back((name.clone(), Arc::clone(&visit)));
        Some((name, visit))
    }

    fn find(&self, named: &str) -> Option<Arc<Visit>> {
        let visits = self.lock();
        let mut visits = visits.iter().filter(|(_, visit)| !visit.is_over());
        let found = visits.find(|(name, _)| name == named);
        found.map(|(_, visit)| Arc::clone(visit))
    }

    fn take(&self, named: &str) -> Option<Arc<Visit>> {
        let mut visits = self.lock();
        let at = visits.iter().position(|(name, _)| name == named)?;
        visits.remove(at).map(|(_, visit)| visit)
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(String, Arc<Visit>)>> {
        self.visits.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A body that is no message of JSON-RPC.
#[derive(Debug, PartialEq, Eq)]
enum Malformed {
    /// It is no JSON.
    Json,
    /// It is no request, notification or response.
    Message,
}

impl Malformed {
    fn answer(&self) -> Answer {
        let (code, message) = match self {
            Malformed::Json => (-32700, "the body is not JSON"),
            Malformed::Message => (-32600, "the body is not a message of JSON-RPC 2.0"),
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

/// Reads a message and says whether it wants an answer. The other end passes over whatever it can't
/// read and answers nothing, so that is found out here.
fn read_message(body: &[u8]) -> Result<(Json, Wants), Malformed> {
    let message: Json = serde_json::from_slice(body).map_err(|_| Malformed::Json)?;
    if !message.is_object() {
        return Err(Malformed::Message);
    }
    let read: ClientJsonRpcMessage =
        serde_json::from_value(message.clone()).map_err(|_| Malformed::Message)?;
    let wants = match read {
        JsonRpcMessage::Request(request) => {
            let id = serde_json::to_value(&request.id).map_err(|_| Malformed::Message)?;
            Wants::Answer(id.to_string())
        }
        JsonRpcMessage::Notification(_) if message.get("id").is_some() => {
            return Err(Malformed::Message);
        }
        JsonRpcMessage::Notification(_)
        | JsonRpcMessage::Response(_)
        | JsonRpcMessage::Error(_) => Wants::Nothing,
    };
    Ok((message, wants))
}

/// An answer that says no more than how it went.
pub(super) fn refused(status: StatusCode) -> Answer {
    let mut answer = Response::new(Full::default().boxed_unsync());
    *answer.status_mut() = status;
    answer
}

fn visit_of(headers: &HeaderMap) -> Option<String> {
    headers.get(VISIT)?.to_str().ok().map(str::to_owned)
}

/// Messages as they come, until there are no more.
fn stream(messages: mpsc::Receiver<String>) -> Answer {
    let events = unfold(messages, |mut messages| async {
        let event = match tokio::time::timeout(SIGN_OF_LIFE, messages.recv()).await {
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
