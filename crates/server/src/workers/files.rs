//! Runs file requests of clients and manages the stored content of sessions.

use std::collections::BTreeMap;
use std::sync::Arc;

use agenthost_core::{ConnectionId, FileJob, Input, RequestFailure, SessionKey, StoredText};
use agenthost_protocol::uri::Uri;
use agenthost_stdx::result::IgnoreResult;
use agenthost_workspace::{ContentStore, ResourceService};
use tokio::sync::{Semaphore, oneshot};
use tokio::task::JoinSet;

/// Limit on the open file requests of one connection. Further requests fail at once.
const MAX_FILE_JOBS: usize = 64;

/// Runs file requests. Requests of one connection run in the order in which it sent them.
#[derive(Debug)]
pub(crate) struct FileWorker {
    resources: Arc<ResourceService>,
    contents: Arc<ContentStore>,
    queues: BTreeMap<ConnectionId, FileQueue>,
}

/// The queue of file requests of one connection.
#[derive(Debug)]
struct FileQueue {
    permits: Arc<Semaphore>,
    /// Closed when the latest request has ended.
    previous: Option<oneshot::Receiver<()>>,
}

impl Default for FileQueue {
    fn default() -> Self {
        FileQueue {
            permits: Arc::new(Semaphore::new(MAX_FILE_JOBS)),
            previous: None,
        }
    }
}

impl FileWorker {
    pub(crate) fn new(resources: ResourceService, contents: Arc<ContentStore>) -> Self {
        FileWorker {
            resources: Arc::new(resources),
            contents,
            queues: BTreeMap::new(),
        }
    }

    /// Starts a file request. Returns its failure if the connection has too many open ones.
    pub(crate) fn run(&mut self, job: Box<FileJob>, tasks: &mut JoinSet<Input>) -> Option<Input> {
        let queue = self.queues.entry(job.connection).or_default();
        let Ok(permit) = Arc::clone(&queue.permits).try_acquire_owned() else {
            let busy = format!("a connection can have at most {MAX_FILE_JOBS} open file requests");
            return Some(Input::RequestCompleted {
                connection: job.connection,
                id: job.id,
                result: Box::new(Err(RequestFailure::Internal(busy))),
            });
        };
        let (done, next) = oneshot::channel::<()>();
        let previous = queue.previous.replace(next);
        let resources = Arc::clone(&self.resources);
        tasks.spawn(async move {
            if let Some(previous) = previous {
                // The sender is dropped when the request has ended, also by a panic.
                previous.await.ignore_elapsed();
            }
            let (connection, id) = (job.connection, job.id.clone());
            let work = move || resources.execute(&job.roots, &job.request);
            let response = match tokio::task::spawn_blocking(work).await {
                Ok(response) => response,
                Err(_) => Err(RequestFailure::Internal(
                    "internal error: a worker task panicked".to_owned(),
                )),
            };
            drop((done, permit));
            Input::RequestCompleted {
                connection,
                id,
                result: Box::new(response),
            }
        });
        None
    }

    /// Drops the queue of a closed connection. Requests that have started run to their end.
    pub(crate) fn drop_queue(&mut self, connection: ConnectionId) {
        self.queues.remove(&connection);
    }

    /// Stores a text in the content store. Blocks on the disk, because later effects refer to
    /// the content.
    pub(crate) fn store_content(&self, content: &StoredText) {
        let (session, bytes) = (&content.session, content.text.as_bytes());
        if let Err(error) = self.contents.insert(session, bytes, &content.name) {
            tracing::error!(%error, "failed to store the arguments of a tool call");
        }
    }

    /// Shares the stored content of a session with another one.
    pub(crate) fn share_content(&self, from: &Uri, to: &Uri) {
        let shared = self
            .contents
            .share(&SessionKey::of(from), &SessionKey::of(to));
        if let Err(error) = shared {
            tracing::warn!(%from, %to, %error, "failed to share content with another session");
        }
    }

    /// Removes the stored content of a session. Blocks on the disk, because the next effect may
    /// belong to a new session with the same URI.
    pub(crate) fn delete_content(&self, session: &Uri) {
        if let Err(error) = self.contents.remove_session(&SessionKey::of(session)) {
            tracing::warn!(%session, %error, "failed to remove the stored content of a session");
        }
    }
}
