//! What can be done about a changeset.

use agenthost_protocol::changeset::{
    ChangesetAction, ChangesetCleared, ChangesetOperation, ChangesetOperationScope,
    ChangesetOperationStatus, ChangesetOperationStatusChanged, ChangesetOperationTarget,
    ChangesetState, InvokeChangesetOperationParams,
};
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::common::{ErrorInfo, SessionStatus};
use agenthost_protocol::ids::OperationId;
use agenthost_protocol::rpc::RequestId;
use agenthost_protocol::text::MaybeMarkdown;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::Json;

use super::view::View;
use crate::changes::{ChangeOperation, ChangeTask, Operated, Operation, Standing};
use crate::effect::{Answer, Effects};
use crate::host::Host;
use crate::input::ConnectionId;
use crate::refusal::Failure;

/// Where a client puts the words of a commit.
const MESSAGE: &str = "agenthost.message";

/// Between what an operation does and why it can't be done.
const NOT_NOW: &str = ". Not now: ";

/// An operation as it is offered.
struct Offer {
    id: &'static str,
    operation: Operation,
    label: &'static str,
    description: &'static str,
    scopes: &'static [ChangesetOperationScope],
    /// What to ask first. It destroys something.
    confirmation: Option<&'static str>,
    icon: &'static str,
}

const ALL: &[ChangesetOperationScope] = &[ChangesetOperationScope::Changeset];
const ALL_OR_FILE: &[ChangesetOperationScope] = &[
    ChangesetOperationScope::Changeset,
    ChangesetOperationScope::Resource,
];

const OFFERS: &[Offer] = &[
    Offer {
        id: "stage",
        operation: Operation::Stage,
        label: "Stage",
        description: "Put the changes into the next commit",
        scopes: ALL_OR_FILE,
        confirmation: None,
        icon: "add",
    },
    Offer {
        id: "commit",
        operation: Operation::Commit,
        label: "Commit",
        description: "Commit all changes",
        scopes: ALL,
        confirmation: None,
        icon: "git-commit",
    },
    Offer {
        id: "discard",
        operation: Operation::Undo,
        label: "Discard",
        description: "Make files what they are in the last commit",
        scopes: ALL_OR_FILE,
        confirmation: Some("Changes that are not committed will be lost. Discard them?"),
        icon: "discard",
    },
    Offer {
        id: "undo",
        operation: Operation::Undo,
        label: "Undo",
        description: "Make files what they were before these changes",
        scopes: ALL_OR_FILE,
        confirmation: Some("Files become what they were before these changes. Undo them?"),
        icon: "discard",
    },
    Offer {
        id: "restore",
        operation: Operation::Restore,
        label: "Restore",
        description: "Make all files what they were before this turn",
        scopes: ALL,
        confirmation: Some(
            "All files become what they were before this turn; what changed since is lost. \
             Restore them?",
        ),
        icon: "history",
    },
    Offer {
        id: "merge",
        operation: Operation::Merge,
        label: "Merge",
        description: "Merge the branch of the worktree into the one it was made from",
        scopes: ALL,
        confirmation: None,
        icon: "git-merge",
    },
    Offer {
        id: "apply",
        operation: Operation::Apply,
        label: "Apply",
        description: "Make the same changes in the folder that the worktree was made from",
        scopes: ALL,
        confirmation: None,
        icon: "check",
    },
    Offer {
        id: "show-patch",
        operation: Operation::ShowPatch,
        label: "Show as patch",
        description: "All differences as text",
        scopes: ALL,
        confirmation: None,
        icon: "diff",
    },
];

