//! Rewrites actions on changesets into actions that 0.3 has.

use agenthost_protocol::action::Action;
use agenthost_protocol::changeset::{
    ChangesetAction, ChangesetCleared, ChangesetContentChanged, ChangesetFileSet,
    ChangesetOperationStatus, ChangesetOperationStatusChanged, ChangesetOperationsChanged,
    ChangesetState,
};
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::outcome::Outcome;

use crate::state_source::TranslationContext;

/// Rewrites an action on a changeset, if 0.3 does not have it.
pub(super) fn rewrite_changeset(context: &TranslationContext<'_>, action: Action) -> Vec<Action> {
    if let Action::Changeset(ChangesetAction::ContentChanged(change)) = action {
        return rewrite_content(change);
    }
    if let Action::Changeset(ChangesetAction::OperationStatusChanged(change)) = &action
        && let Some(shown) = operations_after(context, change)
    {
        return vec![shown];
    }
    vec![action]
}

/// Replaces all files: removes all of them, then adds each new one.
fn rewrite_content(change: ChangesetContentChanged) -> Vec<Action> {
    let mut all = vec![ChangesetAction::Cleared(ChangesetCleared {})];
    all.extend(change.files.iter().map(|file| {
        let file = file.clone();
        ChangesetAction::FileSet(ChangesetFileSet { file })
    }));
    let operations = change.operations.map(|operations| {
        let operations = Some(operations);
        ChangesetAction::OperationsChanged(ChangesetOperationsChanged { operations })
    });
    all.extend(operations);
    all.into_iter().map(Action::Changeset).collect()
}

/// Returns an action with all operations, if an operation becomes disabled or enabled. Disabled
/// operations are hidden in 0.3, so the list changes.
fn operations_after(
    context: &TranslationContext<'_>,
    change: &ChangesetOperationStatusChanged,
) -> Option<Action> {
    let Some(ChannelState::Changeset(before)) = context.state_before else {
        return None;
    };
    let hidden = |status: &ChangesetOperationStatus| *status == ChangesetOperationStatus::Disabled;
    let was = status_of(before, change)?;
    if !hidden(was) && !hidden(&change.status) {
        return None;
    }
    let mut after = ChangesetState::clone(before);
    let applied = after.reduce(&ChangesetAction::OperationStatusChanged(change.clone()));
    if applied != Outcome::Applied {
        return None;
    }
    let operations = after.operations;
    Some(Action::Changeset(ChangesetAction::OperationsChanged(
        ChangesetOperationsChanged { operations },
    )))
}

fn status_of<'a>(
    state: &'a ChangesetState,
    change: &ChangesetOperationStatusChanged,
) -> Option<&'a ChangesetOperationStatus> {
    let mut operations = state.operations.iter().flatten();
    let operation = operations.find(|operation| operation.id == change.operation_id)?;
    Some(&operation.status)
}
