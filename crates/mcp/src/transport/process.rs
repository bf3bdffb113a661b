//! The process of a server: how it starts, and how it ends, with all that it
//! started.

use std::io;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use agenthost_core::tools::mcp::transport::McpTransport;
use agenthost_stdx::result::IgnoreExited;
use agenthost_workspace::{EnvMarker, MARKER_VARIABLE, PidFile, inherited_environment};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::task::JoinSet;

use super::tail::StderrTail;

/// How long a server may take to see that its input is closed.
const STDIN_CLOSE_TIMEOUT: Duration = Duration::from_millis(500);

/// How long it may take to end when it is told to.
const TERMINATE_TIMEOUT: Duration = Duration::from_secs(2);

/// How long to wait for what it still has to say when it has ended.
const STDERR_DRAIN_TIMEOUT: Duration = Duration::from_millis(200);

/// A process that runs. Dropped, it is killed with all it started.
#[derive(Debug)]
pub(crate) struct ServerProcess {
    child: Child,
    group: Pid,
    stderr_tail: Arc<StderrTail>,
    /// What must not be seen of what it complains of.
    secrets: Vec<String>,
    /// Reads what it complains of; ends with the pipe, or with this.
    _reader: JoinSet<()>,
    /// What all that comes of it has in its environment.
    marker: EnvMarker,
    _pid_file: Option<PidFile>,
}

/// The ends of the pipes that messages go through.
pub(crate) struct ServerPipes {
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: ChildStdout,
}

/// Why a server could not be started.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServerSpawnError {
    /// It is no program.
    #[error("it is not a program that the host starts")]
    NotAProgram,
    /// There is no such program.
    #[error(
        "start `{0}`: there is no such program\nhint: is it installed, and in PATH of the host?"
    )]
    NotFound(String),
    /// The system says no.
    #[error("start `{program}`: {source}")]
    Io { program: String, source: io::Error },
}

impl ServerProcess {
    /// Starts a server. With a place for notes, the next host ends it if this
    /// one can't.
    pub(crate) fn spawn(
        transport: &McpTransport,
        pid_dir: Option<&Path>,
    ) -> Result<(Self, ServerPipes), ServerSpawnError> {
        let McpTransport::Stdio {
            command,
            arguments,
            environment,
            directory,
        } = transport
        else {
            return Err(ServerSpawnError::NotAProgram);
        };
        let system = |source: io::Error| match source.kind() {
            io::ErrorKind::NotFound => ServerSpawnError::NotFound(command.clone()),
            _ => ServerSpawnError::Io {
                program: command.clone(),
                source,
            },
        };
        let marker = EnvMarker::unique();
        let mut prepared = Command::new(command);
        prepared
            .args(arguments)
            .env_clear()
            .envs(inherited_environment())
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .env(MARKER_VARIABLE, marker.as_str())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        if let Some(directory) = directory {
            prepared.current_dir(directory);
        }
        let mut child = prepared.spawn().map_err(system)?;
        let pipes = (
            child.stdin.take(),
            child.stdout.take(),
            child.stderr.take(),
            child.id(),
        );
        let (Some(stdin), Some(stdout), Some(stderr), Some(id)) = pipes else {
            return Err(system(io::ErrorKind::BrokenPipe.into()));
        };
        let stderr_tail = Arc::new(StderrTail::new());
        let mut reader = JoinSet::new();
        reader.spawn(StderrTail::read_from(Arc::clone(&stderr_tail), stderr));
        let mut process = ServerProcess {
            child,
            // The system gives out no number that would not fit.
            group: Pid::from_raw(i32::try_from(id).unwrap_or(i32::MAX)),
            stderr_tail,
            secrets: environment.iter().map(|(_, value)| value.clone()).collect(),
            _reader: reader,
            marker,
            _pid_file: None,
        };
        // From here on whatever fails ends what has begun.
        if let Some(notes) = pid_dir {
            let note = PidFile::create(notes, id, Some(&process.marker)).map_err(system);
            process._pid_file = Some(note?);
        }
        Ok((process, ServerPipes { stdin, stdout }))
    }

    /// Ends it and all it started: its input is closed by now, then it is
    /// asked, then it is not asked. Says what it complained of last.
    pub(crate) async fn shutdown(mut self) -> String {
        for (timeout, signal) in [
            (STDIN_CLOSE_TIMEOUT, Signal::SIGTERM),
            (TERMINATE_TIMEOUT, Signal::SIGKILL),
        ] {
            // An error means that there is nothing to wait for.
            let ended = tokio::time::timeout(timeout, self.child.wait()).await;
            if ended.is_ok() {
                break;
            }
            self.signal(signal);
        }
        // What it started may hold the pipe, and goes when this is dropped.
        let secrets = std::mem::take(&mut self.secrets);
        self.stderr_tail
            .last_lines(STDERR_DRAIN_TIMEOUT, &secrets)
            .await
    }

    /// Tells all of its group something.
    fn signal(&self, signal: Signal) {
        killpg(self.group, signal).ignore_exited("failed to signal an MCP server");
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // Once it was waited for, its number may be somebody else's.
        if self.child.id().is_some() {
            self.signal(Signal::SIGKILL);
        }
        // What stayed behind has the mark, wherever it went.
        self.marker.kill_all();
    }
}
