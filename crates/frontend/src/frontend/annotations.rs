//! Comments on changed files, and the review that sends them to the agent.
//!
//! Comments are annotations of the session, so all clients share them. A thread of a review is
//! resolved when the host has confirmed the message: a refused or lost message leaves it open.

mod review;

use agenthost_protocol::sorted::SortedSet;
use std::sync::Arc;

use agenthost_protocol::action::Action;
use agenthost_protocol::annotations::{
    Annotation, AnnotationEntry, AnnotationEntryRemoved, AnnotationEntrySet, AnnotationOrigin,
    AnnotationRemoved, AnnotationSet, AnnotationUpdated, AnnotationsAction, AnnotationsState,
};
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::ids::{AnnotationEntryId, AnnotationId, ClientSeq};
use agenthost_protocol::text::MaybeMarkdown;
use agenthost_protocol::uri::Uri;
use agenthost_view::annotations::{
    CommentAuthor, CommentThread, CommentTotals, ThreadContext, annotation_meta, comment_threads,
    entry_meta, line_range, quote_lines, thread_places,
};
use agenthost_view::diff::TextSide;
use serde::Serialize;

use super::Frontend;
use super::slices::SliceCache;
use crate::effect::SlicePatch;
use crate::input::{AnnotationCommand, DiffLayout};

/// The error for a change of a comment that another client has removed.
const REMOVED: &str = "this comment was removed";

/// The error for a comment on lines that the open diff does not have.
const CLOSED: &str = "the diff does not have these lines any more";

/// The error without a channel, or before its state has arrived.
const NOT_LOADED: &str = "the comments of this session are not loaded";

/// The comments of the selected session.
#[derive(Debug, Default)]
pub(super) struct AnnotationsPanel {
    channel: Option<Uri>,
    /// Reviews that the host has not confirmed.
    reviews: Vec<SentReview>,
}

/// A review whose message waits for the confirmation of the host.
#[derive(Debug)]
struct SentReview {
    client_seq: ClientSeq,
    chat: Uri,
    threads: Vec<AnnotationId>,
}

/// `value` of slice `annotations`, beside its rows.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct AnnotationsValue {
    /// The session has comments, and they are loaded.
    available: bool,
    #[serde(flatten)]
    totals: CommentTotals,
}

impl AnnotationsPanel {
    pub(super) fn is_open(&self, channel: &Uri) -> bool {
        self.channel.as_ref() == Some(channel)
    }

    fn threads_in_review(&self) -> SortedSet<AnnotationId> {
        let threads = self.reviews.iter().flat_map(|review| &review.threads);
        threads.cloned().collect()
    }
}

impl Frontend {
    pub(super) fn execute_annotation(&mut self, id: u64, command: AnnotationCommand) {
        let new_id = self.new_id();
        let action = match command {
            AnnotationCommand::Add {
                file,
                side,
                first,
                last,
                text,
            } => self.new_annotation(&new_id, &file, side, (first, last), text),
            AnnotationCommand::Reply { key, text } => self.find_annotation(&key).map(|found| {
                let entry = self.new_entry(&new_id, text);
                entry_set(&found.id, entry)
            }),
            AnnotationCommand::Edit { key, entry, text } => self.edit_entry(&key, &entry, text),
            AnnotationCommand::Remove { key, entry } => {
                let found = self.find_annotation(&key);
                found.map(|found| remove_entry(found, &entry))
            }
            AnnotationCommand::Resolve { key, resolved } => {
                let found = self.find_annotation(&key);
                found.map(|found| resolve(&found.id, resolved))
            }
            AnnotationCommand::Preview { summary } => return self.preview_review(id, &summary),
            AnnotationCommand::SendReview { text, keys } => {
                return self.send_review(id, text, &keys);
            }
        };
        match (action, self.annotations.channel.clone()) {
            (Ok(action), Some(channel)) => self.dispatch(id, &channel, action.into(), None),
            (Ok(_), None) => self.fail(id, NOT_LOADED.to_owned()),
            (Err(reason), _) => self.fail(id, reason.to_owned()),
        }
    }

    /// Follows the comments of the selected session, and ends the subscription to others.
    pub(super) fn follow_annotations(&mut self) {
        let chat = self.chat.as_ref();
        // The host confirms messages only to clients that follow the chat.
        self.annotations
            .reviews
            .retain(|review| Some(&review.chat) == chat);
        let session = self.session.as_ref();
        let session = session.and_then(|session| self.session_state(session));
        let summary = session.and_then(|session| session.metadata.annotations.as_ref());
        let wanted = summary.map(|summary| summary.resource.clone());
        if wanted == self.annotations.channel {
            return;
        }
        if let Some(before) = self.annotations.channel.take() {
            self.unfollow(&before);
        }
        if let Some(channel) = &wanted {
            self.follow(channel);
        }
        self.annotations.channel = wanted;
        self.dirty.changes = true;
        self.send_pending();
    }

    fn annotations_state(&self) -> Option<&AnnotationsState> {
        match self.state(self.annotations.channel.as_ref()?)? {
            ChannelState::Annotations(state) => Some(state),
            _ => None,
        }
    }

