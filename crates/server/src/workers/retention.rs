//! Measures the sessions when their limits are due to be checked.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use agenthost_core::{Input, RetentionCheck, SessionKey, SessionRetention};
use agenthost_protocol::number::Millis;
use agenthost_protocol::uri::Uri;
use agenthost_store::measure_database;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::config::ServerConfig;
use crate::page::now_ms;
use crate::workers::disk_usage::measure_directory;

/// Starts the checks of the limits on sessions.
#[derive(Debug)]
pub(crate) struct RetentionWorker {
    limits: SessionRetention,
    interval: Duration,
    next_check: Instant,
    data_directory: PathBuf,
    /// Permits one check at a time.
    permit: Arc<Semaphore>,
}

impl RetentionWorker {
    pub(crate) fn new(config: &ServerConfig) -> Self {
        let interval = config.session_retention_interval;
        RetentionWorker {
            limits: config.session_retention,
            interval,
            next_check: Instant::now() + interval,
            data_directory: config.data_directory.clone(),
            permit: Arc::new(Semaphore::new(1)),
        }
    }

    /// Returns the time of the next check; `None` without limits.
    pub(crate) fn next_check(&self) -> Option<Instant> {
        self.limits.is_limited().then_some(self.next_check)
    }

    /// Starts a check on a blocking thread, unless one is running.
    pub(crate) fn start(&mut self, tasks: &mut JoinSet<Input>) {
        self.next_check = Instant::now() + self.interval;
        let Ok(permit) = Arc::clone(&self.permit).try_acquire_owned() else {
            return;
        };
        let limits = self.limits;
        let data_directory = self.data_directory.clone();
        tasks.spawn_blocking(move || {
            let sizes = match limits.bytes {
                Some(_) => measure_sessions(&data_directory),
                None => BTreeMap::new(),
            };
            drop(permit);
            let now = Millis(i64::try_from(now_ms()).unwrap_or(i64::MAX));
            Input::RetentionDue(Box::new(RetentionCheck { limits, now, sizes }))
        });
    }
}

/// Returns the size of each session: its rows and its files. Without the sizes, the limit on them
/// is not applied.
fn measure_sessions(data_directory: &Path) -> BTreeMap<Uri, u64> {
    let rows = measure_database(data_directory);
    let rows = rows.inspect_err(|error| {
        tracing::warn!(%error, "failed to measure the rows of sessions");
    });
    let files = measure_directory(data_directory);
    let files = files.inspect_err(|error| {
        tracing::warn!(%error, "failed to measure the files of sessions");
    });
    let (Ok(rows), Ok(files)) = (rows, files) else {
        return BTreeMap::new();
    };
    let sessions = rows.sessions.into_iter();
    sessions
        .map(|(session, rows)| {
            let files = files.of_session(&SessionKey::of(&session));
            (session, rows.log_bytes + rows.chat_bytes + files)
        })
        .collect()
}
