//! Creates, deletes, moves and copies files.

use std::path::Path;

use cap_std::fs::MetadataExt;

use agenthost_core::resource::uris;
use agenthost_core::{FileAccess, GrantedRoot};
use agenthost_protocol::resource::{
    ResourceCopyParams, ResourceDeleteParams, ResourceMkdirParams, ResourceMoveParams,
};
use agenthost_stdx::sync::lock;

use super::location::{GrantedPath, describe_kind};
use super::{FileError, FileService};

/// Maximum number of files and directories that one request copies.
const MAX_COPIED_FILES: usize = 100_000;

impl FileService {
    /// Creates a directory and its parents (RES-11).
    ///
    /// # Errors
    ///
    /// Returns an error if access is not granted, or if a file has this path.
    pub fn make_directory(
        &self,
        roots: &[GrantedRoot],
        params: &ResourceMkdirParams,
    ) -> Result<(), FileError> {
        let granted_path = self.granted_path(roots, &params.uri, FileAccess::Write)?;
        let failed = |error: std::io::Error| granted_path.to_file_error(FileAccess::Write, &error);
        match granted_path.dir.metadata(granted_path.target()) {
            Ok(metadata) if metadata.is_dir() => Ok(()),
            Ok(_) => Err(FileError::Exists(params.uri.clone())),
            Err(_) => granted_path
                .dir
                .create_dir_all(granted_path.target())
                .map_err(failed),
        }
    }

    /// Deletes a file or a directory (RES-8). A symbolic link is deleted itself, not its
    /// target.
    ///
    /// # Errors
    ///
    /// Returns an error if access is not granted, the file does not exist, or the directory is
    /// not empty.
    pub fn delete(
        &self,
        roots: &[GrantedRoot],
        params: &ResourceDeleteParams,
    ) -> Result<(), FileError> {
        let granted_path =
            check_not_root(self.granted_path(roots, &params.uri, FileAccess::Write)?)?;
        granted_path.check_movable()?;
        let failed = |error: std::io::Error| granted_path.to_file_error(FileAccess::Write, &error);
        let metadata = granted_path
            .dir
            .symlink_metadata(&granted_path.path)
            .map_err(failed)?;
        if !metadata.is_dir() {
            return granted_path
                .dir
                .remove_file(&granted_path.path)
                .map_err(failed);
        }
        if params.recursive == Some(true) {
            granted_path
                .dir
                .remove_dir_all(&granted_path.path)
                .map_err(failed)
        } else {
            granted_path
                .dir
                .remove_dir(&granted_path.path)
                .map_err(failed)
        }
    }

    /// Moves a file or a directory (RES-7).
    ///
    /// # Errors
    ///
    /// Returns an error if access is not granted, the source does not exist, or the target
    /// can't be replaced.
    pub fn r#move(
        &self,
        roots: &[GrantedRoot],
        params: &ResourceMoveParams,
    ) -> Result<(), FileError> {
        let from = check_not_root(self.granted_path(roots, &params.source, FileAccess::Write)?)?;
        let to =
            check_not_root(self.granted_path(roots, &params.destination, FileAccess::Write)?)?;
        let _writing = lock(&self.write_lock);
        from.check_movable()?;
        let found = from.dir.symlink_metadata(&from.path);
        found.map_err(|error| from.to_file_error(FileAccess::Write, &error))?;
        self.check_replaceable(&to, params.fail_if_exists)?;
        let moved = from.dir.rename(&from.path, &to.dir, &to.path);
        moved.map_err(|error| to.to_file_error(FileAccess::Write, &error))
    }

    /// Copies a file, or a directory with its content (RES-7). Symbolic links in it are
    /// skipped, because their targets may be outside of the granted roots. Protected paths are
    /// skipped, too.
    ///
    /// # Errors
    ///
    /// Returns an error if access is not granted, the source does not exist, or the target
    /// can't be replaced.
    pub fn copy(
        &self,
        roots: &[GrantedRoot],
        params: &ResourceCopyParams,
    ) -> Result<(), FileError> {
        let from = self.granted_path(roots, &params.source, FileAccess::Read)?;
        let to =
            check_not_root(self.granted_path(roots, &params.destination, FileAccess::Write)?)?;
        let _writing = lock(&self.write_lock);
        let metadata = from.dir.metadata(from.target());
        let metadata = metadata.map_err(|error| from.to_file_error(FileAccess::Read, &error))?;
        if metadata.is_dir() && uris::is_within(&params.source, &params.destination) {
            let reason = "a directory can't be copied into itself".to_owned();
            return Err(FileError::Invalid(reason));
        }
        self.check_replaceable(&to, params.fail_if_exists)?;
        let mut left = MAX_COPIED_FILES;
        copy_recursively(&from, from.target(), &to, &to.path, &mut left)
    }

    /// Checks that the target does not exist or may be replaced.
    fn check_replaceable(
        &self,
        to: &GrantedPath,
        fail_if_exists: Option<bool>,
    ) -> Result<(), FileError> {
        let Ok(metadata) = to.dir.symlink_metadata(&to.path) else {
            return Ok(());
        };
        if fail_if_exists == Some(true) {
            return Err(FileError::Exists(to.uri.clone()));
        }
        // A request must not replace a whole directory by accident.
        if metadata.is_dir() {
            return Err(FileError::WrongKind {
                uri: to.uri.clone(),
                found: "a directory",
                expected: "a file that can be replaced",
            });
        }
        Ok(())
    }
}

fn copy_recursively(
    from: &GrantedPath,
    source: &Path,
    to: &GrantedPath,
    target: &Path,
    left: &mut usize,
) -> Result<(), FileError> {
    let unread = |error: std::io::Error| from.to_file_error(FileAccess::Read, &error);
    let unwritten = |error: std::io::Error| to.to_file_error(FileAccess::Write, &error);
    *left = left.checked_sub(1).ok_or_else(|| {
        FileError::Invalid(format!(
            "`{}` has more than {MAX_COPIED_FILES} files",
            from.uri
        ))
    })?;
    let metadata = from.dir.metadata(source).map_err(unread)?;
    if metadata.is_file() {
        // Opening the target for writing would truncate the source.
        let there = to.dir.metadata(target);
        if there.is_ok_and(|there| is_same_file(&there, &metadata)) {
            return Ok(());
        }
        from.dir.copy(source, &to.dir, target).map_err(unwritten)?;
        return Ok(());
    }
    if !metadata.is_dir() {
        return Err(FileError::WrongKind {
            uri: from.uri.clone(),
            found: describe_kind(&metadata),
            expected: "a file or a directory",
        });
    }
    to.dir.create_dir(target).map_err(unwritten)?;
    for entry in from.dir.read_dir(source).map_err(unread)? {
        let entry = entry.map_err(unread)?;
        if entry.file_type().map_err(unread)?.is_symlink() {
            continue;
        }
        let name = entry.file_name();
        if from.protects(&source.join(&name)) {
            continue;
        }
        copy_recursively(from, &source.join(&name), to, &target.join(&name), left)?;
    }
    Ok(())
}

/// Returns `true` if both are the same inode.
fn is_same_file(one: &cap_std::fs::Metadata, other: &cap_std::fs::Metadata) -> bool {
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// Rejects the granted directory itself, which can't be moved, deleted or replaced.
fn check_not_root(granted_path: GrantedPath) -> Result<GrantedPath, FileError> {
    if granted_path.path.as_os_str().is_empty() {
        let uri = granted_path.uri;
        let access = FileAccess::Write;
        return Err(FileError::NotGranted { uri, access });
    }
    Ok(granted_path)
}
