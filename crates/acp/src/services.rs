//! What the host does for agents that ask for it.
//!
//! Agents can do all of this themselves. What the host does for them it can
//! show, keep inside of the folders of the session, and end.

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

/// Something that the host can do for an agent. Which of it an agent is
/// offered depends on what works with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AcpService {
    /// Reading and writing files, inside of the session's folders.
    Files,
    /// Running commands, in terminals that everybody can watch.
    Terminals,
}

/// What an agent asks for.
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
    /// By the name of its method.
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

    /// What it is a part of.
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

/// Why the host does not do what an agent asks for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ServiceError {
    /// The agent was not offered this.
    #[error("the host does not do this for the agent")]
    NotOffered,
    /// It is about a session that is not there.
    #[error("there is no session `{0}`")]
    UnknownSession(String),
    /// It is about a terminal that is not there, or not of this session.
    #[error("there is no terminal `{0}` in this session")]
    UnknownTerminal(String),
    /// There is no such file. Agents look for these words.
    #[error("Resource not found: {0}")]
    NotFound(String),
    /// It makes no sense, or may not be done.
    #[error("{0}")]
    Refused(String),
    /// Something went wrong.
    #[error("{0}")]
    Failed(String),
}

impl ServiceError {
    /// A parameter that is missing, or is not what it has to be.
    pub(crate) fn invalid_parameter(name: &str, expected: &str) -> Self {
        ServiceError::Refused(format!("`{name}` has to be {expected}"))
    }

    /// The number that programs know it by.
    pub(crate) fn code(&self) -> i32 {
        match self {
            ServiceError::NotOffered => -32601,
            ServiceError::UnknownSession(_) | ServiceError::NotFound(_) => -32002,
            ServiceError::UnknownTerminal(_) | ServiceError::Refused(_) => -32602,
            ServiceError::Failed(_) => -32603,
        }
    }

    /// What programs may want to know besides.
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

/// File requests that wait for the disk. When there are more, the agent's next
/// messages wait.
const FILE_JOB_QUEUE: usize = 16;

/// What is done for the agent of a session.
#[derive(Debug)]
pub(crate) struct HostServices {
    /// The folders of the session.
    roots: Arc<[GrantedRoot]>,
    files: Arc<FileService>,
    file_jobs: mpsc::Sender<FileServiceJob>,
    /// Carries out file requests, one after the other: an agent may ask for the
    /// next before it has the answer to the last.
    _worker: JoinSet<()>,
    pub(crate) terminals: AgentTerminals,
}

/// A file request.
#[derive(Debug)]
struct FileServiceJob {
    operation: FileOperation,
    roots: Arc<[GrantedRoot]>,
    params: JsonParams,
    responder: RequestResponder,
}

impl HostServices {
    /// Nothing may be used yet.
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

    /// Which folders the session has now.
    pub(crate) fn set_directories(&mut self, folders: &[Uri]) {
        let roots = folders.iter().map(|folder| GrantedRoot {
            uri: folder.clone(),
            access: FileAccess::Write,
        });
        self.roots = roots.collect();
    }

    /// Where a command may run: in the folder that was asked for, or else in
    /// the first.
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

    /// Reads a file or writes one, and answers when that is done.
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
        // Without its worker nothing is left of the session, either.
        self.file_jobs.send(job).await.ignore_closed();
    }
}

/// Carries out file requests until there are no more.
async fn run_file_jobs(files: Arc<FileService>, mut jobs: mpsc::Receiver<FileServiceJob>) {
    while let Some(job) = jobs.recv().await {
        let files = Arc::clone(&files);
        let result = tokio::task::spawn_blocking(move || job.run(&files));
        // One that breaks is answered all the same: its reply is dropped.
        result.await.ignore_elapsed();
    }
}

impl FileServiceJob {
    /// Waits for the disk.
    fn run(self, files: &FileService) {
        let (roots, params) = (&self.roots, &self.params);
        self.responder.respond_result(match self.operation {
            FileOperation::Read => files::read_file(files, roots, params),
            FileOperation::Write => files::write_file(files, roots, params),
        });
    }
}

/// What is done with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileOperation {
    Read,
    Write,
}

/// A parameter that is text, if it is there.
pub(crate) fn text_param<'a>(params: &'a JsonParams, name: &str) -> Option<&'a str> {
    params.get(name).and_then(Value::as_str)
}
