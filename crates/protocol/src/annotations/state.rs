//! The state of a session's annotations.

use crate::common::{Meta, TextRange};
use crate::ids::{AnnotationEntryId, AnnotationId, TurnId};
use crate::list::List;
use crate::text::MaybeMarkdown;
use crate::uri::Uri;
use crate::wire::Wire;

/// The annotations of a session.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AnnotationsState {
    /// The annotations.
    pub annotations: List<Annotation>,
}

/// How many annotations a session has.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AnnotationsSummary {
    /// The annotations channel.
    pub resource: Uri,
    /// How many annotations.
    pub annotation_count: u64,
    /// How many entries in all of them.
    pub entry_count: u64,
}

/// A conversation anchored to a file.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct Annotation {
    /// Its name in the channel.
    pub id: AnnotationId,
    /// What the file came from.
    pub origin: AnnotationOrigin,
    /// The file.
    pub resource: Uri,
    /// Where in the file; absent means all of it.
    pub range: Option<TextRange>,
    /// Whether it is settled.
    pub resolved: bool,
    /// What was said, oldest first; never empty (ANN-3).
    pub entries: Vec<AnnotationEntry>,
    /// Free data.
    pub meta: Option<Meta>,
}

/// What an annotated file came from.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AnnotationOrigin {
    /// The session.
    pub session: Uri,
    /// The chat.
    pub chat: Option<Uri>,
    /// The turn.
    pub turn_id: Option<TurnId>,
}

/// One contribution to an annotation.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AnnotationEntry {
    /// Its name in the annotation.
    pub id: AnnotationEntryId,
    /// What was said.
    pub text: MaybeMarkdown,
    /// Free data.
    pub meta: Option<Meta>,
}
