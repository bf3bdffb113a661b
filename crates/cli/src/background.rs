//! A host in the background: a process of its own that the terminal does not end.
//!
//! The process is `agenthost serve --detached`. It writes `ready` to its standard output once it
//! listens, and its log to a file. Only one process at a time starts a host for a data directory;
//! the others wait and use that host.

pub(crate) mod log_files;
pub(crate) mod running_host;
pub(crate) mod start_record;

use std::ffi::OsString;
use std::fs::File;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use agenthost_stdx::private_file;
use anyhow::{Context, bail};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::{Instant, timeout, timeout_at};

use log_files::LogFiles;
use start_record::StartRecord;

/// The line that a detached host prints once it listens.
pub(crate) const READY_LINE: &str = "ready";

/// The line that a temporary host prints when a client has left and others still use it.
pub(crate) const IN_USE_LINE: &str = "in use";

/// The option of `serve` for its log.
const LOG_FILE_OPTION: &str = "--log-file";

/// Timeout for a host to listen.
pub(crate) const START_TIMEOUT: Duration = Duration::from_secs(30);

/// Interval between two looks for a host that another program starts.
const START_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Maximum length of the error output of a failed start, in bytes.
const MAX_ERROR_BYTES: usize = 4_096;

/// The time for which a started host runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HostLifetime {
    /// Until it is stopped.
    Unlimited,
    /// Until no client is connected and no turn runs.
    Temporary,
}

impl HostLifetime {
    /// Returns the lifetime for the flag `--temporary`.
    pub(crate) fn of_flag(is_temporary: bool) -> Self {
        match is_temporary {
            true => HostLifetime::Temporary,
            false => HostLifetime::Unlimited,
        }
    }
}

/// A host that this process has started.
#[derive(Debug)]
pub(crate) struct StartedHost {
    pub(crate) pid: u32,
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl StartedHost {
    /// Waits until a temporary host has ended. Returns `false` if others still use it.
    pub(crate) async fn wait_for_end(mut self) -> anyhow::Result<bool> {
        while let Some(line) = self.lines.next_line().await? {
            if line == IN_USE_LINE {
                return Ok(false);
            }
        }
        self.child.wait().await?;
        Ok(true)
    }
}

/// The right to start a host for a data directory. Other programs that want to start one wait
/// until it is dropped.
#[derive(Debug)]
pub(crate) struct StartPermit {
    _lock: File,
}

impl StartPermit {
    /// Waits until no other program starts a host.
    pub(crate) async fn acquire(data_directory: &Path) -> anyhow::Result<Self> {
        private_file::create_directory(data_directory)
            .with_context(|| format!("use data directory `{}`", data_directory.display()))?;
        let logs = LogFiles::of(data_directory);
        logs.create_directory()?;
        let path = logs.start_lock_path();
        let acquired = tokio::task::spawn_blocking(move || {
            let lock = private_file::open_read_write(&path)?;
            lock.lock().map(|()| lock)
        });
        let acquired = timeout(START_TIMEOUT, acquired).await;
        let acquired = acquired.context("another program has been starting a host for too long")?;
        let lock = acquired?.context("lock the start of the host")?;
        Ok(StartPermit { _lock: lock })
    }
}

/// Starts a host that this terminal does not end, and waits until it listens. `arguments` are those
/// of `agenthost serve`.
pub(crate) async fn start_host(
    permit: &StartPermit,
    data_directory: &Path,
    arguments: Vec<OsString>,
    lifetime: HostLifetime,
) -> anyhow::Result<StartedHost> {
    let start = HostStart {
        program: std::env::current_exe().context("find the program of the host")?,
        arguments,
        lifetime,
        listen_again: None,
        timeout: START_TIMEOUT,
    };
    start.run(permit, data_directory).await
}

/// A start of a host in the background.
#[derive(Debug, Clone)]
pub(crate) struct HostStart {
    /// The program, usually this one.
    pub(crate) program: PathBuf,
    /// Arguments of `agenthost serve`.
    pub(crate) arguments: Vec<OsString>,
    pub(crate) lifetime: HostLifetime,
    /// The address of the previous host. Its clients find the new one there.
    pub(crate) listen_again: Option<SocketAddr>,
    /// Timeout for the host to listen.
    pub(crate) timeout: Duration,
}

impl HostStart {
    /// Starts the host and waits until it listens.
    pub(crate) async fn run(
        self,
        _permit: &StartPermit,
        data_directory: &Path,
    ) -> anyhow::Result<StartedHost> {
        let logs = LogFiles::of(data_directory);
        let errors_path = logs.errors_path();
        let errors = create_private_file(&errors_path)
            .with_context(|| format!("create `{}`", errors_path.display()))?;
        let spawned = self.command(&logs).stderr(errors).spawn();
        let mut child = spawned.with_context(|| format!("start `{}`", self.program.display()))?;
        let pid = child.id().context("the host has ended already")?;
        let stdout = child.stdout.take().context("the host has no output")?;
        let mut lines = BufReader::new(stdout).lines();
        match timeout(self.timeout, lines.next_line()).await {
            Ok(Ok(Some(line))) if line == READY_LINE => {}
            Ok(_) => {
                child.wait().await?;
                bail!("{}", read_errors(&errors_path));
            }
            Err(_) => {
                child.kill().await?;
                bail!(
                    "the host did not listen within {} s\nhint: its log is `{}`",
                    self.timeout.as_secs(),
                    logs.log_path().display()
                );
            }
        }
        if self.lifetime == HostLifetime::Unlimited {
            StartRecord::new(pid, self.arguments)?.write(data_directory)?;
        }
        Ok(StartedHost { pid, child, lines })
    }

