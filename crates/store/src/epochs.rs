//! The table of writer epochs.

use agenthost_core::{ClosedEpoch, WriterEpochs};
use agenthost_protocol::ids::ServerSeq;
use rusqlite::{OptionalExtension, params};

use crate::error::StoreError;
use crate::store::{Store, seq_from_sql, seq_to_sql};

/// Most epochs that are remembered. Clients of older ones get snapshots.
const MAX_EPOCHS: i64 = 10_000;

impl Store {
    /// Begins a writer epoch. A host does so once, before it reads what it has
    /// to know and before it appends anything.
    ///
    /// Returns the first number of the epoch. Later ones are given out from
    /// there on.
    pub fn begin_epoch(
        &mut self,
        micros_since_1970: u64,
        chance: u32,
    ) -> Result<ServerSeq, StoreError> {
        let last = self.read_number("seq")?;
        let first = WriterEpochs::next_epoch_start(last, micros_since_1970, chance);
        let transaction = self.connection.transaction()?;
        transaction.execute(
            "UPDATE epochs SET last = ?1 WHERE last IS NULL",
            [seq_to_sql(last)],
        )?;
        transaction.execute("INSERT INTO epochs VALUES (?1, NULL)", [seq_to_sql(first)])?;
        transaction.execute(
            "UPDATE numbers SET value = ?1 WHERE name = 'seq'",
            [seq_to_sql(first)],
        )?;
        transaction.execute(
            "DELETE FROM epochs WHERE first NOT IN
                (SELECT first FROM epochs ORDER BY first DESC LIMIT ?1)",
            params![MAX_EPOCHS],
        )?;
        transaction.commit()?;
        Ok(first)
    }

    pub(crate) fn load_epochs(&self) -> Result<WriterEpochs, StoreError> {
        let current: Option<i64> = self
            .connection
            .query_row("SELECT first FROM epochs WHERE last IS NULL", [], |row| {
                row.get(0)
            })
            .optional()?;
        let mut query = self
            .connection
            .prepare("SELECT first, last FROM epochs WHERE last IS NOT NULL ORDER BY first")?;
        let closed = query.query_map([], |row| {
            Ok(ClosedEpoch {
                first: seq_from_sql(row.get(0)?),
                last: seq_from_sql(row.get(1)?),
            })
        })?;
        Ok(WriterEpochs {
            closed: closed.collect::<Result<_, _>>()?,
            current: current.map_or(ServerSeq(0), seq_from_sql),
        })
    }
}
