//! Finds the code of a repository: hooks, and programs that its configuration names.
//!
//! git runs such code for a user who works in the repository. The host runs it only for
//! operations that a user requested, and only if a user has allowed exactly this code.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use agenthost_stdx::hex::encode_hex;
use sha2::{Digest, Sha256};

use super::config::RepositoryConfig;
use super::{GitCommand, GitError};

/// Maximum size of a hook. A larger one can't be allowed.
const MAX_HOOK_BYTES: u64 = 16 * 1024 * 1024;

/// Hooks that the operations of the host can trigger. Others, such as those of a push, never
/// run here.
const OPERATION_HOOKS: &[&str] = &[
    "commit-msg",
    "post-checkout",
    "post-commit",
    "post-index-change",
    "post-merge",
    "post-rewrite",
    "pre-auto-gc",
    "pre-commit",
    "pre-merge-commit",
    "prepare-commit-msg",
    "reference-transaction",
];

/// Version of the keys by which code is allowed. It changes with the data that they cover.
const KEY_VERSION: &str = "git-v1";

/// The code that operations on a repository would run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryCode {
    /// Identifies exactly this code of this repository. The code is allowed by adding the key
    /// to the trusted code of the host.
    pub key: String,
    /// The common git directory, which all worktrees share.
    pub repository: PathBuf,
    /// Executable hooks, sorted by name.
    pub hooks: Vec<RepositoryHook>,
    /// Settings that name programs, with their values.
    pub settings: Vec<(String, String)>,
}

/// An executable hook of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryHook {
    /// Event at which git runs the hook, such as `pre-commit`.
    pub name: String,
    /// Path of the hook file.
    pub path: PathBuf,
    /// The SHA-256 digest of its content.
    digest: [u8; 32],
}

impl RepositoryCode {
    /// Finds the code of the repository that contains a directory. Runs none of it.
    ///
    /// # Errors
    ///
    /// Returns an error if git can't be run, or the code can't be read.
    pub fn inspect(directory: &Path) -> Result<Option<Self>, GitError> {
        let git = GitCommand::new(directory, super::INSPECT_TIMEOUT);
        Ok(git.inspection()?.code()?.cloned())
    }

    /// Returns `true` if a key has the version of [`RepositoryCode::key`]. Keys of other versions
    /// never match.
    pub fn is_current_key(key: &str) -> bool {
        key.strip_prefix(KEY_VERSION)
            .is_some_and(|rest| rest.starts_with(':'))
    }

    pub(super) fn find(
        config: &RepositoryConfig,
        common_dir: &Path,
        top: Option<&Path>,
    ) -> Result<Option<Self>, GitError> {
        let hooks = find_hooks(config, common_dir, top)?;
        let settings = config
            .code()
            .map(|(key, value)| (key.to_owned(), value.to_owned()));
        let settings: Vec<_> = settings.collect();
        if hooks.is_empty() && settings.is_empty() {
            return Ok(None);
        }
        Ok(Some(RepositoryCode {
            key: code_key(common_dir, &hooks, &settings),
            repository: common_dir.to_owned(),
            hooks,
            settings,
        }))
    }

    pub(super) fn is_allowed(&self, trusted: &BTreeSet<String>) -> bool {
        trusted.contains(&self.key)
    }

    /// Lists the names of the code for an error message.
    pub(super) fn summary(&self) -> String {
        let hooks = self.hooks.iter().map(|hook| format!("hook {}", hook.name));
        let settings = self
            .settings
            .iter()
            .map(|(key, _)| format!("setting {key}"));
        let mut names: Vec<_> = hooks.chain(settings).take(6).collect();
        if self.hooks.len() + self.settings.len() > names.len() {
            names.push("…".to_owned());
        }
        let names = names.join(", ");
        names
            .chars()
            .filter(|one| !one.is_control())
            .take(300)
            .collect()
    }
}

/// Returns a digest of the code. Every text is preceded by its length and every list by its
/// number of items, so different code never hashes the same bytes.
fn code_key(common_dir: &Path, hooks: &[RepositoryHook], settings: &[(String, String)]) -> String {
    let mut hash = Sha256::new();
    let mut add = |bytes: &[u8]| {
        hash.update((bytes.len() as u64).to_be_bytes());
        hash.update(bytes);
    };
    add(KEY_VERSION.as_bytes());
    add(common_dir.as_os_str().as_encoded_bytes());
    add(&(hooks.len() as u64).to_be_bytes());
    for hook in hooks {
        add(hook.name.as_bytes());
        add(&hook.digest);
    }
    add(&(settings.len() as u64).to_be_bytes());
    for (key, value) in settings {
        add(key.as_bytes());
        add(value.as_bytes());
    }
    let digest = encode_hex(&hash.finalize());
    format!("{KEY_VERSION}:{digest}")
}

/// Returns the hooks that git would run. A hooks directory from the user's own configuration is
/// trusted.
fn find_hooks(
    config: &RepositoryConfig,
    common_dir: &Path,
    top: Option<&Path>,
) -> Result<Vec<RepositoryHook>, GitError> {
    let directory = match config.hooks_path() {
        None => common_dir.join("hooks"),
        Some(path) if path.is_from_user && path.value.starts_with(['/', '~']) => {
            return Ok(Vec::new());
        }
        // A relative path is relative to the working tree, in every scope.
        Some(path) => match path.value.strip_prefix("~/") {
            Some(rest) => PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(rest),
            None => top.unwrap_or(common_dir).join(&path.value),
        },
    };
    let entries = match std::fs::read_dir(&directory) {
        Ok(entries) => entries,
        // git finds no hooks there, either.
        Err(_) => return Ok(Vec::new()),
    };
    let mut hooks = Vec::new();
    for entry in entries {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        let path = entry.path();
        let metadata = std::fs::metadata(&path);
        let runs = metadata
            .as_ref()
            .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0);
        if !runs || !OPERATION_HOOKS.contains(&name.as_str()) {
            continue;
        }
        let digest = digest_file(&path)?;
        hooks.push(RepositoryHook { name, path, digest });
    }
    hooks.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(hooks)
}

fn digest_file(path: &Path) -> Result<[u8; 32], GitError> {
    let mut content = Vec::new();
    let mut file = File::open(path)?.take(MAX_HOOK_BYTES + 1);
    file.read_to_end(&mut content)?;
    if content.len() as u64 > MAX_HOOK_BYTES {
        return Err(GitError::UnusableConfig(format!(
            "the hook {} is larger than {} MiB",
            path.display(),
            MAX_HOOK_BYTES / (1024 * 1024)
        )));
    }
    Ok(Sha256::digest(&content).into())
}
