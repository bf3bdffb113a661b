//! The open file: its metadata, its content, and the lines that the page shows.

use std::ops::Range;

use agenthost_client::ClientResponse;
use agenthost_protocol::resource::{
    ContentEncoding, ResourceReadParams, ResourceReadResult, ResourceResolveParams,
    ResourceResolveResult, ResourceType,
};
use agenthost_protocol::rpc::ErrorCode;
use agenthost_protocol::uri::{RootChannel, Uri};
use agenthost_view::file_content::{FileContent, FileLineEnding, TextContent, image_type};
use agenthost_view::location::{name_of, parent_uri, path_of};
use agenthost_view::visible_text::{visible_label, visible_text};
use serde::Serialize;

use super::{FetchState, FileFailure, FileResponse, NO_TEXT, decode_file, to_content};
use crate::frontend::Frontend;

/// Length of the name of a file, in characters.
const MAX_NAME_CHARS: usize = 300;

/// Lines that are read at once.
const MAX_LINES: usize = 20_000;

/// The file that the page shows.
#[derive(Debug)]
pub(super) struct OpenFile {
    pub(super) uri: Uri,
    pub(super) fetch: FetchState,
    metadata: Option<ResourceResolveResult>,
    content: Option<FileContent>,
    failure: Option<FileFailure>,
    /// Changes with the content.
    revision: u64,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OpenFileView<'a> {
    uri: &'a Uri,
    label: String,
    folder: String,
    status: FileStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    can_request: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    modified: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    etag: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content_type: Option<&'static str>,
    lines: usize,
    width: usize,
    editable: bool,
    revision: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
enum FileStatus {
    Loading,
    Text,
    Image,
    Binary,
    Large,
    /// The file does not exist, or not any more.
    Gone,
    Failed,
}

/// The result of the command `file.lines`.
#[derive(Debug, Serialize)]
struct FileLines {
    revision: u64,
    lines: Vec<String>,
}

/// The result of the command `file.text`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct EditableText<'a> {
    text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    etag: Option<&'a str>,
    line_ending: FileLineEnding,
}

impl OpenFile {
    fn new(uri: Uri, revision: u64) -> Self {
        OpenFile {
            uri,
            fetch: FetchState::Wanted,
            metadata: None,
            content: None,
            failure: None,
            revision,
        }
    }

    fn text(&self) -> Option<&TextContent> {
        match self.content.as_ref()? {
            FileContent::Text(text) => Some(text),
            FileContent::Image | FileContent::Binary | FileContent::Large => None,
        }
    }

    fn etag(&self) -> Option<&str> {
        self.metadata.as_ref()?.etag.as_deref()
    }

    fn status(&self) -> FileStatus {
        if let Some(failure) = &self.failure {
            return match failure.code {
                Some(ErrorCode::NotFound) => FileStatus::Gone,
                _ => FileStatus::Failed,
            };
        }
        match &self.content {
            None => FileStatus::Loading,
            Some(FileContent::Text(_)) => FileStatus::Text,
            Some(FileContent::Image) => FileStatus::Image,
            Some(FileContent::Binary) => FileStatus::Binary,
            Some(FileContent::Large) => FileStatus::Large,
        }
    }

    pub(super) fn view(&self) -> OpenFileView<'_> {
        let path = path_of(&self.uri);
        let name = name_of(&path);
        let folder = parent_uri(&self.uri).map(|folder| path_of(&folder));
        let text = self.text();
        let metadata = self.metadata.as_ref();
        let modified = metadata.and_then(|metadata| metadata.mtime.as_ref());
        OpenFileView {
            uri: &self.uri,
            label: visible_label(name, MAX_NAME_CHARS),
            folder: visible_text(&folder.unwrap_or_default()),
            status: self.status(),
            error: self.failure.as_ref().map(|failure| failure.reason.as_str()),
            can_request: self
                .failure
                .as_ref()
                .is_some_and(|failure| failure.can_request),
            size: metadata.and_then(|metadata| metadata.size),
            modified: modified.map(ToString::to_string),
            etag: self.etag(),
            content_type: image_type(name),
            lines: text.map_or(0, TextContent::line_count),
            width: text.map_or(0, TextContent::width),
            editable: text.is_some_and(TextContent::is_editable),
            revision: self.revision,
        }
    }
}

impl Frontend {
    pub(super) fn open_file(&mut self, id: u64, uri: Uri) {
        // Folders of another session would close the file when the panel is shown.
        self.update_file_roots();
        let is_same = self.files.open.as_ref().is_some_and(|open| open.uri == uri);
        if is_same {
            self.want_file(&uri);
        } else {
            self.files.revision += 1;
            self.files.open = Some(OpenFile::new(uri, self.files.revision));
        }
        self.finish_file_command(id);
    }

    pub(super) fn sync_open_file(&mut self) {
        let Some(open) = &self.files.open else {
            return;
        };
        let uri = open.uri.clone();
        if open.fetch == FetchState::Wanted && self.is_watch_settled(&uri) {
            if let Some(open) = &mut self.files.open {
                open.fetch = FetchState::Loading;
            }
            self.request_file(&resolve_params(&uri), FileResponse::Metadata { uri });
        }
    }

