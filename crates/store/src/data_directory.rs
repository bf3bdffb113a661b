//! The data directory of a host, locked so that one process at a time uses it.

use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use agenthost_stdx::private_file;

use crate::error::StoreError;

/// Directory in the data directory for the log files of a host in the background.
pub const LOG_DIR: &str = "logs";

/// File of the database, in the data directory.
pub const DATABASE_FILE: &str = "agenthost.db";

const LOCK_FILE: &str = "lock";

const RESERVE_FILE: &str = "reserve";

/// Returns `true` if a process uses the data directory.
pub fn is_in_use(directory: &Path) -> io::Result<bool> {
    match open_lock(directory)? {
        None => Ok(false),
        Some(lock) => match lock.try_lock_shared() {
            Ok(()) => Ok(false),
            Err(TryLockError::WouldBlock) => Ok(true),
            Err(TryLockError::Error(error)) => Err(error),
        },
    }
}

/// Blocks the thread until no process uses the data directory.
pub fn wait_until_free(directory: &Path) -> io::Result<()> {
    match open_lock(directory)? {
        None => Ok(()),
        Some(lock) => lock.lock_shared(),
    }
}

/// Returns the path of the database in a directory, or `None` if none was ever created.
pub(crate) fn find_database(directory: &Path) -> Result<Option<PathBuf>, StoreError> {
    let (database, marker) = (database_path(directory), marker_path(directory));
    if database.exists() {
        return Ok(Some(database));
    }
    if marker.exists() {
        return Err(StoreError::Missing {
            database,
            mark: marker,
        });
    }
    Ok(None)
}

fn database_path(directory: &Path) -> PathBuf {
    directory.join("agenthost.db")
}

fn marker_path(directory: &Path) -> PathBuf {
    directory.join("agenthost.made")
}

