//! The table of writer epochs, which are ranges of sequence numbers.

use agenthost_core::{ClosedEpoch, WriterEpochs};
use agenthost_protocol::ids::ServerSeq;
use rusqlite::{OptionalExtension, params};

use crate::error::StoreError;
use crate::store::{Store, seq_from_sql, seq_to_sql};

/// Maximum number of epochs in the table. A client with a cursor in an evicted epoch gets
/// snapshots instead of a replay.
const MAX_EPOCHS: i64 = 10_000;

impl Store {
    /// Begins a writer epoch. A host calls this once, before it loads its state and before
    /// it appends anything.
    ///
    /// Returns the first sequence number of the epoch. Later numbers follow from it.
    pub fn begin_epoch(
        &mut self,
        micros_since_1970: u64,
        chance: u32,
    ) -> Result<ServerSeq, StoreError> {
        let begun = self.insert_epoch(micros_since_1970, chance);
        self.explain(begun)
    }

    fn insert_epoch(
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
