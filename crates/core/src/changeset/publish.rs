//! Publishes the files and the status of a changeset.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use agenthost_protocol::changeset::{
    ChangesetAction, ChangesetContentChanged, ChangesetFile, ChangesetFileRemoved,
    ChangesetFileSet, ChangesetOperationsChanged, ChangesetStatus, ChangesetStatusChanged,
};
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::common::ErrorInfo;
use agenthost_protocol::uri::Uri;

use super::operations;
use crate::changeset::driver::ChangesetDiff;
use crate::host::Host;
use crate::host::effect::Effects;
use crate::host::error::RequestFailure;

/// Up to this many changed files are published one by one; more are published as one action
/// with the whole list.
const MAX_SINGLE_FILE_ACTIONS: usize = 8;

impl Host {
    pub(super) fn publish_diff_error(
        &mut self,
        channel: &Uri,
        failure: &RequestFailure,
        out: &mut Effects,
    ) -> bool {
        let error = ErrorInfo::new("changesNotKnown", failure.to_string());
        let (status, error) = (ChangesetStatus::Error, Some(error));
        self.publish_changeset_status(channel, status, error, out)
    }

    pub(super) fn publish_changeset_status(
        &mut self,
        channel: &Uri,
        status: ChangesetStatus,
        error: Option<ErrorInfo>,
        out: &mut Effects,
    ) -> bool {
        let Some(state) = self.changeset(channel) else {
            return false;
        };
        if (&state.status, &state.error) == (&status, &error) {
            return false;
        }
        let changed = ChangesetAction::StatusChanged(ChangesetStatusChanged { status, error });
        self.originate(channel, changed, out)
    }

    /// Publishes the difference to the published files: one action for each file, or all
    /// files in one (CHS-8). Returns `true` if files changed.
    pub(super) fn publish_diff(
        &mut self,
        channel: &Uri,
        diff: ChangesetDiff,
        out: &mut Effects,
    ) -> bool {
        let Some((session, view)) = self.find_changeset(channel) else {
            return false;
        };
        let Some(ChannelState::Changeset(state)) = self.state(channel) else {
            return false;
        };
        let before = state.clone();
        let is_empty = diff.files.is_empty();
        let operations = operations::offered_operations(&view, &diff.status, &before, is_empty);
        let operations = Some(operations).filter(|new| before.operations.as_ref() != Some(new));
        let known: BTreeMap<_, _> = before.files.items().map(|old| (&old.id, old)).collect();
        let files = diff.files.into_iter();
        let files = files.map(|file| Arc::new(with_review(known.get(&file.id).copied(), file)));
        let files: Vec<_> = files.collect();
        let known = |file: &Arc<ChangesetFile>| known.get(&file.id) == Some(&&**file);
        let new: Vec<_> = files.iter().filter(|file| !known(file)).cloned().collect();
        let ids: BTreeSet<_> = files.iter().map(|file| &file.id).collect();
        let gone = before.files.items().filter(|old| !ids.contains(&old.id));
        let gone: Vec<_> = gone.map(|old| old.id.clone()).collect();
        let changed = !new.is_empty() || !gone.is_empty();
        let first = before.status == ChangesetStatus::Computing;
        if new.len() + gone.len() > MAX_SINGLE_FILE_ACTIONS || first && changed {
            let content = ChangesetContentChanged {
                files: files.into_iter().collect(),
                operations,
            };
            self.originate(channel, ChangesetAction::ContentChanged(content), out);
        } else {
            for file in new {
                let set = ChangesetAction::FileSet(ChangesetFileSet { file });
                self.originate(channel, set, out);
            }
            for file_id in gone {
                let removed = ChangesetAction::FileRemoved(ChangesetFileRemoved { file_id });
                self.originate(channel, removed, out);
            }
            if operations.is_some() {
                let offered = ChangesetOperationsChanged { operations };
                self.originate(channel, ChangesetAction::OperationsChanged(offered), out);
            }
        }
        self.publish_changeset_status(channel, ChangesetStatus::Ready, None, out);
        self.publish_git_status(&session, &diff.status, out);
        changed
    }
}

/// Keeps the review flag of a file while its edit stays the same (CHS-10).
fn with_review(known: Option<&ChangesetFile>, file: ChangesetFile) -> ChangesetFile {
    let reviewed = known.and_then(|known| {
        let same = known.edit == file.edit;
        known.reviewed.map(|reviewed| reviewed && same)
    });
    ChangesetFile { reviewed, ..file }
}
