//! Addresses that the host makes up.

use std::borrow::Cow;

use agenthost_protocol::uri::{LEGACY_ROOT_URIS, Uri};
use percent_encoding::percent_decode_str;

pub use agenthost_protocol::uri::default_chat_uri;

use crate::changeset::view;
use crate::host::error::RequestFailure;
pub use crate::resource::content::CONTENT_SCHEME;

/// The annotations of a session.
pub(crate) fn annotations_uri(session: &Uri) -> Uri {
    Uri::from(format!("{session}/annotations"))
}

/// The scheme of what was in files at some moment.
pub const GIT_SCHEME: &str = "agenthost-git";

/// The scheme of files of the host for clients that take `file:` for files of
/// another machine. Only such clients know it.
pub const HOST_FILE_SCHEME: &str = "agenthost-file";

/// Longest address that a client may choose.
const MAX_URI_BYTES: usize = 2_048;

/// Whether a client may choose this address for a session (SEC-5). Any scheme
/// will do, except those that mean other things here.
pub(crate) fn check_session(uri: &Uri) -> Result<(), RequestFailure> {
    check_uri(uri)?;
    check_scheme(uri, "ahp-session")?;
    if LEGACY_ROOT_URIS.contains(&uri.as_str()) {
        return Err(invalid(uri, "is what older clients call the host itself"));
    }
    check_no_changeset_suffix(uri)
}

/// Whether a client may choose this address for a chat. Those of default chats
/// are the host's to give.
pub(crate) fn check_chat(uri: &Uri) -> Result<(), RequestFailure> {
    check_uri(uri)?;
    check_scheme(uri, "ahp-chat")?;
    if uri.as_str().starts_with("ahp-chat://default/") {
        return Err(invalid(uri, "is the default chat of another session"));
    }
    check_no_changeset_suffix(uri)
}

/// Whether a client may choose this address for a terminal.
pub(crate) fn check_terminal(uri: &Uri) -> Result<(), RequestFailure> {
    check_uri(uri)?;
    check_scheme(uri, "ahp-terminal")
}

/// Whether this is an address at all.
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

/// Whether this is an address of a folder: of this machine, and from its top.
pub(crate) fn check_directory(uri: &Uri) -> Result<(), RequestFailure> {
    check_uri(uri)?;
    if uri.as_str().starts_with("file:///") {
        return Ok(());
    }
    Err(invalid(uri, "is not a folder of this machine (file:///…)"))
}

/// Whether an address is that of a directory, or of something in it, however
/// both are percent-encoded. Addresses that go up are in none.
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

/// Whether two addresses name the same file or directory, however they are
/// percent-encoded: clients parse and print addresses in their own way.
pub(crate) fn is_same_uri(one: &Uri, other: &Uri) -> bool {
    decode_uri(one) == decode_uri(other)
}

/// Whether an address leads up from somewhere, however that is written.
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

/// Whether what is at an address never changes: versions of files, and content
/// that the host keeps.
pub(crate) fn is_immutable(uri: &Uri) -> bool {
    let (scheme, _) = uri.as_str().split_once(':').unwrap_or_default();
    let fixed = [CONTENT_SCHEME, GIT_SCHEME];
    fixed.iter().any(|fixed| scheme.eq_ignore_ascii_case(fixed))
}

/// Addresses of changesets are below those of sessions and chats.
fn check_no_changeset_suffix(uri: &Uri) -> Result<(), RequestFailure> {
    if view::is_changeset_uri(uri) {
        return Err(invalid(uri, "is an address of a changeset"));
    }
    Ok(())
}

/// Whether only the client that named an address can read what is there. What
/// others can reach, they read themselves.
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

/// Schemes of the protocol are for what the protocol says.
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
