//! The exchange with the runner: the process that owns agents and terminals.
//!
//! Commands for the runner, the number of its last handled input and the working memory of the
//! host are written in the same transaction as the actions of a batch. So whichever process ends,
//! an input becomes actions exactly once, and a command is sent until it has arrived.

use agenthost_core::MemoryPart;
use rusqlite::{OptionalExtension, Transaction, params};

use crate::error::StoreError;
use crate::store::{Store, report_damage};

/// The progress of the exchange with the runner in one batch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunnerProgress {
    /// The number of the last input that was handled.
    pub handled: Option<u64>,
    /// The number of the last command that the runner has received.
    pub received: Option<u64>,
    /// New commands with their numbers.
    pub commands: Vec<(u64, String)>,
    /// Parts of the memory that have changed.
    pub memory: Vec<MemoryPart>,
}

impl RunnerProgress {
    /// Returns `true` if there is nothing to store.
    pub fn is_empty(&self) -> bool {
        *self == RunnerProgress::default()
    }
}

/// The exchange with a runner, as it was stored last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoredRunner {
    /// The id of the runner.
    pub id: String,
    /// The number of the last input that was handled.
    pub handled: u64,
    /// Commands that the runner may not have received, with their numbers, in order.
    pub commands: Vec<(u64, String)>,
    /// The working memory of the host: name and content of each part.
    pub memory: Vec<(String, String)>,
}

impl Store {
    /// Reads the exchange with the last runner.
    pub fn load_runner(&mut self) -> Result<Option<StoredRunner>, StoreError> {
        let loaded = self.read_runner();
        loaded.map_err(|error| report_damage(&self.directory.database_path(), error))
    }

    fn read_runner(&self) -> Result<Option<StoredRunner>, StoreError> {
        let row = self
            .connection
            .query_row("SELECT id, handled FROM runner", [], |row| {
                Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?))
            });
        let Some((id, handled)) = row.optional()? else {
            return Ok(None);
        };
        let mut commands = self
            .connection
            .prepare("SELECT number, command FROM runner_commands ORDER BY number")?;
        let commands = commands.query_map([], |row| Ok((from_sql(row.get(0)?), row.get(1)?)))?;
        let mut memory = self
            .connection
            .prepare("SELECT part, content FROM host_memory")?;
        let memory = memory.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(Some(StoredRunner {
            id,
            handled: from_sql(handled),
            commands: commands.collect::<Result<_, _>>()?,
            memory: memory.collect::<Result<_, _>>()?,
        }))
    }

    /// Begins the exchange with a new runner, and forgets that with the previous one. Without an
    /// id there is no runner.
    pub fn replace_runner(&mut self, id: Option<&str>) -> Result<(), StoreError> {
        let replaced = self.write_new_runner(id);
        self.explain(replaced)
    }

    fn write_new_runner(&mut self, id: Option<&str>) -> Result<(), StoreError> {
        let transaction = self.connection.transaction()?;
        transaction.execute_batch(
            "DELETE FROM runner; DELETE FROM runner_commands; DELETE FROM host_memory;",
        )?;
        if let Some(id) = id {
            transaction.execute("INSERT INTO runner (id, handled) VALUES (?1, 0)", [id])?;
        }
        Ok(transaction.commit()?)
    }
}

/// Writes the progress of a batch as a part of its transaction.
pub(crate) fn write_progress(
    transaction: &Transaction<'_>,
    progress: &RunnerProgress,
) -> Result<(), StoreError> {
    if let Some(handled) = progress.handled {
        transaction
            .prepare_cached("UPDATE runner SET handled = ?1")?
            .execute([to_sql(handled)])?;
    }
    if let Some(received) = progress.received {
        transaction
            .prepare_cached("DELETE FROM runner_commands WHERE number <= ?1")?
            .execute([to_sql(received)])?;
    }
    for (number, command) in &progress.commands {
        transaction
            .prepare_cached("INSERT INTO runner_commands (number, command) VALUES (?1, ?2)")?
            .execute(params![to_sql(*number), command])?;
    }
    for part in &progress.memory {
        match &part.content {
            Some(content) => transaction
                .prepare_cached(
                    "INSERT OR REPLACE INTO host_memory (part, content) VALUES (?1, ?2)",
                )?
                .execute(params![part.name, content])?,
            None => transaction
                .prepare_cached("DELETE FROM host_memory WHERE part = ?1")?
                .execute([&part.name])?,
        };
    }
    Ok(())
}

/// Numbers count messages from one, so the conversions never saturate.
fn to_sql(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn from_sql(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}
