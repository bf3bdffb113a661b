//! Services of the host for agents: files and terminals.
//!
//! Agents can also access files and run commands themselves. If the host does it for them, it
//! can publish it to clients, restrict it to the folders of the session, and end it.

mod command;
mod files;
mod terminals;

use std::sync::Arc;

use agenthost_core::{FileAccess, GrantedRoot};
use agenthost_protocol::uri::Uri;
use agenthost_stdx::result::IgnoreResult;
use agenthost_workspace::{FileError, FileService, ProtectedPaths};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::transport::{JsonParams, RequestResponder};

pub(crate) use terminals::{AgentTerminals, TerminalNotice, TerminalRequester};

/// A service that the host can offer to an agent. The offer depends on the agent, because not
/// every agent works well with every service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AcpService {
    /// Reading and writing files in the folders of the session.
    Files,
    /// Running commands in terminals that clients can watch.
    Terminals,
}

/// A request for a service of the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServiceRequest {
    ReadFile,
    WriteFile,
    CreateTerminal,
    TerminalOutput,
    WaitForExit,
    KillTerminal,
    ReleaseTerminal,
}

impl ServiceRequest {
    /// Returns the request with this method name.
    pub(crate) fn from_method(method: &str) -> Option<Self> {
        Some(match method {
            "fs/read_text_file" => ServiceRequest::ReadFile,
            "fs/write_text_file" => ServiceRequest::WriteFile,
            "terminal/create" => ServiceRequest::CreateTerminal,
            "terminal/output" => ServiceRequest::TerminalOutput,
            "terminal/wait_for_exit" => ServiceRequest::WaitForExit,
            "terminal/kill" => ServiceRequest::KillTerminal,
            "terminal/release" => ServiceRequest::ReleaseTerminal,
            _ => return None,
        })
    }

    /// Returns the service that the request belongs to.
    pub(crate) fn service(self) -> AcpService {
        match self {
            ServiceRequest::ReadFile | ServiceRequest::WriteFile => AcpService::Files,
            ServiceRequest::CreateTerminal
            | ServiceRequest::TerminalOutput
            | ServiceRequest::WaitForExit
            | ServiceRequest::KillTerminal
            | ServiceRequest::ReleaseTerminal => AcpService::Terminals,
        }
    }
}

/// The reason why the host rejects a service request, or failed to execute it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ServiceError {
    /// The service is not offered to the agent.
    #[error("the host does not offer this method")]
    NotOffered,
    /// The agent session of the request does not exist.
    #[error("there is no session `{0}`")]
    UnknownSession(String),
    /// The terminal of the request does not exist, or belongs to another session.
    #[error("there is no terminal `{0}` in this session")]
    UnknownTerminal(String),
    /// The file does not exist. Agents search for this error text.
    #[error("Resource not found: {0}")]
    NotFound(String),
    /// The request is invalid or not permitted.
    #[error("{0}")]
    Refused(String),
    /// The execution of the request failed.
    #[error("{0}")]
    Failed(String),
}

impl ServiceError {
    /// Returns the error for a parameter that is missing or has the wrong type.
    pub(crate) fn invalid_parameter(name: &str, expected: &str) -> Self {
        ServiceError::Refused(format!("`{name}` must be {expected}"))
    }

    /// Returns the JSON-RPC error code.
    pub(crate) fn code(&self) -> i32 {
        match self {
            ServiceError::NotOffered => -32601,
            ServiceError::UnknownSession(_) | ServiceError::NotFound(_) => -32002,
            ServiceError::UnknownTerminal(_) | ServiceError::Refused(_) => -32602,
            ServiceError::Failed(_) => -32603,
        }
    }

    /// Returns the additional data of the JSON-RPC error.
    pub(crate) fn data(&self) -> Option<Value> {
        match self {
            ServiceError::NotFound(path) => Some(json!({ "uri": path })),
            ServiceError::NotOffered
            | ServiceError::UnknownSession(_)
            | ServiceError::UnknownTerminal(_)
            | ServiceError::Refused(_)
            | ServiceError::Failed(_) => None,
        }
    }
}

