//! Packages from elsewhere: fetched when a person asks for it, never by itself.

mod archive;
mod download;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzz;

use std::path::{Path, PathBuf};
use std::time::Duration;

use agenthost_protocol::uri::Uri;
use agenthost_stdx::result::{IgnoreMissing, IgnoreResult};
use nix::errno::Errno;
use nix::sys::signal::kill;
use nix::unistd::Pid;

use crate::package::identity::short_digest;

/// How long fetching may take.
const FETCH_TIMEOUT: Duration = Duration::from_secs(300);

/// Most bytes of an archive.
const MAX_ARCHIVE_BYTES: u64 = 64 * 1024 * 1024;

/// Where fetched packages are, in the folder of packages.
const FETCHED_FOLDER: &str = "plugins/fetched";

/// A package that is being fetched.
const NEW_SUFFIX: &str = "new";

/// A package that is being replaced.
const OLD_SUFFIX: &str = "old";

/// An archive that is being downloaded.
const ARCHIVE_SUFFIX: &str = "archive";

/// Where a package comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PluginSource {
    /// A folder on this machine.
    Path(PathBuf),
    /// A repository of git.
    Git {
        /// Its address.
        url: String,
        /// A branch, tag or commit; its default branch if there is none.
        reference: Option<String>,
    },
    /// An archive: zip, or tar with gzip.
    Archive(ArchiveLocation),
}

/// Where an archive is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArchiveLocation {
    /// On this machine.
    Path(PathBuf),
    /// At an `https:` address.
    Url(String),
}

/// Why a package could not be fetched.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// A folder is there already.
    #[error("a plugin in a folder is not fetched")]
    NotFetchable,
    /// An address that can't be used.
    #[error("`{0}` is not an address that plugins are fetched from: https, or ssh for git")]
    InvalidAddress(String),
    /// A program could not be run, or failed.
    #[error("run `{program}`: {problem}")]
    ProgramFailed {
        /// The program.
        program: &'static str,
        /// What it said, or what happened to it.
        problem: String,
    },
    /// An archive is broken, or has something in it that it should not have.
    #[error("unpack the archive: {0}")]
    InvalidArchive(String),
    /// Something about files.
    #[error("{doing} `{path}`: {error}")]
    File {
        /// What was tried.
        doing: &'static str,
        /// With what.
        path: PathBuf,
        /// What happened.
        error: std::io::Error,
    },
}

impl PluginSource {
    /// Where its files are, or would be.
    pub fn folder(&self, data: &Path) -> PathBuf {
        match self {
            PluginSource::Path(path) => path.clone(),
            PluginSource::Git { .. } | PluginSource::Archive(_) => {
                let digest = short_digest(&[&self.address()]);
                data.join(FETCHED_FOLDER).join(digest)
            }
        }
    }

    /// What it is called until it says so itself.
    pub fn name(&self) -> String {
        let address = match self {
            PluginSource::Git { url, .. } => url.clone(),
            PluginSource::Path(_) | PluginSource::Archive(_) => self.address(),
        };
        let last = address.trim_end_matches('/').rsplit(['/', ':']).next();
        let last = last.unwrap_or_default();
        let endings = [".git", ".zip", ".tgz", ".tar.gz"];
        let name = endings.iter().find_map(|ending| last.strip_suffix(ending));
        name.unwrap_or(last).to_owned()
    }

    /// Its address, unless that is where its files are.
    pub(crate) fn uri(&self) -> Option<Uri> {
        match self {
            PluginSource::Path(_) => None,
            PluginSource::Git { .. } | PluginSource::Archive(_) => Some(Uri::from(self.address())),
        }
    }

    /// What is wrong if its files are not there.
    pub(crate) fn absence_message(&self) -> String {
        match self {
            PluginSource::Path(path) => format!("there is no folder `{}`", path.display()),
            PluginSource::Git { .. } | PluginSource::Archive(_) => format!(
                "it was not fetched yet: run `agenthost customizations fetch {}`",
                self.name()
            ),
        }
    }

    /// Where it comes from, for all to see: as a person wrote it, but without a
    /// name and a password; with the branch, tag or commit behind a `#`.
    pub fn address(&self) -> String {
        match self {
            PluginSource::Path(path) | PluginSource::Archive(ArchiveLocation::Path(path)) => {
                path.to_string_lossy().into_owned()
            }
            PluginSource::Git { url, reference } => match reference {
                Some(reference) => format!("{}#{reference}", redact_credentials(url)),
                None => redact_credentials(url),
            },
            PluginSource::Archive(ArchiveLocation::Url(url)) => redact_credentials(url),
        }
    }
}

