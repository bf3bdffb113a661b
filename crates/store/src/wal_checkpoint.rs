//! Moving what was appended from SQLite's own log into the database.
//!
//! That waits for the disk, so it happens on a thread of its own: whoever
//! appends never waits for it.

use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use rusqlite::Connection;

use crate::error::StoreError;

/// Bytes that are appended between two checkpoints.
const CHECKPOINT_BYTES: usize = 1024 * 1024;

/// Commits between two checkpoints: each takes a few pages, however small.
const CHECKPOINT_COMMITS: u32 = 500;

/// Pages of the log from which on it is worth a short wait of the writer to
/// start it afresh: 64 MB. Below that, a quiet moment will come.
const WAL_RESTART_PAGES: i64 = 16_384;

/// The thread, while the store is open.
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

    /// Nothing happens at the moment: a checkpoint now reaches the end, and
    /// the log starts afresh with the next commit.
    pub(crate) fn request_if_pending(&mut self) {
        if self.commits > 0 {
            self.request_checkpoint();
        }
    }

    /// So much was appended, in one commit.
    pub(crate) fn record_append(&mut self, bytes: usize) {
        self.bytes += bytes;
        self.commits += 1;
        if self.bytes >= CHECKPOINT_BYTES || self.commits >= CHECKPOINT_COMMITS {
            self.request_checkpoint();
        }
    }

    fn request_checkpoint(&mut self) {
        let asked = self.requests.as_ref().map(|wanted| wanted.try_send(()));
        // One that is under way does not see the latest: ask again later.
        if !matches!(asked, Some(Err(TrySendError::Full(())))) {
            (self.bytes, self.commits) = (0, 0);
        }
    }
}

impl Drop for WalCheckpointer {
    fn drop(&mut self) {
        self.requests = None;
        if let Some(thread) = self.thread.take() {
            // It breaks nothing if it broke: SQLite does the work when the
            // database is opened next.
            drop(thread.join());
        }
    }
}

fn run_checkpoints(connection: &Connection, requests: &Receiver<()>) {
    while let Ok(()) = requests.recv() {
        // The first never waits for the writer, nor the writer for it; after
        // it there is little left for the second. If the disk is full, the
        // writer will say so.
        let pages = run_checkpoint(connection, "PASSIVE");
        if pages.is_ok_and(|pages| pages > WAL_RESTART_PAGES) {
            drop(run_checkpoint(connection, "RESTART"));
        }
    }
}

/// Returns how many pages the log has.
fn run_checkpoint(connection: &Connection, mode: &str) -> rusqlite::Result<i64> {
    let pragma = format!("PRAGMA wal_checkpoint({mode})");
    connection.query_row(&pragma, [], |row| row.get(1))
}
