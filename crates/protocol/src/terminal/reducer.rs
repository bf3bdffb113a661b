//! Reducer of the terminal channel.

use super::actions::{
    TerminalAction, TerminalCommandExecuted, TerminalCommandFinished, TerminalData,
};
use super::state::{
    TerminalCommand, TerminalExit, TerminalLifecycle, TerminalOutput, TerminalPart, TerminalState,
};
use crate::outcome::Outcome;

impl TerminalState {
    /// Applies an action to the terminal.
    pub fn reduce(&mut self, action: &TerminalAction) -> Outcome {
        match action {
            TerminalAction::Data(action) => self.append(action),
            TerminalAction::Input(_) => Outcome::NoOp,
            TerminalAction::Resized(action) => {
                self.cols = Some(action.cols);
                self.rows = Some(action.rows);
                Outcome::Applied
            }
            TerminalAction::Claimed(action) => {
                self.claim = action.claim.clone();
                Outcome::Applied
            }
            TerminalAction::TitleChanged(action) => {
                self.title.clone_from(&action.title);
                Outcome::Applied
            }
            TerminalAction::CwdChanged(action) => {
                self.cwd = Some(action.cwd.clone());
                Outcome::Applied
            }
            TerminalAction::Exited(action) => {
                let exit_code = action.exit_code;
                self.lifecycle = TerminalLifecycle::Exited(TerminalExit { exit_code });
                Outcome::Applied
            }
            TerminalAction::Cleared(_) => {
                self.content.truncate(0);
                Outcome::Applied
            }
            TerminalAction::CommandDetectionAvailable(_) => {
                self.supports_command_detection = Some(true);
                Outcome::Applied
            }
            TerminalAction::CommandExecuted(action) => self.begin_command(action),
            TerminalAction::CommandFinished(action) => self.finish_command(action),
        }
    }

    /// Appends output to the running command, or to the unclassified output.
    fn append(&mut self, action: &TerminalData) -> Outcome {
        let last = self.content.len().checked_sub(1);
        match last.and_then(|index| self.content.item_mut(index)) {
            Some(TerminalPart::Command(command)) if !command.is_complete => {
                command.output.push_str(&action.data);
            }
            Some(TerminalPart::Unclassified(output)) => output.value.push_str(&action.data),
            _ => self
                .content
                .push(TerminalPart::Unclassified(TerminalOutput {
                    value: action.data.clone(),
                })),
        }
        Outcome::Applied
    }

    fn begin_command(&mut self, action: &TerminalCommandExecuted) -> Outcome {
        self.content.push(TerminalPart::Command(TerminalCommand {
            command_id: action.command_id.clone(),
            command_line: action.command_line.clone(),
            output: String::new(),
            timestamp: action.timestamp,
            is_complete: false,
            exit_code: None,
            duration_ms: None,
        }));
        self.supports_command_detection = Some(true);
        Outcome::Applied
    }

    fn finish_command(&mut self, action: &TerminalCommandFinished) -> Outcome {
        let index = self.content.find(|part| {
            matches!(part, TerminalPart::Command(command) if command.command_id == action.command_id)
        });
        match index.and_then(|index| self.content.item_mut(index)) {
            Some(TerminalPart::Command(command)) => {
                command.is_complete = true;
                command.exit_code = action.exit_code;
                command.duration_ms = action.duration_ms;
                Outcome::Applied
            }
            _ => Outcome::NoOp,
        }
    }
}
