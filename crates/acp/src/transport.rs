//! The JSON-RPC connection to an agent process; the only module that uses the protocol crate.
//!
//! All messages of the agent arrive in one bounded queue, in the order in which they were sent:
//! updates, requests, and the responses to requests of the host. The response that ends a turn
//! therefore arrives after all updates of the turn. Messages stay JSON until a consumer parses
//! them, so that an unknown value does not invalidate a whole message.

pub(crate) mod line_reader;
pub(crate) mod repair;
pub(crate) mod text_chunk;

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use agent_client_protocol::{
    Client, Error, Lines, UntypedMessage, is_connection_terminated, is_incoming_transport_closed,
    v1,
};
use agenthost_process::StreamTail;
use agenthost_stdx::result::IgnoreResult;
use agenthost_stdx::sync::lock;
use agenthost_stdx::text::truncate_chars;
use futures_util::{Sink, Stream, sink, stream};
use serde::Serialize;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::JoinSet;

pub(crate) use agent_client_protocol::v1::schema;

use super::services::{ServiceError, ServiceRequest};
use super::transport::line_reader::{JsonRpcKind, JsonRpcLine, LineReader, MAX_LINE_BYTES};
use super::transport::text_chunk::SESSION_UPDATE_METHOD;

/// The capacity of the queue of received messages. When it is full, messages stay in the budget
/// of [`MAX_BUFFERED_KIB`], and then in the pipe of the agent.
const MESSAGE_QUEUE: usize = 64;

/// The maximum size, in KiB, of messages that were read and not yet queued. When the budget is
/// used up, the host stops reading. A single message of any permitted size always fits.
const MAX_BUFFERED_KIB: u32 = 2 * (MAX_LINE_BYTES / 1024) as u32;

/// The number of bytes that are kept of output that is not a message.
const NOISE_TAIL_BYTES: usize = 4 * 1024;

#[derive(Debug)]
pub(crate) enum AgentMessage<T> {
    /// The parameters of a `session/update` notification.
    Update(JsonParams),
    /// A request for permission to run a tool call.
    Permission(JsonParams, RequestResponder),
    /// A request for input of the user.
    Elicitation(JsonParams, RequestResponder),
    /// A request for a service of the host.
    Service(ServiceRequest, JsonParams, RequestResponder),
    /// The response to a request of the host.
    Response(T, Result<Value, AgentCallError>),
    /// The end of the connection, with the error that ended it, if there was one.
    Closed(Option<String>),
}

/// The parameters of a message.
pub(crate) type JsonParams = serde_json::Map<String, Value>;

/// The pending response to a request of an agent. Dropping it responds with an error.
#[derive(Debug)]
pub(crate) struct RequestResponder(v1::Responder<Value>);

impl RequestResponder {
    pub(crate) fn respond(self, result: &impl Serialize) {
        let result = serde_json::to_value(result).unwrap_or_default();
        self.0.respond(result).ignore_closed();
    }

    /// Responds with a result or an error.
    pub(crate) fn respond_result(self, result: Result<Value, ServiceError>) {
        match result {
            Ok(result) => self.respond(&result),
            Err(error) => {
                let error = Error::new(error.code(), error.to_string()).data(error.data());
                self.0.respond_with_error(error).ignore_closed();
            }
        }
    }
}

/// The error of a request to an agent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AgentCallError {
    /// The agent responded with an error.
    #[error("{message}")]
    Rejected { code: i32, message: String },
    /// The connection ended before the response arrived.
    #[error("the agent ended")]
    Gone,
}

/// The error code with which an agent requires the user to sign in.
pub(crate) const AUTH_REQUIRED_CODE: i32 = -32000;

/// A connection to an agent process. Dropping it closes the agent's standard input.
#[derive(Debug)]
pub(crate) struct JsonRpcConnection<T> {
    agent: v1::ConnectionTo<agent_client_protocol::Agent>,
    responses: mpsc::Sender<AgentMessage<T>>,
    /// The task that reads and writes messages.
    _task: JoinSet<()>,
}

