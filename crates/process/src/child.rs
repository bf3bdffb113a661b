//! Spawns child processes with pipes, keeps the end of their standard error, and ends them.
//!
//! A child gets the environment and directory of its command and three pipes, and inherits
//! nothing else from the host. It leads a process group, and all of its descendants end with
//! it.

use std::io;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use nix::sys::signal::Signal;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::task::JoinSet;

use crate::group::ProcessGroup;
use crate::marker::{EnvMarker, MARKER_VARIABLE};
use crate::pid_file::PidFile;
use crate::tail::StreamTail;
use crate::tree::ProcessTree;

/// Time that a child has to exit after its standard input is closed. Some children ignore the
/// end of input, and every shutdown of them takes this long.
const STDIN_CLOSE_TIMEOUT: Duration = Duration::from_millis(500);

/// Time that a child has to exit after SIGTERM. After it, the child is killed.
const TERMINATE_TIMEOUT: Duration = Duration::from_secs(2);

/// Timeout for reading the rest of standard error after a child has exited. Descendants may
/// keep the pipe open.
pub const STDERR_DRAIN_TIMEOUT: Duration = Duration::from_millis(200);

/// Size of the buffer for the end of standard error. Errors quote only its last lines.
const STDERR_TAIL_BYTES: usize = 8 * 1024;

/// Settings of a child besides its command.
#[derive(Debug, Clone, Copy)]
pub struct ChildConfig<'a> {
    /// Directory for the pid file. With it, the next host kills the child if this host is
    /// killed.
    pub pid_dir: Option<&'a Path>,
    /// The processes that receive the signals of a shutdown.
    pub signal_scope: SignalScope,
    /// Log message for a signal that the system refuses.
    pub signal_failure: &'static str,
}

/// The processes that receive the signals of a shutdown. Processes outside of the scope are
/// killed at the end, by their marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignalScope {
    /// The process group of the child.
    Group,
    /// The process groups of the child and of all of its descendants.
    Tree,
}

