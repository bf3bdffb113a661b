//! Checkpoints of SQLite's write-ahead log: copies committed pages into the database file.
//!
//! A checkpoint waits for the disk, so it runs on its own thread, and appending never waits
//! for it.

use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use rusqlite::Connection;

use crate::error::StoreError;

/// Number of bytes that are appended between two checkpoints.
const CHECKPOINT_BYTES: usize = 1024 * 1024;

/// Number of commits between two checkpoints. Each commit writes a few pages, even if it is
/// small.
const CHECKPOINT_COMMITS: u32 = 500;

/// Size of the write-ahead log, in pages (64 MB), above which a short wait of the writer is
/// acceptable to restart the log. Below it, the next idle period is soon enough.
const WAL_RESTART_PAGES: i64 = 16_384;

/// Handle of the checkpoint thread. Dropping it ends the thread.
#[derive(Debug)]
pub(crate) struct WalCheckpointer {
    requests: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
    bytes: usize,
    commits: u32,
}

impl WalCheckpointer {
    pub(crate) fn start(database: &Path) -> Result<Self, StoreError> {
        let connection = Connection::open(database)?;
        connection.busy_timeout(std::time::Duration::from_secs(5))?;
        let (wanted, asked) = sync_channel(1);
        let thread = std::thread::Builder::new()
            .name("checkpoint".to_owned())
            .spawn(move || run_checkpoints(&connection, &asked))
            .map_err(|source| StoreError::File {
                what: "start a thread for",
                path: database.to_owned(),
                source,
            })?;
        Ok(WalCheckpointer {
            requests: Some(wanted),
            thread: Some(thread),
            bytes: 0,
            commits: 0,
        })
    }

    /// Requests a checkpoint if there were commits since the last one. When the writer is
    /// idle, a checkpoint reaches the end of the log, and the next commit restarts it.
    pub(crate) fn request_if_pending(&mut self) {
        if self.commits > 0 {
            self.request_checkpoint();
        }
    }

    /// Counts a commit with this many bytes, and requests a checkpoint at the limits.
    pub(crate) fn record_append(&mut self, bytes: usize) {
        self.bytes += bytes;
        self.commits += 1;
        if self.bytes >= CHECKPOINT_BYTES || self.commits >= CHECKPOINT_COMMITS {
            self.request_checkpoint();
        }
    }

    fn request_checkpoint(&mut self) {
        let asked = self.requests.as_ref().map(|wanted| wanted.try_send(()));
        // A running checkpoint does not include the latest commits, so the counters stay
        // and the next append tries again.
        if !matches!(asked, Some(Err(TrySendError::Full(())))) {
            (self.bytes, self.commits) = (0, 0);
        }
    }
}

impl Drop for WalCheckpointer {
    fn drop(&mut self) {
        self.requests = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the thread loses no data: SQLite replays the log when the database
            // is opened again.
            drop(thread.join());
        }
    }
}

fn run_checkpoints(connection: &Connection, requests: &Receiver<()>) {
    while let Ok(()) = requests.recv() {
        // A passive checkpoint never blocks the writer and is never blocked by it; it
        // leaves little work for the restart. Errors such as a full disk are reported by
        // the writer.
        let pages = run_checkpoint(connection, "PASSIVE");
        if pages.is_ok_and(|pages| pages > WAL_RESTART_PAGES) {
            drop(run_checkpoint(connection, "RESTART"));
        }
    }
}

/// Runs a checkpoint and returns the number of pages in the log.
fn run_checkpoint(connection: &Connection, mode: &str) -> rusqlite::Result<i64> {
    let pragma = format!("PRAGMA wal_checkpoint({mode})");
    connection.query_row(&pragma, [], |row| row.get(1))
}
