//! Reducer of the annotations channel.

use std::sync::Arc;

use super::actions::{AnnotationUpdated, AnnotationsAction};
use super::state::{Annotation, AnnotationsState};
use crate::ids::AnnotationId;
use crate::outcome::Outcome;

impl AnnotationsState {
    /// Applies an action to the annotations. Returns [`Outcome::NoOp`] for an unknown id.
    pub fn reduce(&mut self, action: &AnnotationsAction) -> Outcome {
        match action {
            AnnotationsAction::Set(action) => {
                let id = &action.annotation.id;
                self.annotations
                    .upsert(Arc::clone(&action.annotation), |entry| entry.id == *id);
                Outcome::Applied
            }
            AnnotationsAction::Updated(action) => self.update(action),
            AnnotationsAction::Removed(action) => {
                let position = self
                    .annotations
                    .find(|entry| entry.id == action.annotation_id);
                let Some(index) = position else {
                    return Outcome::NoOp;
                };
                self.annotations.remove(index);
                Outcome::Applied
            }
            AnnotationsAction::EntrySet(action) => {
                let Some(annotation) = self.annotation(&action.annotation_id) else {
                    return Outcome::NoOp;
                };
                let mut entries = annotation.entries.iter_mut();
                match entries.find(|entry| entry.id == action.entry.id) {
                    Some(entry) => entry.clone_from(&action.entry),
                    None => annotation.entries.push(action.entry.clone()),
                }
                Outcome::Applied
            }
            AnnotationsAction::EntryRemoved(action) => {
                let Some(annotation) = self.annotation(&action.annotation_id) else {
                    return Outcome::NoOp;
                };
                let mut entries = annotation.entries.iter();
                let Some(index) = entries.position(|entry| entry.id == action.entry_id) else {
                    return Outcome::NoOp;
                };
                annotation.entries.remove(index);
                Outcome::Applied
            }
        }
    }

    fn annotation(&mut self, id: &AnnotationId) -> Option<&mut Annotation> {
        let index = self.annotations.find(|annotation| annotation.id == *id)?;
        self.annotations.item_mut(index)
    }

    fn update(&mut self, action: &AnnotationUpdated) -> Outcome {
        let Some(annotation) = self.annotation(&action.annotation_id) else {
            return Outcome::NoOp;
        };
        if let Some(origin) = &action.origin {
            annotation.origin = origin.clone();
        }
        if let Some(resource) = &action.resource {
            annotation.resource = resource.clone();
        }
        if let Some(range) = action.range {
            annotation.range = Some(range);
        }
        if let Some(resolved) = action.resolved {
            annotation.resolved = resolved;
        }
        Outcome::Applied
    }
}
