//! Files of the host: the folders of the selected session, one open file, and changes to files.
//!
//! While the panel is shown, every open folder and the open file have a watch of the host. A
//! folder is read after its watch has started, so no change is missed; a folder that the host
//! does not watch is read at once, and again when the user asks for it.

mod edits;
mod folders;
mod open_file;

use agenthost_client::ClientResponse;
use agenthost_protocol::resource::{
    ResourceListParams, ResourceReadParams, ResourceRequestParams, ResourceResolveResult,
};
use agenthost_protocol::rpc::{Command, ErrorCode, RpcError};
use agenthost_protocol::sorted::SortedMap;
use agenthost_protocol::uri::{RootChannel, Uri};
use agenthost_view::file_tree::{FileTree, TreeLayout};
use serde_json::value::RawValue;

use super::Frontend;
use super::responses::{RequestError, decode, encode};
use super::sessions::folder_uri;
use crate::input::FileCommand;
use edits::{PendingChange, PendingSave};
use folders::FolderWatch;
use open_file::OpenFile;

/// The error for a command on an open file when there is none.
const NO_TEXT: &str = "no text file is open";

/// The files that the page shows.
#[derive(Debug, Default)]
pub(super) struct FilesPanel {
    is_shown: bool,
    tree: FileTree,
    /// The content of each folder that is shown.
    fetches: SortedMap<Uri, FetchState>,
    /// Watches of folders, and of the open file.
    watches: SortedMap<Uri, FolderWatch>,
    open: Option<OpenFile>,
    /// Number of the newest content of an open file.
    revision: u64,
    /// `true` if requests may have to be sent.
    needs_sync: bool,
    /// `true` if the slices may have changed.
    is_changed: bool,
}

/// The content of a folder or file that the host has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum FetchState {
    #[default]
    Wanted,
    Loading,
    /// It has changed while it was loading.
    LoadingOld,
    Current,
}

impl FetchState {
    fn want(&mut self) {
        *self = match self {
            FetchState::Wanted | FetchState::Current => FetchState::Wanted,
            FetchState::Loading | FetchState::LoadingOld => FetchState::LoadingOld,
        };
    }

    fn finish(&mut self) {
        *self = match self {
            FetchState::LoadingOld => FetchState::Wanted,
            FetchState::Wanted | FetchState::Loading | FetchState::Current => FetchState::Current,
        };
    }
}

/// The use of a response for the files panel.
#[derive(Debug)]
pub(super) enum FileResponse {
    /// A watch of a folder or of the open file.
    Watch { target: Uri },
    /// The entries of a folder.
    Entries { folder: Uri },
    /// The metadata of the open file.
    Metadata { uri: Uri },
    /// The content of the open file.
    Content {
        uri: Uri,
        metadata: Box<ResourceResolveResult>,
    },
    /// A step of a save.
    Save(Box<PendingSave>),
    /// A change of a folder, or access to it.
    Change {
        change: PendingChange,
        check: fn(ClientResponse) -> Result<(), FileFailure>,
    },
}

impl FileResponse {
    /// Returns the command of the user that waits for the response.
    pub(super) fn command(&self) -> Option<u64> {
        match self {
            FileResponse::Save(save) => Some(save.command),
            FileResponse::Change { change, .. } => Some(change.command),
            FileResponse::Watch { .. }
            | FileResponse::Entries { .. }
            | FileResponse::Metadata { .. }
            | FileResponse::Content { .. } => None,
        }
    }
}

/// The reason for which a request about a file failed.
#[derive(Debug, Clone)]
pub(super) struct FileFailure {
    /// Code of the host; absent if there was no answer.
    code: Option<ErrorCode>,
    reason: String,
    /// `true` if the user can ask for access.
    can_request: bool,
}

fn decode_file<C: Command>(response: ClientResponse) -> Result<C::Result, FileFailure> {
    let failure = |error: RequestError| FileFailure {
        code: None,
        reason: error.to_string(),
        can_request: false,
    };
    match response.decode::<C>() {
        Ok(Some(Ok(result))) => Ok(result),
        Ok(Some(Err(error))) => Err(refusal(error)),
        Ok(None) => Err(failure(RequestError::Interrupted)),
        Err(error) => Err(failure(error.into())),
    }
}

fn refusal(error: RpcError) -> FileFailure {
    let asks = error.data.as_ref().and_then(|data| data.get("request"));
    FileFailure {
        code: Some(error.code),
        can_request: error.code == ErrorCode::PermissionDenied && asks.is_some(),
        reason: error.message,
    }
}

