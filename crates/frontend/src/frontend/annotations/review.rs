//! Reviews, and actions on comments that the host may not have received.

use agenthost_protocol::action::Action;
use agenthost_protocol::annotations::{AnnotationsAction, AnnotationsState};
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::ids::{AnnotationId, ClientSeq};
use agenthost_protocol::uri::Uri;
use agenthost_view::annotations::compose_review;
use agenthost_view::location::path_of;

use super::{NOT_LOADED, SentReview, resolve};
use crate::frontend::Frontend;

impl Frontend {
    pub(super) fn preview_review(&mut self, id: u64, summary: &str) {
        let Some(state) = self.annotations_state() else {
            return self.fail(id, NOT_LOADED.to_owned());
        };
        let session = self.session.as_ref();
        let session = session.and_then(|session| self.session_state(session));
        let folders = session.and_then(|session| session.metadata.working_directories.as_ref());
        let folder = folders.and_then(|folders| folders.first()).map(path_of);
        let excluded = self.annotations.threads_in_review();
        let review = compose_review(state, &excluded, folder.as_deref(), summary);
        self.reply(id, &review);
    }

    /// Sends a review as the composer sends a message. The draft of the composer stays.
    pub(super) fn send_review(&mut self, id: u64, text: String, keys: &[String]) {
        let Some(chat) = self.chat.clone().filter(|_| self.chat_state().is_some()) else {
            return self.fail(id, "the chat is not loaded".to_owned());
        };
        self.send_message(id, &chat, text, Vec::new(), false);
        let sent = self.results.last().filter(|result| result.command == id);
        if let Some(client_seq) = sent.map(|result| result.client_seq) {
            let threads = keys.iter().map(|key| AnnotationId::from(key.as_str()));
            self.annotations.reviews.push(SentReview {
                client_seq,
                chat,
                threads: threads.collect(),
            });
            self.dirty.changes = true;
        }
    }

    /// Resolves the threads of a review, if the host has accepted its message.
    pub(in crate::frontend) fn finish_review(&mut self, client_seq: ClientSeq, is_accepted: bool) {
        let mut reviews = self.annotations.reviews.iter();
        let Some(position) = reviews.position(|review| review.client_seq == client_seq) else {
            return;
        };
        let review = self.annotations.reviews.swap_remove(position);
        self.dirty.changes = true;
        let Some(channel) = self.annotations.channel.clone().filter(|_| is_accepted) else {
            return;
        };
        for thread in review.threads {
            let found = self.find_annotation(thread.as_str());
            if found.is_ok_and(|found| !found.resolved) {
                self.dispatch(0, &channel, resolve(&thread, true).into(), None);
            }
        }
    }

    /// Dispatches an action again that the host may not have received, unless the new snapshot
    /// has its effect. Actions on comments can be applied twice.
    pub(in crate::frontend) fn repeat_annotation(
        &mut self,
        channel: &Uri,
        client_seq: ClientSeq,
        action: &AnnotationsAction,
    ) {
        let state = match self.state(channel) {
            Some(ChannelState::Annotations(state)) => Some(state),
            _ => None,
        };
        let Some(state) = state else {
            let text = comment_text(action);
            let reason = "the comment was not sent: its session is gone".to_owned();
            if !self.finish_action(client_seq, Some(reason.clone())) && text.is_some() {
                self.add_note(reason, text);
            }
            return;
        };
        if has_effect(state, action) {
            self.finish_action(client_seq, None);
            return;
        }
        let mut results = self.results.iter();
        let position = results.position(|result| result.client_seq == client_seq);
        let result = position.map(|position| self.results.swap_remove(position));
        let command = match result {
            Some(result) => result.command,
            // The page was opened again since.
            None => 0,
        };
        let restored = comment_text(action);
        self.dispatch(command, channel, Action::from(action.clone()), restored);
    }
}

/// Returns the text that a user wrote in a comment.
fn comment_text(action: &AnnotationsAction) -> Option<String> {
    let entry = match action {
        AnnotationsAction::Set(set) => set.annotation.entries.last()?,
        AnnotationsAction::EntrySet(set) => &set.entry,
        AnnotationsAction::Updated(_)
        | AnnotationsAction::Removed(_)
        | AnnotationsAction::EntryRemoved(_) => return None,
    };
    Some(entry.text.as_str().to_owned())
}

/// Returns `true` if annotations have the effect of an action.
fn has_effect(state: &AnnotationsState, action: &AnnotationsAction) -> bool {
    let find = |id: &AnnotationId| state.annotations.items().find(|other| other.id == *id);
    match action {
        AnnotationsAction::Set(set) => find(&set.annotation.id).is_some(),
        AnnotationsAction::Updated(update) => find(&update.annotation_id)
            .is_some_and(|found| update.resolved.is_none_or(|value| found.resolved == value)),
        AnnotationsAction::Removed(removed) => find(&removed.annotation_id).is_none(),
        AnnotationsAction::EntrySet(set) => find(&set.annotation_id).is_some_and(|found| {
            let mut entries = found.entries.iter();
            entries.any(|entry| *entry == set.entry)
        }),
        AnnotationsAction::EntryRemoved(removed) => {
            find(&removed.annotation_id).is_none_or(|found| {
                found
                    .entries
                    .iter()
                    .all(|entry| entry.id != removed.entry_id)
            })
        }
    }
}
