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

use agenthost_core::{Answer, ContentAddress, FileRequest, SessionKey};
use agenthost_protocol::common::ContentRef;
use agenthost_protocol::resource::{
    ContentEncoding, ResourceReadResult, ResourceResolveResult, ResourceType,
};
use agenthost_protocol::uri::Uri;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, DirBuilder, DirBuilderExt, File, OpenOptions, OpenOptionsExt};

use self::quota::{MAX_SESSION_BYTES, Quota};
use crate::files::{FileError, LARGEST, encode};

/// How the mark of a session begins that has a share in what is in a folder. No
/// hash looks like it.
const SHARE: &str = "for-";

/// Why content could not be kept.
#[derive(Debug, thiserror::Error)]
pub enum ContentError {
    /// It would be too large to be read.
    #[error("{0} bytes are more than the {LARGEST} that are kept in one piece")]
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
pub struct Contents {
    folder: Dir,
    /// For names that nobody else uses at the moment.
    written: AtomicU64,
    quota: Quota,
}

impl Contents {
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
        Ok(Contents {
            folder: Dir::open_ambient_dir(folder, ambient_authority())?,
            written: AtomicU64::new(0),
            quota: Quota::new(session_bytes),
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
    pub fn put(
        &self,
        session: &SessionKey,
        bytes: &[u8],
        name: &str,
    ) -> Result<ContentRef, ContentError> {
        if bytes.len() as u64 > LARGEST {
            return Err(ContentError::TooLarge(bytes.len()));
        }
        let address = ContentAddress::of(session, bytes, name);
        let path = path(&address);
        let found = self.folder.metadata(&path);
        let whole = |found: cap_std::fs::Metadata| found.len() == bytes.len() as u64;
        if !found.is_ok_and(whole) {
            let (folder, size) = (session.as_str(), bytes.len() as u64);
            if !self.quota.reserve(&self.folder, folder, size)? {
                return Err(ContentError::SessionFull(self.quota.limit()));
            }
            self.write(session, &path, bytes)
                .inspect_err(|_| self.quota.release(folder, size))?;
        }
        // A session of this name was gone, and there is one again.
        self.unmark(&gone(session.as_str()))?;
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
        wanted: Option<ContentEncoding>,
    ) -> Result<ResourceReadResult, FileError> {
        let (address, file) = self.find(uri)?;
        let mut bytes = Vec::new();
        let read = file.take(LARGEST).read_to_end(&mut bytes);
        read.map_err(|error| FileError::from_io(uri, &error))?;
        Ok(ResourceReadResult {
            content_type: address.content_type().map(str::to_owned),
            ..encode(bytes, wanted)
        })
    }

    /// What it is that is kept at an address.
    ///
    /// # Errors
    ///
    /// If it is no address of content, or there is nothing.
    pub fn resolve(&self, uri: &Uri) -> Result<ResourceResolveResult, FileError> {
        let (address, file) = self.find(uri)?;
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
        for folder in self.sessions()? {
            let mine = folder == from.as_str();
            if mine || self.folder.exists(share(&folder, from.as_str())) {
                self.mark(&share(&folder, to.as_str()))?;
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
    pub fn forget(&self, session: &SessionKey) -> io::Result<()> {
        for folder in self.sessions()? {
            if folder == session.as_str() {
                self.mark(&gone(&folder))?;
            } else if !self.unmark(&share(&folder, session.as_str()))? {
                continue;
            }
            self.drop_unused(&folder)?;
        }
        Ok(())
    }

    /// Forgets the content of all sessions but these: a host that was killed
    /// may have left some.
    ///
    /// # Errors
    ///
    /// If the system says no.
    pub fn forget_others(&self, sessions: &BTreeSet<SessionKey>) -> io::Result<()> {
        let known: BTreeSet<_> = sessions.iter().map(SessionKey::as_str).collect();
        for folder in self.sessions()? {
            for holder in self.holders(&folder)? {
                if !known.contains(holder.as_str()) {
                    self.unmark(&share(&folder, &holder))?;
                }
            }
            if !known.contains(folder.as_str()) {
                self.mark(&gone(&folder))?;
                self.drop_unused(&folder)?;
            }
        }
        Ok(())
    }

    /// What is asked about content that is kept; `None` if it is about other
    /// things.
    pub(crate) fn carry_out(&self, request: &FileRequest) -> Option<Result<Answer, FileError>> {
        let kept = |uri: &Uri| ContentAddress::read(uri).is_some();
        let fixed = |uri: &Uri| kept(uri).then(|| Err(FileError::Fixed(uri.clone())));
        match request {
            FileRequest::Read(params) if kept(&params.uri) => {
                let read = self.read(&params.uri, params.encoding);
                Some(read.map(|read| Answer::Read(Box::new(read))))
            }
            FileRequest::Resolve(params) if kept(&params.uri) => {
                let found = self.resolve(&params.uri);
                Some(found.map(|found| Answer::Resolve(Box::new(found))))
            }
            FileRequest::Read(_) | FileRequest::Resolve(_) => None,
            FileRequest::Write(params) => fixed(&params.uri),
            FileRequest::List(params) => fixed(&params.uri),
            FileRequest::Delete(params) => fixed(&params.uri),
            FileRequest::MakeDirectory(params) => fixed(&params.uri),
            FileRequest::Copy(params) => {
                fixed(&params.source).or_else(|| fixed(&params.destination))
            }
            FileRequest::Move(params) => {
                fixed(&params.source).or_else(|| fixed(&params.destination))
            }
        }
    }

    /// The folders of sessions. What else is there is not ours.
    fn sessions(&self) -> io::Result<Vec<String>> {
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
            holders.extend(name.strip_prefix(SHARE).map(str::to_owned));
        }
        Ok(holders)
    }

    /// Drops a folder if its session is gone and nobody else needs it.
    fn drop_unused(&self, folder: &str) -> io::Result<()> {
        if self.folder.exists(gone(folder)) && self.holders(folder)?.is_empty() {
            self.folder.remove_dir_all(folder)?;
            self.quota.forget(folder);
        }
        Ok(())
    }

    fn mark(&self, path: &str) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        self.folder.open_with(path, &options).map(drop)
    }

    /// Takes a mark away; says whether there was one.
    fn unmark(&self, path: &str) -> io::Result<bool> {
        match self.folder.remove_file(path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Opens what is at an address.
    fn find(&self, uri: &Uri) -> Result<(ContentAddress, File), FileError> {
        let address = match ContentAddress::read(uri) {
            Some(Ok(address)) => address,
            Some(Err(malformed)) => return Err(FileError::Invalid(malformed.to_string())),
            None => return Err(FileError::Elsewhere(uri.clone())),
        };
        let file = self.folder.open(path(&address));
        let file = file.map_err(|error| FileError::from_io(uri, &error))?;
        Ok((address, file))
    }

    /// Writes a file whole or not at all.
    fn write(&self, session: &SessionKey, path: &str, bytes: &[u8]) -> io::Result<()> {
        let mut builder = DirBuilder::new();
        builder.mode(0o700);
        match self.folder.create_dir_with(session.as_str(), &builder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let number = self.written.fetch_add(1, Ordering::Relaxed);
        // Nobody else writes here; what one that was killed left is in the way
        // of nobody.
        let aside = format!("{}/{number}.new", session.as_str());
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        let mut file = self.folder.open_with(&aside, &options)?;
        let written = file.write_all(bytes);
        let placed = written.and_then(|()| self.folder.rename(&aside, &self.folder, path));
        placed.inspect_err(|_| {
            // If that fails, too, the first error is the one to tell.
            self.folder.remove_file(&aside).unwrap_or_default();
        })
    }
}

/// The mark of a session that has a share in what is in a folder.
fn share(folder: &str, holder: &str) -> String {
    format!("{folder}/{SHARE}{holder}")
}

/// The mark of a folder whose session is gone.
fn gone(folder: &str) -> String {
    format!("{folder}/gone")
}

fn path(address: &ContentAddress) -> String {
    format!("{}/{}", address.session().as_str(), address.hash())
}
