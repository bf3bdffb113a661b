//! Offers operations on changesets, runs them and publishes their status.

use agenthost_protocol::changeset::{
    ChangesetAction, ChangesetCleared, ChangesetOperation, ChangesetOperationScope,
    ChangesetOperationStatus, ChangesetOperationStatusChanged, ChangesetOperationTarget,
    ChangesetState, InvokeChangesetOperationParams,
};
use agenthost_protocol::common::ErrorInfo;
use agenthost_protocol::ids::OperationId;
use agenthost_protocol::rpc::RequestId;
use agenthost_protocol::text::MaybeMarkdown;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::Json;

use super::view::ChangesetView;
use crate::changeset::driver::{
    ChangeTask, OperationKind, OperationRequest, OperationResult, WorkspaceStatus,
};
use crate::host::Host;
use crate::host::effect::{Effects, ResponseBody};
use crate::host::error::RequestFailure;
use crate::host::input::ConnectionId;

/// The `_meta` key of a client's commit message.
const COMMIT_MESSAGE_META_KEY: &str = "agenthost.message";

/// Separates the description of an operation from the reason why it is disabled.
const DISABLED_REASON_MARKER: &str = ". Not now: ";

/// An operation in the table of offered operations.
struct OperationSpec {
    id: &'static str,
    operation: OperationKind,
    label: &'static str,
    description: &'static str,
    scopes: &'static [ChangesetOperationScope],
    /// Question that the client asks first. Set for operations that destroy changes.
    confirmation: Option<&'static str>,
    icon: &'static str,
}

const CHANGESET_SCOPE: &[ChangesetOperationScope] = &[ChangesetOperationScope::Changeset];
const CHANGESET_OR_FILE_SCOPE: &[ChangesetOperationScope] = &[
    ChangesetOperationScope::Changeset,
    ChangesetOperationScope::Resource,
];

const OPERATIONS: &[OperationSpec] = &[
    OperationSpec {
        id: "stage",
        operation: OperationKind::Stage,
        label: "Stage",
        description: "Stage the changes for the next commit",
        scopes: CHANGESET_OR_FILE_SCOPE,
        confirmation: None,
        icon: "add",
    },
    OperationSpec {
        id: "commit",
        operation: OperationKind::Commit,
        label: "Commit",
        description: "Commit all changes",
        scopes: CHANGESET_SCOPE,
        confirmation: None,
        icon: "git-commit",
    },
    OperationSpec {
        id: "discard",
        operation: OperationKind::Undo,
        label: "Discard",
        description: "Restore files to the last commit",
        scopes: CHANGESET_OR_FILE_SCOPE,
        confirmation: Some("Uncommitted changes will be lost. Discard them?"),
        icon: "discard",
    },
    OperationSpec {
        id: "undo",
        operation: OperationKind::Undo,
        label: "Undo",
        description: "Restore files to their state before these changes",
        scopes: CHANGESET_OR_FILE_SCOPE,
        confirmation: Some("Files are restored to their state before these changes. Undo them?"),
        icon: "discard",
    },
    OperationSpec {
        id: "restore",
        operation: OperationKind::Restore,
        label: "Restore",
        description: "Restore all files to their state before this turn",
        scopes: CHANGESET_SCOPE,
        confirmation: Some(
            "All files are restored to their state before this turn. Later changes are lost. \
             Restore them?",
        ),
        icon: "history",
    },
    OperationSpec {
        id: "merge",
        operation: OperationKind::Merge,
        label: "Merge",
        description: "Merge the branch of the worktree into its base branch",
        scopes: CHANGESET_SCOPE,
        confirmation: None,
        icon: "git-merge",
    },
    OperationSpec {
        id: "apply",
        operation: OperationKind::Apply,
        label: "Apply",
        description: "Apply the changes to the folder that the worktree was created from",
        scopes: CHANGESET_SCOPE,
        confirmation: None,
        icon: "check",
    },
    OperationSpec {
        id: "show-patch",
        operation: OperationKind::ShowPatch,
        label: "Show as patch",
        description: "Show all differences as text",
        scopes: CHANGESET_SCOPE,
        confirmation: None,
        icon: "diff",
    },
];

