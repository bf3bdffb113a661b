//! The process of an agent: how it starts, what it complains of, how it ends.
//!
//! It gets a folder, an environment that was chosen for it and three pipes,
//! and nothing else of the host. It is the first of a process group; whatever
//! it started ends with it.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use agenthost_workspace::{EnvMarker, MARKER_VARIABLE, PidFile, inherited_environment};
use nix::sys::signal::Signal;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::task::JoinSet;

use super::tail::StreamTail;
use super::tree::ProcessTree;

/// How long an agent may take to see that its input is closed. Some never
/// look, and whoever waits for the end of a command waits for this.
const STDIN_CLOSE_TIMEOUT: Duration = Duration::from_millis(500);

/// How long an agent may take to end when it is told to.
const TERMINATE_TIMEOUT: Duration = Duration::from_secs(2);

/// How long to wait for what it still has to say when it has ended.
pub(crate) const STDERR_DRAIN_TIMEOUT: Duration = Duration::from_millis(200);

/// How much is kept of what an agent complains of, in bytes.
const STDERR_TAIL_BYTES: usize = 8 * 1024;

/// How an agent is started.
#[derive(Clone, PartialEq, Eq)]
pub struct AgentLaunch {
    /// The program.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// What it finds in its environment besides what all agents do. A value
    /// that is `$NAME` stands for what the host finds there.
    pub environment: Vec<(String, String)>,
}

/// Leaves out what the environment holds: it may be secret.
impl std::fmt::Debug for AgentLaunch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<_> = self.environment.iter().map(|(name, _)| name).collect();
        f.debug_struct("AgentLaunch")
            .field("program", &self.program)
            .field("arguments", &self.arguments.len())
            .field("environment", &names)
            .finish()
    }
}

/// Why an agent could not be started.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// It works in a folder that is not there.
    #[error("start `{program}`: the folder `{}` is not there", folder.display())]
    Folder {
        /// The program.
        program: String,
        /// The folder.
        folder: PathBuf,
    },
    /// There is no such program.
    #[error("start `{0}`: there is no such program")]
    Missing(String),
    /// The system says no.
    #[error("start `{program}`: {source}")]
    System {
        /// The program.
        program: String,
        /// The error of the system.
        source: io::Error,
    },
}

/// A process that runs. Dropped, it is killed with all it started.
#[derive(Debug)]
pub(crate) struct ManagedChild {
    child: Child,
    tree: ProcessTree,
    stderr_tail: Arc<StreamTail>,
    /// Reads what it complains of; ends with the pipe, or with this.
    _reader: JoinSet<()>,
    /// What all that comes of it has in its environment.
    marker: EnvMarker,
    _pid_file: Option<PidFile>,
}

/// The ends of the pipes that messages go through.
pub(crate) struct ChildPipes {
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: ChildStdout,
}

impl ManagedChild {
    /// Starts an agent in a folder. With a place for notes, the next host ends
    /// it if this one can't.
    pub(crate) fn spawn(
        launch: &AgentLaunch,
        folder: &Path,
        pid_dir: Option<&Path>,
    ) -> Result<(Self, ChildPipes), SpawnError> {
        let program = || launch.program.clone();
        if !folder.is_dir() {
            return Err(SpawnError::Folder {
                program: program(),
                folder: folder.to_owned(),
            });
        }
        let system = |source: io::Error| match source.kind() {
            io::ErrorKind::NotFound => SpawnError::Missing(program()),
            _ => SpawnError::System {
                program: program(),
                source,
            },
        };
        let marker = EnvMarker::unique();
        // Files that the host has open stay with the host: all of them are
        // closed when another program starts.
        let mut child = Command::new(&launch.program)
            .args(&launch.arguments)
            .current_dir(folder)
            .env_clear()
            .envs(agent_environment(launch))
            .env(MARKER_VARIABLE, marker.as_str())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(system)?;
        let pipes = (
            child.stdin.take(),
            child.stdout.take(),
            child.stderr.take(),
            child.id(),
        );
        let (Some(stdin), Some(stdout), Some(stderr), Some(id)) = pipes else {
            return Err(system(io::ErrorKind::BrokenPipe.into()));
        };
        let stderr_tail = Arc::new(StreamTail::new(STDERR_TAIL_BYTES));
        let mut reader = JoinSet::new();
        reader.spawn(StreamTail::read_from(Arc::clone(&stderr_tail), stderr));
        let mut process = ManagedChild {
            child,
            tree: ProcessTree::new(id),
            stderr_tail,
            _reader: reader,
            marker,
            _pid_file: None,
        };
        // From here on whatever fails ends what has begun.
        if let Some(pid_dir) = pid_dir {
            let pid_file = PidFile::create(pid_dir, id, Some(&process.marker)).map_err(|source| {
                SpawnError::System {
                    program: program(),
                    source,
                }
            });
            process._pid_file = Some(pid_file?);
        }
        Ok((process, ChildPipes { stdin, stdout }))
    }

    /// What it complained of, as far as it was read.
    pub(crate) fn stderr_tail(&self) -> Arc<StreamTail> {
        Arc::clone(&self.stderr_tail)
    }

    /// Ends it and all it started: its input is closed by now, then it is
    /// asked, then it is not asked. Says what it complained of last, cut short:
    /// that may hold a secret, so it is shown to who uses the agent, and never
    /// logged.
    pub(crate) async fn shutdown(mut self) -> Option<String> {
        self.tree.refresh();
        let steps = [
            (STDIN_CLOSE_TIMEOUT, Signal::SIGTERM),
            (TERMINATE_TIMEOUT, Signal::SIGKILL),
        ];
        for (timeout, signal) in steps {
            if self.wait_timeout(timeout).await {
                break;
            }
            self.tree.refresh();
            self.tree.signal(signal);
        }
        // What it started may hold the pipe, and goes when this is dropped.
        self.stderr_tail
            .last_line_within(STDERR_DRAIN_TIMEOUT)
            .await
    }

    async fn wait_timeout(&mut self, timeout: Duration) -> bool {
        let ended = tokio::time::timeout(timeout, self.child.wait()).await;
        // An error means that there is nothing to wait for.
        ended.is_ok()
    }
}

impl Drop for ManagedChild {
    fn drop(&mut self) {
        // Once it was waited for, its number may be somebody else's.
        if self.child.id().is_some() {
            self.tree.refresh();
            self.tree.signal(Signal::SIGKILL);
        } else {
            self.tree.kill_orphans();
        }
        // And whatever went its own way.
        self.marker.kill_all();
    }
}

/// What an agent finds in its environment, and so does what is run for it.
pub(crate) fn agent_environment(launch: &AgentLaunch) -> Vec<(OsString, OsString)> {
    let mut all: Vec<_> = inherited_environment().collect();
    let named: BTreeSet<_> = launch.environment.iter().map(|(name, _)| name).collect();
    all.retain(|(name, _)| {
        name.to_str()
            .is_none_or(|name| !named.contains(&name.to_owned()))
    });
    for (name, value) in &launch.environment {
        // What the host does not have, it can't give.
        all.extend(resolve_reference(value).map(|value| (name.into(), value)));
    }
    all
}

/// A value, or what the host has under the name that it refers to.
pub(crate) fn resolve_reference(value: &str) -> Option<OsString> {
    match value.strip_prefix('$') {
        Some(reference) => std::env::var_os(reference),
        None => Some(value.into()),
    }
}

#[cfg(test)]
#[path = "launch_tests.rs"]
mod tests;
