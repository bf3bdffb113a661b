//! Actions on the annotations of a session.

use std::sync::Arc;

use super::state::{Annotation, AnnotationEntry, AnnotationOrigin};
use crate::action::actions;
use crate::common::TextRange;
use crate::ids::{AnnotationEntryId, AnnotationId};
use crate::uri::Uri;
use crate::wire::Wire;

actions! {
    /// An action on the annotations of a session.
    pub enum AnnotationsAction on Annotations {
        /// Adds or replaces an annotation.
        Set(AnnotationSet) = "annotations/set", Client, V0_4;
        /// Changes some fields of an annotation.
        Updated(Box<AnnotationUpdated>) = "annotations/updated", Client, V0_4;
        /// Removes an annotation thread with all comments.
        Removed(AnnotationRemoved) = "annotations/removed", Client, V0_4;
        /// Adds or replaces an entry of an annotation.
        EntrySet(AnnotationEntrySet) = "annotations/entrySet", Client, V0_4;
        /// Removes an entry of an annotation.
        EntryRemoved(AnnotationEntryRemoved) = "annotations/entryRemoved", Client, V0_4;
    }
}

/// An annotation was added or replaced.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AnnotationSet {
    /// The annotation; replaces one with the same id.
    pub annotation: Arc<Annotation>,
}

/// Some fields of an annotation changed. An absent field stays unchanged, so this action can't
/// clear the range (ANN-5).
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AnnotationUpdated {
    /// Id of the annotation.
    pub annotation_id: AnnotationId,
    /// New origin of the annotation.
    pub origin: Option<AnnotationOrigin>,
    /// New URI of the annotated file.
    pub resource: Option<Uri>,
    /// New range in the file.
    pub range: Option<TextRange>,
    /// New value of `resolved`.
    pub resolved: Option<bool>,
}

/// An annotation was removed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AnnotationRemoved {
    /// Id of the annotation.
    pub annotation_id: AnnotationId,
}

/// An entry was added to an annotation or replaced.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AnnotationEntrySet {
    /// Id of the annotation.
    pub annotation_id: AnnotationId,
    /// The entry; replaces one with the same id.
    pub entry: AnnotationEntry,
}

/// An entry of an annotation was removed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AnnotationEntryRemoved {
    /// Id of the annotation.
    pub annotation_id: AnnotationId,
    /// Id of the entry.
    pub entry_id: AnnotationEntryId,
}
