//! Access to files: granted roots, and the file jobs of clients.
//!
//! The host decides which files are granted. A worker of the server executes the jobs and
//! returns their results.

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

/// The kind of access to a file. Ordered: `Write` includes `Read`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileAccess {
    /// Reading and listing only.
    Read,
    /// Reading and changing files.
    Write,
}

/// A directory that clients may use, with everything in it, or a single file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantedRoot {
    /// URI of the directory or file.
    pub uri: Uri,
    /// The granted kind of access.
    pub access: FileAccess,
}

/// A file request of a client, with the roots that it may use.
#[derive(Debug, Clone)]
pub struct FileJob {
    /// The connection that sent the request.
    pub connection: ConnectionId,
    /// The id of the request to answer.
    pub id: RequestId,
    /// The roots that were granted when the job was submitted.
    pub roots: Vec<GrantedRoot>,
    /// The operation to execute.
    pub request: FileRequest,
}

/// An operation on files.
#[derive(Debug, Clone)]
pub enum FileRequest {
    /// Reads the content of a file.
    Read(ResourceReadParams),
    /// Writes the content of a file.
    Write(Box<ResourceWriteParams>),
    /// Lists the entries of a directory.
    List(ResourceListParams),
    /// Copies a file or directory.
    Copy(ResourceCopyParams),
    /// Deletes a file or directory.
    Delete(ResourceDeleteParams),
    /// Moves a file or directory.
    Move(ResourceMoveParams),
    /// Returns the metadata of a file or directory.
    Resolve(ResourceResolveParams),
    /// Creates a directory and its parents.
    MakeDirectory(ResourceMkdirParams),
}

impl Host {
    /// Submits a file job. Its result arrives as `Input::RequestCompleted`.
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

    /// Sends the result of a job as the response, unless the connection has been closed.
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

    /// Checks by its URI that a file is inside of a granted root.
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

    /// Returns the granted roots without duplicates.
    pub(crate) fn unique_granted_roots(&self) -> Vec<GrantedRoot> {
        let mut roots: Vec<_> = self.granted_roots().collect();
        roots.sort_by(|a, b| (&a.uri, a.access).cmp(&(&b.uri, b.access)));
        roots.dedup();
        roots
    }

    /// Returns all granted roots: the directories of sessions, the configured ones, those that
    /// the user added, and files of customizations.
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