impl Frontend {
    pub(super) fn execute_file(&mut self, id: u64, command: FileCommand) {
        match command {
            FileCommand::Show { flat } => {
                let layout = match flat {
                    true => TreeLayout::Flat,
                    false => TreeLayout::Nested,
                };
                self.files.tree.set_layout(layout);
                self.files.is_shown = true;
                self.refresh_files();
                self.done(id);
            }
            FileCommand::Hide {} => self.hide_files(id),
            FileCommand::Expand { uri } => {
                if self.files.tree.expand(Uri::from(uri)) {
                    self.finish_file_command(id);
                } else {
                    self.fail(id, "too many folders are open".to_owned());
                }
            }
            FileCommand::Collapse { uri } => {
                self.files.tree.collapse(&Uri::from(uri));
                self.finish_file_command(id);
            }
            FileCommand::Enter { uri } => {
                self.files.tree.enter(uri.map(Uri::from));
                self.finish_file_command(id);
            }
            FileCommand::SetHidden { shown } => {
                self.files.tree.set_shows_hidden(shown);
                self.finish_file_command(id);
            }
            FileCommand::Refresh {} => {
                self.refresh_files();
                self.done(id);
            }
            FileCommand::Open { uri } => self.open_file(id, folder_uri(&uri)),
            FileCommand::Close {} => {
                self.files.open = None;
                self.finish_file_command(id);
            }
            FileCommand::Lines { start, end } => self.read_lines(id, start..end),
            FileCommand::Text {} => self.read_text(id),
            FileCommand::Save {
                uri,
                text,
                etag,
                is_new,
                line_ending,
            } => self.save_file(id, Uri::from(uri), &text, etag, is_new, line_ending),
            FileCommand::Bytes { uri } => self.read_bytes(id, Uri::from(uri)),
            FileCommand::Create {
                folder,
                name,
                data,
                replace,
            } => self.create_file(id, Uri::from(folder), &name, data, replace),
            FileCommand::CreateFolder { folder, name } => {
                self.create_folder(id, Uri::from(folder), &name);
            }
            FileCommand::Rename { uri, name } => self.rename_file(id, Uri::from(uri), &name),
            FileCommand::Delete { uri } => self.delete_file(id, Uri::from(uri)),
            FileCommand::RequestAccess { uri } => {
                let uri = Uri::from(uri);
                let params = ResourceRequestParams {
                    channel: RootChannel,
                    uri: uri.clone(),
                    read: Some(true),
                    write: None,
                    meta: None,
                };
                self.request_change(&params, PendingChange::new(id, uri.clone(), uri));
            }
        }
    }

    fn finish_file_command(&mut self, id: u64) {
        self.mark_files();
        self.done(id);
    }

    fn mark_files(&mut self) {
        self.files.needs_sync = true;
        self.files.is_changed = true;
        self.dirty.panels = true;
    }

    fn request_file<C: Command>(&mut self, params: &C, purpose: FileResponse) {
        self.request(params, super::responses::ResponsePurpose::File(purpose));
    }

    pub(super) fn handle_file_response(&mut self, purpose: FileResponse, response: ClientResponse) {
        match purpose {
            FileResponse::Watch { target } => self.add_watch(&target, response),
            FileResponse::Entries { folder } => self.add_entries(&folder, response),
            FileResponse::Metadata { uri } => self.add_metadata(uri, response),
            FileResponse::Content { uri, metadata } => self.add_content(&uri, *metadata, response),
            FileResponse::Save(save) => self.continue_save(*save, response),
            FileResponse::Change { change, check } => self.finish_change(change, check(response)),
        }
    }

    /// Sends the requests that the shown folders and the open file need.
    pub(super) fn sync_files(&mut self) {
        if !self.files.is_shown {
            return;
        }
        self.update_file_roots();
        if self.link.is_live() && std::mem::take(&mut self.files.needs_sync) {
            self.sync_folders();
            self.sync_open_file();
            self.send_pending();
        }
    }

    /// Starts the watches again that the host has ended, and reads everything that is shown:
    /// changes are not reported while there is no connection.
    pub(super) fn resume_files(&mut self) {
        let mut watches = std::mem::take(&mut self.files.watches);
        watches.retain(|_, watch| match watch {
            FolderWatch::Active(channel) => self.state(channel).is_some(),
            FolderWatch::Requested | FolderWatch::Refused => false,
        });
        self.files.watches = watches;
        self.refresh_files();
    }

    /// Reads everything again that is shown.
    pub(super) fn refresh_files(&mut self) {
        for fetch in self.files.fetches.values_mut() {
            fetch.want();
        }
        if let Some(open) = &mut self.files.open {
            open.fetch.want();
        }
        // A refused watch gets another chance.
        self.files
            .watches
            .retain(|_, watch| *watch != FolderWatch::Refused);
        self.mark_files();
    }

    pub(super) fn read_file(&mut self, id: u64, uri: &str) {
        let params = ResourceReadParams {
            channel: RootChannel,
            uri: folder_uri(uri),
            encoding: None,
            meta: None,
        };
        self.request_for(id, &params, to_content);
    }

    pub(super) fn list_folder(&mut self, id: u64, uri: &str) {
        let params = ResourceListParams {
            channel: RootChannel,
            uri: folder_uri(uri),
            meta: None,
        };
        self.request_for(id, &params, to_entries);
    }
}

fn to_content(response: ClientResponse) -> Result<Option<Box<RawValue>>, RequestError> {
    encode(&decode::<ResourceReadParams>(response)?)
}

fn to_entries(response: ClientResponse) -> Result<Option<Box<RawValue>>, RequestError> {
    encode(&decode::<ResourceListParams>(response)?)
}