/// The error of a child that could not be spawned.
#[derive(Debug, thiserror::Error)]
pub enum ChildSpawnError {
    /// The program could not be started.
    #[error("start a program: {0}")]
    Start(#[source] io::Error),
    /// The pid file could not be written. The child is killed.
    #[error("write a pid file: {0}")]
    PidFile(#[source] io::Error),
}

/// A running child process. On drop it is killed with all of its descendants.
#[derive(Debug)]
pub struct ManagedChild {
    child: Child,
    target: SignalTarget,
    stderr_tail: Arc<StreamTail>,
    /// Task that reads standard error until the pipe is closed. Aborted on drop.
    _stderr_reader: JoinSet<()>,
    marker: EnvMarker,
    /// Removed after the processes are killed.
    _pid_file: Option<PidFile>,
}

/// The pipes for messages to and from a child.
#[derive(Debug)]
pub struct ChildPipes {
    /// Standard input of the child.
    pub stdin: ChildStdin,
    /// Standard output of the child.
    pub stdout: ChildStdout,
}

impl ManagedChild {
    /// Spawns a command as the leader of a process group, with a marker and three pipes. The
    /// caller sets the program, the arguments, the environment and the directory of the
    /// command.
    ///
    /// # Errors
    ///
    /// Returns [`ChildSpawnError`] if the program can't be started or the pid file can't be
    /// written.
    pub fn spawn(
        mut command: Command,
        config: &ChildConfig<'_>,
    ) -> Result<(Self, ChildPipes), ChildSpawnError> {
        let marker = EnvMarker::unique();
        // Held until the pid file is written: the host may be killed in between.
        let _reservation = config
            .pid_dir
            .map(|pid_dir| PidFile::reserve(pid_dir, &marker))
            .transpose()
            .map_err(ChildSpawnError::PidFile)?;
        // The host's open files are not inherited: all of them are close-on-exec.
        let mut child = command
            .env(MARKER_VARIABLE, marker.as_str())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(ChildSpawnError::Start)?;
        let pipes = (
            child.stdin.take(),
            child.stdout.take(),
            child.stderr.take(),
            child.id(),
        );
        let (Some(stdin), Some(stdout), Some(stderr), Some(id)) = pipes else {
            return Err(ChildSpawnError::Start(io::ErrorKind::BrokenPipe.into()));
        };
        let stderr_tail = Arc::new(StreamTail::new(STDERR_TAIL_BYTES));
        let mut stderr_reader = JoinSet::new();
        stderr_reader.spawn(StreamTail::read_from(Arc::clone(&stderr_tail), stderr));
        let mut process = ManagedChild {
            child,
            target: SignalTarget::new(id, config),
            stderr_tail,
            _stderr_reader: stderr_reader,
            marker,
            _pid_file: None,
        };
        // An error from here on drops the child, which kills it.
        if let Some(pid_dir) = config.pid_dir {
            let pid_file = PidFile::create(pid_dir, id, Some(&process.marker));
            process._pid_file = Some(pid_file.map_err(ChildSpawnError::PidFile)?);
        }
        Ok((process, ChildPipes { stdin, stdout }))
    }

    /// Returns the buffer with the end of standard error, which may still grow.
    #[must_use]
    pub fn stderr_tail(&self) -> Arc<StreamTail> {
        Arc::clone(&self.stderr_tail)
    }

    /// Ends the child and all of its descendants: waits for the child to exit because its
    /// standard input is closed, sends SIGTERM, then SIGKILL. The caller drops
    /// [`ChildPipes::stdin`] first.
    ///
    /// Returns the end of standard error. It may contain a secret, so it may be shown to the
    /// user of the child, but must not be logged.
    pub async fn shutdown(mut self) -> Arc<StreamTail> {
        self.target.refresh();
        let steps = [
            (STDIN_CLOSE_TIMEOUT, Signal::SIGTERM),
            (TERMINATE_TIMEOUT, Signal::SIGKILL),
        ];
        for (timeout, signal) in steps {
            if self.wait_timeout(timeout).await {
                break;
            }
            self.target.refresh();
            self.target.signal(signal);
        }
        // Descendants may keep the pipe open; they are killed when `self` is dropped.
        self.stderr_tail.wait_complete(STDERR_DRAIN_TIMEOUT).await;
        self.stderr_tail()
    }

    async fn wait_timeout(&mut self, timeout: Duration) -> bool {
        let exited = tokio::time::timeout(timeout, self.child.wait()).await;
        // An error means that there is no process to wait for.
        exited.is_ok()
    }
}

impl Drop for ManagedChild {
    fn drop(&mut self) {
        // Once the child was waited for, another process may have its id.
        if self.child.id().is_some() {
            self.target.refresh();
            self.target.signal(Signal::SIGKILL);
        } else {
            self.target.kill_orphans();
        }
        self.marker.kill_all();
    }
}

/// The processes that receive the signals, by [`SignalScope`].
#[derive(Debug)]
enum SignalTarget {
    Group(ProcessGroup, &'static str),
    Tree(ProcessTree),
}

impl SignalTarget {
    fn new(leader: u32, config: &ChildConfig<'_>) -> Self {
        match config.signal_scope {
            SignalScope::Group => {
                SignalTarget::Group(ProcessGroup::of_leader(leader), config.signal_failure)
            }
            SignalScope::Tree => {
                SignalTarget::Tree(ProcessTree::new(leader, config.signal_failure))
            }
        }
    }

    fn refresh(&mut self) {
        match self {
            SignalTarget::Group(..) => {}
            SignalTarget::Tree(tree) => tree.refresh(),
        }
    }

    /// Sends a signal. The child must not have been waited for, because its id could be reused.
    fn signal(&self, signal: Signal) {
        match self {
            SignalTarget::Group(group, failure) => group.signal(signal, failure),
            SignalTarget::Tree(tree) => tree.signal(signal),
        }
    }

    /// Kills remaining descendants after the child was waited for. Those of a group are killed
    /// by their marker instead.
    fn kill_orphans(&self) {
        match self {
            SignalTarget::Group(..) => {}
            SignalTarget::Tree(tree) => tree.kill_orphans(),
        }
    }
}

#[cfg(test)]
#[path = "child_tests.rs"]
mod tests;
