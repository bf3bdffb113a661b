//! Forgetting what no client will ask for.

use agenthost_protocol::ids::ServerSeq;
use agenthost_protocol::number::Millis;
use agenthost_protocol::uri::Uri;
use rusqlite::params;

use crate::error::StoreError;
use crate::store::{Store, number, sequence};

/// How much of the log is kept. An action is forgotten when it is beyond
/// either bound; a client that has seen less gets snapshots.
#[derive(Debug, Clone, Copy)]
pub struct Retention {
    /// Most actions.
    pub actions: u64,
    /// Greatest age.
    pub age: Millis,
}

impl Store {
    /// Forgets old actions, once the states they made are kept. Returns where
    /// the log starts now.
    pub fn compact(&mut self, retention: Retention, now: Millis) -> Result<ServerSeq, StoreError> {
        let last = self.number("seq")?;
        let by_count = last.0.saturating_sub(retention.actions);
        let by_age: Option<i64> = self.connection.query_row(
            "SELECT max(seq) FROM log WHERE at < ?1",
            [now.0.saturating_sub(retention.age.0)],
            |row| row.get(0),
        )?;
        let before = self.number("log_start")?;
        let start = by_age.map_or(ServerSeq(0), sequence);
        let start = start.max(ServerSeq(by_count)).max(before);
        if start == before {
            return Ok(before);
        }
        // A state that rests on what is to be forgotten is kept first.
        for channel in self.channels_behind(start)? {
            if let Some(state) = self.load(&channel)? {
                self.snapshot(&channel, &state, last)?;
            }
        }
        let transaction = self.connection.transaction()?;
        transaction.execute("DELETE FROM log WHERE seq <= ?1", [number(start)])?;
        transaction.execute(
            "UPDATE numbers SET value = ?1 WHERE name = 'log_start'",
            [number(start)],
        )?;
        transaction.commit()?;
        Ok(start)
    }

    fn channels_behind(&self, start: ServerSeq) -> Result<Vec<Uri>, StoreError> {
        let mut query = self.connection.prepare(
            "SELECT channel FROM channels WHERE EXISTS (
                SELECT 1 FROM log
                WHERE log.channel = channels.channel AND log.seq > channels.seq AND log.seq <= ?1
            )",
        )?;
        let channels = query.query_map(params![number(start)], |row| {
            Ok(Uri::from(row.get::<_, String>(0)?))
        })?;
        Ok(channels.collect::<Result<_, _>>()?)
    }
}
