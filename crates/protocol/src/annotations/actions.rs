//! All that can happen to annotations.

use std::sync::Arc;

use super::state::{Annotation, AnnotationEntry, AnnotationOrigin};
use crate::action::actions;
use crate::common::TextRange;
use crate::ids::{AnnotationEntryId, AnnotationId};
use crate::uri::Uri;
use crate::wire::Wire;

actions! {
    /// Something that happened to annotations.
    pub enum AnnotationsAction on Annotations {
        /// An annotation was made, or written anew.
        Set(AnnotationSet) = "annotations/set", Client, V0_4;
        /// Some of an annotation changed.
        Updated(Box<AnnotationUpdated>) = "annotations/updated", Client, V0_4;
        /// An annotation is gone.
        Removed(AnnotationRemoved) = "annotations/removed", Client, V0_4;
        /// An entry was added, or written anew.
        EntrySet(AnnotationEntrySet) = "annotations/entrySet", Client, V0_4;
        /// An entry is gone.
        EntryRemoved(AnnotationEntryRemoved) = "annotations/entryRemoved", Client, V0_4;
    }
}

/// An annotation was made, or written anew.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AnnotationSet {
    /// The annotation; replaces one of the same name.
    pub annotation: Arc<Annotation>,
}

/// Some of an annotation changed. An absent field is unchanged, so the range
/// can't be cleared this way (ANN-5).
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AnnotationUpdated {
    /// The annotation.
    pub annotation_id: AnnotationId,
    /// What the file came from.
    pub origin: Option<AnnotationOrigin>,
    /// The file.
    pub resource: Option<Uri>,
    /// Where in the file.
    pub range: Option<TextRange>,
    /// Whether it is settled.
    pub resolved: Option<bool>,
}

/// An annotation is gone.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AnnotationRemoved {
    /// The annotation.
    pub annotation_id: AnnotationId,
}

/// An entry was added, or written anew.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AnnotationEntrySet {
    /// The annotation.
    pub annotation_id: AnnotationId,
    /// The entry; replaces one of the same name.
    pub entry: AnnotationEntry,
}

/// An entry is gone.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AnnotationEntryRemoved {
    /// The annotation.
    pub annotation_id: AnnotationId,
    /// The entry.
    pub entry_id: AnnotationEntryId,
}
