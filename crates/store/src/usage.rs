//! Measures what the rows of a database use, for each session.

use std::collections::BTreeMap;
use std::path::Path;

use agenthost_protocol::uri::Uri;
use rusqlite::Connection;

use crate::copy::open_read_only;
use crate::error::StoreError;
use crate::schema;

/// The bytes that the rows of a database use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoreUsage {
    /// The rows of each session that is stored.
    pub sessions: BTreeMap<Uri, SessionUsage>,
    /// Actions of the host itself, and of removed sessions.
    pub other_log_bytes: u64,
    /// The audit log.
    pub audit_bytes: u64,
    /// Unused pages, which the next rows use.
    pub free_bytes: u64,
}

/// The bytes that the rows of a session use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionUsage {
    pub title: String,
    /// Actions in the log.
    pub log_bytes: u64,
    /// The states of its channels, with the turns of its chats.
    pub chat_bytes: u64,
}

/// Measures the database of a data directory. A host may run meanwhile.
///
/// # Errors
///
/// If the database can't be read, or has another version than this program.
pub fn measure_database(directory: &Path) -> Result<StoreUsage, StoreError> {
    let connection = open_read_only(directory)?;
    // One transaction reads one state, although a running host appends.
    let transaction = connection.unchecked_transaction()?;
    schema::check_version(&transaction)?;
    let mut usage = StoreUsage::default();
    read_titles(&transaction, &mut usage.sessions)?;
    let log = "SELECT channels.session, sum(length(CAST(envelope AS BLOB)))
        FROM log LEFT JOIN channels USING (channel) GROUP BY channels.session";
    let mut other_log_bytes = 0;
    read_sizes(&transaction, log, |session, bytes| match session {
        Some(session) => usage.sessions.entry(session).or_default().log_bytes += bytes,
        None => other_log_bytes += bytes,
    })?;
    let chats = "SELECT session, sum(bytes) FROM (
            SELECT session, length(CAST(state AS BLOB)) AS bytes FROM channels
            UNION ALL
            SELECT session, length(CAST(content AS BLOB)) FROM turns JOIN channels USING (channel)
            UNION ALL
            SELECT session, length(CAST(summary AS BLOB)) FROM sessions
        ) WHERE session IS NOT NULL GROUP BY session";
    read_sizes(&transaction, chats, |session, bytes| {
        if let Some(session) = session {
            usage.sessions.entry(session).or_default().chat_bytes += bytes;
        }
    })?;
    usage.other_log_bytes = other_log_bytes;
    usage.audit_bytes = read_number(
        &transaction,
        "SELECT coalesce(sum(length(actor) + length(details) + length(hash) * 2 + 40), 0) FROM audit",
    )?;
    let pages = read_number(&transaction, "PRAGMA freelist_count")?;
    usage.free_bytes = pages * read_number(&transaction, "PRAGMA page_size")?;
    Ok(usage)
}

fn read_titles(
    connection: &Connection,
    sessions: &mut BTreeMap<Uri, SessionUsage>,
) -> Result<(), StoreError> {
    let titles = "SELECT session, coalesce(json_extract(summary, '$.title'), '') FROM sessions";
    let mut query = connection.prepare(titles)?;
    let mut rows = query.query([])?;
    while let Some(row) = rows.next()? {
        let session: String = row.get(0)?;
        let title = row.get(1)?;
        sessions.entry(Uri::from(session)).or_default().title = title;
    }
    Ok(())
}

fn read_sizes(
    connection: &Connection,
    query: &str,
    mut add: impl FnMut(Option<Uri>, u64),
) -> Result<(), StoreError> {
    let mut query = connection.prepare(query)?;
    let mut rows = query.query([])?;
    while let Some(row) = rows.next()? {
        let session: Option<String> = row.get(0)?;
        add(session.map(Uri::from), row.get::<_, i64>(1)?.unsigned_abs());
    }
    Ok(())
}

fn read_number(connection: &Connection, query: &str) -> Result<u64, StoreError> {
    let found: i64 = connection.query_row(query, [], |row| row.get(0))?;
    Ok(found.unsigned_abs())
}
