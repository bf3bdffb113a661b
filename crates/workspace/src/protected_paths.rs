//! Paths that clients and agents can never access through the host.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Files and directories of the host itself, such as its token. They are denied even if a
/// directory that contains them was granted.
///
/// Paths are compared by their real path, so callers resolve symbolic links first.
#[derive(Debug, Clone, Default)]
pub struct ProtectedPaths {
    paths: Arc<[PathBuf]>,
    exceptions: Arc<[PathBuf]>,
}

impl ProtectedPaths {
    /// Protects files, and directories with all of their content, except for the content of the
    /// directories in `exceptions`. The paths need not exist yet, but their parent directories
    /// must.
    pub fn new(
        paths: impl IntoIterator<Item = PathBuf>,
        exceptions: impl IntoIterator<Item = PathBuf>,
    ) -> Self {
        let real = |path: PathBuf| real_path(&path);
        ProtectedPaths {
            paths: paths.into_iter().map(real).collect(),
            exceptions: exceptions.into_iter().map(real).collect(),
        }
    }

    /// Returns `true` if a real path is protected.
    pub fn contains(&self, path: &Path) -> bool {
        let within = |folder: &PathBuf| path.starts_with(folder);
        self.paths.iter().any(within) && !self.exceptions.iter().any(within)
    }

    /// Returns `true` if a real path is protected or contains a protected path.
    pub(crate) fn touches(&self, path: &Path) -> bool {
        self.contains(path) || self.paths.iter().any(|one| one.starts_with(path))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }
}

/// Resolves the symbolic links in the existing part of a path.
fn real_path(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut missing: Vec<&OsStr> = Vec::new();
    for known in path.ancestors() {
        if let Ok(mut real) = known.canonicalize() {
            real.extend(missing.iter().rev());
            return real;
        }
        missing.extend(known.file_name());
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_missing_files_are_resolved() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap();
        std::fs::create_dir(real.join("data")).unwrap();
        std::os::unix::fs::symlink(real.join("data"), real.join("link")).unwrap();
        let link = real.join("link");
        let protected = ProtectedPaths::new([link.clone()], [link.join("changes/worktrees")]);
        for (path, expected) in [
            ("data", true),
            ("data/token", true),
            ("data/changes", true),
            ("data/changes/worktrees/1/file", false),
            ("data2", false),
            ("", false),
        ] {
            assert_eq!(protected.contains(&real.join(path)), expected, "{path}");
        }
        assert!(protected.touches(&real) && protected.touches(&real.join("data/token")));
        assert!(!protected.touches(&real.join("other")));
        assert!(!ProtectedPaths::default().touches(Path::new("/")));
    }
}