/// An address without what only its owner should know.
fn redact_credentials(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let host = rest.split('/').next().unwrap_or_default();
    match host.rsplit_once('@') {
        Some((user, _)) if user.contains(':') || scheme != "ssh" => {
            format!(
                "{scheme}://{}",
                rest.get(user.len() + 1..).unwrap_or_default()
            )
        }
        _ => url.to_owned(),
    }
}

/// Fetches a package, or fetches it again. What was there is replaced at once
/// when all has gone well, and stays if not. Waits for the network.
///
/// # Errors
///
/// If it can't be fetched; what was there is still there then.
pub fn fetch(source: &PluginSource, data: &Path) -> Result<PathBuf, FetchError> {
    let target = source.folder(data);
    let home = target.parent().unwrap_or(data);
    std::fs::create_dir_all(home).map_err(file_error("make", home))?;
    remove_stale_fetches(data).map_err(file_error("tidy", home))?;
    let fresh = temporary_path(&target, NEW_SUFFIX);
    remove_folder(&fresh)?;
    let outcome = fetch_into(source, &fresh).and_then(|()| replace_package(&fresh, &target));
    if outcome.is_err() {
        remove_folder(&fresh).ignore_secondary();
    }
    outcome.map(|()| target)
}

/// Removes what fetches left that were killed. A package that was about to be
/// replaced is put back.
///
/// # Errors
///
/// The first of all, if something could not be removed.
pub(crate) fn remove_stale_fetches(data: &Path) -> std::io::Result<()> {
    let entries = match data.join(FETCHED_FOLDER).read_dir() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    let mut result = Ok(());
    for entry in entries {
        let swept = entry.and_then(|entry| remove_stale_fetch(&entry.path()));
        result = result.and(swept);
    }
    result
}

fn remove_stale_fetch(path: &Path) -> std::io::Result<()> {
    let kind = path.extension().and_then(|kind| kind.to_str());
    let Some((kind, process)) = kind.and_then(|kind| kind.rsplit_once('-')) else {
        return Ok(());
    };
    // A process that does not exist has no files in use.
    let alive = |process: i32| kill(Pid::from_raw(process), None) != Err(Errno::ESRCH);
    if !process.parse().is_ok_and(|process| !alive(process)) {
        return Ok(());
    }
    let target = path.with_extension("");
    match kind {
        OLD_SUFFIX if !target.exists() => std::fs::rename(path, target),
        OLD_SUFFIX | NEW_SUFFIX => std::fs::remove_dir_all(path),
        ARCHIVE_SUFFIX => std::fs::remove_file(path),
        _ => Ok(()),
    }
}

/// A path beside a package for what this process has not finished with it.
fn temporary_path(target: &Path, kind: &str) -> PathBuf {
    target.with_extension(format!("{kind}-{}", std::process::id()))
}

fn fetch_into(source: &PluginSource, fresh: &Path) -> Result<(), FetchError> {
    match source {
        PluginSource::Path(_) => Err(FetchError::NotFetchable),
        PluginSource::Git { url, reference } => {
            download::clone_repository(url, reference.as_deref(), fresh)
        }
        PluginSource::Archive(ArchiveLocation::Path(path)) => archive::unpack(path, fresh),
        PluginSource::Archive(ArchiveLocation::Url(url)) => {
            let file = temporary_path(&fresh.with_extension(""), ARCHIVE_SUFFIX);
            let outcome =
                download::download_file(url, &file).and_then(|()| archive::unpack(&file, fresh));
            std::fs::remove_file(&file).ignore_missing("failed to remove a downloaded archive");
            outcome
        }
    }
}

fn replace_package(fresh: &Path, target: &Path) -> Result<(), FetchError> {
    let old = temporary_path(target, OLD_SUFFIX);
    remove_folder(&old)?;
    match std::fs::rename(target, &old) {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(file_error("move", target)(error)),
    }
    if let Err(error) = std::fs::rename(fresh, target) {
        // What was there comes back.
        std::fs::rename(&old, target).log_err("failed to restore a package");
        return Err(file_error("move", fresh)(error));
    }
    remove_folder(&old)
}

fn remove_folder(folder: &Path) -> Result<(), FetchError> {
    match std::fs::remove_dir_all(folder) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(file_error("remove", folder)(error)),
    }
}

fn file_error(doing: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> FetchError {
    let path = path.to_owned();
    move |error| FetchError::File { doing, path, error }
}
