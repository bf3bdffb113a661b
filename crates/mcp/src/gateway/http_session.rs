//! HTTP session of an agent: maps requests and their responses to the line stream of the
//! gateway server.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::Json;
use agenthost_stdx::sync::lock;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio::sync::{Mutex as AsyncMutex, mpsc};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::serve_agent;
use crate::manager::McpContext;

/// Capacity of the pipe to the gateway server, in each direction.
const PIPE_BYTES: usize = 64 * 1024;

/// Queue of notifications to the agent. Further ones are dropped, because almost all of them
/// report a changed tool list, and one such notification is enough.
const NOTIFICATION_QUEUE: usize = 16;

/// An HTTP session. On drop it ends, and so does its gateway server.
pub(super) struct HttpSession {
    to_server: AsyncMutex<WriteHalf<DuplexStream>>,
    router: Arc<ResponseRouter>,
    /// Cancelled when either side ends the session.
    over: CancellationToken,
    _close_guard: DropGuard,
}

/// Routes the lines of the gateway server to the HTTP requests that wait for them.
#[derive(Default)]
struct ResponseRouter {
    /// Senders by the id of their request, as JSON.
    pending_responses: Mutex<BTreeMap<String, mpsc::Sender<String>>>,
    /// Receives all messages that are no responses.
    notifications: Mutex<Option<mpsc::Sender<String>>>,
}

/// The reply that a message requires.
pub(super) enum ReplyExpectation {
    /// A response to the request with this id, as JSON.
    Response(String),
    NoResponse,
}

impl HttpSession {
    /// Starts a gateway server for the chat, and the task that routes its responses.
    pub(super) fn start(shared: &Arc<McpContext>, session: &Uri, chat: &Uri) -> Self {
        let (here, there) = tokio::io::duplex(PIPE_BYTES);
        let (from_server, to_server) = tokio::io::split(here);
        let (reader, writer) = tokio::io::split(there);
        let over = shared.stopping.child_token();
        let router = Arc::<ResponseRouter>::default();
        let (own, session, chat, ended) = (
            Arc::clone(shared),
            session.clone(),
            chat.clone(),
            over.clone(),
        );
        shared.tasks.spawn(async move {
            let serving = serve_agent(&own, session, chat, BufReader::new(reader), writer);
            ended.run_until_cancelled(serving).await;
            ended.cancel();
        });
        let (task_router, ended) = (Arc::clone(&router), over.clone());
        shared.tasks.spawn(async move {
            let hearing = route_responses(from_server, &task_router);
            ended.run_until_cancelled(hearing).await;
            ended.cancel();
            task_router.close();
        });
        HttpSession {
            to_server: AsyncMutex::new(to_server),
            router,
            _close_guard: over.clone().drop_guard(),
            over,
        }
    }

    /// Returns `true` if the agent has disconnected or its session has ended.
    pub(super) fn is_over(&self) -> bool {
        self.over.is_cancelled()
    }

    /// Sends a message to the gateway server. The response arrives at the receiver, which is
    /// closed without one if the session ends. Returns `None` if a request with the same id is
    /// pending.
    pub(super) async fn send(
        &self,
        message: &Json,
        expectation: ReplyExpectation,
    ) -> Option<mpsc::Receiver<String>> {
        let (sender, answer) = mpsc::channel(1);
        if let ReplyExpectation::Response(id) = expectation {
            let mut answers = lock(&self.router.pending_responses);
            if answers.contains_key(&id) {
                return None;
            }
            answers.insert(id, sender);
        }
        let line = format!("{message}\n");
        let mut to_server = self.to_server.lock().await;
        if to_server.write_all(line.as_bytes()).await.is_err() {
            self.over.cancel();
        }
        if self.is_over() {
            self.router.close();
        }
        Some(answer)
    }

    /// Returns the receiver of all later messages that are no responses. The previous receiver
    /// is closed.
    pub(super) fn subscribe_notifications(&self) -> mpsc::Receiver<String> {
        let (sender, notices) = mpsc::channel(NOTIFICATION_QUEUE);
        if !self.is_over() {
            *lock(&self.router.notifications) = Some(sender);
        }
        notices
    }
}

impl ResponseRouter {
    fn route_line(&self, line: String) {
        let Ok(message) = serde_json::from_str::<Json>(&line) else {
            return;
        };
        let is_answer = message.get("method").is_none();
        let waiting = message.get("id").filter(|_| is_answer);
        let waiting = waiting.and_then(|id| lock(&self.pending_responses).remove(&id.to_string()));
        let told = match waiting {
            Some(waiting) => waiting.try_send(line),
            None => match &*lock(&self.notifications) {
                Some(notices) => notices.try_send(line),
                None => Ok(()),
            },
        };
        if told.is_err() {
            tracing::debug!("dropped a message to an agent: its queue is full or closed");
        }
    }

    /// Drops all senders, so that every receiver is closed.
    fn close(&self) {
        lock(&self.pending_responses).clear();
        lock(&self.notifications).take();
    }
}

async fn route_responses(from_server: ReadHalf<DuplexStream>, router: &ResponseRouter) {
    let mut lines = BufReader::new(from_server).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        router.route_line(line);
    }
}
