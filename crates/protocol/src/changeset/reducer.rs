//! Reducer of the changeset channel.

use std::sync::Arc;

use indexmap::IndexSet;

use super::actions::{
    ChangesetAction, ChangesetFilesReviewChanged, ChangesetOperationStatusChanged,
};
use super::state::{ChangesetOperationStatus, ChangesetState, ChangesetStatus};
use crate::outcome::Outcome;

impl ChangesetState {
    /// Applies an action to the changeset.
    pub fn reduce(&mut self, action: &ChangesetAction) -> Outcome {
        match action {
            ChangesetAction::StatusChanged(action) => {
                self.status = action.status.clone();
                // `error` is present if and only if the status is `error` (CHS-7).
                self.error = action
                    .error
                    .clone()
                    .filter(|_| action.status == ChangesetStatus::Error);
                Outcome::Applied
            }
            ChangesetAction::FileSet(action) => {
                let id = &action.file.id;
                self.files
                    .upsert(Arc::clone(&action.file), |file| file.id == *id);
                Outcome::Applied
            }
            ChangesetAction::FileRemoved(action) => {
                let Some(index) = self.files.find(|file| file.id == action.file_id) else {
                    return Outcome::NoOp;
                };
                self.files.remove(index);
                Outcome::Applied
            }
            ChangesetAction::FilesReviewChanged(action) => self.review(action),
            ChangesetAction::ContentChanged(action) => {
                self.files = action.files.clone();
                if let Some(operations) = &action.operations {
                    self.operations = Some(operations.clone());
                }
                Outcome::Applied
            }
            ChangesetAction::OperationsChanged(action) => {
                self.operations.clone_from(&action.operations);
                Outcome::Applied
            }
            ChangesetAction::OperationStatusChanged(action) => self.set_operation_status(action),
            ChangesetAction::Cleared(_) => {
                let changed = !self.files.is_empty();
                self.files.truncate(0);
                Outcome::applied_if(changed)
            }
        }
    }

    fn review(&mut self, action: &ChangesetFilesReviewChanged) -> Outcome {
        let named: IndexSet<_> = action.files.iter().collect();
        let mut changed = false;
        for index in 0..self.files.len() {
            let differs = self.files.item(index).is_some_and(|file| {
                named.contains(&file.id) && file.reviewed != Some(action.reviewed)
            });
            if differs && let Some(file) = self.files.item_mut(index) {
                file.reviewed = Some(action.reviewed);
                changed = true;
            }
        }
        Outcome::applied_if(changed)
    }

    fn set_operation_status(&mut self, action: &ChangesetOperationStatusChanged) -> Outcome {
        let mut operations = self.operations.iter_mut().flatten();
        let Some(operation) = operations.find(|operation| operation.id == action.operation_id)
        else {
            return Outcome::NoOp;
        };
        operation.status = action.status.clone();
        operation.error = action
            .error
            .clone()
            .filter(|_| action.status == ChangesetOperationStatus::Error);
        Outcome::Applied
    }
}
