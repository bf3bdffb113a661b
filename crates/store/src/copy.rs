//! Read-only access to the database of a data directory, also while a host uses it.

use std::path::Path;
use std::time::Duration;

use agenthost_stdx::private_file;
use rusqlite::{Connection, OpenFlags};

use crate::data_directory::DATABASE_FILE;
use crate::error::StoreError;
use crate::space;

/// Copies the database of a data directory to a new file: the state after one batch, while a host
/// may append further ones. Unused pages are left out.
pub fn copy_database(directory: &Path, target: &Path) -> Result<(), StoreError> {
    let connection = open_read_only(directory)?;
    // SQLite accepts an empty file, and would create one that other users can read.
    let created = private_file::open_read_write(target);
    created.map_err(|source| StoreError::File {
        what: "create",
        path: target.to_owned(),
        source,
    })?;
    let copied = connection.execute("VACUUM INTO ?1", [target.to_string_lossy()]);
    let folder = target.parent().unwrap_or(directory);
    copied
        .map(drop)
        .map_err(|error| space::explain_error(folder, error.into()))
}

/// Opens the database of a data directory for reading. Neither the database nor its files change.
pub(crate) fn open_read_only(directory: &Path) -> Result<Connection, StoreError> {
    let path = directory.join(DATABASE_FILE);
    if let Err(source) = path.metadata() {
        let what = "open";
        return Err(StoreError::File { what, path, source });
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let has_log = path.with_extension("db-wal").exists();
    let connection = match path.to_str().filter(|_| !has_log) {
        // Without a write-ahead log no process writes to the database. SQLite would create one,
        // unless it is told that the file does not change.
        Some(path) => {
            let uri = format!("file:{}?immutable=1", escape_uri_path(path));
            Connection::open_with_flags(uri, flags | OpenFlags::SQLITE_OPEN_URI)?
        }
        None => Connection::open_with_flags(&path, flags)?,
    };
    connection.busy_timeout(Duration::from_secs(5))?;
    Ok(connection)
}

/// Escapes the characters that end the path of a URI.
fn escape_uri_path(path: &str) -> String {
    path.replace('%', "%25")
        .replace('?', "%3f")
        .replace('#', "%23")
}