impl<T: std::fmt::Debug + Send + 'static> JsonRpcConnection<T> {
    /// Opens a connection on the pipes of an agent. Also returns the queue of messages and the
    /// tail of stdout lines that are not messages.
    ///
    /// # Errors
    ///
    /// Returns an error if the connection ends immediately.
    pub(crate) async fn open(
        stdin: impl AsyncWrite + Send + Unpin + 'static,
        stdout: impl AsyncRead + Send + Unpin + 'static,
    ) -> Result<(Self, mpsc::Receiver<AgentMessage<T>>, Arc<StreamTail>), AgentCallError> {
        let (sender, incoming) = mpsc::channel(MESSAGE_QUEUE);
        let (open, opened) = tokio::sync::oneshot::channel();
        let noise = Arc::new(StreamTail::new(NOISE_TAIL_BYTES));
        let mut task = JoinSet::new();
        task.spawn(run_io(
            stdin,
            stdout,
            Arc::clone(&noise),
            sender.clone(),
            open,
        ));
        let agent = opened.await.map_err(|_| AgentCallError::Gone)?;
        let connection = JsonRpcConnection {
            agent,
            responses: sender,
            _task: task,
        };
        Ok((connection, incoming, noise))
    }

    /// Sends a request. The response arrives in the message queue, with `tag`.
    pub(crate) fn call(&self, tag: T, method: &str, params: &impl Serialize) {
        let responses = self.responses.clone();
        let Ok(message) = UntypedMessage::new(method, params) else {
            return;
        };
        // The callback runs in order: messages that arrived before the response are queued
        // before it.
        let request = self.agent.prepare_request(message);
        let request = request.on_receiving_result(async move |result| {
            let response = AgentMessage::Response(tag, result.map_err(to_call_error));
            responses.send(response).await.ignore_closed();
            Ok(())
        });
        // A closed connection is reported by `Closed`.
        request.ignore_closed();
    }

    /// Sends a notification to the agent.
    pub(crate) fn notify(&self, method: &str, params: &impl Serialize) {
        if let Ok(message) = UntypedMessage::new(method, params) {
            // A closed connection is reported by `Closed`.
            self.agent.send_notification(message).ignore_closed();
        }
    }
}

fn to_call_error(error: Error) -> AgentCallError {
    if is_incoming_transport_closed(&error) || is_connection_terminated(&error) {
        return AgentCallError::Gone;
    }
    // Many agents put the useful part of an error into its data.
    let detail = error.data.as_ref().and_then(error_detail);
    let message = match detail {
        Some(detail) if !error.message.contains(&detail) => format!("{}: {detail}", error.message),
        _ => error.message,
    };
    AgentCallError::Rejected {
        code: error.code.into(),
        message: truncate_chars(&message, 500),
    }
}

fn error_detail(data: &Value) -> Option<String> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let keys = ["message", "details", "error"];
    text(data).or_else(|| keys.iter().find_map(|key| data.get(key).and_then(text)))
}

/// The memory budget for messages that were read and not yet queued.
#[derive(Debug, Clone)]
struct ReadBudget {
    permits: Arc<Semaphore>,
    /// The permits of the buffered messages, the oldest first.
    held_permits: Arc<Mutex<VecDeque<OwnedSemaphorePermit>>>,
}

impl ReadBudget {
    fn new() -> Self {
        ReadBudget {
            permits: Arc::new(Semaphore::new(MAX_BUFFERED_KIB as usize)),
            held_permits: Arc::default(),
        }
    }

    /// Waits until the budget has capacity for a message of this size.
    async fn acquire(&self, bytes: usize) {
        let size = u32::try_from(bytes / 1024)
            .unwrap_or(MAX_BUFFERED_KIB)
            .saturating_add(1);
        let permit = Arc::clone(&self.permits)
            .acquire_many_owned(size.min(MAX_BUFFERED_KIB))
            .await;
        // The semaphore is never closed.
        lock(&self.held_permits).extend(permit.ok());
    }

    /// Releases the permit of the oldest message, after it was queued.
    fn release_oldest(&self) {
        drop(lock(&self.held_permits).pop_front());
    }
}

const PERMISSION_METHOD: &str = "session/request_permission";
const ELICITATION_METHOD: &str = "elicitation/create";

/// The requests of agents that the host handles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AgentRequestKind {
    Permission,
    Elicitation,
    Service(ServiceRequest),
}

impl AgentRequestKind {
    /// Returns the kind of a request by its method; `None` if the method is unknown.
    fn from_method(method: &str) -> Option<Self> {
        match method {
            PERMISSION_METHOD => Some(AgentRequestKind::Permission),
            ELICITATION_METHOD => Some(AgentRequestKind::Elicitation),
            other => ServiceRequest::from_method(other).map(AgentRequestKind::Service),
        }
    }

    fn to_message<T>(self, params: JsonParams, responder: RequestResponder) -> AgentMessage<T> {
        match self {
            AgentRequestKind::Permission => AgentMessage::Permission(params, responder),
            AgentRequestKind::Elicitation => AgentMessage::Elicitation(params, responder),
            AgentRequestKind::Service(request) => AgentMessage::Service(request, params, responder),
        }
    }
}

/// Returns `true` if a message occupies the budget until it is queued. Other messages are
/// handled immediately.
fn counts_against_budget(line: &JsonRpcLine) -> bool {
    let method = line.method.as_deref().unwrap_or_default();
    match line.kind {
        JsonRpcKind::Notification => method == SESSION_UPDATE_METHOD,
        JsonRpcKind::Request => AgentRequestKind::from_method(method).is_some(),
        JsonRpcKind::Response => false,
    }
}

