//! Content URIs, and content that the host stores outside of states.
//!
//! Content that is too large for a state is stored under a URI that is derived from it:
//! `agenthost-content:/<path>?<session>.<sha-256>` (PRT-4). So content never changes, and equal
//! content is stored once. A client that may read a session may read its content (RES-15); at
//! present that is every client.
//!
//! Clients display the path of a URI, and treat two versions of a file with different paths as
//! a rename, so the path is that of the file. Clients also parse and print URIs differently.
//! The query has only characters that survive this, and nothing depends on the encoding of the
//! path. Legacy hosts have stored URIs of another form,
//! `agenthost-content:/<session>/<sha-256>/<file name>`, which stay readable.

use agenthost_protocol::chat::{
    ChatAction, ToolCall, ToolCallConfirmed, ToolCallQuestion, ToolCallReady, ToolCallTarget,
    ToolInput,
};
use agenthost_protocol::common::ContentRef;
use agenthost_protocol::uri::Uri;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use sha2::{Digest, Sha256};

use crate::host::Host;
use crate::host::effect::{Effect, Effects};

/// The scheme of content URIs.
pub const CONTENT_SCHEME: &str = "agenthost-content";

/// Number of hex digits of a session key.
const SESSION_KEY_DIGITS: usize = 32;

/// Number of hex digits of a SHA-256 hash.
const HASH_DIGITS: usize = 64;

/// Maximum length of a file name in a content URI.
const MAX_CONTENT_NAME_BYTES: usize = 200;

/// Maximum length of the path in a content URI. A longer path is reduced to its file name.
const MAX_PATH_BYTES: usize = 4_096;

/// The characters to percent-encode in a path.
const PATH_ENCODE_SET: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// Content types by file name extension.
const CONTENT_TYPES: &[(&str, &str)] = &[
    ("css", "text/css"),
    ("csv", "text/csv"),
    ("diff", "text/x-diff"),
    ("gif", "image/gif"),
    ("htm", "text/html"),
    ("html", "text/html"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("js", "text/javascript"),
    ("json", "application/json"),
    ("log", "text/plain"),
    ("md", "text/markdown"),
    ("patch", "text/x-diff"),
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    ("svg", "image/svg+xml"),
    ("txt", "text/plain"),
    ("webp", "image/webp"),
    ("xml", "application/xml"),
    ("zip", "application/zip"),
];

/// Identifies a session in the URIs of its content. It consists of hex digits only, so that it
/// is a valid folder name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionKey(String);

impl SessionKey {
    /// Returns the key of a session.
    pub fn of(session: &Uri) -> Self {
        SessionKey(short_hash(session.as_str().as_bytes()))
    }

    /// Parses the digits of a key; `None` if they are invalid.
    pub fn parse(digits: &str) -> Option<Self> {
        is_hex(digits, SESSION_KEY_DIGITS).then(|| SessionKey(digits.to_owned()))
    }

    /// Returns the hex digits of the key.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A parsed content URI. Session and hash are always valid, because every constructor checks
/// them. The path is for display only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentAddress {
    session: SessionKey,
    hash: String,
    path: String,
}

/// The error for a content URI that the host did not create.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this is not a URI of stored content")]
pub struct InvalidContentAddress;

impl ContentAddress {
    /// Returns the address of some content. The name is for display and determines the content
    /// type: a file name, or the absolute path of a file.
    pub fn of(session: &SessionKey, bytes: &[u8], name: &str) -> Self {
        ContentAddress {
            session: session.clone(),
            hash: sha256_hex(bytes),
            path: sanitize_path(name),
        }
    }

    /// Parses a content URI; `None` if the URI has another scheme.
    pub fn parse(uri: &Uri) -> Option<Result<Self, InvalidContentAddress>> {
        let (scheme, rest) = uri.as_str().split_once(':')?;
        scheme
            .eq_ignore_ascii_case(CONTENT_SCHEME)
            .then(|| Self::parse_parts(rest).ok_or(InvalidContentAddress))
    }

    fn parse_parts(rest: &str) -> Option<Self> {
        let Some((path, query)) = rest.split_once('?') else {
            return Self::parse_legacy_parts(rest);
        };
        let (query, _) = query.split_once('#').unwrap_or((query, ""));
        let query = percent_decode_str(query).decode_utf8().ok()?;
        let path = percent_decode_str(path).decode_utf8().ok()?;
        let (key, hash) = query.split_once('.')?;
        let session = SessionKey::parse(key)?;
        let checked = is_hex(hash, HASH_DIGITS) && path.starts_with('/');
        checked.then(|| ContentAddress {
            session,
            hash: hash.to_owned(),
            path: sanitize_path(&path),
        })
    }

    /// Parses a URI of the form that legacy hosts have stored.
    fn parse_legacy_parts(rest: &str) -> Option<Self> {
        let mut parts = rest.strip_prefix('/')?.split('/');
        let (key, hash, name) = (parts.next()?, parts.next()?, parts.next()?);
        let name = percent_decode_str(name).decode_utf8().ok()?;
        let session = SessionKey::parse(key)?;
        let checked = is_hex(hash, HASH_DIGITS) && is_file_name(&name) && parts.next().is_none();
        checked.then(|| ContentAddress {
            session,
            hash: hash.to_owned(),
            path: format!("/{name}"),
        })
    }

    /// Returns the session that the content belongs to.
    pub fn session(&self) -> &SessionKey {
        &self.session
    }

    /// Returns the SHA-256 of the content in hex digits.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// Returns the content type by the file name extension.
    pub fn content_type(&self) -> Option<&'static str> {
        let (_, ending) = self.file_name().rsplit_once('.')?;
        let ending = ending.to_ascii_lowercase();
        let known = CONTENT_TYPES.iter().find(|(known, _)| *known == ending);
        known.map(|(_, content_type)| *content_type)
    }

    fn file_name(&self) -> &str {
        let (_, name) = self.path.rsplit_once('/').unwrap_or_default();
        name
    }

    /// Returns the address as a URI.
    pub fn uri(&self) -> Uri {
        let (key, hash) = (self.session.as_str(), &self.hash);
        let path = utf8_percent_encode(&self.path, PATH_ENCODE_SET);
        Uri::from(format!("{CONTENT_SCHEME}:{path}?{key}.{hash}"))
    }

    /// Returns the reference that replaces content of this size in a state.
    pub fn reference(&self, size: usize) -> ContentRef {
        ContentRef {
            uri: self.uri(),
            size_hint: Some(size as u64),
            content_type: self.content_type().map(str::to_owned),
            nonce: Some(self.hash.clone()),
        }
    }
}

