//! The host that runs for a data directory.

use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, SystemTime};

use agenthost_client::{Client, ClientError, HostAddress, ReadyFile};
use agenthost_protocol::common::SessionStatus;
use agenthost_protocol::root::ListSessionsParams;
use agenthost_protocol::uri::RootChannel;
use agenthost_server::HOST_FILE;
use anyhow::{Context, anyhow};
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::Serialize;
use tokio::time::Instant;

use super::{START_POLL_INTERVAL, is_in_use, wait_for_release};
use crate::connect::client_options;
use crate::host_settings::storage_problem;

/// Timeout for a host to end after SIGTERM. It waits for checkpoints and ends agents.
const STOP_TIMEOUT: Duration = Duration::from_secs(20);

/// Timeout for a host that starts or stops to be reachable or gone.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(10);

/// A host that answers, with a connection to it.
#[derive(Debug)]
pub(crate) struct RunningHost {
    pub(crate) file: ReadyFile,
    /// Time at which it began to listen, if the system knows it.
    pub(crate) since: Option<SystemTime>,
    client: Client,
}

/// The agents and terminals of a host that is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunnerFate {
    /// They end with the host.
    Ends,
    /// They go on, and the next host continues their turns.
    GoesOn,
}

/// The number of sessions by their state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(crate) struct SessionCounts {
    pub(crate) total: usize,
    /// Sessions with a running turn, those that wait for a user included.
    pub(crate) running: usize,
    /// Sessions that wait for an answer of a user.
    pub(crate) waiting: usize,
}

/// The state of the host of a data directory.
enum HostSearch {
    Running(Box<RunningHost>),
    Absent,
    /// A process uses the data directory and can't be reached, for this reason: it is starting or
    /// stopping, or it hangs.
    Silent(anyhow::Error),
}

impl RunningHost {
    /// Connects to the host of a data directory. Returns `None` if none is running.
    pub(crate) async fn find(data_directory: &Path) -> anyhow::Result<Option<Self>> {
        match Self::search(data_directory).await? {
            HostSearch::Running(host) => Ok(Some(*host)),
            HostSearch::Absent => Ok(None),
            HostSearch::Silent(reason) => Err(reason),
        }
    }

    /// Like [`RunningHost::find`], but waits for a host that is starting or stopping.
    pub(crate) async fn find_settled(data_directory: &Path) -> anyhow::Result<Option<Self>> {
        let deadline = Instant::now() + SETTLE_TIMEOUT;
        loop {
            match Self::search(data_directory).await? {
                HostSearch::Running(host) => return Ok(Some(*host)),
                HostSearch::Absent => return Ok(None),
                HostSearch::Silent(reason) if Instant::now() >= deadline => return Err(reason),
                // Neither the file with the address nor the lock has an event to wait for.
                HostSearch::Silent(_) => tokio::time::sleep(START_POLL_INTERVAL).await,
            }
        }
    }

    async fn search(data_directory: &Path) -> anyhow::Result<HostSearch> {
        let path = data_directory.join(HOST_FILE);
        let since = path.metadata().and_then(|found| found.modified()).ok();
        let read = ReadyFile::read(&path);
        let file = match read {
            Ok(file) => file,
            Err(_) if is_in_use(data_directory)? => {
                return Ok(HostSearch::Silent(anyhow!(
                    "a process uses the data directory `{}` and does not listen",
                    data_directory.display()
                )));
            }
            Err(_) => return Ok(HostSearch::Absent),
        };
        let address = HostAddress::ReadyFile(path);
        match Client::connect(&address, client_options(Duration::ZERO)?).await {
            Ok(client) => Ok(HostSearch::Running(Box::new(RunningHost {
                file,
                since,
                client,
            }))),
            Err(ClientError::Transport(error)) if is_in_use(data_directory)? => {
                let pid = file.pid;
                Ok(HostSearch::Silent(anyhow!(
                    "the host, process {pid}, does not respond: {error}\n\
                     hint: `kill -9 {pid}` ends it; nothing that a client has seen is lost"
                )))
            }
            // A killed host leaves its file behind.
            Err(ClientError::Transport(_)) => Ok(HostSearch::Absent),
            Err(other) => Err(other.into()),
        }
    }

    /// Returns the address that the host listens on, for people.
    pub(crate) fn address(&self) -> String {
        match (&self.file.url, &self.file.socket) {
            (Some(url), _) => url.clone(),
            (None, Some(socket)) => socket.display().to_string(),
            (None, None) => "no address".to_owned(),
        }
    }

    /// Returns the reason why the host can't store changes, if it can't.
    pub(crate) async fn storage_problem(&mut self) -> anyhow::Result<Option<String>> {
        storage_problem(&mut self.client).await
    }

    /// Counts the sessions of the host.
    pub(crate) async fn count_sessions(&mut self) -> anyhow::Result<SessionCounts> {
        let mut counts = SessionCounts::default();
        let mut cursor = None;
        loop {
            let list = ListSessionsParams {
                channel: RootChannel,
                limit: None,
                cursor,
                meta: None,
            };
            let page = self.client.request(list).await?;
            for summary in &page.items {
                let status = summary.metadata.status;
                counts.total += 1;
                counts.running += usize::from(status.contains(SessionStatus::IN_PROGRESS));
                counts.waiting += usize::from(status.contains(SessionStatus::INPUT_NEEDED));
            }
            cursor = page.next_cursor;
            if cursor.is_none() {
                return Ok(counts);
            }
        }
    }

    /// Returns the address that the host listens on, if it has a TCP listener.
    pub(crate) fn socket_address(&self) -> Option<SocketAddr> {
        let (_, address) = self.file.url.as_ref()?.split_once("://")?;
        address.trim_end_matches('/').parse().ok()
    }

    /// Ends the host in an orderly way, and waits until it has released its data directory.
    pub(crate) async fn stop(
        self,
        data_directory: &Path,
        runner: RunnerFate,
    ) -> anyhow::Result<()> {
        let deadline = Instant::now() + STOP_TIMEOUT;
        let pid = self.file.pid;
        drop(self.client);
        let process = i32::try_from(pid).context("the process id of the host is malformed")?;
        let signal = match runner {
            RunnerFate::Ends => Signal::SIGTERM,
            RunnerFate::GoesOn => Signal::SIGUSR1,
        };
        match kill(Pid::from_raw(process), signal) {
            // It has ended by itself.
            Ok(()) | Err(Errno::ESRCH) => {}
            Err(error) => return Err(error).with_context(|| format!("stop process {pid}")),
        }
        let released = wait_for_release(data_directory, deadline).await;
        released.with_context(|| {
            format!("stop process {pid}; `kill -9 {pid}` ends it, and nothing that a client has seen is lost")
        })
    }
}
