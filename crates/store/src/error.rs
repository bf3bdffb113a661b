//! What can go wrong with what is remembered.

use std::path::PathBuf;

use agenthost_protocol::version::Release;
use agenthost_versions::VersionChain;

/// Why the store could not do something.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another host has the directory.
    #[error("data directory `{}` is in use by {holder}", directory.display())]
    InUse {
        /// The directory.
        directory: PathBuf,
        /// Who has it.
        holder: String,
    },
    /// The database can't be read. A copy was set aside.
    #[error(
        "database `{}` is damaged: {problem}\nhint: a copy is at `{}`; move the database away to start afresh",
        database.display(),
        copy.display()
    )]
    Damaged {
        /// The database.
        database: PathBuf,
        /// Where the copy is.
        copy: PathBuf,
        /// What SQLite says.
        problem: String,
    },
    /// The database was here, and is not any more.
    #[error(
        "database `{}` is gone or empty\nhint: put it back, or remove `{}` to start afresh",
        database.display(),
        mark.display()
    )]
    Missing {
        /// Where it was.
        database: PathBuf,
        /// What says that it was.
        mark: PathBuf,
    },
    /// The database was made by a newer version.
    #[error(
        "database has version {found}, and this version reads up to {known}: use a newer agenthost"
    )]
    TooNew {
        /// Its version.
        found: i64,
        /// The newest version that is known.
        known: i64,
    },
    /// The rows are in the words of a release that is not read.
    #[error(
        "database is in the words of AHP {found}, and this version reads {} to {}\nhint: open it \
         with an agenthost that speaks {found}",
        VersionChain::OLDEST_ROWS,
        Release::CURRENT
    )]
    Release {
        /// The release, as the database has it.
        found: String,
    },
    /// Something that was written can't be read back.
    #[error("{what} in the log can't be read: {problem}")]
    Unreadable {
        /// What it is.
        what: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A file could not be used.
    #[error("{what} `{}`: {source}", path.display())]
    File {
        /// What was tried.
        what: &'static str,
        /// With which file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A value could not be written as JSON.
    #[error("encode for the log: {0}")]
    Encode(#[from] serde_json::Error),
    /// The database refused.
    #[error("database: {0}")]
    Database(#[from] rusqlite::Error),
}