    fn command(&self, logs: &LogFiles) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(["serve", "--detached"])
            .args(&self.arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            // A host in the background must not keep a folder busy.
            .current_dir("/");
        let mut names = self.arguments.iter();
        if !names.any(|argument| argument == LOG_FILE_OPTION) {
            command.arg(LOG_FILE_OPTION).arg(logs.log_path());
        }
        if let Some(address) = self.listen_again {
            command.args(["--listen-again", &address.to_string()]);
        }
        if self.lifetime == HostLifetime::Temporary {
            command.arg("--temporary");
        }
        command
    }
}

/// Waits until a host that another program starts can be reached. `check` tries to reach it.
/// Returns `None` if the data directory is not in use, or at the timeout.
pub(crate) async fn wait_for_other_host<T>(
    data_directory: &Path,
    mut check: impl AsyncFnMut() -> Option<T>,
) -> anyhow::Result<Option<T>> {
    let deadline = Instant::now() + START_TIMEOUT;
    while is_in_use(data_directory)? {
        if let Some(found) = check().await {
            return Ok(Some(found));
        }
        if Instant::now() >= deadline {
            return Ok(None);
        }
        // The file with the address may be replaced at any time, so there is no event to wait for.
        tokio::time::sleep(START_POLL_INTERVAL).await;
    }
    Ok(None)
}

/// Returns `true` if a host uses the data directory.
fn is_in_use(data_directory: &Path) -> anyhow::Result<bool> {
    agenthost_store::is_in_use(data_directory).context("read the lock of the data directory")
}

/// Waits until a host has released its data directory.
pub(crate) async fn wait_for_release(
    data_directory: &Path,
    deadline: Instant,
) -> anyhow::Result<()> {
    let directory: PathBuf = data_directory.to_owned();
    let released =
        tokio::task::spawn_blocking(move || agenthost_store::wait_until_free(&directory));
    let released = timeout_at(deadline, released).await;
    released
        .context("the host is still running")??
        .context("wait for the host to end")
}

/// Creates an empty file with mode 0600, in place of an existing one.
fn create_private_file(path: &Path) -> std::io::Result<File> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    private_file::open_append(path)
}

/// Returns the error of a host that has not started.
fn read_errors(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| error.to_string());
    let text = text.trim();
    let text = text.strip_prefix("error: ").unwrap_or(text);
    let mut end = text.len().min(MAX_ERROR_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    match text.get(..end) {
        Some(text) if !text.is_empty() => text.to_owned(),
        _ => "the host ended without an error message".to_owned(),
    }
}
