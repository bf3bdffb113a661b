//! The connection to an agent: the one place that knows the protocol's crate.
//!
//! Whatever the agent sends comes out of one bounded queue, in the order it
//! was sent: updates, questions, and the answers to what it was asked. So the
//! answer that ends a turn comes after everything that was said in it. What
//! the agent sends stays JSON until somebody needs it: a word that is not
//! known yet must not cost the whole message.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use agent_client_protocol::{
    Client, Error, Lines, UntypedMessage, is_connection_terminated, is_incoming_transport_closed,
    v1,
};
use futures_util::{sink, stream};
use serde::Serialize;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::JoinSet;

pub(crate) use agent_client_protocol::v1::schema;

use super::chunks::UPDATE;
use super::lines::{Kind, LONGEST, Line, LineReader};
use super::services::{ServiceError, ServiceRequest};
use super::tail::Tail;

/// What waits to be dealt with. When there is more, the agent's messages wait
/// with [`ROOM`], and then in its pipe.
const WAITING: usize = 64;

/// Most kibibytes of messages that were read and not dealt with. When it is
/// full, nothing more is read. One message of any size always fits.
const ROOM: u32 = 2 * (LONGEST / 1024) as u32;

/// How much is kept of what the agent wrote that was no message, in bytes.
const NOISE: usize = 4 * 1024;

/// Something that an agent sends.
#[derive(Debug)]
pub(crate) enum Incoming<T> {
    /// Something changed in an agent session.
    Update(Object),
    /// It wants to be allowed something.
    Permission(Object, Reply),
    /// It wants to know something.
    Elicitation(Object, Reply),
    /// It wants something done for it.
    Service(ServiceRequest, Object, Reply),
    /// The answer to what it was asked.
    Answer(T, Result<Value, CallError>),
    /// It is gone; why, if it was not by its own will.
    Closed(Option<String>),
}

/// The parameters of a message.
pub(crate) type Object = serde_json::Map<String, Value>;

/// A question of an agent that waits for its answer. Dropped, the agent is
/// told that something went wrong.
#[derive(Debug)]
pub(crate) struct Reply(v1::Responder<Value>);

impl Reply {
    /// Answers. An agent that is gone needs no answer.
    pub(crate) fn send(self, answer: &impl Serialize) {
        let answer = serde_json::to_value(answer).unwrap_or_default();
        self.0.respond(answer).unwrap_or_default();
    }

    /// Answers with what was done, or why it was not.
    pub(crate) fn settle(self, done: Result<Value, ServiceError>) {
        match done {
            Ok(answer) => self.send(&answer),
            Err(error) => {
                let refusal = Error::new(error.code(), error.to_string()).data(error.data());
                // An agent that is gone needs no answer.
                self.0.respond_with_error(refusal).unwrap_or_default();
            }
        }
    }
}

/// Why an agent did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CallError {
    /// It says no.
    #[error("{message}")]
    Refused { code: i32, message: String },
    /// It ended before it answered.
    #[error("the agent ended")]
    Gone,
}

/// Says that somebody has to sign in first.
pub(crate) const AUTHENTICATION_REQUIRED: i32 = -32000;

/// The way to an agent. Dropped, its input is closed.
#[derive(Debug)]
pub(crate) struct Connection<T> {
    to: v1::ConnectionTo<agent_client_protocol::Agent>,
    answers: mpsc::Sender<Incoming<T>>,
    /// Carries messages both ways.
    _task: JoinSet<()>,
}

impl<T: std::fmt::Debug + Send + 'static> Connection<T> {
    /// Speaks with an agent through its pipes; also says where the noise is
    /// that it makes.
    ///
    /// # Errors
    ///
    /// If it is gone at once.
    pub(crate) async fn open(
        stdin: impl AsyncWrite + Send + Unpin + 'static,
        stdout: impl AsyncRead + Send + Unpin + 'static,
    ) -> Result<(Self, mpsc::Receiver<Incoming<T>>, Arc<Tail>), CallError> {
        let (sender, incoming) = mpsc::channel(WAITING);
        let (open, opened) = tokio::sync::oneshot::channel();
        let noise = Arc::new(Tail::new(NOISE));
        let mut task = JoinSet::new();
        task.spawn(carry(
            stdin,
            stdout,
            Arc::clone(&noise),
            sender.clone(),
            open,
        ));
        let to = opened.await.map_err(|_| CallError::Gone)?;
        let connection = Connection {
            to,
            answers: sender,
            _task: task,
        };
        Ok((connection, incoming, noise))
    }

    /// Asks for something. The answer comes with the messages, marked.
    pub(crate) fn call(&self, mark: T, method: &str, params: &impl Serialize) {
        let answers = self.answers.clone();
        let Ok(message) = UntypedMessage::new(method, params) else {
            return;
        };
        // In order: what came before the answer is dealt with before it.
        let asked = self.to.prepare_request(message);
        let asked = asked.on_receiving_result(async move |result| {
            let answer = Incoming::Answer(mark, result.map_err(refusal));
            // Nobody waits for it any more.
            answers.send(answer).await.unwrap_or_default();
            Ok(())
        });
        // A connection that is over says so itself.
        asked.unwrap_or_default();
    }

    /// Tells something.
    pub(crate) fn tell(&self, method: &str, params: &impl Serialize) {
        if let Ok(message) = UntypedMessage::new(method, params) {
            // A connection that is over says so itself.
            self.to.send_notification(message).unwrap_or_default();
        }
    }
}

