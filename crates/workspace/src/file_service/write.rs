//! Writes files atomically: the whole new content, or none of it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use agenthost_core::{FileAccess, GrantedRoot};
use agenthost_protocol::resource::{ContentEncoding, ResourceWriteMode, ResourceWriteParams};
use agenthost_stdx::result::IgnoreResult;
use agenthost_stdx::sync::lock;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cap_std::fs::{Metadata, OpenOptions};

use super::location::{GrantedPath, etag};
use super::read::read_bytes;
use super::{FileError, FileService, MAX_FILE_BYTES};

impl FileService {
    /// Writes a file, and creates it if necessary (RES-3 to RES-5). The new content replaces
    /// the old one atomically: a reader never sees a part of it, and after an error the old
    /// content stays.
    ///
    /// # Errors
    ///
    /// Returns an error if access is not granted, if it is not a file, if it exists despite
    /// `createOnly`, or if its etag has changed.
    pub fn write(
        &self,
        roots: &[GrantedRoot],
        params: &ResourceWriteParams,
    ) -> Result<(), FileError> {
        let data = decode_data(params)?;
        let mut granted_path = self.granted_path(roots, &params.uri, FileAccess::Write)?;
        let _writing = lock(&self.write_lock);
        let before = self.check_existing(&mut granted_path, params)?;
        let position = params.position.unwrap_or(0);
        let mode = params.mode.unwrap_or(ResourceWriteMode::Truncate);
        let content = match (mode, &before) {
            (ResourceWriteMode::Truncate, _) if position == 0 => data,
            (ResourceWriteMode::Append, Some(_)) if position == 0 => {
                return append_data(&granted_path, &data);
            }
            (mode, before) => {
                let old = match before {
                    Some(_) => read_bytes(&granted_path)?,
                    None => Vec::new(),
                };
                splice_content(&granted_path, mode, position, old, &data)?
            }
        };
        check_size(&granted_path, content.len() as u64)?;
        if before.is_none() {
            create_parent(&granted_path)?;
        }
        write_atomically(&granted_path, &content, before.as_ref())
    }

    /// Checks the preconditions and returns the metadata of an existing file. A symbolic link
    /// is resolved, as far as its target is within the directory.
    fn check_existing(
        &self,
        granted_path: &mut GrantedPath,
        params: &ResourceWriteParams,
    ) -> Result<Option<Metadata>, FileError> {
        let found = match granted_path.dir.metadata(granted_path.target()) {
            Ok(metadata) => Some(metadata),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(granted_path.to_file_error(FileAccess::Write, &error)),
        };
        if let Some(metadata) = &found {
            if params.create_only == Some(true) {
                return Err(FileError::Exists(params.uri.clone()));
            }
            granted_path.check_is_file(metadata)?;
            // Replacing a read-only file would succeed, but its owner does not want it changed.
            if metadata.permissions().readonly() {
                return Err(FileError::Forbidden(params.uri.clone()));
            }
            let real = granted_path.dir.canonicalize(granted_path.target());
            granted_path.path =
                real.map_err(|error| granted_path.to_file_error(FileAccess::Write, &error))?;
        }
        if let Some(wanted) = &params.if_match {
            let now = found.as_ref().map(etag);
            if now.as_ref() != Some(wanted) {
                return Err(FileError::Changed(params.uri.clone()));
            }
        }
        Ok(found)
    }
}

fn decode_data(params: &ResourceWriteParams) -> Result<Vec<u8>, FileError> {
    match params.encoding {
        ContentEncoding::Utf8 => Ok(params.data.clone().into_bytes()),
        ContentEncoding::Base64 => {
            let decoded = STANDARD.decode(&params.data);
            decoded.map_err(|_| FileError::Invalid("data: expected base64".to_owned()))
        }
    }
}

/// Creates the parent directory of a new file, which may be one that is only offered so far
/// (CUS-17).
fn create_parent(granted_path: &GrantedPath) -> Result<(), FileError> {
    match granted_path.path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => {
            let made = granted_path.dir.create_dir_all(folder);
            made.map_err(|error| granted_path.to_file_error(FileAccess::Write, &error))
        }
        Some(_) | None => Ok(()),
    }
}

fn check_size(granted_path: &GrantedPath, size: u64) -> Result<(), FileError> {
    if size > MAX_FILE_BYTES {
        let uri = granted_path.uri.clone();
        return Err(FileError::TooLarge { uri, size });
    }
    Ok(())
}

/// Returns the old content with the new data inserted. The position is in bytes; that of an
/// append counts from the end.
fn splice_content(
    granted_path: &GrantedPath,
    mode: ResourceWriteMode,
    position: u64,
    mut old: Vec<u8>,
    data: &[u8],
) -> Result<Vec<u8>, FileError> {
    let length = old.len();
    let beyond = || {
        let uri = &granted_path.uri;
        let reason =
            format!("position: {position} is beyond the end of `{uri}`, which has {length} bytes");
        FileError::Invalid(reason)
    };
    let position = usize::try_from(position).map_err(|_| beyond())?;
    let rest = length.checked_sub(position).ok_or_else(beyond)?;
    let (at, keeps) = match mode {
        ResourceWriteMode::Truncate => (position, false),
        ResourceWriteMode::Insert => (position, true),
        ResourceWriteMode::Append => (rest, true),
    };
    let tail = old.split_off(at);
    old.extend_from_slice(data);
    if keeps {
        old.extend(tail);
    }
    Ok(old)
}

/// Appends to the current end of the file.
fn append_data(granted_path: &GrantedPath, data: &[u8]) -> Result<(), FileError> {
    let failed = |error: std::io::Error| granted_path.to_file_error(FileAccess::Write, &error);
    let mut options = OpenOptions::new();
    options.append(true);
    let mut file = granted_path
        .dir
        .open_with(&granted_path.path, &options)
        .map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    granted_path.check_is_file(&metadata)?;
    check_size(
        granted_path,
        metadata.len().saturating_add(data.len() as u64),
    )?;
    file.write_all(data).map_err(failed)
}

/// Writes a temporary file and renames it to the target.
fn write_atomically(
    granted_path: &GrantedPath,
    content: &[u8],
    before: Option<&Metadata>,
) -> Result<(), FileError> {
    let failed = |error: std::io::Error| granted_path.to_file_error(FileAccess::Write, &error);
    let aside = temp_path(&granted_path.path).ok_or_else(|| {
        FileError::Invalid(format!("`{}` is not the name of a file", granted_path.uri))
    })?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    let mut file = granted_path
        .dir
        .open_with(&aside, &options)
        .map_err(failed)?;
    let written = (|| {
        file.write_all(content)?;
        if let Some(before) = before {
            file.set_permissions(before.permissions())?;
        }
        file.sync_all()?;
        granted_path
            .dir
            .rename(&aside, &granted_path.dir, &granted_path.path)
    })();
    written.map_err(|error| {
        // A partial temporary file must not stay.
        granted_path.dir.remove_file(&aside).ignore_secondary();
        failed(error)
    })
}

/// Returns an unused name beside a file. Other writers in this process may write the same file,
/// each with its own [`FileService`].
fn temp_path(path: &Path) -> Option<PathBuf> {
    static TEMP_COUNTER: AtomicU64 = AtomicU64::new(0);
    let number = TEMP_COUNTER.fetch_add(1, Ordering::Relaxed);
    let name = path.file_name()?.to_str()?;
    let short: String = name.chars().take(100).collect();
    let process = std::process::id();
    Some(path.with_file_name(format!(".{short}.{process}-{number}.agenthost")))
}
