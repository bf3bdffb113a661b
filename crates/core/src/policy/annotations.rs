//! Checks client actions on the annotations of a session.

use std::collections::BTreeSet;

use agenthost_protocol::annotations::{
    Annotation, AnnotationEntry, AnnotationsAction, AnnotationsState,
};
use agenthost_protocol::ids::AnnotationId;
use agenthost_protocol::uri::Uri;

use super::{check_name, unknown};
use crate::host::error::Refusal;
use crate::policy::limits::{check_annotations, check_meta};

/// Maximum number of annotations per session (SEC-5).
const MAX_ANNOTATIONS: usize = 10_000;

/// Maximum length of the text of an entry. Entries are comments, not documents.
const MAX_ENTRY_BYTES: usize = 64 * 1024;

pub(super) fn check_annotations_action(
    session: &Uri,
    state: &AnnotationsState,
    action: AnnotationsAction,
) -> Result<AnnotationsAction, Refusal> {
    match &action {
        AnnotationsAction::Set(set) => check_annotation(session, state, &set.annotation)?,
        AnnotationsAction::Updated(update) => {
            find_annotation(state, &update.annotation_id)?;
            if let Some(origin) = &update.origin {
                check_origin_session(session, &origin.session)?;
            }
        }
        AnnotationsAction::Removed(removed) => {
            find_annotation(state, &removed.annotation_id)?;
        }
        AnnotationsAction::EntrySet(set) => {
            find_annotation(state, &set.annotation_id)?;
            check_entry(&set.entry)?;
            let entry = std::slice::from_ref(&set.entry);
            check_annotations(state, entry, |annotation, entry| {
                annotation.id == set.annotation_id && entry.id == set.entry.id
            })?;
        }
        AnnotationsAction::EntryRemoved(removed) => {
            let annotation = find_annotation(state, &removed.annotation_id)?;
            // An annotation without entries must not exist (ANN-3).
            if let [last] = &annotation.entries[..]
                && last.id == removed.entry_id
            {
                let reason = "the last entry can't be removed: remove the annotation";
                return Err(Refusal::Invalid(reason.to_owned()));
            }
        }
    }
    Ok(action)
}

fn check_annotation(
    session: &Uri,
    state: &AnnotationsState,
    annotation: &Annotation,
) -> Result<(), Refusal> {
    check_name("annotation", annotation.id.as_str())?;
    check_origin_session(session, &annotation.origin.session)?;
    check_meta(annotation.meta.as_ref())?;
    if annotation.entries.is_empty() {
        return Err(Refusal::Invalid(
            "an annotation needs at least one entry".to_owned(),
        ));
    }
    let mut names = BTreeSet::new();
    for entry in &annotation.entries {
        check_entry(entry)?;
        if !names.insert(&entry.id) {
            let reason = format!("entry `{}` is given twice", entry.id);
            return Err(Refusal::Invalid(reason));
        }
    }
    check_annotations(state, &annotation.entries, |before, _| {
        before.id == annotation.id
    })?;
    if find_annotation(state, &annotation.id).is_ok() {
        return Ok(());
    }
    if annotation.resolved {
        return Err(Refusal::Invalid(
            "a new annotation cannot be resolved".to_owned(),
        ));
    }
    if state.annotations.len() >= MAX_ANNOTATIONS {
        let reason = format!("a session has at most {MAX_ANNOTATIONS} annotations");
        return Err(Refusal::Invalid(reason));
    }
    Ok(())
}

fn check_entry(entry: &AnnotationEntry) -> Result<(), Refusal> {
    check_name("entry", entry.id.as_str())?;
    check_meta(entry.meta.as_ref())?;
    if entry.text.as_str().len() > MAX_ENTRY_BYTES {
        let reason = format!("an entry has at most {MAX_ENTRY_BYTES} bytes");
        return Err(Refusal::Invalid(reason));
    }
    Ok(())
}

fn check_origin_session(session: &Uri, named: &Uri) -> Result<(), Refusal> {
    if named == session {
        return Ok(());
    }
    let reason = "origin.session is not the session of this channel".to_owned();
    Err(Refusal::Invalid(reason))
}

fn find_annotation<'a>(
    state: &'a AnnotationsState,
    id: &AnnotationId,
) -> Result<&'a Annotation, Refusal> {
    let mut annotations = state.annotations.items();
    let found = annotations.find(|annotation| annotation.id == *id);
    found.ok_or_else(|| unknown("annotation", id))
}
