//! Reads files and directories, and describes them.

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

/// Maximum number of entries in the list of a directory; more result in an error.
const MAX_DIRECTORY_ENTRIES: usize = 50_000;

impl FileService {
    /// Reads a file (RES-2).
    ///
    /// # Errors
    ///
    /// Returns an error if access is not granted, or if it is not a file or too large for one
    /// message.
    pub fn read(
        &self,
        roots: &[GrantedRoot],
        params: &ResourceReadParams,
    ) -> Result<ResourceReadResult, FileError> {
        let granted_path = self.granted_path(roots, &params.uri, FileAccess::Read)?;
        let bytes = read_bytes(&granted_path)?;
        Ok(encode_content(bytes, params.encoding))
    }

    /// Reads a file as text, for callers that can't use other content.
    ///
    /// # Errors
    ///
    /// Returns an error if access is not granted, or if it is not UTF-8 or too large for one
    /// message.
    pub fn read_text(&self, roots: &[GrantedRoot], uri: &Uri) -> Result<String, FileError> {
        let granted_path = self.granted_path(roots, uri, FileAccess::Read)?;
        String::from_utf8(read_bytes(&granted_path)?).map_err(|_| FileError::WrongKind {
            uri: uri.clone(),
            found: "binary",
            expected: "text",
        })
    }

    /// Returns the real path of a directory, for processes that work in it.
    ///
    /// # Errors
    ///
    /// Returns an error if access is not granted, or if it is not a directory or does not
    /// exist.
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

    /// Lists a directory, sorted by name (RES-6).
    ///
    /// # Errors
    ///
    /// Returns an error if access is not granted, or if it is not a directory or has too many
    /// entries.
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
            // A name that is not UTF-8 can't be sent as JSON.
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            // A symbolic link has the type of its target, if that is within the granted
            // directory.
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

    /// Describes a file and resolves its real path (RES-9).
    ///
    /// # Errors
    ///
    /// Returns an error if access is not granted or the file does not exist.
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

/// Reads a file within the size limit, also if it grows meanwhile.
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

/// Encodes content as requested. Text is the default, and base64 is used if the content is not
/// UTF-8.
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
