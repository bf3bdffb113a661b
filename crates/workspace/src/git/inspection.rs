//! Inspects the code of a repository before any command runs in it.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::config::RepositoryConfig;
use super::{GitCommand, GitError, RepositoryCode, child};

/// Maximum number of nested repositories that operations inspect.
const MAX_NESTED_REPOSITORIES: usize = 200;

/// The configuration and the code of a repository.
#[derive(Debug, Default)]
pub(crate) struct RepositoryInspection {
    pub(super) config: RepositoryConfig,
    /// `None` outside of a repository.
    location: Option<RepositoryLocation>,
    /// The code, inspected on first use. The hooks have to be read for it, and queries rarely
    /// need it.
    code: OnceLock<Option<RepositoryCode>>,
}

#[derive(Debug)]
struct RepositoryLocation {
    common_dir: PathBuf,
    top: Option<PathBuf>,
}

impl RepositoryInspection {
    /// Returns the code that operations on the repository would run.
    pub(super) fn code(&self) -> Result<Option<&RepositoryCode>, GitError> {
        if let Some(known) = self.code.get() {
            return Ok(known.as_ref());
        }
        let found = match &self.location {
            Some(location) => {
                let top = location.top.as_deref();
                RepositoryCode::find(&self.config, &location.common_dir, top)?
            }
            None => None,
        };
        Ok(self.code.get_or_init(|| found).as_ref())
    }
}

impl GitCommand {
    /// Returns the inspection of the repository, done on first use.
    pub(super) fn inspection(&self) -> Result<&RepositoryInspection, GitError> {
        if let Some(known) = self.inspection.get() {
            return Ok(known);
        }
        let found = self.inspect()?;
        Ok(self.inspection.get_or_init(|| found))
    }

    fn inspect(&self) -> Result<RepositoryInspection, GitError> {
        let places = self.rev_parse([
            "--path-format=absolute",
            "--absolute-git-dir",
            "--git-common-dir",
            "--show-toplevel",
        ])?;
        let lines = places.stdout.split(|byte| *byte == b'\n');
        let lines = lines.filter(|line| !line.is_empty());
        let paths = lines.map(|line| PathBuf::from(OsString::from_vec(line.to_vec())));
        let paths: Vec<_> = paths.collect();
        check_lines(paths.len(), 3)?;
        let mut paths = paths.into_iter();
        // In a bare repository `--show-toplevel` fails, but git has printed the other paths
        // before.
        let (Some(git_dir), Some(common_dir)) = (paths.next(), paths.next()) else {
            return match places.into_error() {
                error if is_no_repository(&error) => Ok(RepositoryInspection::default()),
                error => Err(error),
            };
        };
        self.inspect_at(&git_dir, &common_dir, paths.next().as_deref())
    }

    fn inspect_at(
        &self,
        git_dir: &Path,
        common_dir: &Path,
        top: Option<&Path>,
    ) -> Result<RepositoryInspection, GitError> {
        let config = self.read_config(git_dir)?;
        Ok(RepositoryInspection {
            config,
            location: Some(RepositoryLocation {
                common_dir: common_dir.to_owned(),
                top: top.map(Path::to_owned),
            }),
            code: OnceLock::new(),
        })
    }

    /// Inspects a repository that the caller has located.
    pub(crate) fn with_repository(
        &self,
        git_dir: &Path,
        common_dir: &Path,
        top: &Path,
    ) -> Result<Self, GitError> {
        let inspection = self.inspect_at(git_dir, common_dir, Some(top))?;
        Ok(self.with_inspection(inspection))
    }

    /// Records that the directory is in no repository.
    pub(crate) fn without_repository(&self) -> Self {
        self.with_inspection(RepositoryInspection::default())
    }

    pub(super) fn with_inspection(&self, inspection: RepositoryInspection) -> Self {
        GitCommand {
            inspection: Arc::new(OnceLock::from(inspection)),
            ..self.clone()
        }
    }

    /// Lists the configuration. This runs no programs.
    fn read_config(&self, git_dir: &Path) -> Result<RepositoryConfig, GitError> {
        let git = self.clone().with_env("GIT_DIR", git_dir);
        let mut command = git.base_command();
        command.args(["config", "--list", "-z", "--show-scope"]);
        let all = child::exchange(command, &self.directory, &[], self.deadline)?;
        RepositoryConfig::parse(&all.into_stdout()?)
    }

    /// Fails if a nested repository names programs that were not allowed. When git stages or
    /// commits, it looks into registered submodules with their configuration.
    pub(crate) fn check_nested_allowed(&self, top: &Path) -> Result<(), GitError> {
        let mut pending = vec![(self.in_directory(top), top.to_owned())];
        let mut seen = 0;
        while let Some((git, top)) = pending.pop() {
            let listed =
                git.read_output(["ls-files", "--stage", "-z", "--full-name", "--", "."])?;
            for entry in listed.split(|byte| *byte == 0) {
                let Some(entry) = entry.strip_prefix(b"160000 ") else {
                    continue;
                };
                let name = entry.splitn(2, |byte| *byte == b'\t').nth(1);
                let nested = top.join(OsStr::from_bytes(name.unwrap_or_default()));
                if std::fs::symlink_metadata(nested.join(".git")).is_err() {
                    continue;
                }
                seen += 1;
                if seen > MAX_NESTED_REPOSITORIES {
                    let reason = "it has too many nested repositories".to_owned();
                    return Err(GitError::UnusableConfig(reason));
                }
                let inner = self.in_other_repository(&nested);
                inner.check_settings_allowed()?;
                pending.push((inner, nested));
            }
        }
        Ok(())
    }
}

/// Fails if git printed more lines than requested. A path then contains a newline and could be
/// mistaken for two paths.
pub(crate) fn check_lines(found: usize, most: usize) -> Result<(), GitError> {
    if found > most {
        let reason = "one of its paths has a newline".to_owned();
        Err(GitError::UnusableConfig(reason))
    } else {
        Ok(())
    }
}

/// Returns `true` if git found no repository, or a bare one in the working tree, which is not
/// used.
pub(crate) fn is_no_repository(error: &GitError) -> bool {
    match error {
        GitError::Failed(words) => {
            words.contains("not a git repository") || words.contains("cannot use bare repository")
        }
        _ => false,
    }
}
