//! Who may use which files. Using them is somebody else's work: the host says
//! what is granted, and passes on what came of it.

pub(crate) mod access_requests;
pub(crate) mod content;
pub mod links;
pub mod uris;
pub(crate) mod watches;

use agenthost_protocol::resource::{
    ResourceCopyParams, ResourceDeleteParams, ResourceListParams, ResourceMkdirParams,
    ResourceMoveParams, ResourceReadParams, ResourceResolveParams, ResourceWriteParams,
};
use agenthost_protocol::rpc::RequestId;
use agenthost_protocol::uri::Uri;

use crate::host::Host;
use crate::host::effect::{Effect, Effects, ResponseBody};
use crate::host::error::RequestFailure;
use crate::host::input::ConnectionId;

/// What may be done with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileAccess {
    /// Look at it.
    Read,
    /// Change it, and look at it.
    Write,
}

/// A directory that was granted, with all that is in it. Or a single file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantedRoot {
    /// The directory.
    pub uri: Uri,
    /// What may be done with it.
    pub access: FileAccess,
}

/// Something to be done with files.
#[derive(Debug, Clone)]
pub struct FileJob {
    /// Who asked.
    pub connection: ConnectionId,
    /// What has to be answered.
    pub id: RequestId,
    /// Where it may be done.
    pub roots: Vec<GrantedRoot>,
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
    pub(crate) fn submit_file_job(
        &self,
        connection: ConnectionId,
        id: &RequestId,
        request: FileRequest,
        out: &mut Effects,
    ) {
        out.push(Effect::AccessFiles(Box::new(FileJob {
            connection,
            id: id.clone(),
            roots: self.unique_granted_roots(),
            request,
        })));
    }

    /// Passes an answer on that came later. Whoever asked may be gone.
    pub(crate) fn complete_request(
        &self,
        connection: ConnectionId,
        id: &RequestId,
        answer: Result<ResponseBody, RequestFailure>,
        out: &mut Effects,
    ) {
        if !self.clients.connections.contains_key(&connection) {
            return;
        }
        match answer {
            Ok(answer) => out.respond(connection, id, answer),
            Err(failure) => out.respond_error(connection, id, failure.into()),
        }
    }

    /// Whether something may be done with a file, by its address.
    pub(crate) fn check_granted(
        &self,
        uri: &Uri,
        access: FileAccess,
    ) -> Result<(), RequestFailure> {
        if content::is_content_uri(uri) {
            return Err(RequestFailure::ImmutableContent(uri.clone()));
        }
        let mut granted = self.granted_roots().filter(|root| root.access >= access);
        if granted.any(|root| uris::is_within(&root.uri, uri)) {
            return Ok(());
        }
        let uri = uri.clone();
        Err(RequestFailure::NotGranted { uri, access })
    }

    /// All that was granted, each once.
    pub(crate) fn unique_granted_roots(&self) -> Vec<GrantedRoot> {
        let mut roots: Vec<_> = self.granted_roots().collect();
        roots.sort_by(|a, b| (&a.uri, a.access).cmp(&(&b.uri, b.access)));
        roots.dedup();
        roots
    }

    /// All that was granted: the directories of sessions, those that the host
    /// was started with, those that a person added, and files of customizations.
    fn granted_roots(&self) -> impl Iterator<Item = GrantedRoot> {
        let sessions = self.sessions.summaries();
        let directories =
            sessions.flat_map(|summary| summary.metadata.working_directories.iter().flatten());
        let directories = directories.map(|uri| GrantedRoot {
            uri: uri.clone(),
            access: FileAccess::Write,
        });
        let configured = self.config.granted_roots.iter().cloned();
        let directories = directories.chain(configured).chain(self.granted_folders());
        directories.chain(self.readable_customizations())
    }
}
