//! The host that runs for a data directory.

use std::path::Path;
use std::time::{Duration, SystemTime};

use agenthost_client::{Client, ClientError, HostAddress, ReadyFile};
use agenthost_protocol::common::SessionStatus;
use agenthost_protocol::root::ListSessionsParams;
use agenthost_protocol::uri::RootChannel;
use agenthost_server::HOST_FILE;
use anyhow::{Context, bail};
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::Serialize;
use tokio::time::Instant;

use super::{is_in_use, wait_for_release};
use crate::connect::client_options;

/// Timeout for a host to end after SIGTERM. It waits for checkpoints and ends agents.
const STOP_TIMEOUT: Duration = Duration::from_secs(20);

/// A host that answers, with a connection to it.
#[derive(Debug)]
pub(crate) struct RunningHost {
    pub(crate) file: ReadyFile,
    /// Time at which it began to listen, if the system knows it.
    pub(crate) since: Option<SystemTime>,
    client: Client,
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

impl RunningHost {
    /// Connects to the host of a data directory. Returns `None` if none is running.
    pub(crate) async fn find(data_directory: &Path) -> anyhow::Result<Option<Self>> {
        let path = data_directory.join(HOST_FILE);
        let since = path.metadata().and_then(|found| found.modified()).ok();
        let read = ReadyFile::read(&path);
        let file = match read {
            Ok(file) => file,
            Err(_) if is_in_use(data_directory)? => bail!(
                "a process uses the data directory `{}` and does not listen yet",
                data_directory.display()
            ),
            Err(_) => return Ok(None),
        };
        let address = HostAddress::ReadyFile(path);
        match Client::connect(&address, client_options(Duration::ZERO)?).await {
            Ok(client) => Ok(Some(RunningHost {
                file,
                since,
                client,
            })),
            Err(ClientError::Transport(error)) if is_in_use(data_directory)? => {
                let pid = file.pid;
                bail!(
                    "the host, process {pid}, does not respond: {error}\n\
                     hint: `kill -9 {pid}` ends it; nothing that a client has seen is lost"
                )
            }
            // A killed host leaves its file behind.
            Err(ClientError::Transport(_)) => Ok(None),
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

    /// Ends the host in an orderly way, and waits until it has released its data directory.
    pub(crate) async fn stop(self, data_directory: &Path) -> anyhow::Result<()> {
        let deadline = Instant::now() + STOP_TIMEOUT;
        let pid = self.file.pid;
        drop(self.client);
        let process = i32::try_from(pid).context("the process id of the host is malformed")?;
        match kill(Pid::from_raw(process), Signal::SIGTERM) {
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
