//! Content kept outside the state, and edits of files.

use crate::uri::Uri;
use crate::wire::Wire;

/// Content too large for the state; read it with `resourceRead`.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ContentRef {
    /// Where it is.
    pub uri: Uri,
    /// About how many bytes it has.
    pub size_hint: Option<u64>,
    /// Its MIME type.
    pub content_type: Option<String>,
    /// Changes whenever the content does.
    pub nonce: Option<String>,
}

/// A file before or after an edit.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct FileEditSide {
    /// The file.
    pub uri: Uri,
    /// What was, or is, in it.
    pub content: ContentRef,
}

/// How much an edit changed: lines of text, cells of a notebook.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct FileEditDiffStats {
    /// Items added.
    pub added: Option<u64>,
    /// Items removed.
    pub removed: Option<u64>,
}

/// A change to one file. Only `after`: created. Only `before`: deleted. Two
/// different URIs: moved (TOO-26).
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct FileEdit {
    /// The file before.
    pub before: Option<FileEditSide>,
    /// The file after.
    pub after: Option<FileEditSide>,
    /// How much changed.
    pub diff: Option<FileEditDiffStats>,
}

/// Several edits.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct FileEditCollection {
    /// The edits.
    pub items: Vec<FileEdit>,
}
