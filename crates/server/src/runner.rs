//! The runner: the process that owns agents, terminals, MCP servers and hooks.
//!
//! **What it does.** The host starts one runner for its data directory, and sends it the commands
//! for drivers. The runner keeps the inputs of the drivers until the host has stored their
//! actions. So the work survives the end of the host: the next one connects to the same runner
//! and continues. `docs/design/runner.md` describes the exchange.
//!
//! **What it must never do.** The runner decides nothing and stores no state of a channel. It
//! serves one host at a time, and only a process that knows its secret.
//!
//! **Where to start.** `process` is the runner, `link` its connection in the host, and
//! `attachment` finds, checks and starts it.

pub(crate) mod attachment;
pub(crate) mod frame;
mod host_link;
pub(crate) mod input_buffer;
pub(crate) mod link;
mod process;
mod record;
mod spool;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use process::{ReloadAgents, RunnerConfig, run_runner};

use crate::runner::record::RunnerRecord;
use crate::server::ServeError;

/// Time for a runner to end its agents and terminals, before it is killed.
const RUNNER_END_TIMEOUT: Duration = Duration::from_secs(10);

/// The program of a runner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunnerLaunch {
    /// The path of the executable.
    pub program: PathBuf,
    /// Arguments that start the runner for the data directory of the host. The runner prints a
    /// line once a host can connect.
    pub arguments: Vec<OsString>,
}

/// An error of the runner, or of the exchange with it.
#[derive(Debug, thiserror::Error)]
pub enum RunnerError {
    /// A system call failed.
    #[error("exchange with the runner: {0}")]
    Io(#[from] io::Error),
    /// A message can't be decoded. The text is not shown, because it may be a prompt.
    #[error("exchange with the runner: malformed message at line {line}, column {column}")]
    Malformed {
        /// The line in the message.
        line: usize,
        /// The column in the line.
        column: usize,
    },
    /// A frame is too short or too long.
    #[error("exchange with the runner: a message of {0} bytes")]
    FrameLength(usize),
    /// A frame has an unknown kind, or its text is not UTF-8.
    #[error("exchange with the runner: unknown message")]
    UnknownFrame,
    /// A message came at the wrong time.
    #[error("exchange with the runner: unexpected message")]
    UnexpectedFrame,
    /// Nothing answered.
    #[error("the runner (process {0}) does not answer")]
    NoAnswer(u32),
    /// Another process listens on the socket of the runner.
    #[error("`{}` belongs to process {found}, and not to the runner (process {expected})", path.display())]
    ForeignSocket {
        /// The path of the socket.
        path: PathBuf,
        /// The process that listens.
        found: i32,
        /// The process in the record.
        expected: u32,
    },
    /// The runner belongs to another data directory, or is another one than before.
    #[error("the runner (process {0}) is not that of this data directory")]
    WrongRunner(u32),
    /// The runner was started by a newer program.
    #[error(
        "the runner speaks version {found} of its messages, and this host knows {known}\n\
         hint: use the newer agenthost again, or let the runner end with its work"
    )]
    NewerProtocol {
        /// The version of the runner.
        found: u32,
        /// The latest version that this host knows.
        known: u32,
    },
    /// The numbers of the runner do not fit to those in the store.
    #[error("the runner counts {counted}, and the store {stored}: one of them was replaced")]
    WrongNumbers {
        /// The numbers of the runner.
        counted: String,
        /// The numbers in the store.
        stored: String,
    },
    /// The runner did not start.
    #[error("start the runner: {0}")]
    NotStarted(String),
    /// A spooled input was changed or cut off.
    #[error("spool `{}`: {problem}; the inputs in it are lost", path.display())]
    Spool {
        /// The path of the spool.
        path: PathBuf,
        /// The problem.
        problem: &'static str,
    },
    /// The drivers could not be started.
    #[error(transparent)]
    Drivers(#[from] Box<ServeError>),
}

/// Returns the process id of the runner of a data directory, if one is running.
pub fn find_runner(data_directory: &Path) -> Option<u32> {
    let record = RunnerRecord::read(data_directory)?;
    record.process.is_running().then_some(record.process.pid)
}

/// Ends the runner of a data directory that no host uses. Returns `false` if none is running.
pub async fn end_runner(data_directory: &Path) -> io::Result<bool> {
    let Some(record) = RunnerRecord::read(data_directory) else {
        return Ok(false);
    };
    let is_running = record.process.is_running();
    record.process.end(RUNNER_END_TIMEOUT).await?;
    RunnerRecord::remove(data_directory);
    Ok(is_running)
}
