//! Fetches packages from git repositories and archives, only at the request of the user.

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

/// Timeout for fetching one package from a slow network.
const FETCH_TIMEOUT: Duration = Duration::from_secs(300);

/// Maximum size of an archive in bytes.
const MAX_ARCHIVE_BYTES: u64 = 64 * 1024 * 1024;

/// The folder for fetched packages, inside of the data folder.
const FETCHED_FOLDER: &str = "plugins/fetched";

/// Extension of a package folder while it is being fetched.
const NEW_SUFFIX: &str = "new";

/// Extension of a package folder while it is being replaced.
const OLD_SUFFIX: &str = "old";

/// Extension of an archive file while it is being downloaded.
const ARCHIVE_SUFFIX: &str = "archive";

/// The source of a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PluginSource {
    /// A folder on this machine.
    Path(PathBuf),
    /// A git repository to clone.
    Git {
        /// The URL of the repository.
        url: String,
        /// A branch, tag or commit; `None` for the default branch.
        reference: Option<String>,
    },
    /// An archive: zip, or tar with gzip.
    Archive(ArchiveLocation),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArchiveLocation {
    /// A file on this machine.
    Path(PathBuf),
    /// An `https:` URL to download from.
    Url(String),
}

/// The reason why a package could not be fetched.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// A plugin in a local folder is used in place and never fetched.
    #[error("a plugin in a local folder is used in place and cannot be fetched")]
    NotFetchable,
    /// The address has an unsupported scheme, or the git reference looks like an option.
    #[error("cannot fetch a plugin from `{0}`: the address must be https, or ssh for git")]
    InvalidAddress(String),
    /// A program could not be run, or it failed.
    #[error("run `{program}`: {problem}")]
    ProgramFailed {
        /// The name of the program.
        program: &'static str,
        /// Its error output, or the reason why it could not be run.
        problem: String,
    },
    /// An archive is damaged, or contains an entry that is not permitted.
    #[error("unpack the archive: {0}")]
    InvalidArchive(String),
    /// A file operation failed.
    #[error("{doing} `{path}`: {error}")]
    File {
        /// The operation that was tried.
        doing: &'static str,
        /// The file or folder of the operation.
        path: PathBuf,
        /// The error of the operating system.
        error: std::io::Error,
    },
}

impl PluginSource {
    /// Returns the folder of the package's files, which exists after a fetch.
    pub fn folder(&self, data: &Path) -> PathBuf {
        match self {
            PluginSource::Path(path) => path.clone(),
            PluginSource::Git { .. } | PluginSource::Archive(_) => {
                let digest = short_digest(&[&self.address()]);
                data.join(FETCHED_FOLDER).join(digest)
            }
        }
    }

    /// Returns the name of the plugin before its manifest has been read.
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

    /// Returns the URI of a remote package, and `None` for a local folder.
    pub(crate) fn uri(&self) -> Option<Uri> {
        match self {
            PluginSource::Path(_) => None,
            PluginSource::Git { .. } | PluginSource::Archive(_) => Some(Uri::from(self.address())),
        }
    }

    /// Returns the problem to show if the package's files do not exist.
    pub(crate) fn absence_message(&self) -> String {
        match self {
            PluginSource::Path(path) => format!("there is no folder `{}`", path.display()),
            PluginSource::Git { .. } | PluginSource::Archive(_) => format!(
                "it is not fetched yet: run `agenthost customizations fetch {}`",
                self.name()
            ),
        }
    }

    /// Returns the address of the source for display: as the user wrote it, but without
    /// user name and password, and with the branch, tag or commit after a `#`.
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

/// Removes the user name and password from a URL. The user name of an `ssh:` URL without a
/// password stays.
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

/// Fetches a package, also if it was fetched before. The new files replace the previous
/// ones in one step after the fetch has succeeded. Blocks on the network.
///
/// # Errors
///
/// If the package can't be fetched; the previous files are still there then.
pub fn fetch(source: &PluginSource, data: &Path) -> Result<PathBuf, FetchError> {
    let target = source.folder(data);
    let home = target.parent().unwrap_or(data);
    std::fs::create_dir_all(home).map_err(file_error("create", home))?;
    remove_stale_fetches(data).map_err(file_error("clean up", home))?;
    let fresh = temporary_path(&target, NEW_SUFFIX);
    remove_folder(&fresh)?;
    let outcome = fetch_into(source, &fresh).and_then(|()| replace_package(&fresh, &target));
    if outcome.is_err() {
        remove_folder(&fresh).ignore_secondary();
    }
    outcome.map(|()| target)
}

/// Removes unfinished fetches of killed processes. A package that was about to be replaced
/// is restored.
///
/// # Errors
///
/// The first error, if files could not be removed. The other entries are removed anyway.
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

/// Returns a path beside a package for the unfinished work of this process.
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
        // The new package could not be moved, so the previous one is restored.
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