/// Opens the lock file, if there is one.
fn open_lock(directory: &Path) -> io::Result<Option<File>> {
    match File::open(directory.join(LOCK_FILE)) {
        Ok(lock) => Ok(Some(lock)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// A data directory without a host. No host can start while this value exists.
#[derive(Debug)]
pub struct DirectoryLock {
    _directory: DataDirectory,
}

/// Locks a data directory, to change its files without a host.
///
/// # Errors
///
/// If a host uses the directory, or if it can't be locked.
pub fn lock_directory(path: &Path) -> Result<DirectoryLock, StoreError> {
    let directory = DataDirectory::acquire(path)?;
    Ok(DirectoryLock {
        _directory: directory,
    })
}

/// A data directory that is locked until the process ends.
#[derive(Debug)]
pub(crate) struct DataDirectory {
    path: PathBuf,
    /// The operating system releases the lock when the process ends, even if it is killed.
    _lock: File,
}

impl DataDirectory {
    /// Creates the directory if it does not exist, and locks it.
    pub(crate) fn acquire(path: &Path) -> Result<Self, StoreError> {
        create_private_directory(path)?;
        let lock_path = path.join(LOCK_FILE);
        let failed = |what| {
            let path = lock_path.clone();
            move |source| StoreError::File { what, path, source }
        };
        let mut lock = open_private(&lock_path)?;
        match lock_with_retry(&lock) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                lock.read_to_string(&mut holder).map_err(failed("read"))?;
                let holder = match holder.trim() {
                    "" => "another process".to_owned(),
                    holder => holder.to_owned(),
                };
                return Err(StoreError::InUse {
                    directory: path.to_owned(),
                    holder,
                });
            }
            Err(TryLockError::Error(source)) => return Err(failed("lock")(source)),
        }
        // A second process shows this text in its error message.
        let holder = format!("process {}\n", std::process::id());
        lock.set_len(0)
            .and_then(|()| lock.seek(SeekFrom::Start(0)))
            .and_then(|_| lock.write_all(holder.as_bytes()))
            .map_err(failed("write"))?;
        Ok(DataDirectory {
            path: path.to_owned(),
            _lock: lock,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn database_path(&self) -> PathBuf {
        database_path(&self.path)
    }

    /// Returns the path of a file that only takes up space.
    pub(crate) fn reserve_path(&self) -> PathBuf {
        self.path.join(RESERVE_FILE)
    }

    /// Returns the path of a file that exists once the database was created. Without this
    /// file, a lost database could not be distinguished from one that never existed.
    fn marker_path(&self) -> PathBuf {
        marker_path(&self.path)
    }

    /// Creates an empty database if none was ever created. Other users cannot read it.
    pub(crate) fn create_database(&self) -> Result<(), StoreError> {
        let (database, marker) = (self.database_path(), self.marker_path());
        let length = database.metadata().map(|found| found.len());
        if marker.exists() && length.is_ok_and(|length| length > 0) {
            return Ok(());
        }
        if marker.exists() {
            return Err(StoreError::Missing {
                database,
                mark: marker,
            });
        }
        self.write_gitignore()?;
        open_private(&database)?;
        open_private(&marker)?;
        Ok(())
    }

    /// Writes a `.gitignore` that excludes the directory, if it contains only files of the
    /// host. The directory may be inside a repository of the user, whose status must not
    /// list database files.
    fn write_gitignore(&self) -> Result<(), StoreError> {
        let failed = |what, path: &Path| {
            let path = path.to_owned();
            move |source| StoreError::File { what, path, source }
        };
        let list = std::fs::read_dir(&self.path).map_err(failed("list", &self.path))?;
        let own = [LOCK_FILE, LOG_DIR];
        let mut names = list.map(|entry| entry.map(|entry| entry.file_name()));
        if names.all(|name| name.is_ok_and(|name| own.iter().any(|own| name == *own))) {
            let path = self.path.join(".gitignore");
            let mut file = open_private(&path)?;
            file.write_all(b"*\n").map_err(failed("write", &path))?;
        }
        Ok(())
    }
}

/// Takes the lock, and retries for up to 500 ms. A child process of a host that has ended
/// holds a copy of the lock's descriptor between `fork` and `exec`.
fn lock_with_retry(lock: &File) -> Result<(), TryLockError> {
    let deadline = Instant::now() + Duration::from_millis(500);
    loop {
        match lock.try_lock() {
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(10));
            }
            done => return done,
        }
    }
}

/// Opens a file that only its owner can read, or creates it.
fn open_private(path: &Path) -> Result<File, StoreError> {
    private_file::open_read_write(path).map_err(|source| StoreError::File {
        what: "open",
        path: path.to_owned(),
        source,
    })
}

/// Creates the directory, or checks that no other user can write to it. It contains prompts
/// and tokens, so other users must not read it, either.
fn create_private_directory(path: &Path) -> Result<(), StoreError> {
    private_file::create_directory(path).map_err(|source| StoreError::File {
        what: match source.kind() {
            std::io::ErrorKind::PermissionDenied => "use",
            _ => "create",
        },
        path: path.to_owned(),
        source,
    })
}

/// Copies a damaged database and its write-ahead log to an unused name, and returns the
/// path of the copy. An identical copy of an earlier call is reused.
pub(crate) fn copy_damaged(database: &Path) -> Result<PathBuf, StoreError> {
    let name = |number: u32| database.with_extension(format!("db.damaged-{number}"));
    let mut number = 1;
    let copy = loop {
        let copy = name(number);
        if !copy.exists() {
            break copy;
        }
        if has_same_content(database, &copy).unwrap_or(false) {
            return Ok(copy);
        }
        number += 1;
    };
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| StoreError::File {
            what: "copy",
            path,
            source,
        }
    };
    std::fs::copy(database, &copy).map_err(failed(database))?;
    let wal = database.with_extension("db-wal");
    if wal.exists() {
        let mut wal_copy = copy.clone().into_os_string();
        wal_copy.push("-wal");
        std::fs::copy(&wal, wal_copy).map_err(failed(&wal))?;
    }
    Ok(copy)
}

fn has_same_content(one: &Path, other: &Path) -> std::io::Result<bool> {
    use std::io::{BufReader, Read};
    if one.metadata()?.len() != other.metadata()?.len() {
        return Ok(false);
    }
    let one = BufReader::new(File::open(one)?).bytes();
    let mut other = BufReader::new(File::open(other)?).bytes();
    for byte in one {
        if Some(byte?) != other.next().transpose()? {
            return Ok(false);
        }
    }
    Ok(true)
}
