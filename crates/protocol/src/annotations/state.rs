//! State of the annotations channel of a session.

use crate::common::{Meta, TextRange};
use crate::ids::{AnnotationEntryId, AnnotationId, TurnId};
use crate::list::List;
use crate::text::MaybeMarkdown;
use crate::uri::Uri;
use crate::wire::Wire;

/// The annotations of a session.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AnnotationsState {
    /// Annotations in the order in which they were added.
    pub annotations: List<Annotation>,
}

/// Counts of annotations, published in the session state.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AnnotationsSummary {
    /// URI of the annotations channel.
    pub resource: Uri,
    /// Number of annotations in the session.
    pub annotation_count: u64,
    /// Number of entries in all annotations.
    pub entry_count: u64,
}

/// A comment thread that is anchored to a file.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct Annotation {
    /// Id of the annotation, unique in the channel.
    pub id: AnnotationId,
    /// Session, chat and turn that the file content came from.
    pub origin: AnnotationOrigin,
    /// URI of the annotated file.
    pub resource: Uri,
    /// Range in the file; absent means the whole file.
    pub range: Option<TextRange>,
    /// `true` if the thread is resolved.
    pub resolved: bool,
    /// Comments, oldest first; never empty (ANN-3).
    pub entries: Vec<AnnotationEntry>,
    /// Extension data (`_meta`) that the protocol does not define.
    pub meta: Option<Meta>,
}

/// The session, chat and turn that the content of an annotated file came from.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AnnotationOrigin {
    /// URI of the session.
    pub session: Uri,
    /// URI of the chat.
    pub chat: Option<Uri>,
    /// Id of the turn.
    pub turn_id: Option<TurnId>,
}

/// A comment in an annotation.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AnnotationEntry {
    /// Id of the entry, unique in the annotation.
    pub id: AnnotationEntryId,
    /// Text of the comment.
    pub text: MaybeMarkdown,
    /// Extension data (`_meta`) that the protocol does not define.
    pub meta: Option<Meta>,
}
