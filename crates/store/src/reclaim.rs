//! Returns the space of removed channels: deletes their actions from the log, and gives unused
//! pages of the database back to the file system.
//!
//! Both happen in steps of bounded length, so that the host never waits long for one.

use agenthost_protocol::ids::ServerSeq;
use agenthost_protocol::uri::{RootChannel, Uri};
use rusqlite::{Connection, OptionalExtension, Transaction, params};

use crate::error::StoreError;
use crate::store::{Store, seq_to_sql};

/// Maximum number of actions that one step deletes, which takes some tens of milliseconds.
const MAX_DELETED_ACTIONS: usize = 5_000;

/// Maximum number of pages (4 KiB each) that one step gives back.
const MAX_FREED_PAGES: u32 = 1_000;

/// Number of unused pages (1 MiB) that stay in the database. The next actions use them.
const KEPT_FREE_PAGES: i64 = 256;

/// Number of unused pages (16 MiB) from which pages are given back although nothing was removed.
/// Below it, the log grows into the pages that its compaction has freed.
const MANY_FREE_PAGES: i64 = 4_096;

/// The value of `PRAGMA auto_vacuum` with which pages can be given back in steps.
const INCREMENTAL: i64 = 2;

/// Work that is left for the next step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MaintenanceState {
    Done,
    /// Another step is due.
    Pending,
}

/// The work that removals have left.
#[derive(Debug)]
pub(crate) struct ReclaimState {
    /// `true` if there may be rows of removed channels.
    pub(crate) has_removed_channels: bool,
    /// `true` if channels were removed and not all of their pages were given back.
    gives_back_pages: bool,
}

impl ReclaimState {
    /// Returns the state at the start of a host: the one before may have been killed.
    pub(crate) fn at_start() -> Self {
        ReclaimState {
            has_removed_channels: true,
            gives_back_pages: false,
        }
    }
}

/// Records in the transaction of its removal that the actions of a channel can be deleted. They
/// stay until the responses are sent that were derived from the log before.
pub(crate) fn record_removal(
    transaction: &Transaction<'_>,
    channel: &Uri,
    seq: ServerSeq,
) -> Result<(), StoreError> {
    // The root channel is created again when its settings change, and clients replay its actions.
    if *channel != Uri::from(RootChannel) {
        transaction
            .prepare_cached(
                "INSERT OR REPLACE INTO removed_channels (channel, seq) VALUES (?1, ?2)",
            )?
            .execute(params![channel.as_str(), seq_to_sql(seq)])?;
    }
    Ok(())
}

/// Makes a new database one whose pages can be given back in steps.
pub(crate) fn request_auto_vacuum(connection: &Connection) -> Result<(), StoreError> {
    Ok(connection.pragma_update(None, "auto_vacuum", INCREMENTAL)?)
}

/// Makes a database of an earlier release one whose pages can be given back in steps. This writes
/// it again, once.
pub(crate) fn convert_database(connection: &Connection) -> Result<(), StoreError> {
    let mode: i64 = connection.pragma_query_value(None, "auto_vacuum", |row| row.get(0))?;
    if mode != INCREMENTAL {
        request_auto_vacuum(connection)?;
        // Without space for a second copy, the database stays as it is, and the next start tries
        // again. Damage is found where it is read.
        drop(connection.execute_batch("VACUUM"));
    }
    Ok(())
}

impl Store {
    /// Deletes the actions of removed channels from the log, at most a few thousand. The caller
    /// has executed the effects that read the log.
    pub fn delete_removed_actions(&mut self) -> Result<MaintenanceState, StoreError> {
        if !self.reclaim.has_removed_channels {
            return Ok(MaintenanceState::Done);
        }
        let deleted = self.delete_actions(MAX_DELETED_ACTIONS);
        let rest = self.explain(deleted)?;
        self.reclaim.has_removed_channels = rest == MaintenanceState::Pending;
        Ok(rest)
    }