impl From<FileError> for ServiceError {
    fn from(error: FileError) -> Self {
        let message = error.to_string();
        match error {
            FileError::NotFound(uri) => ServiceError::NotFound(uri.to_string()),
            FileError::NotLocal(_)
            | FileError::NotGranted { .. }
            | FileError::Immutable(_)
            | FileError::WrongKind { .. }
            | FileError::TooLarge { .. }
            | FileError::Invalid(_) => ServiceError::Refused(message),
            FileError::Forbidden(_)
            | FileError::Exists(_)
            | FileError::Changed(_)
            | FileError::NotEmpty(_)
            | FileError::Failed { .. } => ServiceError::Failed(message),
        }
    }
}

/// The capacity of the queue of file requests. When it is full, the agent's next messages wait.
const FILE_JOB_QUEUE: usize = 16;

/// The services of the host for the agent of one session.
#[derive(Debug)]
pub(crate) struct HostServices {
    /// The folders of the session, as granted roots.
    roots: Arc<[GrantedRoot]>,
    files: Arc<FileService>,
    file_jobs: mpsc::Sender<FileServiceJob>,
    /// The task that executes file requests in order: an agent may send the next request before
    /// it has the response to the last one.
    _worker: JoinSet<()>,
    pub(crate) terminals: AgentTerminals,
}

/// A file request with its pending response.
#[derive(Debug)]
struct FileServiceJob {
    operation: FileOperation,
    roots: Arc<[GrantedRoot]>,
    params: JsonParams,
    responder: RequestResponder,
}

impl HostServices {
    /// Creates services without any granted folder.
    pub(crate) fn new(protected: ProtectedPaths) -> Self {
        let files = Arc::new(FileService::default().with_protected_paths(protected));
        let (file_jobs, job_receiver) = mpsc::channel(FILE_JOB_QUEUE);
        let mut worker = JoinSet::new();
        worker.spawn(run_file_jobs(Arc::clone(&files), job_receiver));
        HostServices {
            roots: Arc::default(),
            files,
            file_jobs,
            _worker: worker,
            terminals: AgentTerminals::new(),
        }
    }

    /// Replaces the granted folders with those of the session.
    pub(crate) fn set_directories(&mut self, folders: &[Uri]) {
        let roots = folders.iter().map(|folder| GrantedRoot {
            uri: folder.clone(),
            access: FileAccess::Write,
        });
        self.roots = roots.collect();
    }

    /// Returns the working directory for a command: the requested one, or else the first
    /// folder.
    pub(crate) fn resolve_directory(&self, requested: Option<&str>) -> Result<Uri, ServiceError> {
        let uri = match requested {
            Some(path) => files::file_uri("cwd", path)?,
            None => {
                let first = self.roots.first().map(|root| root.uri.clone());
                let no_folder = || ServiceError::Refused("this session has no folder".to_owned());
                first.ok_or_else(no_folder)?
            }
        };
        let path = self.files.real_directory(&self.roots, &uri)?;
        Ok(agenthost_workspace::uri_of(&path).unwrap_or(uri))
    }

    /// Queues a file request. The worker responds when it has executed the request.
    pub(crate) async fn submit_file_job(
        &mut self,
        operation: FileOperation,
        params: JsonParams,
        responder: RequestResponder,
    ) {
        let job = FileServiceJob {
            operation,
            roots: Arc::clone(&self.roots),
            params,
            responder,
        };
        // The worker ends only together with the session.
        self.file_jobs.send(job).await.ignore_closed();
    }
}

/// Executes file requests until the queue is closed.
async fn run_file_jobs(files: Arc<FileService>, mut jobs: mpsc::Receiver<FileServiceJob>) {
    while let Some(job) = jobs.recv().await {
        let files = Arc::clone(&files);
        let result = tokio::task::spawn_blocking(move || job.run(&files));
        // If the job panics, its responder is dropped, which sends an error to the agent.
        result.await.ignore_elapsed();
    }
}

impl FileServiceJob {
    /// Executes the request; blocks on the disk.
    fn run(self, files: &FileService) {
        let (roots, params) = (&self.roots, &self.params);
        self.responder.respond_result(match self.operation {
            FileOperation::Read => files::read_file(files, roots, params),
            FileOperation::Write => files::write_file(files, roots, params),
        });
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileOperation {
    Read,
    Write,
}

/// Returns a parameter if it is a string.
pub(crate) fn text_param<'a>(params: &'a JsonParams, name: &str) -> Option<&'a str> {
    params.get(name).and_then(Value::as_str)
}
