//! Changes to files: saving, creating, renaming, deleting.
//!
//! A save is complete when the host has the text: the content is read after the write, and also
//! after a conflict. So a save whose answer was lost does not conflict with itself, and a write
//! of another client just after it is found.

use agenthost_client::ClientResponse;
use agenthost_protocol::resource::{
    ContentEncoding, ResourceDeleteParams, ResourceMkdirParams, ResourceMoveParams,
    ResourceReadParams, ResourceResolveParams, ResourceWriteParams,
};
use agenthost_protocol::rpc::{Command, ErrorCode};
use agenthost_protocol::uri::{RootChannel, Uri};
use agenthost_view::file_content::{FileLineEnding, MAX_VIEW_BYTES, with_line_ending};
use agenthost_view::location::{child_uri, is_file_name, parent_uri};
use agenthost_view::visible_text::visible_label;
use serde::Serialize;

use super::open_file::{read_params, resolve_params};
use super::{FileFailure, FileResponse, decode_file};
use crate::frontend::Frontend;

/// Length of a name in an error, in characters.
const MAX_NAME_CHARS: usize = 100;

/// A save that is under way.
#[derive(Debug)]
pub(in crate::frontend) struct PendingSave {
    pub(in crate::frontend) command: u64,
    uri: Uri,
    text: String,
    step: SaveStep,
}

#[derive(Debug)]
enum SaveStep {
    Write,
    ReadMetadata,
    /// The metadata was read before the content, so this `etag` is not newer than the content.
    ReadContent {
        etag: Option<String>,
    },
}

/// The result of the command `file.save`.
#[derive(Debug, Serialize)]
struct SaveResult {
    state: SaveState,
    /// The present version of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    etag: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
enum SaveState {
    /// The file has the text.
    Saved,
    /// The file has another text.
    Conflict,
    /// The file does not exist.
    Deleted,
}

/// A change of a folder that is under way.
#[derive(Debug)]
pub(in crate::frontend) struct PendingChange {
    pub(in crate::frontend) command: u64,
    /// The folder that is read again.
    folder: Uri,
    /// The changed file, which is the result of the command.
    uri: Uri,
    renamed_from: Option<Uri>,
}

impl PendingChange {
    pub(super) fn new(command: u64, folder: Uri, uri: Uri) -> Self {
        PendingChange {
            command,
            folder,
            uri,
            renamed_from: None,
        }
    }
}

/// The result of a command that creates or changes a file.
#[derive(Debug, Serialize)]
struct ChangeResult<'a> {
    state: ChangeState,
    uri: &'a Uri,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
enum ChangeState {
    Done,
    /// There is a file with this name.
    Exists,
}

impl Frontend {
    pub(super) fn save_file(
        &mut self,
        id: u64,
        uri: Uri,
        text: &str,
        etag: Option<String>,
        is_new: bool,
        line_ending: FileLineEnding,
    ) {
        let text = with_line_ending(text, line_ending).into_owned();
        let params = ResourceWriteParams {
            create_only: is_new.then_some(true),
            if_match: etag.filter(|_| !is_new),
            ..write_params(&uri, text.clone(), ContentEncoding::Utf8)
        };
        let save = PendingSave {
            command: id,
            uri,
            text,
            step: SaveStep::Write,
        };
        self.request_file(&params, FileResponse::Save(Box::new(save)));
    }

    pub(super) fn continue_save(&mut self, save: PendingSave, response: ClientResponse) {
        match &save.step {
            SaveStep::Write => {
                let outcome = decode_file::<ResourceWriteParams>(response);
                match outcome.map_err(|failure| (failure.code, failure.reason)) {
                    Ok(_) => self.want_file(&save.uri),
                    Err((Some(ErrorCode::Conflict | ErrorCode::AlreadyExists), _)) => {}
                    Err((_, reason)) => return self.fail(save.command, reason),
                }
                let params = resolve_params(&save.uri);
                let step = SaveStep::ReadMetadata;
                let save = Box::new(PendingSave { step, ..save });
                self.request_file(&params, FileResponse::Save(save));
            }
            SaveStep::ReadMetadata => match decode_file::<ResourceResolveParams>(response) {
                Ok(metadata) if metadata.size.is_some_and(|size| size > MAX_VIEW_BYTES) => {
                    self.finish_save(&save, SaveState::Conflict, metadata.etag);
                }
                Ok(metadata) => {
                    let params = read_params(&save.uri, ContentEncoding::Utf8);
                    let etag = metadata.etag;
                    let step = SaveStep::ReadContent { etag };
                    let save = Box::new(PendingSave { step, ..save });
                    self.request_file(&params, FileResponse::Save(save));
                }
                Err(failure) => self.fail_save(&save, failure),
            },
            SaveStep::ReadContent { etag } => match decode_file::<ResourceReadParams>(response) {
                Ok(content) => {
                    let is_same =
                        content.encoding == ContentEncoding::Utf8 && content.data == save.text;
                    let state = match is_same {
                        true => SaveState::Saved,
                        false => SaveState::Conflict,
                    };
                    self.finish_save(&save, state, etag.clone());
                }
                Err(failure) => self.fail_save(&save, failure),
            },
        }
    }