    fn delete_actions(&mut self, limit: usize) -> Result<MaintenanceState, StoreError> {
        let transaction = self.connection.transaction()?;
        let mut budget = limit;
        let mut bytes = 0;
        let mut gives_back_pages = self.reclaim.gives_back_pages;
        while budget > 0 {
            let Some((channel, seq)) = next_removed(&transaction)? else {
                break;
            };
            gives_back_pages = true;
            let (rows, size) = delete_oldest(&transaction, &channel, seq, budget)?;
            bytes += size;
            if rows < budget {
                transaction
                    .prepare_cached("DELETE FROM removed_channels WHERE channel = ?1")?
                    .execute([&channel])?;
            }
            // An empty channel costs something, too.
            budget = budget.saturating_sub(rows.max(1));
        }
        transaction
            .prepare_cached("UPDATE numbers SET value = value - ?1 WHERE name = 'log_bytes'")?
            .execute([bytes])?;
        let rest = match next_removed(&transaction)? {
            Some(_) => MaintenanceState::Pending,
            None => MaintenanceState::Done,
        };
        transaction.commit()?;
        self.log_bytes = self.log_bytes.saturating_sub(bytes.unsigned_abs());
        self.reclaim.gives_back_pages = gives_back_pages;
        Ok(rest)
    }

    /// Takes one step: deletes actions of removed channels, or gives back pages.
    pub(crate) fn reclaim_space(&mut self) -> Result<MaintenanceState, StoreError> {
        if self.delete_removed_actions()? == MaintenanceState::Pending {
            return Ok(MaintenanceState::Pending);
        }
        let free = self.count_free_pages()?;
        let wanted = match self.reclaim.gives_back_pages {
            true => KEPT_FREE_PAGES,
            false => MANY_FREE_PAGES,
        };
        if free <= wanted {
            self.reclaim.gives_back_pages = false;
            return Ok(MaintenanceState::Done);
        }
        self.reclaim.gives_back_pages = true;
        let pragma = format!("PRAGMA incremental_vacuum({MAX_FREED_PAGES})");
        let mut vacuum = self.connection.prepare(&pragma)?;
        let mut steps = vacuum.query([])?;
        // Each row is one page that was freed.
        while steps.next()?.is_some() {}
        drop(steps);
        drop(vacuum);
        self.checkpointer.record_append(0);
        // A database that could not be converted keeps its pages.
        match self.count_free_pages()? < free {
            true => Ok(MaintenanceState::Pending),
            false => {
                self.reclaim.gives_back_pages = false;
                Ok(MaintenanceState::Done)
            }
        }
    }

    fn count_free_pages(&self) -> Result<i64, StoreError> {
        let pragma = "freelist_count";
        Ok(self
            .connection
            .pragma_query_value(None, pragma, |row| row.get(0))?)
    }
}

/// Returns a removed channel whose actions are in the log, with the last number to delete.
fn next_removed(transaction: &Transaction<'_>) -> Result<Option<(String, i64)>, StoreError> {
    let found = transaction
        .prepare_cached("SELECT channel, seq FROM removed_channels LIMIT 1")?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    Ok(found)
}

/// Deletes the oldest actions of a channel. Returns their number and size.
fn delete_oldest(
    transaction: &Transaction<'_>,
    channel: &str,
    until: i64,
    limit: usize,
) -> Result<(usize, i64), StoreError> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    // A later channel with the same URI has later actions.
    let (last, bytes): (Option<i64>, i64) = transaction
        .prepare_cached(
            "SELECT max(seq), coalesce(sum(size), 0) FROM (
                SELECT seq, length(CAST(envelope AS BLOB)) AS size FROM log
                WHERE channel = ?1 AND seq <= ?2 ORDER BY seq LIMIT ?3
            )",
        )?
        .query_row(params![channel, until, limit], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
    let Some(last) = last else {
        return Ok((0, 0));
    };
    let rows = transaction
        .prepare_cached("DELETE FROM log WHERE channel = ?1 AND seq <= ?2")?
        .execute(params![channel, last])?;
    Ok((rows, bytes))
}
