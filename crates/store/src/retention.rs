//! Removes old actions from the log, which no client will request.

use agenthost_core::LoadExtent;
use agenthost_protocol::ids::ServerSeq;
use agenthost_protocol::number::Millis;
use agenthost_protocol::uri::Uri;
use rusqlite::{OptionalExtension, params};

use crate::error::StoreError;
use crate::store::{Store, seq_from_sql, seq_to_sql};

/// Limits of the log. An action is removed when it exceeds any of them. A client whose
/// cursor is before the start of the log gets snapshots.
#[derive(Debug, Clone, Copy)]
pub struct Retention {
    /// Maximum number of actions.
    pub actions: u64,
    /// Maximum age of an action.
    pub age: Millis,
    /// Approximate maximum size of all envelopes, in bytes.
    pub bytes: u64,
}

impl Store {
    /// Returns `true` if the log exceeds its limit of bytes by more than a quarter. The
    /// margin avoids a compaction after every batch.
    pub fn exceeds_retention(&self, retention: Retention) -> bool {
        self.log_bytes > retention.bytes.saturating_add(retention.bytes / 4)
    }

    /// Removes actions beyond the limits from the log, after the states that depend on them
    /// have been stored. Returns the new start of the log.
    pub fn compact(&mut self, retention: Retention, now: Millis) -> Result<ServerSeq, StoreError> {
        let compacted = self.remove_old_actions(retention, now);
        self.explain(compacted)
    }

    fn remove_old_actions(
        &mut self,
        retention: Retention,
        now: Millis,
    ) -> Result<ServerSeq, StoreError> {
        let last = self.read_number("seq")?;
        let by_count = self.last_seq_beyond_count(retention.actions)?;
        let by_age: Option<i64> = self.connection.query_row(
            "SELECT max(seq) FROM log WHERE at < ?1",
            [now.0.saturating_sub(retention.age.0)],
            |row| row.get(0),
        )?;
        let before = self.read_number("log_start")?;
        let start = by_age.map_or(ServerSeq(0), seq_from_sql);
        let by_bytes = self.last_seq_beyond_bytes(retention.bytes)?;
        let start = start.max(by_count).max(by_bytes).max(before);
        if start == before {
            return Ok(before);
        }
        // A channel whose snapshot needs a removed action gets a new snapshot first.
        for channel in self.channels_behind(start)? {
            if let Some(loaded) = self.load(&channel, LoadExtent::Tail)? {
                self.snapshot(&channel, &loaded, last)?;
            }
        }
        let transaction = self.connection.transaction()?;
        transaction.execute(
            "UPDATE numbers SET value = value - (
                SELECT coalesce(sum(length(CAST(envelope AS BLOB))), 0) FROM log WHERE seq <= ?1
            ) WHERE name = 'log_bytes'",
            [seq_to_sql(start)],
        )?;
        transaction.execute("DELETE FROM log WHERE seq <= ?1", [seq_to_sql(start)])?;
        transaction.execute("DELETE FROM epochs WHERE last < ?1", [seq_to_sql(start)])?;
        transaction.execute(
            "UPDATE numbers SET value = ?1 WHERE name = 'log_start'",
            [seq_to_sql(start)],
        )?;
        transaction.commit()?;
        self.log_bytes = self.read_number("log_bytes")?.0;
        Ok(start)
    }

    /// Returns the newest action beyond the limit of actions. Sequence numbers have gaps,
    /// so the query counts rows.
    fn last_seq_beyond_count(&self, actions: u64) -> Result<ServerSeq, StoreError> {
        let actions = i64::try_from(actions).unwrap_or(i64::MAX);
        let last: Option<i64> = self
            .connection
            .query_row(
                "SELECT seq FROM log ORDER BY seq DESC LIMIT 1 OFFSET ?1",
                [actions],
                |row| row.get(0),
            )
            .optional()?;
        Ok(last.map_or(ServerSeq(0), seq_from_sql))
    }

    /// Returns the newest action that has to be removed to meet the limit of bytes.
    fn last_seq_beyond_bytes(&self, bytes: u64) -> Result<ServerSeq, StoreError> {
        let mut excess = self.log_bytes.saturating_sub(bytes);
        let mut last = ServerSeq(0);
        let mut query = self
            .connection
            .prepare("SELECT seq, length(CAST(envelope AS BLOB)) FROM log ORDER BY seq")?;
        let mut rows = query.query([])?;
        while excess > 0
            && let Some(row) = rows.next()?
        {
            last = seq_from_sql(row.get(0)?);
            excess = excess.saturating_sub(row.get::<_, i64>(1)?.unsigned_abs());
        }
        Ok(last)
    }

    fn channels_behind(&self, start: ServerSeq) -> Result<Vec<Uri>, StoreError> {
        let mut query = self.connection.prepare(
            "SELECT channel FROM channels WHERE EXISTS (
                SELECT 1 FROM log
                WHERE log.channel = channels.channel AND log.seq > channels.seq AND log.seq <= ?1
            )",
        )?;
        let channels = query.query_map(params![seq_to_sql(start)], |row| {
            Ok(Uri::from(row.get::<_, String>(0)?))
        })?;
        Ok(channels.collect::<Result<_, _>>()?)
    }
}
