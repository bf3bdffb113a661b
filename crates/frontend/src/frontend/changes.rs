//! The panel of changes: the selected changeset, and the open diff of one file.

use agenthost_client::ClientResponse;
use agenthost_protocol::changeset::{
    ChangesetAction, ChangesetFilesReviewChanged, ChangesetOperationTarget,
    ChangesetResourceTarget, ChangesetState, InvokeChangesetOperationParams,
};
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::common::FileEdit;
use agenthost_protocol::ids::{ChangesetFileId, OperationId};
use agenthost_protocol::text::MaybeMarkdown;
use agenthost_protocol::uri::Uri;
use agenthost_view::changes::{ChangesetChoice, changeset_choices};
use serde::Serialize;
use serde_json::value::RawValue;

use super::Frontend;
use super::open_diff::OpenDiff;
use super::responses::{RequestError, decode, encode};

#[derive(Debug, Default)]
pub(super) struct ChangesPanel {
    pub(super) changeset: Option<Uri>,
    pub(super) diff: Option<OpenDiff>,
    pub(super) last_revision: u64,
}

impl ChangesPanel {
    pub(super) fn is_open(&self, channel: &Uri) -> bool {
        self.changeset.as_ref() == Some(channel)
    }
}

impl Frontend {
    /// Returns the changesets of the selected session.
    pub(super) fn changeset_choices(&self) -> Vec<ChangesetChoice> {
        let session = self.session.as_ref();
        let state = session.and_then(|session| self.session_state(session));
        let catalogue = state.and_then(|state| state.changesets.as_deref());
        changeset_choices(catalogue.unwrap_or_default())
    }

    pub(super) fn changeset_state(&self) -> Option<&ChangesetState> {
        match self.state(self.changes.changeset.as_ref()?)? {
            ChannelState::Changeset(state) => Some(state),
            _ => None,
        }
    }

    pub(super) fn changed_file(&self, file: &str) -> Option<FileEdit> {
        let mut files = self.changeset_state()?.files.items();
        let found = files.find(|other| other.id.as_str() == file)?;
        Some(found.edit.clone())
    }

    /// Opens the first changeset of the selected session, as soon as it has one.
    pub(super) fn select_default_changeset(&mut self) {
        let choices = self.changeset_choices();
        if let Some(choice) = choices.into_iter().next() {
            self.follow(&choice.uri);
            self.changes.changeset = Some(choice.uri);
            self.dirty.changes = true;
            self.send_pending();
        }
    }

    pub(super) fn select_changeset(&mut self, id: u64, changeset: Uri) {
        if !self.changes.is_open(&changeset) {
            self.leave_changeset();
            self.follow(&changeset);
            self.changes.changeset = Some(changeset);
            self.dirty.changes = true;
        }
        self.done(id);
    }

    pub(super) fn leave_changeset(&mut self) {
        self.changes.diff = None;
        if let Some(before) = self.changes.changeset.take() {
            self.unfollow(&before);
        }
    }

    pub(super) fn review(&mut self, id: u64, file: &str, reviewed: bool) {
        let Some(changeset) = self.changes.changeset.clone() else {
            return self.fail(id, "no changes are open".to_owned());
        };
        let action = ChangesetFilesReviewChanged {
            files: vec![ChangesetFileId::from(file)],
            reviewed,
        };
        let action = ChangesetAction::FilesReviewChanged(action);
        self.dispatch(id, &changeset, action.into(), None);
    }

    /// Runs an operation on the changeset, or on one file of it.
    pub(super) fn run_operation(&mut self, id: u64, operation: &str, file: Option<&str>) {
        let Some(channel) = self.changes.changeset.clone() else {
            return self.fail(id, "no changes are open".to_owned());
        };
        let target = file.and_then(|file| {
            let edit = self.changed_file(file)?;
            let resource = edit.after.or(edit.before)?.uri;
            let target = ChangesetResourceTarget {
                resource,
                side: None,
            };
            Some(ChangesetOperationTarget::Resource(target))
        });
        let params = InvokeChangesetOperationParams {
            channel,
            operation_id: OperationId::from(operation),
            target,
            meta: None,
        };
        self.request_for(id, &params, to_operation_message);
    }
}

/// The result of an operation.
#[derive(Debug, Serialize)]
struct OperationResult {
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<MaybeMarkdown>,
}

fn to_operation_message(response: ClientResponse) -> Result<Option<Box<RawValue>>, RequestError> {
    let result = decode::<InvokeChangesetOperationParams>(response)?;
    encode(&OperationResult {
        message: result.message,
    })
}
