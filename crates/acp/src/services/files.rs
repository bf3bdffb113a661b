//! Reads and writes files for agents.

use std::path::Path;

use agenthost_core::GrantedRoot;
use agenthost_protocol::resource::{ContentEncoding, ResourceMkdirParams, ResourceWriteParams};
use agenthost_protocol::uri::{RootChannel, Uri};
use agenthost_workspace::{FileError, FileService, path_of, uri_of};
use serde_json::{Value, json};

use super::{ServiceError, text_param};
use crate::transport::JsonParams;

/// Returns the text of a file, or a range of its lines.
pub(super) fn read_file(
    files: &FileService,
    roots: &[GrantedRoot],
    params: &JsonParams,
) -> Result<Value, ServiceError> {
    let uri = path_param(params)?;
    let number = |name: &str| params.get(name).and_then(Value::as_u64);
    let content = files.read_text(roots, &uri).map_err(to_service_error)?;
    let content = select_lines(content, number("line"), number("limit"));
    Ok(json!({ "content": content }))
}

/// Replaces the text of a file, or creates the file. Also creates missing parent folders, as
/// agents do that write files themselves.
pub(super) fn write_file(
    files: &FileService,
    roots: &[GrantedRoot],
    params: &JsonParams,
) -> Result<Value, ServiceError> {
    let uri = path_param(params)?;
    let content = text_param(params, "content");
    let content = content.ok_or_else(|| ServiceError::invalid_parameter("content", "a string"))?;
    let write_params = ResourceWriteParams {
        channel: RootChannel,
        uri: uri.clone(),
        data: content.to_owned(),
        encoding: ContentEncoding::Utf8,
        content_type: None,
        create_only: None,
        mode: None,
        position: None,
        if_match: None,
        meta: None,
    };
    let written = match files.write(roots, &write_params) {
        Err(FileError::NotFound(_)) => {
            create_parent(files, roots, &uri)?;
            files.write(roots, &write_params)
        }
        written => written,
    };
    written.map_err(to_service_error)?;
    Ok(json!({}))
}

/// Returns the URI of an absolute path.
pub(super) fn file_uri(parameter: &str, path: &str) -> Result<Uri, ServiceError> {
    let uri = uri_of(Path::new(path));
    uri.ok_or_else(|| ServiceError::invalid_parameter(parameter, "an absolute path"))
}

fn path_param(params: &JsonParams) -> Result<Uri, ServiceError> {
    let path = text_param(params, "path").unwrap_or_default();
    file_uri("path", path)
}

fn create_parent(
    files: &FileService,
    roots: &[GrantedRoot],
    uri: &Uri,
) -> Result<(), ServiceError> {
    let path = path_of(uri);
    let parent = path.as_deref().and_then(Path::parent).and_then(uri_of);
    let Some(uri) = parent else {
        return Ok(());
    };
    let params = ResourceMkdirParams {
        channel: RootChannel,
        uri,
        meta: None,
    };
    Ok(files.make_directory(roots, &params)?)
}

/// Converts an error. Agents identify files by path, so the path replaces the URI.
fn to_service_error(error: FileError) -> ServiceError {
    match error {
        FileError::NotFound(uri) => {
            let path = path_of(&uri).unwrap_or_default();
            ServiceError::NotFound(path.to_string_lossy().into_owned())
        }
        error => error.into(),
    }
}

/// Returns `limit` lines of a text, beginning with `first_line`, which counts from 1.
fn select_lines(text: String, first_line: Option<u64>, limit: Option<u64>) -> String {
    if first_line.is_none() && limit.is_none() {
        return text;
    }
    let to_count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let skip_count = to_count(first_line.unwrap_or(1)).saturating_sub(1);
    let take_count = limit.map_or(usize::MAX, to_count);
    text.split_inclusive('\n')
        .skip(skip_count)
        .take(take_count)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_count_from_one() {
        let text = || "one\r\ntwo\nthree".to_owned();
        for (first_line, limit, expected) in [
            (None, None, "one\r\ntwo\nthree"),
            (Some(0), Some(1), "one\r\n"),
            (Some(1), Some(1), "one\r\n"),
            (Some(2), None, "two\nthree"),
            (Some(2), Some(1), "two\n"),
            (None, Some(0), ""),
            (Some(4), None, ""),
            (Some(u64::MAX), Some(u64::MAX), ""),
        ] {
            assert_eq!(
                select_lines(text(), first_line, limit),
                expected,
                "{first_line:?} {limit:?}"
            );
        }
    }
}
