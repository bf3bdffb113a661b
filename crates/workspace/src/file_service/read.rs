//! What is in a file, and what it is.

use std::io::Read;
use std::path::PathBuf;

use agenthost_core::{FileAccess, GrantedRoot};
use agenthost_protocol::number::Millis;
use agenthost_protocol::resource::{
    ContentEncoding, DirectoryEntry, ResourceListParams, ResourceListResult, ResourceReadParams,
    ResourceReadResult, ResourceResolveParams, ResourceResolveResult, ResourceType,
};
use agenthost_protocol::timestamp::Timestamp;
use agenthost_protocol::uri::Uri;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cap_std::fs::{Metadata, MetadataExt};

use super::location::{GrantedPath, describe_kind, etag};
use super::{FileError, FileService, MAX_FILE_BYTES, resolve_granted_path};

/// Most entries of a directory in one answer.
const MAX_DIRECTORY_ENTRIES: usize = 50_000;

impl FileService {
    /// What is in a file (RES-2).
    ///
    /// # Errors
    ///
    /// If it may not be read, is no file, or is too large for one message.
    pub fn read(
        &self,
        roots: &[GrantedRoot],
        params: &ResourceReadParams,
    ) -> Result<ResourceReadResult, FileError> {
        let granted_path = self.granted_path(roots, &params.uri, FileAccess::Read)?;
        let bytes = read_bytes(&granted_path)?;
        Ok(encode_content(bytes, params.encoding))
    }

    /// The text of a file, for who can do nothing with other bytes.
    ///
    /// # Errors
    ///
    /// If it may not be read, is no text, or is too large for one message.
    pub fn read_text(&self, roots: &[GrantedRoot], uri: &Uri) -> Result<String, FileError> {
        let granted_path = self.granted_path(roots, uri, FileAccess::Read)?;
        String::from_utf8(read_bytes(&granted_path)?).map_err(|_| FileError::WrongKind {
            uri: uri.clone(),
            found: "binary",
            expected: "text",
        })
    }

    /// Where a directory really is, for who wants to work in it.
    ///
    /// # Errors
    ///
    /// If it may not be used, is no directory, or is not there.
    pub fn real_directory(&self, roots: &[GrantedRoot], uri: &Uri) -> Result<PathBuf, FileError> {
        let (path, metadata) = resolve_granted_path(roots, &self.protected, uri, FileAccess::Read)?;
        if metadata.is_dir() {
            return Ok(path);
        }
        Err(FileError::WrongKind {
            uri: uri.clone(),
            found: describe_kind(&metadata),
            expected: "a directory",
        })
    }

    /// What is in a directory, by name (RES-6).
    ///
    /// # Errors
    ///
    /// If it may not be read, is no directory, or has too much in it.
    pub fn list(
        &self,
        roots: &[GrantedRoot],
        params: &ResourceListParams,
    ) -> Result<ResourceListResult, FileError> {
        let granted_path = self.granted_path(roots, &params.uri, FileAccess::Read)?;
        let failed = |error: std::io::Error| granted_path.to_file_error(FileAccess::Read, &error);
        let metadata = granted_path
            .dir
            .metadata(granted_path.target())
            .map_err(failed)?;
        if !metadata.is_dir() {
            return Err(FileError::WrongKind {
                uri: params.uri.clone(),
                found: describe_kind(&metadata),
                expected: "a directory",
            });
        }
        let mut entries = Vec::new();
        for entry in granted_path
            .dir
            .read_dir(granted_path.target())
            .map_err(failed)?
        {
            let entry = entry.map_err(failed)?;
            // A name that is no text can't be said.
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            // A link is what it points to, if that can be seen from here.
            let inside = granted_path.path.join(&name);
            let is_dir = granted_path
                .dir
                .metadata(&inside)
                .is_ok_and(|found| found.is_dir());
            let r#type = if is_dir { "directory" } else { "file" }.to_owned();
            entries.push(DirectoryEntry { name, r#type });
            if entries.len() > MAX_DIRECTORY_ENTRIES {
                let reason = format!(
                    "`{}` has more than {MAX_DIRECTORY_ENTRIES} entries",
                    params.uri
                );
                return Err(FileError::Invalid(reason));
            }
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(ResourceListResult { entries })
    }

    /// What a file is, and where it really is (RES-9).
    ///
    /// # Errors
    ///
    /// If it may not be seen, or is not there.
    pub fn resolve(
        &self,
        roots: &[GrantedRoot],
        params: &ResourceResolveParams,
    ) -> Result<ResourceResolveResult, FileError> {
        let granted_path = self.granted_path(roots, &params.uri, FileAccess::Read)?;
        let failed = |error: std::io::Error| granted_path.to_file_error(FileAccess::Read, &error);
        let (metadata, uri) = if params.follow_symlinks == Some(false) {
            let metadata = granted_path
                .dir
                .symlink_metadata(granted_path.target())
                .map_err(failed)?;
            (metadata, params.uri.clone())
        } else {
            let metadata = granted_path
                .dir
                .metadata(granted_path.target())
                .map_err(failed)?;
            let real = granted_path
                .dir
                .canonicalize(granted_path.target())
                .map_err(failed)?;
            let uri = granted_path
                .uri_of(&real)
                .unwrap_or_else(|| params.uri.clone());
            (metadata, uri)
        };
        Ok(ResourceResolveResult {
            uri,
            r#type: resource_type(&metadata),
            size: metadata.is_file().then(|| metadata.len()),
            mtime: timestamp(metadata.mtime(), metadata.mtime_nsec()),
            ctime: None,
            content_type: None,
            etag: metadata.is_file().then(|| etag(&metadata)),
        })
    }
}

/// The bytes of a file, if it has not too many. Never more than that are read,
/// however it grows meanwhile.
pub(super) fn read_bytes(granted_path: &GrantedPath) -> Result<Vec<u8>, FileError> {
    let (file, metadata) = granted_path.open_file()?;
    let too_large = |size| FileError::TooLarge {
        uri: granted_path.uri.clone(),
        size,
    };
    if metadata.len() > MAX_FILE_BYTES {
        return Err(too_large(metadata.len()));
    }
    let mut bytes = Vec::new();
    let read = file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| granted_path.to_file_error(FileAccess::Read, &error))?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(too_large(bytes.len() as u64));
    }
    Ok(bytes)
}

/// As it was asked for, if that can be; text as text if nothing was said.
pub(crate) fn encode_content(
    bytes: Vec<u8>,
    requested: Option<ContentEncoding>,
) -> ResourceReadResult {
    let text = match requested {
        Some(ContentEncoding::Base64) => Err(bytes),
        Some(ContentEncoding::Utf8) | None => {
            String::from_utf8(bytes).map_err(|error| error.into_bytes())
        }
    };
    let (data, encoding) = match text {
        Ok(text) => (text, ContentEncoding::Utf8),
        Err(bytes) => (STANDARD.encode(bytes), ContentEncoding::Base64),
    };
    ResourceReadResult {
        data,
        encoding,
        content_type: None,
    }
}

fn resource_type(metadata: &Metadata) -> ResourceType {
    if metadata.is_symlink() {
        ResourceType::Symlink
    } else if metadata.is_dir() {
        ResourceType::Directory
    } else if metadata.is_file() {
        ResourceType::File
    } else {
        ResourceType::Unknown("other".to_owned())
    }
}

fn timestamp(seconds: i64, nanoseconds: i64) -> Option<Timestamp> {
    let millis = seconds
        .checked_mul(1_000)?
        .checked_add(nanoseconds / 1_000_000)?;
    Some(Timestamp::from_millis(Millis(millis)))
}