/// Returns the operations of a view. One that can't run now is disabled, with the reason in
/// its description.
pub(crate) fn offered_operations(
    view: &ChangesetView,
    workspace: &WorkspaceStatus,
    before: &ChangesetState,
    is_empty: bool,
) -> Vec<ChangesetOperation> {
    let git = workspace.git.as_ref();
    let worktree = git.is_some_and(|git| git.worktree_of.is_some());
    let mut names = match view {
        ChangesetView::Uncommitted => vec!["stage", "commit", "discard"],
        ChangesetView::Branch => Vec::new(),
        ChangesetView::Session => vec!["undo"],
        ChangesetView::Turn(_) => vec!["undo", "restore"],
        ChangesetView::BetweenTurns(..) => Vec::new(),
    };
    if worktree && *view == ChangesetView::Branch {
        names.extend(["merge", "apply"]);
    }
    names.push("show-patch");
    let offers = OPERATIONS.iter().filter(|offer| names.contains(&offer.id));
    let offer = |offer: &OperationSpec| {
        let under_way = git.and_then(|git| git.operation_in_progress.as_deref());
        let reason = match (offer.operation, under_way) {
            (OperationKind::Restore, _) => None,
            _ if is_empty => Some("there are no differences".to_owned()),
            (OperationKind::Stage | OperationKind::Commit | OperationKind::Merge, Some(what)) => {
                Some(format!("{what} is in progress: finish it first"))
            }
            _ => None,
        };
        let mut known = before.operations.iter().flatten();
        let known = known.find(|known| known.id.as_str() == offer.id);
        // A running operation keeps its status, and so does a failed one that can be
        // retried.
        let (status, error) = match (known, &reason) {
            (Some(known), _) if known.status == ChangesetOperationStatus::Running => {
                (known.status.clone(), None)
            }
            (_, Some(_)) => (ChangesetOperationStatus::Disabled, None),
            (Some(known), None) if known.status == ChangesetOperationStatus::Error => {
                (known.status.clone(), known.error.clone())
            }
            _ => (ChangesetOperationStatus::Idle, None),
        };
        ChangesetOperation {
            id: OperationId::from(offer.id),
            label: offer.label.to_owned(),
            description: Some(match reason {
                Some(reason) => format!("{}{DISABLED_REASON_MARKER}{reason}", offer.description),
                None => offer.description.to_owned(),
            }),
            scopes: offer.scopes.to_vec(),
            confirmation: offer.confirmation.map(MaybeMarkdown::from),
            icon: Some(offer.icon.to_owned()),
            group: None,
            status,
            error,
        }
    };
    offers.map(offer).collect()
}

impl Host {
    /// Starts an operation on a changeset. The response follows when the operation has
    /// finished (CHS-11, CHS-12, CHS-13).
    pub(crate) fn invoke_operation(
        &mut self,
        connection: ConnectionId,
        id: &RequestId,
        params: &InvokeChangesetOperationParams,
        out: &mut Effects,
    ) -> Result<(), RequestFailure> {
        let channel = &params.channel;
        let unknown = || RequestFailure::UnknownChannel(channel.clone());
        let (session, view) = self.find_changeset(channel).ok_or_else(unknown)?;
        let span = self.changeset_range(channel).ok_or_else(unknown)?;
        let Some(state) = self.changeset(channel) else {
            let reason = "subscribe to this changeset first: it is computed for its subscribers";
            return Err(RequestFailure::InvalidParams(reason.to_owned()));
        };
        let name = params.operation_id.as_str();
        let refuse = |reason: String| Err(RequestFailure::InvalidParams(reason));
        let mut operations = state.operations.iter().flatten();
        let Some(offered) = operations.find(|known| known.id == params.operation_id) else {
            let name: String = name.chars().take(60).collect();
            return refuse(format!(
                "operationId: this changeset has no operation `{name}`"
            ));
        };
        match offered.status {
            ChangesetOperationStatus::Disabled => {
                let words = offered.description.as_deref().unwrap_or_default();
                let reason = words
                    .split_once(DISABLED_REASON_MARKER)
                    .map_or(words, |(_, reason)| reason);
                return refuse(format!("operation `{name}` is disabled: {reason}"));
            }
            ChangesetOperationStatus::Running => {
                return refuse(format!("operation `{name}` is already running"));
            }
            ChangesetOperationStatus::Idle
            | ChangesetOperationStatus::Error
            | ChangesetOperationStatus::Unknown(_) => {}
        }
        let (scope, file) = match &params.target {
            None => (ChangesetOperationScope::Changeset, None),
            Some(ChangesetOperationTarget::Resource(target)) => {
                let file = target.resource.clone();
                (ChangesetOperationScope::Resource, Some(file))
            }
            Some(ChangesetOperationTarget::Range(target)) => {
                let file = target.resource.clone();
                (ChangesetOperationScope::Range, Some(file))
            }
        };
        if !offered.scopes.contains(&scope) {
            return refuse(format!(
                "target: operation `{name}` does not support this scope"
            ));
        }
        if let Some(file) = &file
            && !has_file(state, file)
        {
            return refuse("target: the file is not in the changeset".to_owned());
        }
        let offer = OPERATIONS.iter().find(|offer| offer.id == name);
        let Some(offer) = offer else {
            return refuse(format!(
                "operationId: this changeset has no operation `{name}`"
            ));
        };
        // A destructive operation must not change files while the agent works with them.
        if offer.confirmation.is_some() && self.has_running_turn_in(&session) {
            return Err(RequestFailure::TurnInProgress(session));
        }
        let job = OperationRequest {
            connection,
            id: id.clone(),
            channel: channel.clone(),
            range: span,
            operation: offer.operation,
            file,
            message: self.commit_message(&session, params),
        };
        let status = ChangesetOperationStatus::Running;
        self.publish_operation_status(channel, &params.operation_id, status, None, out);
        let folders = self.changeset_folders(channel, &view);
        let task = ChangeTask::RunOperation {
            operation_id: params.operation_id.clone(),
            request: Box::new(job),
        };
        self.push_change_job(session, folders, task, out);
        Ok(())
    }