/// What a view offers, and why some of it can't be done now.
pub(crate) fn offered(
    view: &View,
    standing: &Standing,
    before: &ChangesetState,
    is_empty: bool,
) -> Vec<ChangesetOperation> {
    let git = standing.git.as_ref();
    let worktree = git.is_some_and(|git| git.worktree_of.is_some());
    let mut names = match view {
        View::Uncommitted => vec!["stage", "commit", "discard"],
        View::Branch => Vec::new(),
        View::Session => vec!["undo"],
        View::Turn(_) => vec!["undo", "restore"],
        View::Between(..) => Vec::new(),
    };
    if worktree && *view == View::Branch {
        names.extend(["merge", "apply"]);
    }
    names.push("show-patch");
    let offers = OFFERS.iter().filter(|offer| names.contains(&offer.id));
    let offer = |offer: &Offer| {
        let under_way = git.and_then(|git| git.under_way.as_deref());
        let reason = match (offer.operation, under_way) {
            (Operation::Restore, _) => None,
            _ if is_empty => Some("nothing differs".to_owned()),
            (Operation::Stage | Operation::Commit | Operation::Merge, Some(what)) => {
                Some(format!("{what} is under way: finish it first"))
            }
            _ => None,
        };
        let mut known = before.operations.iter().flatten();
        let known = known.find(|known| known.id.as_str() == offer.id);
        // What runs, runs; what failed last time may be tried again.
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
                Some(reason) => format!("{}{NOT_NOW}{reason}", offer.description),
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
    /// Has something done about a changeset; the answer comes later (CHS-11,
    /// CHS-12, CHS-13).
    pub(crate) fn invoke_operation(
        &mut self,
        connection: ConnectionId,
        id: &RequestId,
        params: &InvokeChangesetOperationParams,
        out: &mut Effects,
    ) -> Result<(), Failure> {
        let channel = &params.channel;
        let unknown = || Failure::UnknownChannel(channel.clone());
        let (session, view) = self.changeset(channel).ok_or_else(unknown)?;
        let span = self.span(channel).ok_or_else(unknown)?;
        let Some(ChannelState::Changeset(state)) = self.state(channel) else {
            let reason = "subscribe to this changeset first: it is computed for who looks at it";
            return Err(Failure::InvalidParams(reason.to_owned()));
        };
        let name = params.operation_id.as_str();
        let refuse = |reason: String| Err(Failure::InvalidParams(reason));
        let mut operations = state.operations.iter().flatten();
        let Some(offered) = operations.find(|known| known.id == params.operation_id) else {
            let name: String = name.chars().take(60).collect();
            return refuse(format!("operationId: there is no operation `{name}` here"));
        };
        match offered.status {
            ChangesetOperationStatus::Disabled => {
                let words = offered.description.as_deref().unwrap_or_default();
                let reason = words
                    .split_once(NOT_NOW)
                    .map_or(words, |(_, reason)| reason);
                return refuse(format!("`{name}` can't be done now: {reason}"));
            }
            ChangesetOperationStatus::Running => {
                return refuse(format!("`{name}` is being done already"));
            }
            _ => {}
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
            return refuse(format!("target: `{name}` can't be done to that"));
        }
        if let Some(file) = &file
            && !has_file(state, file)
        {
            return refuse("target: the file is not in the changeset".to_owned());
        }
        let offer = OFFERS.iter().find(|offer| offer.id == name);
        let Some(offer) = offer else {
            return refuse(format!("operationId: there is no operation `{name}` here"));
        };
        // Pulling files away from under an agent helps nobody.
        let busy = self.sessions.get(&session).is_some_and(|session| {
            let status = session.metadata.status;
            status.contains(SessionStatus::IN_PROGRESS)
        });
        if offer.confirmation.is_some() && busy {
            return Err(Failure::TurnInProgress(session));
        }
        let errand = ChangeOperation {
            connection,
            id: id.clone(),
            channel: channel.clone(),
            span,
            operation: offer.operation,
            file,
            message: self.commit_message(&session, params),
        };
        let status = ChangesetOperationStatus::Running;
        self.show_operation(channel, &params.operation_id, status, None, out);
        let folders = self.folders_of(channel, &view);
        let task = ChangeTask::Operate {
            name: params.operation_id.clone(),
            wanted: Box::new(errand),
        };
        self.look(session, folders, task, out);
        Ok(())
    }

    /// An operation is over, well or not.
    pub(crate) fn operated(
        &mut self,
        wanted: &ChangeOperation,
        name: &OperationId,
        outcome: Result<Operated, Failure>,
        out: &mut Effects,
    ) {
        let channel = &wanted.channel;
        let (status, error) = match &outcome {
            Ok(_) => (ChangesetOperationStatus::Idle, None),
            Err(failure) => {
                let error = failed(&failure.to_string());
                (ChangesetOperationStatus::Error, Some(error))
            }
        };
        self.show_operation(channel, name, status, error, out);
        // What they were counted from has moved (CHS-16).
        if wanted.operation == Operation::Commit && outcome.is_ok() {
            let cleared = ChangesetAction::Cleared(ChangesetCleared {});
            self.originate(channel, cleared, out);
        }
        let answer = outcome.map(|done| Answer::Operated(Box::new(done.into())));
        self.pass_on(wanted.connection, &wanted.id, answer, out);
        if let Some((session, _)) = self.changeset(channel) {
            self.look_again_at_all(&session, None, out);
        }
    }

    /// What was being done when the host stopped is not being done any more.
    pub(crate) fn end_operations(
        &mut self,
        channel: &Uri,
        state: &ChangesetState,
        out: &mut Effects,
    ) {
        let operations = state.operations.iter().flatten();
        let running = operations.filter(|one| one.status == ChangesetOperationStatus::Running);
        for operation in running {
            let error = failed("the host stopped while this was being done");
            let status = ChangesetOperationStatus::Error;
            self.show_operation(channel, &operation.id, status, Some(error), out);
        }
    }

    fn show_operation(
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

    /// The words of a commit: those that came along, or what the session is
    /// about.
    fn commit_message(&self, session: &Uri, params: &InvokeChangesetOperationParams) -> String {
        let given = params.meta.as_ref().and_then(|meta| meta.get(MESSAGE));
        let given = given.and_then(Json::as_str).map(str::trim);
        let title = self.sessions.get(session);
        let title = title.map(|session| session.metadata.title.trim());
        let words = given.filter(|given| !given.is_empty());
        let words = words.or(title.filter(|title| !title.is_empty()));
        let words = words.unwrap_or("Changes of a session");
        words.chars().take(10_000).collect()
    }
}

fn failed(message: &str) -> ErrorInfo {
    ErrorInfo {
        error_type: "operationFailed".to_owned(),
        message: message.to_owned(),
        stack: None,
        meta: None,
    }
}

fn has_file(state: &ChangesetState, file: &Uri) -> bool {
    state.files.items().any(|changed| {
        let sides = [&changed.edit.before, &changed.edit.after];
        sides.into_iter().flatten().any(|side| side.uri == *file)
    })
}
