//! Stores content that is too large for a channel's state.
//!
//! Each session has a directory with one file for each content, named by its hash. Paths
//! consist of checked hex digits and are opened relative to a directory handle, so no URI can
//! refer to a file outside of the store.

mod quota;

use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use agenthost_core::{ContentAddress, SessionKey};
use agenthost_protocol::common::ContentRef;
use agenthost_protocol::resource::{
    ContentEncoding, ResourceReadResult, ResourceResolveResult, ResourceType,
};
use agenthost_protocol::uri::Uri;
use agenthost_stdx::result::IgnoreResult;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, DirBuilder, DirBuilderExt, File, OpenOptions, OpenOptionsExt};

use crate::file_service::{FileError, MAX_FILE_BYTES, encode_content};
use quota::{ContentQuota, MAX_SESSION_BYTES};

/// Prefix of the marker file of a session that shares the content of a directory. No hash
/// begins with it.
const SHARE_MARKER_PREFIX: &str = "for-";

/// The error of content that could not be stored.
#[derive(Debug, thiserror::Error)]
pub enum ContentError {
    /// The content exceeds the size limit of reads.
    #[error("content has {0} bytes; at most {MAX_FILE_BYTES} can be stored")]
    TooLarge(usize),
    /// The session has reached its quota.
    #[error("the stored content of a session may have at most {0} bytes")]
    SessionFull(u64),
    /// The file system returned an error.
    #[error("store content: {0}")]
    Io(#[from] io::Error),
}

/// The stored content of all sessions.
#[derive(Debug)]
pub struct ContentStore {
    folder: Dir,
    /// Numbers the temporary files, so that their names are unique.
    temp_counter: AtomicU64,
    quota: ContentQuota,
}

impl ContentStore {
    /// Opens the directory, and creates it if necessary with access for this user only.
    ///
    /// # Errors
    ///
    /// Returns an error if the directory can't be created or opened.
    pub fn open(folder: &Path) -> io::Result<Self> {
        Self::open_with_limit(folder, MAX_SESSION_BYTES)
    }

    /// Opens the directory with another quota for each session, in bytes.
    ///
    /// # Errors
    ///
    /// Returns an error if the directory can't be created or opened.
    pub fn open_with_limit(folder: &Path, session_bytes: u64) -> io::Result<Self> {
        use std::os::unix::fs::DirBuilderExt;
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true).mode(0o700).create(folder)?;
        Ok(ContentStore {
            folder: Dir::open_ambient_dir(folder, ambient_authority())?,
            temp_counter: AtomicU64::new(0),
            quota: ContentQuota::new(session_bytes),
        })
    }

    /// Stores content of a session and returns a reference to it. Existing content is not
    /// written again. The write blocks, but does not sync to disk: after a power failure,
    /// content of the wrong length is written again on the next insert.
    ///
    /// # Errors
    ///
    /// Returns an error if the content is too large, exceeds the session's quota, or can't be
    /// written.
    pub fn insert(
        &self,
        session: &SessionKey,
        bytes: &[u8],
        name: &str,
    ) -> Result<ContentRef, ContentError> {
        if bytes.len() as u64 > MAX_FILE_BYTES {
            return Err(ContentError::TooLarge(bytes.len()));
        }
        let address = ContentAddress::of(session, bytes, name);
        let path = content_path(&address);
        let found = self.folder.metadata(&path).map(|found| found.len()).ok();
        let (folder, size) = (session.as_str(), bytes.len() as u64);
        if found != Some(size) {
            // A file of another length is replaced, so its bytes become free.
            let replaced = found.unwrap_or(0);
            let more = size.saturating_sub(replaced);
            if !self.quota.reserve(&self.folder, folder, more)? {
                return Err(ContentError::SessionFull(self.quota.limit()));
            }
            self.write_file(session, &path, bytes)
                .inspect_err(|_| self.quota.release(folder, more))?;
            self.quota.release(folder, replaced.saturating_sub(size));
        }
        // The directory may be marked as gone by an earlier session with this key.
        self.remove_marker(&gone_marker(session.as_str()))?;
        Ok(address.reference(bytes.len()))
    }

    /// Reads the content with this URI.
    ///
    /// # Errors
    ///
    /// Returns an error if the URI is malformed or the content does not exist.
    pub fn read(
        &self,
        uri: &Uri,
        encoding: Option<ContentEncoding>,
    ) -> Result<ResourceReadResult, FileError> {
        let (address, file) = self.open_content(uri)?;
        let mut bytes = Vec::new();
        let read = file.take(MAX_FILE_BYTES).read_to_end(&mut bytes);
        read.map_err(|error| FileError::from_io(uri, &error))?;
        Ok(ResourceReadResult {
            content_type: address.content_type().map(str::to_owned),
            ..encode_content(bytes, encoding)
        })
    }

    /// Describes the content with this URI.
    ///
    /// # Errors
    ///
    /// Returns an error if the URI is malformed or the content does not exist.
    pub fn resolve(&self, uri: &Uri) -> Result<ResourceResolveResult, FileError> {
        let (address, file) = self.open_content(uri)?;
        let metadata = file.metadata();
        let metadata = metadata.map_err(|error| FileError::from_io(uri, &error))?;
        Ok(ResourceResolveResult {
            uri: address.uri(),
            r#type: ResourceType::File,
            size: Some(metadata.len()),
            mtime: None,
            ctime: None,
            content_type: address.content_type().map(str::to_owned),
            // The content never changes, so its hash identifies it.
            etag: Some(address.hash().to_owned()),
        })
    }