    fn find_annotation(&self, key: &str) -> Result<&Annotation, &'static str> {
        let state = self.annotations_state().ok_or(NOT_LOADED)?;
        let mut all = state.annotations.items();
        all.find(|annotation| annotation.id.as_str() == key)
            .ok_or(REMOVED)
    }

    fn new_annotation(
        &self,
        new_id: &str,
        file: &str,
        side: TextSide,
        (first, last): (u32, u32),
        text: String,
    ) -> Result<AnnotationsAction, &'static str> {
        self.annotations_state().ok_or(NOT_LOADED)?;
        let open = self.changes.ready_diff();
        let (_, _, diff) = open.filter(|(open, ..)| *open == file).ok_or(CLOSED)?;
        let range = line_range(diff, side, first, last).ok_or(CLOSED)?;
        let edit = self.changed_file(file).ok_or(CLOSED)?;
        let commented = match side {
            TextSide::Before => edit.before,
            TextSide::After => edit.after,
        };
        let quote = quote_lines(diff, side, first..=last);
        let annotation = Annotation {
            id: AnnotationId::from(new_id),
            origin: AnnotationOrigin {
                session: self.session.clone().ok_or(CLOSED)?,
                chat: self.chat.clone(),
                turn_id: None,
            },
            resource: commented.ok_or(CLOSED)?.uri,
            range: Some(range),
            resolved: false,
            entries: vec![self.new_entry(new_id, text)],
            meta: Some(annotation_meta(side, &quote)),
        };
        Ok(AnnotationsAction::Set(AnnotationSet {
            annotation: Arc::new(annotation),
        }))
    }

    fn new_entry(&self, new_id: &str, text: String) -> AnnotationEntry {
        AnnotationEntry {
            id: AnnotationEntryId::from(new_id),
            text: MaybeMarkdown::from(text),
            meta: Some(entry_meta(&self.comment_author(), &self.timestamp(), None)),
        }
    }

    fn edit_entry(
        &self,
        key: &str,
        entry: &str,
        text: String,
    ) -> Result<AnnotationsAction, &'static str> {
        let found = self.find_annotation(key)?;
        let mut entries = found.entries.iter();
        let before = entries
            .find(|other| other.id.as_str() == entry)
            .ok_or(REMOVED)?;
        let author = self.comment_author();
        let edited = AnnotationEntry {
            id: before.id.clone(),
            text: MaybeMarkdown::from(text),
            meta: Some(entry_meta(&author, &self.timestamp(), Some(before))),
        };
        Ok(entry_set(&found.id, edited))
    }

    fn comment_author(&self) -> CommentAuthor {
        CommentAuthor {
            client_id: self.client_id.clone(),
            name: self.device_name.clone(),
        }
    }

    /// Returns the comment threads with their places in the open diff; `None` without comments
    /// of the session.
    pub(super) fn placed_threads(&self) -> Option<(Vec<CommentThread>, CommentTotals)> {
        let state = self.annotations_state()?;
        let context = ThreadContext {
            client_id: &self.client_id,
            changeset: self.changeset_state(),
            unconfirmed: &self.unconfirmed_annotations(),
            in_review: &self.annotations.threads_in_review(),
        };
        let (mut threads, totals) = comment_threads(state, context);
        if let Some((file, layout, diff)) = self.changes.ready_diff() {
            let edit = self.changed_file(file);
            let sides = edit.iter().flat_map(|edit| [&edit.before, &edit.after]);
            let sides: Vec<_> = sides.flatten().map(|side| &side.uri).collect();
            let places = thread_places(state, &sides, diff, |wanted| match layout {
                DiffLayout::Unified => diff.unified_rows_of(wanted),
                DiffLayout::Split => diff.split_rows_of(wanted),
            });
            for thread in &mut threads {
                thread.place = places.get(&thread.key).copied();
            }
        }
        Some((threads, totals))
    }

    pub(super) fn draw_annotations(&self, slices: &mut SliceCache, patches: &mut Vec<SlicePatch>) {
        let placed = self.placed_threads();
        let available = placed.is_some();
        let (threads, totals) = placed.unwrap_or_default();
        let keyed = threads.iter().map(|row| (row.key.to_string(), row));
        slices.set_rows(patches, "annotations", keyed);
        let value = AnnotationsValue { available, totals };
        slices.set_value(patches, "annotations", &value);
    }

    fn unconfirmed_annotations(&self) -> SortedSet<AnnotationId> {
        let (Some(engine), Some(channel)) = (&self.engine, &self.annotations.channel) else {
            return SortedSet::new();
        };
        let pending = engine.pending_actions(channel);
        let changed = pending.filter_map(|pending| match &*pending.action {
            Action::Annotations(action) => changed_annotation(action).cloned(),
            _ => None,
        });
        changed.collect()
    }
}

fn entry_set(annotation: &AnnotationId, entry: AnnotationEntry) -> AnnotationsAction {
    AnnotationsAction::EntrySet(AnnotationEntrySet {
        annotation_id: annotation.clone(),
        entry,
    })
}

/// Removes a comment. A thread without comments must not exist (ANN-3).
fn remove_entry(annotation: &Annotation, entry: &str) -> AnnotationsAction {
    let annotation_id = annotation.id.clone();
    match &annotation.entries[..] {
        [_, _, ..] => AnnotationsAction::EntryRemoved(AnnotationEntryRemoved {
            annotation_id,
            entry_id: AnnotationEntryId::from(entry),
        }),
        _ => AnnotationsAction::Removed(AnnotationRemoved { annotation_id }),
    }
}

fn resolve(annotation: &AnnotationId, is_resolved: bool) -> AnnotationsAction {
    AnnotationsAction::Updated(Box::new(AnnotationUpdated {
        annotation_id: annotation.clone(),
        origin: None,
        resource: None,
        range: None,
        resolved: Some(is_resolved),
    }))
}

/// Returns the annotation that an action adds or changes.
fn changed_annotation(action: &AnnotationsAction) -> Option<&AnnotationId> {
    match action {
        AnnotationsAction::Set(set) => Some(&set.annotation.id),
        AnnotationsAction::Updated(update) => Some(&update.annotation_id),
        AnnotationsAction::EntrySet(set) => Some(&set.annotation_id),
        AnnotationsAction::EntryRemoved(removed) => Some(&removed.annotation_id),
        AnnotationsAction::Removed(_) => None,
    }
}
