//! The annotations channel of a session, and the annotation counts in its summary.
//!
//! No action carries the counts. They are part of the session summary, and snapshots take them
//! from there (SYN-1, ANN-6).

use agenthost_protocol::annotations::{AnnotationsState, AnnotationsSummary};
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::list::List;
use agenthost_protocol::uri::Uri;

use crate::host::Host;
use crate::host::effect::Effects;
use crate::resource::uris;

impl Host {
    /// Creates the annotations channel of a new session (ANN-1).
    pub(crate) fn create_annotations(&mut self, session: &Uri, out: &mut Effects) {
        let state = AnnotationsState {
            annotations: List::new(),
        };
        self.create_channel(
            &uris::annotations_uri(session),
            Some(session),
            state.into(),
            out,
        );
    }

    /// Updates the counts in the session summary.
    pub(crate) fn sync_annotation_counts(&mut self, channel: &Uri, out: &mut Effects) {
        let Some(session) = self.session_of(channel).cloned() else {
            return;
        };
        let Some(ChannelState::Annotations(state)) = self.state(channel) else {
            return;
        };
        let entries = state.annotations.items();
        let entry_count = entries
            .map(|annotation| annotation.entries.len() as u64)
            .sum();
        let counted = AnnotationsSummary {
            resource: channel.clone(),
            annotation_count: state.annotations.len() as u64,
            entry_count,
        };
        let Some(before) = self.sessions.get(&session) else {
            return;
        };
        let mut after = (**before).clone();
        after.metadata.annotations = Some(counted);
        self.publish_summary(&session, after, out);
    }
}

/// Returns the counts of a session without annotations.
pub(crate) fn empty_summary(session: &Uri) -> AnnotationsSummary {
    AnnotationsSummary {
        resource: uris::annotations_uri(session),
        annotation_count: 0,
        entry_count: 0,
    }
}
