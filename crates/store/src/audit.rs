//! The audit log: an append-only table whose entries are linked by hashes.
//!
//! The hash of an entry covers all of its fields and the hash of the entry before it. So an entry
//! that was altered, removed or inserted afterwards is found ([`verification`]), unless all later
//! entries were written again as well.

pub(crate) mod verification;

use std::path::Path;

use agenthost_core::AuditEntry;
use agenthost_protocol::number::Millis;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::Object;
use rusqlite::{Connection, Row, Transaction, params};
use sha2::{Digest, Sha256};

use crate::copy::open_read_only;
use crate::error::StoreError;
use crate::schema;

/// Maximum number of entries, about 20 MB. The oldest are removed beyond it.
const MAX_AUDIT_ENTRIES: i64 = 50_000;

/// Number of entries that are removed at once.
const PRUNED_ENTRIES: i64 = 1_000;

/// Begins the text that is hashed, so that another format can follow.
const HASH_FORMAT: &str = "agenthost audit 1";

/// An entry of the audit log, as it is stored.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditRecord {
    /// Counts the entries from 1 on.
    pub number: i64,
    pub at: Millis,
    /// The event, for example `session.removed`.
    pub kind: String,
    pub session: Option<Uri>,
    /// The peer that caused it, or the host.
    pub actor: Object,
    pub details: Object,
    /// SHA-256 over the other fields and the hash of the entry before it.
    pub hash: String,
}

/// Selects entries.
#[derive(Debug, Clone, Default)]
pub struct AuditFilter {
    /// Only entries about this session.
    pub session: Option<Uri>,
    /// Only entries from this time on.
    pub since: Option<Millis>,
}

/// The fields of a row, undecoded.
#[derive(Debug)]
struct AuditRow {
    number: i64,
    at: i64,
    kind: String,
    session: Option<String>,
    actor: String,
    details: String,
    previous: String,
    hash: String,
}

/// One end of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
struct AuditEnd {
    number: i64,
    hash: String,
}

const SELECT_ROWS: &str =
    "SELECT number, at, kind, session, actor, details, previous, hash FROM audit";

/// Appends an entry, and removes the oldest ones beyond the limit.
pub(crate) fn append_entry(
    transaction: &Transaction<'_>,
    entry: &AuditEntry,
    now: Millis,
) -> Result<(), StoreError> {
    let last = read_end(transaction, "last")?;
    let mut row = AuditRow {
        number: last.number + 1,
        at: now.0,
        kind: entry.kind.name().to_owned(),
        session: entry.session.as_ref().map(Uri::to_string),
        actor: serde_json::to_string(&entry.actor.to_object())?,
        details: serde_json::to_string(&entry.details)?,
        previous: last.hash,
        hash: String::new(),
    };
    row.hash = row.compute_hash();
    transaction
        .prepare_cached(
            "INSERT INTO audit (number, at, kind, session, actor, details, previous, hash)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?
        .execute(params![
            row.number,
            row.at,
            row.kind,
            row.session,
            row.actor,
            row.details,
            row.previous,
            row.hash
        ])?;
    write_end(transaction, "last", row.number, &row.hash)?;
    prune(transaction, row.number)
}

/// Removes the oldest entries if there are too many. The hash of the last removed one stays, so
/// that the first entry is still linked.
fn prune(transaction: &Transaction<'_>, last: i64) -> Result<(), StoreError> {
    let removed = read_end(transaction, "removed")?;
    if last - removed.number < MAX_AUDIT_ENTRIES + PRUNED_ENTRIES {
        return Ok(());
    }
    let until = last - MAX_AUDIT_ENTRIES;
    let hash: String = transaction.query_row(
        "SELECT hash FROM audit WHERE number <= ?1 ORDER BY number DESC LIMIT 1",
        [until],
        |row| row.get(0),
    )?;
    transaction.execute("DELETE FROM audit WHERE number <= ?1", [until])?;
    write_end(transaction, "removed", until, &hash)
}

/// Reads the entries of a data directory, the oldest first. A host may run meanwhile.
///
/// # Errors
///
/// If the database can't be read, has another version than this program, or has an entry that
/// is malformed.
pub fn read_audit(
    directory: &Path,
    filter: &AuditFilter,
    mut visit: impl FnMut(AuditRecord),
) -> Result<(), StoreError> {
    let connection = open_read_only(directory)?;
    schema::check_version(&connection)?;
    let query =
        format!("{SELECT_ROWS} WHERE at >= ?1 AND (?2 IS NULL OR session = ?2) ORDER BY number");
    let mut query = connection.prepare(&query)?;
    let since = filter.since.map_or(i64::MIN, |since| since.0);
    let session = filter.session.as_ref().map(Uri::as_str);
    let mut rows = query.query(params![since, session])?;
    while let Some(row) = rows.next()? {
        visit(AuditRow::read(row)?.decode()?);
    }
    Ok(())
}

impl AuditRow {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(AuditRow {
            number: row.get(0)?,
            at: row.get(1)?,
            kind: row.get(2)?,
            session: row.get(3)?,
            actor: row.get(4)?,
            details: row.get(5)?,
            previous: row.get(6)?,
            hash: row.get(7)?,
        })
    }

    fn compute_hash(&self) -> String {
        let (number, at) = (self.number.to_string(), self.at.to_string());
        let fields = [
            HASH_FORMAT,
            &self.previous,
            &number,
            &at,
            &self.kind,
            self.session.as_deref().unwrap_or_default(),
            &self.actor,
            &self.details,
        ];
        let mut digest = Sha256::new();
        for field in fields {
            // With its length before it, a field can't contain the beginning of the next one.
            digest.update((field.len() as u64).to_be_bytes());
            digest.update(field);
        }
        let digest = digest.finalize();
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn decode(self) -> Result<AuditRecord, StoreError> {
        let number = self.number;
        let parse = |text: &str| {
            serde_json::from_str(text).map_err(|error| StoreError::Unreadable {
                what: format!("entry {number} of the audit log"),
                problem: error.to_string(),
            })
        };
        Ok(AuditRecord {
            number,
            at: Millis(self.at),
            actor: parse(&self.actor)?,
            details: parse(&self.details)?,
            kind: self.kind,
            session: self.session.map(Uri::from),
            hash: self.hash,
        })
    }
}

fn read_end(connection: &Connection, name: &str) -> Result<AuditEnd, StoreError> {
    let mut query =
        connection.prepare_cached("SELECT number, hash FROM audit_ends WHERE name = ?1")?;
    Ok(query.query_row([name], |row| {
        Ok(AuditEnd {
            number: row.get(0)?,
            hash: row.get(1)?,
        })
    })?)
}

fn write_end(
    transaction: &Transaction<'_>,
    name: &str,
    number: i64,
    hash: &str,
) -> Result<(), StoreError> {
    transaction
        .prepare_cached("UPDATE audit_ends SET number = ?2, hash = ?3 WHERE name = ?1")?
        .execute(params![name, number, hash])?;
    Ok(())
}
