//! Files come, go and move.

use std::path::Path;

use cap_std::fs::MetadataExt;
use std::sync::PoisonError;

use agenthost_core::{Access, Root, uris};
use agenthost_protocol::resource::{
    ResourceCopyParams, ResourceDeleteParams, ResourceMkdirParams, ResourceMoveParams,
};

use super::place::{Place, kind};
use super::{FileError, Files};

/// Deepest directory, and most files, that are copied.
const COPIED: usize = 100_000;

impl Files {
    /// Makes a directory and those above it (RES-11).
    ///
    /// # Errors
    ///
    /// If it may not be made, or something else is there.
    pub fn make_directory(
        &self,
        roots: &[Root],
        params: &ResourceMkdirParams,
    ) -> Result<(), FileError> {
        let place = self.place(roots, &params.uri, Access::Write)?;
        let failed = |error: std::io::Error| place.failed(Access::Write, &error);
        match place.dir.metadata(place.target()) {
            Ok(metadata) if metadata.is_dir() => Ok(()),
            Ok(_) => Err(FileError::Exists(params.uri.clone())),
            Err(_) => place.dir.create_dir_all(place.target()).map_err(failed),
        }
    }

    /// Deletes a file, or a directory (RES-8). A link goes, and not what it
    /// points to.
    ///
    /// # Errors
    ///
    /// If it may not be deleted, is not there, or has something in it.
    pub fn delete(&self, roots: &[Root], params: &ResourceDeleteParams) -> Result<(), FileError> {
        let place = inside(self.place(roots, &params.uri, Access::Write)?)?;
        place.check_movable()?;
        let failed = |error: std::io::Error| place.failed(Access::Write, &error);
        let metadata = place.dir.symlink_metadata(&place.path).map_err(failed)?;
        if !metadata.is_dir() {
            return place.dir.remove_file(&place.path).map_err(failed);
        }
        if params.recursive == Some(true) {
            place.dir.remove_dir_all(&place.path).map_err(failed)
        } else {
            place.dir.remove_dir(&place.path).map_err(failed)
        }
    }

    /// Moves a file or a directory (RES-7).
    ///
    /// # Errors
    ///
    /// If it may not be moved, is not there, or something is in the way.
    pub fn r#move(&self, roots: &[Root], params: &ResourceMoveParams) -> Result<(), FileError> {
        let from = inside(self.place(roots, &params.source, Access::Write)?)?;
        let to = inside(self.place(roots, &params.destination, Access::Write)?)?;
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        from.check_movable()?;
        let found = from.dir.symlink_metadata(&from.path);
        found.map_err(|error| from.failed(Access::Write, &error))?;
        self.make_room(&to, params.fail_if_exists)?;
        let moved = from.dir.rename(&from.path, &to.dir, &to.path);
        moved.map_err(|error| to.failed(Access::Write, &error))
    }

    /// Copies a file, or a directory with all that is in it (RES-7). Links are
    /// left out: what they point to is somebody else's. So are files of the host
    /// itself.
    ///
    /// # Errors
    ///
    /// If it may not be read or written, is not there, or something is in the
    /// way.
    pub fn copy(&self, roots: &[Root], params: &ResourceCopyParams) -> Result<(), FileError> {
        let from = self.place(roots, &params.source, Access::Read)?;
        let to = inside(self.place(roots, &params.destination, Access::Write)?)?;
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let metadata = from.dir.metadata(from.target());
        let metadata = metadata.map_err(|error| from.failed(Access::Read, &error))?;
        if metadata.is_dir() && uris::is_within(&params.source, &params.destination) {
            let reason = "a directory can't be copied into itself".to_owned();
            return Err(FileError::Invalid(reason));
        }
        self.make_room(&to, params.fail_if_exists)?;
        let mut left = COPIED;
        copy(&from, from.target(), &to, &to.path, &mut left)
    }

    /// Sees to it that something can be put in a place.
    fn make_room(&self, to: &Place, fail_if_exists: Option<bool>) -> Result<(), FileError> {
        let Ok(metadata) = to.dir.symlink_metadata(&to.path) else {
            return Ok(());
        };
        if fail_if_exists == Some(true) {
            return Err(FileError::Exists(to.uri.clone()));
        }
        // Whole directories are not overwritten by accident.
        if metadata.is_dir() {
            return Err(FileError::Kind {
                uri: to.uri.clone(),
                found: "a directory",
                expected: "something that can be replaced",
            });
        }
        Ok(())
    }
}

fn copy(
    from: &Place,
    source: &Path,
    to: &Place,
    target: &Path,
    left: &mut usize,
) -> Result<(), FileError> {
    let unread = |error: std::io::Error| from.failed(Access::Read, &error);
    let unwritten = |error: std::io::Error| to.failed(Access::Write, &error);
    *left = left.checked_sub(1).ok_or_else(|| {
        FileError::Invalid(format!("`{}` has more than {COPIED} files", from.uri))
    })?;
    let metadata = from.dir.metadata(source).map_err(unread)?;
    if metadata.is_file() {
        // Opening what is to be written would empty what is to be read.
        let there = to.dir.metadata(target);
        if there.is_ok_and(|there| is_same(&there, &metadata)) {
            return Ok(());
        }
        from.dir.copy(source, &to.dir, target).map_err(unwritten)?;
        return Ok(());
    }
    if !metadata.is_dir() {
        return Err(FileError::Kind {
            uri: from.uri.clone(),
            found: kind(&metadata),
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
        copy(from, &source.join(&name), to, &target.join(&name), left)?;
    }
    Ok(())
}

/// Whether two names are of one file.
fn is_same(one: &cap_std::fs::Metadata, other: &cap_std::fs::Metadata) -> bool {
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// A granted directory itself can't be moved, deleted or written over.
fn inside(place: Place) -> Result<Place, FileError> {
    if place.path.as_os_str().is_empty() {
        let uri = place.uri;
        let access = Access::Write;
        return Err(FileError::Denied { uri, access });
    }
    Ok(place)
}
