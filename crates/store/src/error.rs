//! The errors of the store.

use std::path::PathBuf;

use agenthost_protocol::version::Release;
use agenthost_stdx::disk_space::StorageProblem;
use agenthost_versions::VersionChain;

/// Errors of opening, reading and writing a database.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another process holds the lock of the data directory.
    #[error(
        "data directory `{}` is in use by {holder}\nhint: `agenthost stop` ends that host; \
         `agenthost attach` joins its sessions",
        directory.display()
    )]
    InUse {
        /// The path of the data directory.
        directory: PathBuf,
        /// The process that holds the lock, as it identified itself in the lock file.
        holder: String,
    },
    /// SQLite reports corruption. A copy of the database was made.
    #[error(
        "database `{}` is damaged: {problem}\nhint: a copy is at `{}`; restore a backup, or move the whole data directory away to start without sessions",
        database.display(),
        copy.display()
    )]
    Damaged {
        database: PathBuf,
        copy: PathBuf,
        /// The error message of SQLite.
        problem: String,
    },
    /// SQLite reports corruption of a database that is only read.
    #[error("database `{}` is damaged: {problem}", database.display())]
    Corrupt {
        /// The path of the database.
        database: PathBuf,
        /// The error message of SQLite.
        problem: String,
    },
    /// The database existed before, and is missing or empty now.
    #[error(
        "database `{}` is missing or empty\nhint: put it back, or remove `{}` to start afresh",
        database.display(),
        mark.display()
    )]
    Missing {
        /// The expected path of the database.
        database: PathBuf,
        /// The file that records that the database was created.
        mark: PathBuf,
    },
    /// The database was written by a newer version of this program.
    #[error(
        "database version {found} is too new: this agenthost reads up to version {known}\n\
         hint: use a newer agenthost"
    )]
    TooNew {
        /// The schema version of the database.
        found: i64,
        /// The newest schema version that this program knows.
        known: i64,
    },
    /// The database has not been migrated by this version yet.
    #[error(
        "the database was written by an older agenthost\nhint: start the host once, which migrates it"
    )]
    TooOld,
    /// The rows are in the encoding of a protocol release that this program cannot migrate.
    #[error(
        "database is in the encoding of AHP {found}, and this version reads {} to {}\nhint: open \
         it with an agenthost that speaks {found}",
        VersionChain::OLDEST_ROWS,
        Release::CURRENT
    )]
    Release {
        /// The release, as text from the database.
        found: String,
    },
    /// A stored row cannot be decoded or applied.
    #[error("{what} in the log can't be read: {problem}")]
    Unreadable {
        /// A description of the row.
        what: String,
        /// The reason why it cannot be decoded or applied.
        problem: String,
    },
    /// An operation on a file failed.
    #[error("{what} `{}`: {source}", path.display())]
    File {
        /// The operation, as a verb.
        what: &'static str,
        /// The path of the file.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// There is no space for a write. Nothing was written, and a later attempt can succeed.
    #[error(
        "write to data directory `{}`: {problem}\nhint: {}, or use another directory with \
         `--data-dir`",
        directory.display(),
        problem.hint()
    )]
    NoSpace {
        /// The path of the data directory.
        directory: PathBuf,
        /// The reason.
        problem: StorageProblem,
    },
    /// A value could not be encoded as JSON.
    #[error("encode for the log: {0}")]
    Encode(#[from] serde_json::Error),
    /// SQLite returned an error.
    #[error("database: {0}")]
    Database(#[from] rusqlite::Error),
}
