//! Migrates rows that a host of an earlier protocol release wrote.
//!
//! Rows are in the encoding of the protocol release that the host spoke. When the database
//! is opened, rows of an earlier release are migrated once, with the same steps that
//! upgrade messages of clients of that release. Afterwards they do not differ from other
//! rows.

use agenthost_protocol::channel::ChannelKind;
use agenthost_protocol::number::Millis;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::version::{Release, Version};
use agenthost_protocol::wire::{Json, Object};
use agenthost_versions::{StoredRow, VersionChain};
use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

use crate::error::StoreError;

/// Migrates every row with the SQL function `lift`. Its arguments are the kind of the row,
/// its text, the session of its channel, and the time at which it was written.
const MIGRATE_ROWS_SQL: &str = "
    UPDATE log SET envelope = lift('envelope', envelope,
        (SELECT session FROM channels WHERE channels.channel = log.channel), at);
    UPDATE turns SET content = lift('Turn', content,
        (SELECT session FROM channels WHERE channels.channel = turns.channel), 0);
    UPDATE channels SET state = lift('state', state, session,
        (SELECT coalesce(max(at), 0) FROM log WHERE log.channel = channels.channel));
    UPDATE sessions SET summary = lift('SessionSummary', summary, session, 0);
    UPDATE numbers SET value =
        (SELECT coalesce(sum(length(CAST(envelope AS BLOB))), 0) FROM log)
        WHERE name = 'log_bytes';
";

/// Checks that all rows are in the encoding of the current release.
pub(crate) fn check_release(connection: &Connection) -> Result<(), StoreError> {
    let found = connection.query_row("SELECT release FROM protocol", [], |row| row.get(0));
    let found: String = found.optional()?.unwrap_or_else(|| "(none)".to_owned());
    match Version::parse(&found) {
        Some(Version::CURRENT) => Ok(()),
        Some(version) if version < Version::CURRENT => Err(StoreError::TooOld),
        _ => Err(StoreError::Release { found }),
    }
}

/// Migrates all rows to the current release in one transaction.
pub(crate) fn migrate_rows(connection: &mut Connection) -> Result<(), StoreError> {
    let found = connection.query_row("SELECT release FROM protocol", [], |row| row.get(0));
    let found: String = found.optional()?.unwrap_or_else(|| "(none)".to_owned());
    let version = Version::parse(&found);
    if version == Some(Version::CURRENT) {
        return Ok(());
    }
    let older = version.filter(|version| *version < Version::CURRENT);
    let release = older.and_then(Release::of);
    let Some(release) = release.filter(|release| *release >= VersionChain::OLDEST_ROWS) else {
        return Err(StoreError::Release { found });
    };
    let chain = VersionChain::for_release(release);
    connection.create_scalar_function("lift", 4, FunctionFlags::SQLITE_UTF8, move |context| {
        migrate_row(&chain, context)
    })?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.execute_batch(MIGRATE_ROWS_SQL)?;
    let current = Version::CURRENT.to_string();
    transaction.execute("UPDATE protocol SET release = ?1", [current])?;
    transaction.commit()?;
    connection.remove_function("lift", 4)?;
    Ok(())
}

/// Migrates one row. A row that cannot be parsed is left unchanged: reading it later
/// returns the error.
fn migrate_row(chain: &VersionChain, context: &Context<'_>) -> rusqlite::Result<String> {
    let what: String = context.get(0)?;
    let text: String = context.get(1)?;
    let session: Option<Uri> = context.get::<Option<String>>(2)?.map(Uri::from);
    let row = StoredRow {
        session: session.as_ref(),
        written_at: Millis(context.get(3)?),
    };
    let Ok(mut json) = serde_json::from_str::<Object>(&text) else {
        return Ok(text);
    };
    match what.as_str() {
        "envelope" => {
            if let Some(Json::Object(action)) = json.get_mut("action") {
                chain.migrate_action(&row, action);
            }
        }
        "state" => {
            if let Some(kind) = ChannelKind::of_state(&json) {
                chain.migrate_state(&row, kind, &mut json);
            }
        }
        part => chain.migrate_part(&row, part, &mut json),
    }
    Ok(Json::Object(json).to_string())
}