fn refusal(error: Error) -> CallError {
    if is_incoming_transport_closed(&error) || is_connection_terminated(&error) {
        return CallError::Gone;
    }
    // Many agents put what matters into the data.
    let detail = error.data.as_ref().and_then(detail);
    let message = match detail {
        Some(detail) if !error.message.contains(&detail) => format!("{}: {detail}", error.message),
        _ => error.message,
    };
    CallError::Refused {
        code: error.code.into(),
        message: message.chars().take(500).collect(),
    }
}

fn detail(data: &Value) -> Option<String> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let keys = ["message", "details", "error"];
    text(data).or_else(|| keys.iter().find_map(|key| data.get(key).and_then(text)))
}

/// Room for messages that were read and not dealt with.
#[derive(Debug, Clone)]
struct Room {
    free: Arc<Semaphore>,
    /// What the messages take that wait, the oldest first.
    taken: Arc<Mutex<VecDeque<OwnedSemaphorePermit>>>,
}

impl Room {
    fn new() -> Self {
        Room {
            free: Arc::new(Semaphore::new(ROOM as usize)),
            taken: Arc::default(),
        }
    }

    /// Waits until there is room for a message.
    async fn take(&self, bytes: usize) {
        let size = u32::try_from(bytes / 1024)
            .unwrap_or(ROOM)
            .saturating_add(1);
        let taken = Arc::clone(&self.free)
            .acquire_many_owned(size.min(ROOM))
            .await;
        // It is never closed.
        let mut all = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        all.extend(taken.ok());
    }

    /// The oldest message was dealt with.
    fn give_back(&self) {
        let mut all = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        drop(all.pop_front());
    }
}

const PERMISSION: &str = "session/request_permission";
const ELICITATION: &str = "elicitation/create";

/// Whether a message takes up room until it was dealt with; the rest is
/// answered at once.
fn is_roomy(line: &Line) -> bool {
    let method = line.method.as_deref().unwrap_or_default();
    match line.kind {
        Kind::News => method == UPDATE,
        Kind::Question => {
            [PERMISSION, ELICITATION].contains(&method) || ServiceRequest::named(method).is_some()
        }
        Kind::Answer => false,
    }
}

type Opened = tokio::sync::oneshot::Sender<v1::ConnectionTo<agent_client_protocol::Agent>>;

/// Carries messages until the agent is gone, or nobody wants them any more.
async fn carry<T: std::fmt::Debug + Send + 'static>(
    stdin: impl AsyncWrite + Send + Unpin + 'static,
    stdout: impl AsyncRead + Send + Unpin + 'static,
    noise: Arc<Tail>,
    sender: mpsc::Sender<Incoming<T>>,
    opened: Opened,
) {
    let room = Room::new();
    let why: Arc<Mutex<Option<String>>> = Arc::default();
    let from = LineReader::new(stdout, noise);
    let state = (from, room.clone(), Arc::clone(&why));
    let incoming = stream::unfold(state, |(mut from, room, why)| async move {
        match from.next().await {
            Ok(line) => {
                let line = line?;
                if is_roomy(&line) {
                    room.take(line.text.len()).await;
                }
                Some((Ok(line.text), (from, room, why)))
            }
            Err(error) => {
                *why.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.to_string());
                None
            }
        }
    });
    // An agent that ends may not have read everything; that is no news.
    let unread = Arc::new(AtomicBool::new(false));
    let state = (stdin, Arc::clone(&unread));
    let outgoing = sink::unfold(state, |(mut stdin, unread), mut line: String| async move {
        line.push('\n');
        let written = async {
            stdin.write_all(line.as_bytes()).await?;
            stdin.flush().await
        };
        let written: io::Result<()> = written.await;
        unread.store(written.is_err(), Ordering::Relaxed);
        written.map(|()| (stdin, unread))
    });
    let (for_requests, for_notifications) = (sender.clone(), sender.clone());
    let (request_room, notification_room) = (room.clone(), room);
    let ended = Client
        .v1()
        .on_receive_request(
            async move |message: UntypedMessage, responder: v1::Responder<Value>, _| {
                let (method, params) = message.into_parts();
                let params = object(params);
                let reply = Reply(responder);
                let question = match method.as_str() {
                    PERMISSION => Incoming::Permission(params, reply),
                    ELICITATION => Incoming::Elicitation(params, reply),
                    other => match ServiceRequest::named(other) {
                        Some(request) => Incoming::Service(request, params, reply),
                        None => {
                            return reply.0.respond_with_error(Error::method_not_found());
                        }
                    },
                };
                // Nobody listens any more; the agent hears that soon.
                for_requests.send(question).await.unwrap_or_default();
                request_room.give_back();
                Ok(())
            },
            agent_client_protocol::on_receive_request!(),
        )
        .on_receive_notification(
            async move |message: UntypedMessage, _| {
                let (method, params) = message.into_parts();
                let params = object(params);
                // Agents have words of their own; nobody has to know them.
                if method != UPDATE {
                    return Ok(());
                }
                let told = Incoming::Update(params);
                // Nobody listens any more; the agent hears that soon.
                for_notifications.send(told).await.unwrap_or_default();
                notification_room.give_back();
                Ok(())
            },
            agent_client_protocol::on_receive_notification!(),
        )
        .connect_with(Lines::new(outgoing, incoming), async move |to| {
            if opened.send(to.clone()).is_ok() {
                to.incoming_closed().await;
            }
            Ok(())
        })
        .await;
    let read = why.lock().unwrap_or_else(PoisonError::into_inner).take();
    let ended = ended.err().filter(|_| !unread.load(Ordering::Relaxed));
    let reason = read.or_else(|| ended.map(|error| error.message));
    // Nobody waits for it any more.
    sender
        .send(Incoming::Closed(reason))
        .await
        .unwrap_or_default();
}

fn object(params: Value) -> Object {
    match params {
        Value::Object(object) => object,
        _ => Object::new(),
    }
}
