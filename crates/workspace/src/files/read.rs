//! What is in a file, and what it is.

use std::io::Read;
use std::path::PathBuf;

use agenthost_core::{Access, Root};
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

use super::place::{Place, etag, kind};
use super::{FileError, Files, LARGEST, find_place};

/// Most entries of a directory in one answer.
const ENTRIES: usize = 50_000;

impl Files {
    /// What is in a file (RES-2).
    ///
    /// # Errors
    ///
    /// If it may not be read, is no file, or is too large for one message.
    pub fn read(
        &self,
        roots: &[Root],
        params: &ResourceReadParams,
    ) -> Result<ResourceReadResult, FileError> {
        let place = self.place(roots, &params.uri, Access::Read)?;
        let bytes = contents(&place)?;
        Ok(encode(bytes, params.encoding))
    }

    /// The text of a file, for who can do nothing with other bytes.
    ///
    /// # Errors
    ///
    /// If it may not be read, is no text, or is too large for one message.
    pub fn read_text(&self, roots: &[Root], uri: &Uri) -> Result<String, FileError> {
        let place = self.place(roots, uri, Access::Read)?;
        String::from_utf8(contents(&place)?).map_err(|_| FileError::Kind {
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
    pub fn directory(&self, roots: &[Root], uri: &Uri) -> Result<PathBuf, FileError> {
        let (path, metadata) = find_place(roots, &self.protected, uri, Access::Read)?;
        if metadata.is_dir() {
            return Ok(path);
        }
        Err(FileError::Kind {
            uri: uri.clone(),
            found: kind(&metadata),
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
        roots: &[Root],
        params: &ResourceListParams,
    ) -> Result<ResourceListResult, FileError> {
        let place = self.place(roots, &params.uri, Access::Read)?;
        let failed = |error: std::io::Error| place.failed(Access::Read, &error);
        let metadata = place.dir.metadata(place.target()).map_err(failed)?;
        if !metadata.is_dir() {
            return Err(FileError::Kind {
                uri: params.uri.clone(),
                found: kind(&metadata),
                expected: "a directory",
            });
        }
        let mut entries = Vec::new();
        for entry in place.dir.read_dir(place.target()).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            // A name that is no text can't be said.
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            // A link is what it points to, if that can be seen from here.
            let inside = place.path.join(&name);
            let is_dir = place
                .dir
                .metadata(&inside)
                .is_ok_and(|found| found.is_dir());
            let r#type = if is_dir { "directory" } else { "file" }.to_owned();
            entries.push(DirectoryEntry { name, r#type });
            if entries.len() > ENTRIES {
                let reason = format!("`{}` has more than {ENTRIES} entries", params.uri);
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
        roots: &[Root],
        params: &ResourceResolveParams,
    ) -> Result<ResourceResolveResult, FileError> {
        let place = self.place(roots, &params.uri, Access::Read)?;
        let failed = |error: std::io::Error| place.failed(Access::Read, &error);
        let (metadata, uri) = if params.follow_symlinks == Some(false) {
            let metadata = place.dir.symlink_metadata(place.target()).map_err(failed)?;
            (metadata, params.uri.clone())
        } else {
            let metadata = place.dir.metadata(place.target()).map_err(failed)?;
            let real = place.dir.canonicalize(place.target()).map_err(failed)?;
            let uri = place.uri_of(&real).unwrap_or_else(|| params.uri.clone());
            (metadata, uri)
        };
        Ok(ResourceResolveResult {
            uri,
            r#type: type_of(&metadata),
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
pub(super) fn contents(place: &Place) -> Result<Vec<u8>, FileError> {
    let (file, metadata) = place.open_file()?;
    let too_large = |size| FileError::TooLarge {
        uri: place.uri.clone(),
        size,
    };
    if metadata.len() > LARGEST {
        return Err(too_large(metadata.len()));
    }
    let mut bytes = Vec::new();
    let read = file.take(LARGEST + 1).read_to_end(&mut bytes);
    read.map_err(|error| place.failed(Access::Read, &error))?;
    if bytes.len() as u64 > LARGEST {
        return Err(too_large(bytes.len() as u64));
    }
    Ok(bytes)
}

/// As it was asked for, if that can be; text as text if nothing was said.
pub(crate) fn encode(bytes: Vec<u8>, wanted: Option<ContentEncoding>) -> ResourceReadResult {
    let text = match wanted {
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

fn type_of(metadata: &Metadata) -> ResourceType {
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
