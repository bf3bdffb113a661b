//! Dispatches requests about resources to the component that owns the URI.

use std::sync::Arc;

use agenthost_core::resource::uris::{CONTENT_SCHEME, GIT_SCHEME};
use agenthost_core::{FileRequest, GrantedRoot, RequestFailure, ResponseBody};
use agenthost_protocol::resource::{ResourceReadResult, ResourceResolveResult};
use agenthost_protocol::uri::Uri;

use crate::change_tracker::ChangeTracker;
use crate::content_store::ContentStore;
use crate::file_service::{FileError, FileService};

/// Access to files, stored content and earlier versions of files.
#[derive(Debug)]
pub struct ResourceService {
    files: FileService,
    contents: Arc<ContentStore>,
    tracker: Arc<ChangeTracker>,
}

/// The component that owns a URI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ResourceOwner {
    ChangeTracker,
    ContentStore,
    FileService,
}

impl ResourceService {
    /// Combines the three owners of resources.
    pub fn new(
        files: FileService,
        contents: Arc<ContentStore>,
        tracker: Arc<ChangeTracker>,
    ) -> Self {
        ResourceService {
            files,
            contents,
            tracker,
        }
    }

    /// Executes a request: files within the granted roots, stored content and git objects for
    /// reading only. Blocks on disk I/O and on git.
    ///
    /// # Errors
    ///
    /// Returns an error if the owner of the URI refuses the request or fails.
    pub fn execute(
        &self,
        roots: &[GrantedRoot],
        request: &FileRequest,
    ) -> Result<ResponseBody, RequestFailure> {
        let uri = subject_of(request);
        let done = match owner_of(uri) {
            ResourceOwner::ChangeTracker => match request {
                FileRequest::Read(params) => {
                    self.tracker.read(uri, params.encoding).map(read_response)
                }
                FileRequest::Resolve(_) => self.tracker.resolve(uri).map(resolve_response),
                FileRequest::Write(_)
                | FileRequest::List(_)
                | FileRequest::Copy(_)
                | FileRequest::Delete(_)
                | FileRequest::Move(_)
                | FileRequest::MakeDirectory(_) => Err(FileError::NotLocal(uri.clone())),
            },
            ResourceOwner::ContentStore => match request {
                FileRequest::Read(params) => {
                    self.contents.read(uri, params.encoding).map(read_response)
                }
                FileRequest::Resolve(_) => self.contents.resolve(uri).map(resolve_response),
                FileRequest::Write(_)
                | FileRequest::List(_)
                | FileRequest::Copy(_)
                | FileRequest::Delete(_)
                | FileRequest::Move(_)
                | FileRequest::MakeDirectory(_) => Err(FileError::Immutable(uri.clone())),
            },
            ResourceOwner::FileService => return self.files.execute(roots, request),
        };
        done.map_err(RequestFailure::from)
    }
}

/// Returns the URI whose owner serves a request. For a copy or a move this is the source,
/// unless only the destination is stored content: the content store refuses both.
fn subject_of(request: &FileRequest) -> &Uri {
    let subject_of_pair = |source, destination| {
        let is_content = |uri| owner_of(uri) == ResourceOwner::ContentStore;
        if is_content(destination) && !is_content(source) {
            destination
        } else {
            source
        }
    };
    match request {
        FileRequest::Read(params) => &params.uri,
        FileRequest::Write(params) => &params.uri,
        FileRequest::List(params) => &params.uri,
        FileRequest::Copy(params) => subject_of_pair(&params.source, &params.destination),
        FileRequest::Delete(params) => &params.uri,
        FileRequest::Move(params) => subject_of_pair(&params.source, &params.destination),
        FileRequest::Resolve(params) => &params.uri,
        FileRequest::MakeDirectory(params) => &params.uri,
    }
}

/// Returns the owner by the scheme of a URI. The file service gets all other URIs and refuses
/// those that are no files.
fn owner_of(uri: &Uri) -> ResourceOwner {
    let (scheme, rest) = uri.as_str().split_once(':').unwrap_or_default();
    match scheme.to_ascii_lowercase().as_str() {
        GIT_SCHEME if rest.starts_with('/') => ResourceOwner::ChangeTracker,
        CONTENT_SCHEME => ResourceOwner::ContentStore,
        _ => ResourceOwner::FileService,
    }
}

fn read_response(result: ResourceReadResult) -> ResponseBody {
    ResponseBody::ResourceRead(Box::new(result))
}

fn resolve_response(result: ResourceResolveResult) -> ResponseBody {
    ResponseBody::ResourceResolve(Box::new(result))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scheme_names_the_owner() {
        for (uri, owner) in [
            ("agenthost-git:/w/a.rs?1.2", ResourceOwner::ChangeTracker),
            ("AgentHost-Git:/", ResourceOwner::ChangeTracker),
            ("agenthost-git:w", ResourceOwner::FileService),
            ("agenthost-content:/a.txt?1.2", ResourceOwner::ContentStore),
            ("AGENTHOST-CONTENT:a", ResourceOwner::ContentStore),
            ("file:///w/agenthost-git:/a", ResourceOwner::FileService),
            ("agenthost-contents:/a", ResourceOwner::FileService),
            ("https://example.com/", ResourceOwner::FileService),
            ("", ResourceOwner::FileService),
        ] {
            assert_eq!(owner_of(&Uri::from(uri)), owner, "{uri}");
        }
    }
}