    fn finish_save(&mut self, save: &PendingSave, state: SaveState, etag: Option<String>) {
        self.reply(save.command, &SaveResult { state, etag });
    }

    fn fail_save(&mut self, save: &PendingSave, failure: FileFailure) {
        match failure.code {
            Some(ErrorCode::NotFound) => self.finish_save(save, SaveState::Deleted, None),
            _ => self.fail(save.command, failure.reason),
        }
    }

    /// Sends a request that changes a folder.
    pub(super) fn request_change<C: Command>(&mut self, params: &C, change: PendingChange) {
        let purpose = FileResponse::Change {
            change,
            check: |response| decode_file::<C>(response).map(|_| ()),
        };
        self.request_file(params, purpose);
    }

    pub(super) fn finish_change(
        &mut self,
        change: PendingChange,
        outcome: Result<(), FileFailure>,
    ) {
        let state = match outcome.map_err(|failure| (failure.code, failure.reason)) {
            Ok(()) => ChangeState::Done,
            Err((Some(ErrorCode::AlreadyExists), _)) => ChangeState::Exists,
            Err((_, reason)) => return self.fail(change.command, reason),
        };
        if let (ChangeState::Done, Some(from)) = (&state, &change.renamed_from) {
            self.move_open_file(from, &change.uri);
        }
        self.want_file(&change.folder);
        let uri = &change.uri;
        self.reply(change.command, &ChangeResult { state, uri });
    }

    /// Returns the URI of a file in a folder, or fails the command.
    fn named_uri(&mut self, id: u64, folder: &Uri, name: &str) -> Option<Uri> {
        if is_file_name(name) {
            return Some(child_uri(folder, name));
        }
        let shown = visible_label(name, MAX_NAME_CHARS);
        self.fail(id, format!("`{shown}` is not the name of a file"));
        None
    }

    pub(super) fn create_file(
        &mut self,
        id: u64,
        folder: Uri,
        name: &str,
        data: String,
        replace: bool,
    ) {
        if let Some(uri) = self.named_uri(id, &folder, name) {
            let params = ResourceWriteParams {
                create_only: (!replace).then_some(true),
                ..write_params(&uri, data, ContentEncoding::Base64)
            };
            self.request_change(&params, PendingChange::new(id, folder, uri));
        }
    }

    pub(super) fn create_folder(&mut self, id: u64, folder: Uri, name: &str) {
        if let Some(uri) = self.named_uri(id, &folder, name) {
            let params = ResourceMkdirParams {
                channel: RootChannel,
                uri: uri.clone(),
                meta: None,
            };
            self.request_change(&params, PendingChange::new(id, folder, uri));
        }
    }

    pub(super) fn rename_file(&mut self, id: u64, uri: Uri, name: &str) {
        let Some(folder) = parent_uri(&uri) else {
            return self.fail(id, "this folder cannot be renamed".to_owned());
        };
        if let Some(destination) = self.named_uri(id, &folder, name) {
            let params = ResourceMoveParams {
                channel: RootChannel,
                source: uri.clone(),
                destination: destination.clone(),
                fail_if_exists: Some(true),
                meta: None,
            };
            let change = PendingChange {
                renamed_from: Some(uri),
                ..PendingChange::new(id, folder, destination)
            };
            self.request_change(&params, change);
        }
    }

    pub(super) fn delete_file(&mut self, id: u64, uri: Uri) {
        let folder = parent_uri(&uri).unwrap_or_else(|| uri.clone());
        let params = ResourceDeleteParams {
            channel: RootChannel,
            uri: uri.clone(),
            recursive: Some(true),
            meta: None,
        };
        self.request_change(&params, PendingChange::new(id, folder, uri));
    }
}

fn write_params(uri: &Uri, data: String, encoding: ContentEncoding) -> ResourceWriteParams {
    ResourceWriteParams {
        channel: RootChannel,
        uri: uri.clone(),
        data,
        encoding,
        content_type: None,
        create_only: None,
        mode: None,
        position: None,
        if_match: None,
        meta: None,
    }
}