    /// Publishes the result of an operation, and responds to the client that requested it.
    pub(crate) fn handle_operation_finished(
        &mut self,
        request: &OperationRequest,
        operation_id: &OperationId,
        outcome: Result<OperationResult, RequestFailure>,
        out: &mut Effects,
    ) {
        let channel = &request.channel;
        let (status, error) = match &outcome {
            Ok(_) => (ChangesetOperationStatus::Idle, None),
            Err(failure) => {
                let error = operation_error(&failure.to_string());
                (ChangesetOperationStatus::Error, Some(error))
            }
        };
        self.publish_operation_status(channel, operation_id, status, error, out);
        // The commit is the new base of the diff (CHS-16).
        if request.operation == OperationKind::Commit && outcome.is_ok() {
            let cleared = ChangesetAction::Cleared(ChangesetCleared {});
            self.originate(channel, cleared, out);
        }
        let answer = outcome.map(|done| ResponseBody::ChangesetOperation(Box::new(done.into())));
        self.complete_request(request.connection, &request.id, answer, out);
        if let Some((session, _)) = self.find_changeset(channel) {
            self.refresh_session(&session, None, out);
        }
    }

    /// Fails operations that were running when the host stopped.
    pub(crate) fn reset_operations(
        &mut self,
        channel: &Uri,
        state: &ChangesetState,
        out: &mut Effects,
    ) {
        let operations = state.operations.iter().flatten();
        let running = operations.filter(|one| one.status == ChangesetOperationStatus::Running);
        for operation in running {
            let error = operation_error("the host stopped during this operation");
            let status = ChangesetOperationStatus::Error;
            self.publish_operation_status(channel, &operation.id, status, Some(error), out);
        }
    }

    fn publish_operation_status(
        &mut self,
        channel: &Uri,
        operation: &OperationId,
        status: ChangesetOperationStatus,
        error: Option<ErrorInfo>,
        out: &mut Effects,
    ) {
        let changed = ChangesetOperationStatusChanged {
            operation_id: operation.clone(),
            status,
            error,
        };
        let changed = ChangesetAction::OperationStatusChanged(changed);
        self.originate(channel, changed, out);
    }

    /// Returns the commit message of the client, or else the title of the session.
    fn commit_message(&self, session: &Uri, params: &InvokeChangesetOperationParams) -> String {
        let given = params
            .meta
            .as_ref()
            .and_then(|meta| meta.get(COMMIT_MESSAGE_META_KEY));
        let given = given.and_then(Json::as_str).map(str::trim);
        let title = self.sessions.get(session);
        let title = title.map(|session| session.metadata.title.trim());
        let words = given.filter(|given| !given.is_empty());
        let words = words.or(title.filter(|title| !title.is_empty()));
        let words = words.unwrap_or("Changes of a session");
        words.chars().take(10_000).collect()
    }
}

fn operation_error(message: &str) -> ErrorInfo {
    ErrorInfo::new("operationFailed", message)
}

fn has_file(state: &ChangesetState, file: &Uri) -> bool {
    state.files.items().any(|changed| {
        let sides = [&changed.edit.before, &changed.edit.after];
        sides.into_iter().flatten().any(|side| side.uri == *file)
    })
}
