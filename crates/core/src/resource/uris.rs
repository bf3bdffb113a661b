//! Creates, checks and compares URIs of channels and files.

use std::borrow::Cow;

use agenthost_protocol::uri::{LEGACY_ROOT_URIS, Uri};
use percent_encoding::percent_decode_str;

pub use agenthost_protocol::uri::default_chat_uri;

use crate::changeset::view;
use crate::host::error::RequestFailure;
pub use crate::resource::content::CONTENT_SCHEME;

/// Returns the URI of the annotations of a session.
pub(crate) fn annotations_uri(session: &Uri) -> Uri {
    Uri::from(format!("{session}/annotations"))
}

/// The scheme of file versions in checkpoints and commits.
pub const GIT_SCHEME: &str = "agenthost-git";

/// The scheme of files of the host, for clients that treat `file:` as files of another machine.
/// Only such clients know it.
pub const HOST_FILE_SCHEME: &str = "agenthost-file";

/// Maximum length of a URI that a client may choose.
const MAX_URI_BYTES: usize = 2_048;

/// Checks a URI that a client chose for a session (SEC-5). Any scheme is valid, except those
/// with another meaning here.
pub(crate) fn check_session(uri: &Uri) -> Result<(), RequestFailure> {
    check_uri(uri)?;
    check_scheme(uri, "ahp-session")?;
    if LEGACY_ROOT_URIS.contains(&uri.as_str()) {
        return Err(invalid(
            uri,
            "is a URI of the root channel in older releases",
        ));
    }
    check_no_changeset_suffix(uri)
}

/// Checks a URI that a client chose for a chat. Only the host assigns URIs of default chats.
pub(crate) fn check_chat(uri: &Uri) -> Result<(), RequestFailure> {
    check_uri(uri)?;
    check_scheme(uri, "ahp-chat")?;
    if uri.as_str().starts_with("ahp-chat://default/") {
        return Err(invalid(uri, "is the default chat of another session"));
    }
    check_no_changeset_suffix(uri)
}

/// Checks a URI that a client chose for a terminal.
pub(crate) fn check_terminal(uri: &Uri) -> Result<(), RequestFailure> {
    check_uri(uri)?;
    check_scheme(uri, "ahp-terminal")
}

/// Checks that a URI is absolute, without whitespace, and not too long.
pub(crate) fn check_uri(uri: &Uri) -> Result<(), RequestFailure> {
    let text = uri.as_str();
    let (scheme, _) = text.split_once(':').unwrap_or_default();
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    let named = scheme.starts_with(|first: char| first.is_ascii_alphabetic());
    let plain = !text.contains(|c: char| c.is_whitespace() || c.is_control());
    if named && scheme.bytes().all(letter) && plain && text.len() <= MAX_URI_BYTES {
        return Ok(());
    }
    let reason = format!("is not an absolute URI of at most {MAX_URI_BYTES} bytes");
    Err(invalid(uri, &reason))
}

/// Checks that a URI names an absolute path on this machine.
pub(crate) fn check_directory(uri: &Uri) -> Result<(), RequestFailure> {
    check_uri(uri)?;
    if uri.as_str().starts_with("file:///") {
        return Ok(());
    }
    Err(invalid(uri, "is not a folder of this machine (file:///…)"))
}

/// Returns `true` if a URI is that of a directory or of something in it, independent of
/// percent-encoding. A URI with a `..` segment is within no directory.
pub fn is_within(directory: &Uri, uri: &Uri) -> bool {
    let (directory, uri) = (decode_uri(directory), decode_uri(uri));
    let end = directory.iter().rposition(|byte| *byte != b'/');
    let beginning = directory
        .get(..=end.unwrap_or_default())
        .unwrap_or_default();
    let rest = uri.strip_prefix(beginning);
    !has_parent_segment_in(&uri)
        && rest.is_some_and(|rest| rest.first().is_none_or(|next| *next == b'/'))
}

/// Returns `true` if two URIs are equal apart from percent-encoding: clients parse and print
/// URIs differently.
pub(crate) fn is_same_uri(one: &Uri, other: &Uri) -> bool {
    decode_uri(one) == decode_uri(other)
}

/// Returns `true` if a URI has a `..` segment, also a percent-encoded one.
pub(crate) fn has_parent_segment(uri: &Uri) -> bool {
    has_parent_segment_in(&decode_uri(uri))
}

fn has_parent_segment_in(decoded: &[u8]) -> bool {
    decoded
        .split(|byte| *byte == b'/')
        .any(|part| part == b"..")
}

fn decode_uri(uri: &Uri) -> Cow<'_, [u8]> {
    percent_decode_str(uri.as_str()).into()
}

/// Returns `true` if the content of a URI never changes: versions of files, and stored content.
pub(crate) fn is_immutable(uri: &Uri) -> bool {
    let (scheme, _) = uri.as_str().split_once(':').unwrap_or_default();
    let fixed = [CONTENT_SCHEME, GIT_SCHEME];
    fixed.iter().any(|fixed| scheme.eq_ignore_ascii_case(fixed))
}

/// Refuses URIs that have the form of a changeset URI, which is a session or chat URI with a
/// suffix.
fn check_no_changeset_suffix(uri: &Uri) -> Result<(), RequestFailure> {
    if view::is_changeset_uri(uri) {
        return Err(invalid(uri, "is an address of a changeset"));
    }
    Ok(())
}

/// Returns `true` if only the client that named a URI can read its content. The host or the
/// agent can read the other schemes themselves.
pub(crate) fn is_client_resource(uri: &Uri) -> bool {
    let (scheme, _) = uri.as_str().split_once(':').unwrap_or_default();
    let scheme = scheme.to_ascii_lowercase();
    let others = [
        "file",
        "http",
        "https",
        "mcp",
        "data",
        CONTENT_SCHEME,
        GIT_SCHEME,
        HOST_FILE_SCHEME,
    ];
    check_uri(uri).is_ok() && !scheme.starts_with("ahp-") && !others.contains(&scheme.as_str())
}

/// Refuses schemes that have another meaning: those of content, and `ahp-` schemes of another
/// kind of channel.
fn check_scheme(uri: &Uri, kind: &str) -> Result<(), RequestFailure> {
    let (scheme, rest) = uri.as_str().split_once(':').unwrap_or_default();
    let ours = scheme
        .get(..4)
        .is_some_and(|start| start.eq_ignore_ascii_case("ahp-"));
    let nameless = rest.trim_start_matches('/').is_empty();
    let content = [
        "file",
        "http",
        "https",
        "mcp",
        "virtual",
        "data",
        CONTENT_SCHEME,
        GIT_SCHEME,
        HOST_FILE_SCHEME,
    ];
    let content = content
        .iter()
        .any(|other| scheme.eq_ignore_ascii_case(other));
    if nameless || content || ours && scheme != kind {
        return Err(invalid(uri, &format!("is not an address of {kind}")));
    }
    Ok(())
}

fn invalid(uri: &Uri, reason: &str) -> RequestFailure {
    let beginning: String = uri.as_str().chars().take(60).collect();
    RequestFailure::InvalidParams(format!("`{}` {reason}", beginning.escape_debug()))
}
