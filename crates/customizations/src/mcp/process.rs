//! The process of a server: how it starts, and how it ends, with all that it
//! started.

use std::io;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use agenthost_workspace::{RUN_VARIABLE, RunMark, RunningNote, shared_environment};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::task::JoinSet;

use super::spec::McpWay;
use super::tail::Tail;

/// How long a server may take to see that its input is closed.
const HINT: Duration = Duration::from_millis(500);

/// How long it may take to end when it is told to.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long to wait for what it still has to say when it has ended.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// A process that runs. Dropped, it is killed with all it started.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    group: Pid,
    complaints: Arc<Tail>,
    /// What must not be seen of what it complains of.
    secrets: Vec<String>,
    /// Reads what it complains of; ends with the pipe, or with this.
    _reader: JoinSet<()>,
    /// What all that comes of it has in its environment.
    mark: RunMark,
    _note: Option<RunningNote>,
}

/// The ends of the pipes that messages go through.
pub(super) struct Pipes {
    pub(super) stdin: ChildStdin,
    pub(super) stdout: ChildStdout,
}

/// Why a server could not be started.
#[derive(Debug, thiserror::Error)]
pub(super) enum SpawnError {
    /// It is no program.
    #[error("it is not a program that the host starts")]
    NoProgram,
    /// There is no such program.
    #[error(
        "start `{0}`: there is no such program\nhint: is it installed, and in PATH of the host?"
    )]
    Missing(String),
    /// The system says no.
    #[error("start `{program}`: {source}")]
    System { program: String, source: io::Error },
}

impl Process {
    /// Starts a server. With a place for notes, the next host ends it if this
    /// one can't.
    pub(super) fn spawn(way: &McpWay, notes: Option<&Path>) -> Result<(Self, Pipes), SpawnError> {
        let McpWay::Program {
            command,
            arguments,
            environment,
            directory,
        } = way
        else {
            return Err(SpawnError::NoProgram);
        };
        let system = |source: io::Error| match source.kind() {
            io::ErrorKind::NotFound => SpawnError::Missing(command.clone()),
            _ => SpawnError::System {
                program: command.clone(),
                source,
            },
        };
        let mark = RunMark::unique();
        let mut prepared = Command::new(command);
        prepared
            .args(arguments)
            .env_clear()
            .envs(shared_environment())
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .env(RUN_VARIABLE, mark.as_str())
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
        let complaints = Arc::new(Tail::new());
        let mut reader = JoinSet::new();
        reader.spawn(Tail::follow(Arc::clone(&complaints), stderr));
        let mut process = Process {
            child,
            // The system gives out no number that would not fit.
            group: Pid::from_raw(i32::try_from(id).unwrap_or(i32::MAX)),
            complaints,
            secrets: environment.iter().map(|(_, value)| value.clone()).collect(),
            _reader: reader,
            mark,
            _note: None,
        };
        // From here on whatever fails ends what has begun.
        if let Some(notes) = notes {
            let note = RunningNote::write(notes, id, Some(&process.mark)).map_err(system);
            process._note = Some(note?);
        }
        Ok((process, Pipes { stdin, stdout }))
    }

    /// Ends it and all it started: its input is closed by now, then it is
    /// asked, then it is not asked. Says what it complained of last.
    pub(super) async fn end(mut self) -> String {
        for (patience, signal) in [(HINT, Signal::SIGTERM), (PATIENCE, Signal::SIGKILL)] {
            // An error means that there is nothing to wait for.
            let ended = tokio::time::timeout(patience, self.child.wait()).await;
            if ended.is_ok() {
                break;
            }
            self.signal(signal);
        }
        // What it started may hold the pipe, and goes when this is dropped.
        let secrets = std::mem::take(&mut self.secrets);
        self.complaints.last_words(LAST_WORDS, &secrets).await
    }

    /// Tells all of its group something.
    fn signal(&self, signal: Signal) {
        // It may have ended by itself meanwhile.
        killpg(self.group, signal).unwrap_or_default();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Once it was waited for, its number may be somebody else's.
        if self.child.id().is_some() {
            self.signal(Signal::SIGKILL);
        }
        // What stayed behind has the mark, wherever it went.
        self.mark.kill_all();
    }
}
