//! Reads a database without changing it, for diagnosis.

use std::path::Path;

use crate::copy::open_read_only;
use crate::data_directory;
use crate::error::StoreError;
use crate::schema;
use crate::store::is_corruption;

/// What a database contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreSummary {
    /// The number of sessions.
    pub sessions: usize,
    /// `true` if the next start of a host converts the database.
    pub needs_migration: bool,
}

/// Reads the database in a directory, whether a host uses it or not. Returns `None` if there is
/// no database yet.
///
/// # Errors
///
/// Returns an error if the database is damaged, or was written by a newer version.
pub fn inspect(directory: &Path) -> Result<Option<StoreSummary>, StoreError> {
    let Some(database) = data_directory::find_database(directory)? else {
        return Ok(None);
    };
    if database.metadata().is_ok_and(|file| file.len() == 0) {
        // A host that was killed at its first start left an empty file.
        return Ok(None);
    }
    read_summary(directory)
        .map(Some)
        .map_err(|error| match error {
            StoreError::Database(problem) if is_corruption(&problem) => StoreError::Corrupt {
                database,
                problem: problem.to_string(),
            },
            error => error,
        })
}

fn read_summary(directory: &Path) -> Result<StoreSummary, StoreError> {
    let connection = open_read_only(directory)?;
    let needs_migration = schema::is_outdated(&connection)?;
    let count = "SELECT count(*) FROM sessions";
    let sessions: i64 = connection.query_row(count, [], |row| row.get(0))?;
    Ok(StoreSummary {
        sessions: usize::try_from(sessions).unwrap_or(0),
        needs_migration,
    })
}
