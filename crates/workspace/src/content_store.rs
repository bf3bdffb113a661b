//! Content that the host keeps itself: what is too large for a state.
//!
//! A folder for each session, and in it a file for each content, named by its
//! hash. Paths are made of hex digits that were checked, and opened from the
//! folder by handle: no address leads anywhere else.

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

/// How the mark of a session begins that has a share in what is in a folder. No
/// hash looks like it.
const SHARE_MARKER_PREFIX: &str = "for-";

/// Why content could not be kept.
#[derive(Debug, thiserror::Error)]
pub enum ContentError {
    /// It would be too large to be read.
    #[error("{0} bytes are more than the {MAX_FILE_BYTES} that are kept in one piece")]
    TooLarge(usize),
    /// The session has stored as much as it may.
    #[error("the stored content of a session may have at most {0} bytes")]
    SessionFull(u64),
    /// The system says no.
    #[error("keep content: {0}")]
    Io(#[from] io::Error),
}

/// The content of all sessions.
#[derive(Debug)]
pub struct ContentStore {
    folder: Dir,
    /// For names that nobody else uses at the moment.
    temp_counter: AtomicU64,
    quota: ContentQuota,
}

impl ContentStore {
    /// Opens the folder; makes it if it is not there, for nobody else to read.
    ///
    /// # Errors
    ///
    /// If the system says no.
    pub fn open(folder: &Path) -> io::Result<Self> {
        Self::open_with_limit(folder, MAX_SESSION_BYTES)
    }

    /// The same, with a limit of the bytes that each session may store.
    ///
    /// # Errors
    ///
    /// If the system says no.
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

    /// Keeps some content of a session, and says how to refer to it. What is
    /// there already is not written again. Waits for the disk, but not until it
    /// is safe from a loss of power: then it is written again when it is kept
    /// again.
    ///
    /// # Errors
    ///
    /// If it is too large, the session has no room for it, or the system says
    /// no.
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
        let found = self.folder.metadata(&path);
        let whole = |found: cap_std::fs::Metadata| found.len() == bytes.len() as u64;
        if !found.is_ok_and(whole) {
            let (folder, size) = (session.as_str(), bytes.len() as u64);
            if !self.quota.reserve(&self.folder, folder, size)? {
                return Err(ContentError::SessionFull(self.quota.limit()));
            }
            self.write_file(session, &path, bytes)
                .inspect_err(|_| self.quota.release(folder, size))?;
        }
        // A session of this name was gone, and there is one again.
        self.remove_marker(&gone_marker(session.as_str()))?;
        Ok(address.reference(bytes.len()))
    }

    /// What is kept at an address.
    ///
    /// # Errors
    ///
    /// If it is no address of content, or there is nothing.
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

    /// What it is that is kept at an address.
    ///
    /// # Errors
    ///
    /// If it is no address of content, or there is nothing.
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
            // It never changes.
            etag: Some(address.hash().to_owned()),
        })
    }

    /// Gives a session a share in all content of another one: chats of that one
    /// belong to it now. It also gets the shares that the other one has.
    ///
    /// # Errors
    ///
    /// If the system says no.
    pub fn share(&self, from: &SessionKey, to: &SessionKey) -> io::Result<()> {
        for folder in self.session_folders()? {
            let mine = folder == from.as_str();
            if mine || self.folder.exists(share_marker(&folder, from.as_str())) {
                self.create_marker(&share_marker(&folder, to.as_str()))?;
            }
        }
        Ok(())
    }

    /// Forgets all content of a session. What another one has a share in stays
    /// until that one is forgotten, too.
    ///
    /// # Errors
    ///
    /// If the system says no; there being none is no error.
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

    /// Forgets the content of all sessions but these: a host that was killed
    /// may have left some.
    ///
    /// # Errors
    ///
    /// If the system says no.
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

    /// The folders of sessions. What else is there is not ours.
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

    /// The sessions that have a share in what is in a folder.
    fn holders(&self, folder: &str) -> io::Result<Vec<String>> {
        let mut holders = Vec::new();
        for entry in self.folder.read_dir(folder)? {
            let name = entry?.file_name().into_string().unwrap_or_default();
            holders.extend(name.strip_prefix(SHARE_MARKER_PREFIX).map(str::to_owned));
        }
        Ok(holders)
    }

    /// Drops a folder if its session is gone and nobody else needs it.
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

    /// Takes a mark away; says whether there was one.
    fn remove_marker(&self, path: &str) -> io::Result<bool> {
        match self.folder.remove_file(path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Opens what is at an address.
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

    /// Writes a file whole or not at all.
    fn write_file(&self, session: &SessionKey, path: &str, bytes: &[u8]) -> io::Result<()> {
        let mut builder = DirBuilder::new();
        builder.mode(0o700);
        match self.folder.create_dir_with(session.as_str(), &builder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let number = self.temp_counter.fetch_add(1, Ordering::Relaxed);
        // Nobody else writes here; what one that was killed left is in the way
        // of nobody.
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

/// The mark of a session that has a share in what is in a folder.
fn share_marker(folder: &str, holder: &str) -> String {
    format!("{folder}/{SHARE_MARKER_PREFIX}{holder}")
}

/// The mark of a folder whose session is gone.
fn gone_marker(folder: &str) -> String {
    format!("{folder}/gone")
}

fn content_path(address: &ContentAddress) -> String {
    format!("{}/{}", address.session().as_str(), address.hash())
}