type ConnectionSender =
    tokio::sync::oneshot::Sender<v1::ConnectionTo<agent_client_protocol::Agent>>;

/// Reads and writes messages until the agent's stream ends or the connection is dropped.
async fn run_io<T: std::fmt::Debug + Send + 'static>(
    stdin: impl AsyncWrite + Send + Unpin + 'static,
    stdout: impl AsyncRead + Send + Unpin + 'static,
    noise: Arc<StreamTail>,
    sender: mpsc::Sender<AgentMessage<T>>,
    opened: ConnectionSender,
) {
    let budget = ReadBudget::new();
    let read_error: Arc<Mutex<Option<String>>> = Arc::default();
    let reader = LineReader::new(stdout, noise);
    let incoming = read_lines(reader, budget.clone(), Arc::clone(&read_error));
    // An agent that exits may not have read everything, so a write error is not a reason to
    // report.
    let write_failed = Arc::new(AtomicBool::new(false));
    let outgoing = write_lines(stdin, Arc::clone(&write_failed));
    let (for_requests, for_notifications) = (sender.clone(), sender.clone());
    let (request_budget, notification_budget) = (budget.clone(), budget);
    let result = Client
        .v1()
        .on_receive_request(
            async move |message: UntypedMessage, responder: v1::Responder<Value>, _| {
                let (method, params) = message.into_parts();
                let Some(kind) = AgentRequestKind::from_method(&method) else {
                    return responder.respond_with_error(Error::method_not_found());
                };
                let message = kind.to_message(to_params(params), RequestResponder(responder));
                for_requests.send(message).await.ignore_closed();
                request_budget.release_oldest();
                Ok(())
            },
            agent_client_protocol::on_receive_request!(),
        )
        .on_receive_notification(
            async move |message: UntypedMessage, _| {
                let (method, params) = message.into_parts();
                let params = to_params(params);
                // Agents send notifications of their own, which the host ignores.
                if method != SESSION_UPDATE_METHOD {
                    return Ok(());
                }
                let update = AgentMessage::Update(params);
                for_notifications.send(update).await.ignore_closed();
                notification_budget.release_oldest();
                Ok(())
            },
            agent_client_protocol::on_receive_notification!(),
        )
        .connect_with(Lines::new(outgoing, incoming), async move |agent| {
            if opened.send(agent.clone()).is_ok() {
                agent.incoming_closed().await;
            }
            Ok(())
        })
        .await;
    let read_reason = lock(&read_error).take();
    let error = result
        .err()
        .filter(|_| !write_failed.load(Ordering::Relaxed));
    let reason = read_reason.or_else(|| error.map(|error| error.message));
    sender
        .send(AgentMessage::Closed(reason))
        .await
        .ignore_closed();
}

/// Returns a stream of messages, limited by the budget. The error that ends the stream is
/// stored in `read_error`.
fn read_lines(
    reader: LineReader<impl AsyncRead + Send + Unpin + 'static>,
    budget: ReadBudget,
    read_error: Arc<Mutex<Option<String>>>,
) -> impl Stream<Item = io::Result<String>> + Send + 'static {
    let state = (reader, budget, read_error);
    stream::unfold(state, |(mut reader, budget, read_error)| async move {
        match reader.next_message().await {
            Ok(line) => {
                let line = line?;
                if counts_against_budget(&line) {
                    budget.acquire(line.text.len()).await;
                }
                Some((Ok(line.text), (reader, budget, read_error)))
            }
            Err(error) => {
                *lock(&read_error) = Some(error.to_string());
                None
            }
        }
    })
}

/// Returns a sink that writes messages and records if the last write failed.
fn write_lines(
    stdin: impl AsyncWrite + Send + Unpin + 'static,
    write_failed: Arc<AtomicBool>,
) -> impl Sink<String, Error = io::Error> + Send + 'static {
    let state = (stdin, write_failed);
    sink::unfold(
        state,
        |(mut stdin, write_failed), mut line: String| async move {
            line.push('\n');
            let written = async {
                stdin.write_all(line.as_bytes()).await?;
                stdin.flush().await
            };
            let written: io::Result<()> = written.await;
            write_failed.store(written.is_err(), Ordering::Relaxed);
            written.map(|()| (stdin, write_failed))
        },
    )
}

/// Returns the id of the agent session of a message, if it has one.
pub(crate) fn session_id(params: &JsonParams) -> Option<&str> {
    params.get("sessionId").and_then(Value::as_str)
}

fn to_params(params: Value) -> JsonParams {
    match params {
        Value::Object(object) => object,
        _ => JsonParams::new(),
    }
}