    /// Returns the open file, unless the page has opened another one meanwhile.
    fn opened(&mut self, uri: &Uri) -> Option<&mut OpenFile> {
        self.files.open.as_mut().filter(|open| open.uri == *uri)
    }

    pub(super) fn add_metadata(&mut self, uri: Uri, response: ClientResponse) {
        let outcome = decode_file::<ResourceResolveParams>(response);
        let metadata = match outcome.and_then(check_is_file) {
            Ok(metadata) => metadata,
            Err(failure) => return self.fail_open_file(&uri, failure),
        };
        let Some(open) = self.opened(&uri) else {
            return;
        };
        let is_same = metadata.etag.is_some() && open.etag() == metadata.etag.as_deref();
        if is_same && open.content.is_some() && open.failure.is_none() {
            open.fetch.finish();
            return self.mark_files();
        }
        let name = path_of(&uri);
        match FileContent::of_metadata(name_of(&name), metadata.size) {
            Some(content) => self.set_content(&uri, metadata, content),
            None => {
                let params = read_params(&uri, ContentEncoding::Utf8);
                let metadata = Box::new(metadata);
                self.request_file(&params, FileResponse::Content { uri, metadata });
            }
        }
    }

    pub(super) fn add_content(
        &mut self,
        uri: &Uri,
        metadata: ResourceResolveResult,
        response: ClientResponse,
    ) {
        match decode_file::<ResourceReadParams>(response) {
            Ok(result) => self.set_content(uri, metadata, content_of(result)),
            Err(failure) => self.fail_open_file(uri, failure),
        }
    }

    fn set_content(&mut self, uri: &Uri, metadata: ResourceResolveResult, content: FileContent) {
        let revision = self.files.revision + 1;
        let Some(open) = self.opened(uri) else {
            return;
        };
        open.fetch.finish();
        open.metadata = Some(metadata);
        open.content = Some(content);
        open.failure = None;
        open.revision = revision;
        self.files.revision = revision;
        self.mark_files();
    }

    fn fail_open_file(&mut self, uri: &Uri, failure: FileFailure) {
        let is_live = self.link.is_live();
        let Some(open) = self.opened(uri) else {
            return;
        };
        open.fetch.finish();
        if failure.code.is_none() && !is_live {
            open.fetch.want();
        } else {
            open.failure = Some(failure);
        }
        self.mark_files();
    }

    pub(super) fn read_lines(&mut self, id: u64, range: Range<usize>) {
        let Some(open) = &self.files.open else {
            return self.fail(id, NO_TEXT.to_owned());
        };
        let Some(text) = open.text() else {
            return self.fail(id, NO_TEXT.to_owned());
        };
        let end = range.end.min(range.start.saturating_add(MAX_LINES));
        let value = FileLines {
            revision: open.revision,
            lines: text.lines(range.start..end),
        };
        self.reply(id, &value);
    }

    pub(super) fn read_text(&mut self, id: u64) {
        let open = self.files.open.take();
        match open.as_ref().and_then(|open| Some((open, open.text()?))) {
            Some((open, text)) if text.is_editable() => {
                let value = EditableText {
                    text: text.text(),
                    etag: open.etag(),
                    line_ending: text.line_ending(),
                };
                self.reply(id, &value);
            }
            Some(_) => self.fail(id, "the file is too large to edit".to_owned()),
            None => self.fail(id, NO_TEXT.to_owned()),
        }
        self.files.open = open;
    }

    pub(super) fn read_bytes(&mut self, id: u64, uri: Uri) {
        let params = read_params(&uri, ContentEncoding::Base64);
        self.request_for(id, &params, to_content);
    }

    /// Follows a file that was renamed, or whose folder was.
    pub(super) fn move_open_file(&mut self, from: &Uri, to: &Uri) {
        let Some(open) = &mut self.files.open else {
            return;
        };
        let rest = open.uri.as_str().strip_prefix(from.as_str());
        if let Some(rest) = rest.filter(|rest| rest.is_empty() || rest.starts_with('/')) {
            open.uri = Uri::from(format!("{to}{rest}"));
            open.fetch = FetchState::Wanted;
        }
    }
}

pub(super) fn resolve_params(uri: &Uri) -> ResourceResolveParams {
    ResourceResolveParams {
        channel: RootChannel,
        uri: uri.clone(),
        follow_symlinks: None,
        meta: None,
    }
}

pub(super) fn read_params(uri: &Uri, encoding: ContentEncoding) -> ResourceReadParams {
    ResourceReadParams {
        channel: RootChannel,
        uri: uri.clone(),
        encoding: Some(encoding),
        meta: None,
    }
}

fn content_of(result: ResourceReadResult) -> FileContent {
    match result.encoding {
        ContentEncoding::Utf8 => FileContent::of_text(result.data),
        ContentEncoding::Base64 => FileContent::Binary,
    }
}

fn check_is_file(metadata: ResourceResolveResult) -> Result<ResourceResolveResult, FileFailure> {
    let reason = match &metadata.r#type {
        ResourceType::File => return Ok(metadata),
        ResourceType::Directory => "this is a folder",
        ResourceType::Symlink => "this is a symbolic link without a target",
        ResourceType::Unknown(_) => "this is not a regular file",
    };
    Err(FileFailure {
        code: Some(ErrorCode::InvalidParams),
        reason: reason.to_owned(),
        can_request: false,
    })
}
