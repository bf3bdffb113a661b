//! Actions on changed files and on the open diff.

use agenthost_frontend::{AnnotationCommand, DiffLayout, FrontendCommand};
use agenthost_view::annotations::ThreadPlace;
use agenthost_view::changes::{OperationRow, OperationScope, OperationStatus};
use agenthost_view::diff::TextSide;

use super::replies::ReplyPurpose;
use super::{FullView, TerminalScreen};
use crate::bindings::ScreenAction;
use crate::dialogs::ScreenDialog;
use crate::dialogs::chooser::{ChooserChoice, ChooserEntry};
use crate::dialogs::prompt::{ConfirmDialog, PromptDialog, PromptPurpose};
use crate::panes::diff_view::DiffPane;
use crate::panes::inspector::InspectorKind;

/// Width from which a diff is shown side by side.
const SPLIT_WIDTH: u16 = 140;

impl TerminalScreen {
    pub(super) fn open_diff(&mut self, file: String) {
        let layout = if self.areas.screen.width >= SPLIT_WIDTH {
            DiffLayout::Split
        } else {
            DiffLayout::Unified
        };
        self.command(
            FrontendCommand::OpenDiff { file, layout },
            ReplyPurpose::ErrorsOnly,
        );
        self.full = Some(FullView::Diff(DiffPane::default()));
    }

    /// Returns the file of the open diff, or the selected one.
    fn current_file(&self) -> Option<String> {
        match (&self.full, &self.model.diff) {
            (Some(FullView::Diff(_)), Some(diff)) => Some(diff.file.clone()),
            _ => {
                let place = self.lists.selected(InspectorKind::Changes);
                let changes = self.model.changes.as_ref()?;
                Some(changes.files.get(place)?.key.to_string())
            }
        }
    }

    pub(super) fn run_changes_action(&mut self, action: ScreenAction) {
        match action {
            ScreenAction::Review => self.toggle_reviewed(),
            ScreenAction::UndoFile => {
                let file = self.current_file();
                self.run_operation(&["discard", "undo"], file);
            }
            ScreenAction::Commit => self.run_operation(&["commit"], None),
            ScreenAction::Operations => self.choose_operation(),
            ScreenAction::ChooseChangeset => {
                let sets = self.model.changesets.iter();
                let entries = sets.map(|set| ChooserEntry {
                    label: set.label.clone(),
                    detail: String::new(),
                    choice: ChooserChoice::Changeset(set.uri.to_string()),
                });
                let entries = entries.collect();
                self.choose("Changes", entries, "this session has no changes");
            }
            ScreenAction::SendReview => {
                let command = AnnotationCommand::Preview {
                    summary: String::new(),
                };
                self.command(
                    FrontendCommand::Annotation(command),
                    ReplyPurpose::ReviewText,
                );
            }
            ScreenAction::NextFile => self.move_file(1),
            ScreenAction::PreviousFile => self.move_file(-1),
            _ => self.run_diff_action(action),
        }
    }

    fn run_diff_action(&mut self, action: ScreenAction) {
        let (Some(FullView::Diff(pane)), Some(diff)) = (&mut self.full, &self.model.diff) else {
            return;
        };
        match action {
            ScreenAction::NextHunk => pane.move_to_hunk(true, diff),
            ScreenAction::PreviousHunk => pane.move_to_hunk(false, diff),
            ScreenAction::Layout => {
                let layout = match diff.layout {
                    DiffLayout::Unified => DiffLayout::Split,
                    DiffLayout::Split => DiffLayout::Unified,
                };
                let file = diff.file.clone();
                pane.cursor = 0;
                self.command(
                    FrontendCommand::OpenDiff { file, layout },
                    ReplyPurpose::ErrorsOnly,
                );
            }
            ScreenAction::Comment => match pane.cursor_line(diff) {
                Some((side, line)) => {
                    let purpose = PromptPurpose::Comment {
                        file: diff.file.clone(),
                        is_before: side == TextSide::Before,
                        line,
                    };
                    let title = format!("Comment on line {line}");
                    let dialog = PromptDialog::new(&title, String::new(), purpose);
                    self.dialog = Some(ScreenDialog::Prompt(dialog));
                }
                None => self.show_message("move to a line to comment on it"),
            },
            ScreenAction::ResolveComment => {
                let cursor = pane.cursor;
                let here = self
                    .model
                    .comments
                    .iter()
                    .find(|thread| match thread.place {
                        Some(ThreadPlace::Row { row, .. }) => row == cursor,
                        _ => false,
                    });
                let Some(thread) = here else {
                    return self.show_message("this line has no comment");
                };
                let command = AnnotationCommand::Resolve {
                    key: thread.key.to_string(),
                    resolved: !thread.resolved,
                };
                self.command(
                    FrontendCommand::Annotation(command),
                    ReplyPurpose::ErrorsOnly,
                );
            }
            _ => {}
        }
    }

