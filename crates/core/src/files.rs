//! Who may use which files. Using them is somebody else's work: the host says
//! what is granted, and passes on what came of it.

use agenthost_protocol::resource::{
    ResourceCopyParams, ResourceDeleteParams, ResourceListParams, ResourceMkdirParams,
    ResourceMoveParams, ResourceReadParams, ResourceResolveParams, ResourceWriteParams,
};
use agenthost_protocol::rpc::RequestId;
use agenthost_protocol::uri::Uri;

use crate::effect::{Answer, Effect, Effects};
use crate::host::Host;
use crate::input::ConnectionId;
use crate::refusal::Failure;
use crate::{contents, uris};

/// What may be done with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// Look at it.
    Read,
    /// Change it, and look at it.
    Write,
}

/// A directory that was granted, with all that is in it. Or a single file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    /// The directory.
    pub uri: Uri,
    /// What may be done with it.
    pub access: Access,
}

/// Something to be done with files.
#[derive(Debug, Clone)]
pub struct FileErrand {
    /// Who asked.
    pub connection: ConnectionId,
    /// What has to be answered.
    pub id: RequestId,
    /// Where it may be done.
    pub roots: Vec<Root>,
    /// What.
    pub request: FileRequest,
}

/// What can be done with files.
#[derive(Debug, Clone)]
pub enum FileRequest {
    /// Read one.
    Read(ResourceReadParams),
    /// Write one.
    Write(Box<ResourceWriteParams>),
    /// See what is in a directory.
    List(ResourceListParams),
    /// Copy.
    Copy(ResourceCopyParams),
    /// Delete.
    Delete(ResourceDeleteParams),
    /// Move.
    Move(ResourceMoveParams),
    /// See what one is.
    Resolve(ResourceResolveParams),
    /// Make a directory.
    MakeDirectory(ResourceMkdirParams),
}

impl Host {
    /// Has something done with files; the answer comes later.
    pub(crate) fn use_files(
        &self,
        connection: ConnectionId,
        id: &RequestId,
        request: FileRequest,
        out: &mut Effects,
    ) {
        out.push(Effect::UseFiles(Box::new(FileErrand {
            connection,
            id: id.clone(),
            roots: self.roots(),
            request,
        })));
    }

    /// Passes an answer on that came later. Whoever asked may be gone.
    pub(crate) fn pass_on(
        &self,
        connection: ConnectionId,
        id: &RequestId,
        answer: Result<Answer, Failure>,
        out: &mut Effects,
    ) {
        if !self.clients.connections.contains_key(&connection) {
            return;
        }
        match answer {
            Ok(answer) => out.answer(connection, id, answer),
            Err(failure) => out.fail(connection, id, failure.into()),
        }
    }

    /// Whether something may be done with a file, by its address.
    pub(crate) fn check_granted(&self, uri: &Uri, access: Access) -> Result<(), Failure> {
        if contents::is_kept(uri) {
            return Err(Failure::Fixed(uri.clone()));
        }
        let mut granted = self.granted().filter(|root| root.access >= access);
        if granted.any(|root| uris::is_within(&root.uri, uri)) {
            return Ok(());
        }
        let uri = uri.clone();
        Err(Failure::NotGranted { uri, access })
    }

    /// All that was granted, each once.
    pub(crate) fn roots(&self) -> Vec<Root> {
        let mut roots: Vec<_> = self.granted().collect();
        roots.sort_by(|a, b| (&a.uri, a.access).cmp(&(&b.uri, b.access)));
        roots.dedup();
        roots
    }

    /// All that was granted: the directories of sessions, those that the host
    /// was started with, those that a person added, and files of customizations.
    fn granted(&self) -> impl Iterator<Item = Root> {
        let sessions = self.sessions.values();
        let directories =
            sessions.flat_map(|summary| summary.metadata.working_directories.iter().flatten());
        let directories = directories.map(|uri| Root {
            uri: uri.clone(),
            access: Access::Write,
        });
        let configured = self.config.roots.iter().cloned();
        let directories = directories.chain(configured).chain(self.granted_folders());
        directories.chain(self.readable_customizations())
    }
}
