//! References to content outside of the state, and edits of files.

use crate::uri::Uri;
use crate::wire::Wire;

/// A reference to content that is too large for the state. Clients read it with `resourceRead`.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ContentRef {
    /// URI of the content.
    pub uri: Uri,
    /// Approximate size in bytes.
    pub size_hint: Option<u64>,
    /// MIME type of the content.
    pub content_type: Option<String>,
    /// Value that changes with the content.
    pub nonce: Option<String>,
}

/// A file before or after an edit.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct FileEditSide {
    /// URI of the file.
    pub uri: Uri,
    /// Content of the file in that version.
    pub content: ContentRef,
}

/// The size of an edit, in lines of text or cells of a notebook.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct FileEditDiffStats {
    /// Number of added items.
    pub added: Option<u64>,
    /// Number of removed items.
    pub removed: Option<u64>,
}

/// A change to one file. Only `after` means created, only `before` means deleted, two different
/// URIs mean moved (TOO-26).
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct FileEdit {
    /// The file before the edit.
    pub before: Option<FileEditSide>,
    /// The file after the edit.
    pub after: Option<FileEditSide>,
    /// Size of the edit.
    pub diff: Option<FileEditDiffStats>,
}

/// A list of edits.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct FileEditCollection {
    /// The edits, in their original order.
    pub items: Vec<FileEdit>,
}
