//! What 0.4 says of a changeset in one action, in several.

use agenthost_protocol::action::Action;
use agenthost_protocol::changeset::{
    ChangesetAction, ChangesetCleared, ChangesetContentChanged, ChangesetFileSet,
    ChangesetOperationStatus, ChangesetOperationStatusChanged, ChangesetOperationsChanged,
    ChangesetState,
};
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::outcome::Outcome;

use crate::state_source::TranslationContext;

/// Says an action with those that 0.3 has.
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

/// All files are replaced: none, then each of the new ones.
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

/// An operation that can't be used is not shown: when that changes, the list
/// of operations does.
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
