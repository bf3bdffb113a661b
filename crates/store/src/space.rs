//! Handles a full disk: recognizes the errors of SQLite that it causes, and keeps some space in
//! reserve.
//!
//! A host that can't append has already taken the step whose writes it appends. The reserve gives
//! it the space to store these writes after all, so that it can go on without a gap.

use std::io;
use std::path::Path;

use agenthost_stdx::disk_space;
use agenthost_stdx::disk_space::StorageProblem;
use rusqlite::ErrorCode;

use crate::error::StoreError;
use crate::store::Store;

/// Size of the reserve. A batch has at most 512 KiB of input, and its writes a few times that,
/// because SQLite writes whole pages.
const RESERVE_BYTES: u64 = 8 * 1024 * 1024;

impl Store {
    /// Creates the reserve, unless it exists.
    ///
    /// Fails with [`StoreError::NoSpace`] if there is no space for it, or nothing is left beside
    /// it: the next batch would need the reserve again.
    pub fn restore_reserve(&self) -> Result<(), StoreError> {
        let path = self.directory.reserve_path();
        if path
            .metadata()
            .is_ok_and(|found| found.len() == RESERVE_BYTES)
        {
            return Ok(());
        }
        let removed = remove_if_exists(&path);
        let created = removed.and_then(|_| disk_space::allocate_file(&path, RESERVE_BYTES));
        created.map_err(|source| self.file_error("create", &path, source))?;
        match disk_space::find_problem(self.directory.path()) {
            Ok(Some(problem)) => {
                self.release_reserve()?;
                Err(no_space(self.directory.path(), problem))
            }
            // An unnamed file may not be possible here, and the reserve is.
            Ok(None) | Err(_) => Ok(()),
        }
    }

    /// Deletes the reserve, to make space for writes. Returns `false` if there was none.
    pub fn release_reserve(&self) -> Result<bool, StoreError> {
        let path = self.directory.reserve_path();
        remove_if_exists(&path).map_err(|source| self.file_error("remove", &path, source))
    }

    /// Returns the path of the data directory.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Returns the reason for which nothing can be stored, if that can be said without a write.
    pub fn find_storage_problem(&self) -> Option<StorageProblem> {
        disk_space::is_read_only(self.directory.path()).then_some(StorageProblem::ReadOnly)
    }

    /// Limits the size of the database, so that tests can fill it. The limit lasts until the
    /// store is closed.
    #[doc(hidden)]
    pub fn set_max_pages(&self, pages: u32) -> Result<(), StoreError> {
        let pragma = "max_page_count";
        Ok(self.connection.pragma_update(None, pragma, pages)?)
    }

    /// Replaces an error of SQLite that a full disk has caused.
    pub(crate) fn explain<T>(&self, result: Result<T, StoreError>) -> Result<T, StoreError> {
        result.map_err(|error| explain_error(self.directory.path(), error))
    }

    fn file_error(&self, what: &'static str, path: &Path, source: io::Error) -> StoreError {
        match StorageProblem::of(&source) {
            Some(problem) => no_space(self.directory.path(), problem),
            None => StoreError::File {
                what,
                path: path.to_owned(),
                source,
            },
        }
    }
}

/// Replaces an error that a full disk has caused. The error codes of SQLite do not say which
/// error of the system is behind them, so the system is asked.
pub(crate) fn explain_error(directory: &Path, error: StoreError) -> StoreError {
    let problem = match &error {
        StoreError::Database(rusqlite::Error::SqliteFailure(failure, _)) => match failure.code {
            ErrorCode::DiskFull => {
                let found = disk_space::find_problem(directory).ok().flatten();
                Some(found.unwrap_or(StorageProblem::Full))
            }
            ErrorCode::SystemIoFailure | ErrorCode::ReadOnly | ErrorCode::CannotOpen => {
                disk_space::find_problem(directory).ok().flatten()
            }
            _ => None,
        },
        StoreError::File { source, .. } => StorageProblem::of(source),
        _ => None,
    };
    match problem {
        Some(problem) => no_space(directory, problem),
        None => error,
    }
}

fn no_space(directory: &Path, problem: StorageProblem) -> StoreError {
    StoreError::NoSpace {
        directory: directory.to_owned(),
        problem,
    }
}

fn remove_if_exists(path: &Path) -> io::Result<bool> {
    match std::fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}
