//! A command that runs in a process group of its own.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use agenthost_workspace::take_whole;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::process::{Child, Command};

use super::leftovers::Record;

/// How long a command may take to end when it is asked to.
const GRACE: Duration = Duration::from_secs(2);

/// A running command. Dropped, it is killed with all it started.
#[derive(Debug)]
pub(super) struct Running {
    child: Child,
    group: Option<Group>,
    /// Kept for as long as the command runs.
    _record: Option<Record>,
    output: pipe::Receiver,
    /// Bytes of a character that has not come whole yet.
    partial: Vec<u8>,
}

/// The process group of a command; kills it when dropped.
#[derive(Debug)]
struct Group(Pid);

impl Group {
    fn signal(&self, signal: Signal) {
        // It may have ended by itself, and then there is nothing to signal.
        killpg(self.0, signal).unwrap_or_default();
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal(Signal::SIGKILL);
    }
}

impl Running {
    /// Starts a command line in a directory, with nothing to read from and
    /// one place to write to.
    pub(super) fn start(
        line: &str,
        directory: Option<&PathBuf>,
        notes: Option<&Path>,
    ) -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        let mut command = Command::new("sh");
        command
            .args(["-c", line])
            .stdin(Stdio::null())
            .stdout(writer.try_clone()?)
            .stderr(writer)
            .process_group(0)
            .kill_on_drop(true);
        if let Some(directory) = directory {
            command.current_dir(directory);
        }
        let child = command.spawn()?;
        let group = child.id().and_then(|id| i32::try_from(id).ok());
        let group = group.map(|id| Group(Pid::from_raw(id)));
        let record = match (notes, &group) {
            (Some(notes), Some(group)) => Some(Record::write(notes, group.0)?),
            _ => None,
        };
        Ok(Running {
            child,
            group,
            _record: record,
            output: pipe::Receiver::from_owned_fd(reader.into())?,
            partial: Vec::new(),
        })
    }

    /// The next piece of output; `None` when there is no more. What is not
    /// UTF-8 is replaced; a character that came in two pieces is not.
    pub(super) async fn read(&mut self) -> io::Result<Option<String>> {
        let mut buffer = vec![0; 16 * 1024];
        loop {
            let count = self.output.read(&mut buffer).await?;
            if count == 0 {
                let rest = std::mem::take(&mut self.partial);
                let rest = String::from_utf8_lossy(&rest).into_owned();
                return Ok((!rest.is_empty()).then_some(rest));
            }
            self.partial.extend(buffer.iter().take(count));
            let text = take_whole(&mut self.partial);
            if !text.is_empty() {
                return Ok(Some(text));
            }
        }
    }

    /// Waits for the end; the exit code, if it ended by itself.
    pub(super) async fn wait(&mut self) -> io::Result<Option<i64>> {
        let status = self.child.wait().await?;
        Ok(status.code().map(i64::from))
    }

    /// Ends the command and all it started: politely, then not.
    pub(super) async fn stop(mut self) {
        if let Some(group) = &self.group {
            group.signal(Signal::SIGTERM);
        }
        // Whether it went or not, what is left of it goes with the group.
        drop(tokio::time::timeout(GRACE, self.child.wait()).await);
    }
}