/// Text for the content store.
#[derive(Clone, PartialEq, Eq)]
pub struct StoredText {
    /// The session that the text belongs to.
    pub session: SessionKey,
    /// The file name or path for its URI.
    pub name: String,
    /// The complete text to store.
    pub text: String,
}

/// Omits the text, so that it never reaches the log.
impl std::fmt::Debug for StoredText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoredText")
            .field("name", &self.name)
            .field("bytes", &self.text.len())
            .finish_non_exhaustive()
    }
}

impl Host {
    /// Stores the edited arguments of a tool call before the edit is published (TOO-10). Stored
    /// content is immutable, so the call gets a reference to the new content.
    pub(crate) fn store_edited_input(
        &mut self,
        chat: &Uri,
        confirmed: &ToolCallConfirmed,
        out: &mut Effects,
    ) {
        let edited = confirmed.edited_tool_input.as_ref();
        let Some(edited) = edited.filter(|_| confirmed.approved) else {
            return;
        };
        let target = &confirmed.target;
        let turn = self.chat(chat).and_then(|chat| chat.active_turn.as_ref());
        let call = turn.and_then(|turn| turn.response_parts.call(target.tool_call_id.as_str()));
        let Some(ToolCall::PendingConfirmation(call)) = call else {
            return;
        };
        let Some(ToolInput::Referenced(before)) = &call.parameters.tool_input else {
            return;
        };
        let (Some(Ok(before)), Some(session)) =
            (ContentAddress::parse(&before.uri), self.session_of(chat))
        else {
            return;
        };
        let session = SessionKey::of(session);
        let address = ContentAddress::of(&session, edited.as_bytes(), &before.path);
        let ready = ToolCallReady {
            target: ToolCallTarget {
                turn_id: target.turn_id.clone(),
                tool_call_id: target.tool_call_id.clone(),
                meta: None,
            },
            contributor: None,
            intention: None,
            invocation_message: call.parameters.invocation_message.clone(),
            tool_input: Some(ToolInput::Referenced(address.reference(edited.len()))),
            // Omitted fields keep their values (TOO-6).
            question: ToolCallQuestion::default(),
            confirmed: None,
        };
        out.push(Effect::StoreContent(Box::new(StoredText {
            session,
            name: before.path,
            text: edited.clone(),
        })));
        self.originate(chat, ChatAction::ToolCallReady(Box::new(ready)), out);
    }
}

/// Returns `true` if a URI has the scheme of stored content.
pub(crate) fn is_content_uri(uri: &Uri) -> bool {
    ContentAddress::parse(uri).is_some()
}

/// Returns the path of a content URI for a name or path: absolute, and without segments that a
/// client could resolve.
fn sanitize_path(name: &str) -> String {
    let shown = |part: &&str| !matches!(*part, "" | "." | "..");
    let plain = name.replace(char::is_control, "_");
    let path: String = plain
        .split('/')
        .filter(shown)
        .flat_map(|part| ["/", part])
        .collect();
    match path.rsplit_once('/') {
        None => "/content".to_owned(),
        Some((_, name)) if path.len() > MAX_PATH_BYTES => {
            let short = name.get(..name.floor_char_boundary(MAX_CONTENT_NAME_BYTES));
            format!("/{}", short.unwrap_or_default())
        }
        Some(_) => path,
    }
}

/// Returns the first half of a SHA-256 in hex digits. It is unique enough for an id, and valid
/// as a file name.
pub fn short_hash(bytes: &[u8]) -> String {
    let mut digits = sha256_hex(bytes);
    digits.truncate(SESSION_KEY_DIGITS);
    digits
}

/// Returns a SHA-256 in hex digits.
pub(crate) fn sha256_hex(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn is_hex(text: &str, length: usize) -> bool {
    let digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    text.len() == length && text.bytes().all(digit)
}

/// Returns `true` if a name is a plain file name without separators.
fn is_file_name(name: &str) -> bool {
    let bad = |c: char| c == '/' || c == '\\' || c.is_control();
    !name.is_empty()
        && name.len() <= MAX_CONTENT_NAME_BYTES
        && name != "."
        && name != ".."
        && !name.contains(bad)
}