    /// Returns `true` if the content with this URI is what was stored: its name is its hash.
    ///
    /// # Errors
    ///
    /// Returns an error if the URI is malformed, or if the content can't be read.
    pub fn is_intact(&self, uri: &Uri) -> Result<bool, FileError> {
        let (address, file) = self.open_content(uri)?;
        let mut bytes = Vec::new();
        let read = file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes);
        read.map_err(|error| FileError::from_io(uri, &error))?;
        let found = ContentAddress::of(address.session(), &bytes, "");
        Ok(found.hash() == address.hash())
    }

    /// Shares all content of a session with another one, because chats of the first one now belong
    /// to it, too. The other session also gets the shares of the first one.
    ///
    /// # Errors
    ///
    /// Returns an error if the file system fails.
    pub fn share(&self, from: &SessionKey, to: &SessionKey) -> io::Result<()> {
        for folder in self.session_folders()? {
            let mine = folder == from.as_str();
            if mine || self.folder.exists(share_marker(&folder, from.as_str())) {
                self.create_marker(&share_marker(&folder, to.as_str()))?;
            }
        }
        Ok(())
    }

    /// Removes all content of a session. Shared content stays until the other sessions are
    /// removed, too.
    ///
    /// # Errors
    ///
    /// Returns an error if the file system fails. Missing content is no error.
    pub fn remove_session(&self, session: &SessionKey) -> io::Result<()> {
        for folder in self.session_folders()? {
            if folder == session.as_str() {
                self.create_marker(&gone_marker(&folder))?;
            } else if !self.remove_marker(&share_marker(&folder, session.as_str()))? {
                continue;
            }
            self.remove_if_unused(&folder)?;
        }
        Ok(())
    }

    /// Removes the content of all sessions except for these. A host that was killed may have
    /// left some.
    ///
    /// # Errors
    ///
    /// Returns an error if the file system fails.
    pub fn retain_sessions(&self, sessions: &BTreeSet<SessionKey>) -> io::Result<()> {
        let known: BTreeSet<_> = sessions.iter().map(SessionKey::as_str).collect();
        for folder in self.session_folders()? {
            for holder in self.holders(&folder)? {
                if !known.contains(holder.as_str()) {
                    self.remove_marker(&share_marker(&folder, &holder))?;
                }
            }
            if !known.contains(folder.as_str()) {
                self.create_marker(&gone_marker(&folder))?;
                self.remove_if_unused(&folder)?;
            }
        }
        Ok(())
    }

    /// Returns the directories of sessions; other entries are ignored.
    fn session_folders(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in self.folder.entries()? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                names.extend(entry.file_name().into_string().ok());
            }
        }
        Ok(names)
    }

    /// Returns the sessions that share the content of a directory.
    fn holders(&self, folder: &str) -> io::Result<Vec<String>> {
        let mut holders = Vec::new();
        for entry in self.folder.read_dir(folder)? {
            let name = entry?.file_name().into_string().unwrap_or_default();
            holders.extend(name.strip_prefix(SHARE_MARKER_PREFIX).map(str::to_owned));
        }
        Ok(holders)
    }

    /// Removes a directory if its session was removed and no other session shares it.
    fn remove_if_unused(&self, folder: &str) -> io::Result<()> {
        if self.folder.exists(gone_marker(folder)) && self.holders(folder)?.is_empty() {
            self.folder.remove_dir_all(folder)?;
            self.quota.remove(folder);
        }
        Ok(())
    }

    fn create_marker(&self, path: &str) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        self.folder.open_with(path, &options).map(drop)
    }

    /// Removes a marker file. Returns `false` if there was none.
    fn remove_marker(&self, path: &str) -> io::Result<bool> {
        match self.folder.remove_file(path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn open_content(&self, uri: &Uri) -> Result<(ContentAddress, File), FileError> {
        let address = match ContentAddress::parse(uri) {
            Some(Ok(address)) => address,
            Some(Err(malformed)) => return Err(FileError::Invalid(malformed.to_string())),
            None => return Err(FileError::NotLocal(uri.clone())),
        };
        let file = self.folder.open(content_path(&address));
        let file = file.map_err(|error| FileError::from_io(uri, &error))?;
        Ok((address, file))
    }

    /// Writes a file atomically.
    fn write_file(&self, session: &SessionKey, path: &str, bytes: &[u8]) -> io::Result<()> {
        let mut builder = DirBuilder::new();
        builder.mode(0o700);
        match self.folder.create_dir_with(session.as_str(), &builder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let number = self.temp_counter.fetch_add(1, Ordering::Relaxed);
        // The name is unique in this process. A leftover of a killed host is overwritten.
        let temp_path = format!("{}/{number}.new", session.as_str());
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        let mut file = self.folder.open_with(&temp_path, &options)?;
        let written = file.write_all(bytes);
        let placed = written.and_then(|()| self.folder.rename(&temp_path, &self.folder, path));
        placed.inspect_err(|_| {
            self.folder.remove_file(&temp_path).ignore_secondary();
        })
    }
}

/// Returns the marker path of a session that shares the content of a directory.
fn share_marker(folder: &str, holder: &str) -> String {
    format!("{folder}/{SHARE_MARKER_PREFIX}{holder}")
}

/// Returns the marker path of a directory whose session was removed.
fn gone_marker(folder: &str) -> String {
    format!("{folder}/gone")
}

fn content_path(address: &ContentAddress) -> String {
    format!("{}/{}", address.session().as_str(), address.hash())
}