    fn toggle_reviewed(&mut self) {
        let Some(file) = self.current_file() else {
            return;
        };
        let files = self.model.changes.iter().flat_map(|changes| &changes.files);
        let mut rows = files.filter(|row| row.key.as_str() == file);
        let reviewed = !rows.next().is_some_and(|row| row.reviewed);
        self.command(
            FrontendCommand::Review { file, reviewed },
            ReplyPurpose::ErrorsOnly,
        );
    }

    fn move_file(&mut self, step: isize) {
        let Some(changes) = &self.model.changes else {
            return;
        };
        let current = self.current_file();
        let place = changes
            .files
            .iter()
            .position(|file| Some(file.key.as_str()) == current.as_deref());
        let next = place.and_then(|place| place.checked_add_signed(step));
        let file = next.and_then(|next| changes.files.get(next));
        if let Some(file) = file.map(|file| file.key.to_string()) {
            self.lists
                .select(InspectorKind::Changes, step, changes.files.len());
            self.open_diff(file);
        } else {
            self.show_message("no more files");
        }
    }

    fn choose_operation(&mut self) {
        let operations = self
            .model
            .changes
            .iter()
            .flat_map(|changes| &changes.operations);
        let possible = operations.filter(|row| {
            row.status != OperationStatus::Disabled
                && row.scope.contains(&OperationScope::Changeset)
        });
        let entries = possible.map(|row| ChooserEntry {
            label: row.label.clone(),
            detail: row.description.clone().unwrap_or_default(),
            choice: ChooserChoice::Operation(row.id.to_string()),
        });
        let entries = entries.collect();
        self.choose(
            "Operations on all changes",
            entries,
            "no operation is possible now",
        );
    }

    /// Runs the first of several operations that the changeset offers, after its question.
    pub(super) fn run_operation(&mut self, ids: &[&str], file: Option<String>) {
        let operations = self
            .model
            .changes
            .as_ref()
            .map(|changes| &changes.operations);
        let scope = match file {
            Some(_) => OperationScope::Resource,
            None => OperationScope::Changeset,
        };
        let find = |id: &&str| -> Option<&OperationRow> {
            let mut rows = operations?.iter();
            rows.find(|row| row.id.as_str() == *id && row.scope.contains(&scope))
        };
        let Some(row) = ids.iter().find_map(find) else {
            return self.show_message("these changes do not offer this operation");
        };
        if row.status == OperationStatus::Disabled {
            let reason = row.description.clone().unwrap_or_default();
            return self.show_error(format!("{} is not possible now: {reason}", row.label));
        }
        let command = FrontendCommand::Operation {
            id: row.id.to_string(),
            file,
        };
        let done = format!("{}: done", row.label);
        match &row.confirmation {
            Some(question) => {
                self.dialog = Some(ScreenDialog::Confirm(ConfirmDialog {
                    question: question.clone(),
                    command,
                    done,
                }));
            }
            None => {
                self.command(command, ReplyPurpose::Announce(done));
            }
        }
    }
}
