//! Handles the events of terminals that the host runs, and bounds their stored output.

use std::fmt;

use agenthost_protocol::common::ContentRef;
use agenthost_protocol::label::clean_label;
use agenthost_protocol::terminal::{
    TerminalAction, TerminalCleared, TerminalCommand, TerminalCommandDetectionAvailable,
    TerminalCommandExecuted, TerminalCommandFinished, TerminalCwdChanged, TerminalData,
    TerminalExited, TerminalPart, TerminalState, TerminalTitleChanged,
};
use agenthost_protocol::uri::Uri;
use serde::{Deserialize, Serialize};

use crate::chat::turn::command_turn::ProgramOutcome;
use crate::host::Host;
use crate::host::effect::Effects;
use crate::host::step::Env;

/// A terminal with more output than this is trimmed to [`TRIMMED_OUTPUT_BYTES`]. Trimming sends
/// the remaining output to every subscriber again, so the two limits are far apart to keep it
/// rare.
const MAX_OUTPUT_BYTES: usize = 1024 * 1024;

/// Amount of output that trimming keeps.
const TRIMMED_OUTPUT_BYTES: usize = 256 * 1024;

/// Overhead of a part in addition to its output, so that many small parts count as well.
const PART_OVERHEAD_BYTES: usize = 100;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum TerminalEvent {
    /// The program has written output.
    Output(TerminalData),
    /// The program has set another title.
    TitleChanged(String),
    /// The shell has changed its working directory.
    DirectoryChanged(Uri),
    /// The shell has enabled shell integration, so that the start and the end of each command
    /// are known.
    CommandDetectionEnabled,
    /// The shell has started a command.
    CommandExecuted(CommandLine),
    /// The running command has ended, with its exit code if it is known.
    CommandFinished(Option<i64>),
    /// The program of the terminal has ended.
    Exited(TerminalEnd),
    /// The program could not be started, for this reason.
    Failed(String),
}

/// A command line to run. It may contain secrets.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandLine(pub String);

/// The outcome of a program that has ended.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TerminalEnd {
    /// The exit code; `None` if the program was killed.
    pub exit_code: Option<i64>,
    /// The signal that killed the program, such as `SIGTERM`.
    pub signal: Option<String>,
    /// The end of a command's output as plain text.
    pub preview: Option<String>,
    /// `true` if the output is longer than `preview`.
    pub truncated: bool,
    /// The complete output in the content store, if it was truncated and stored.
    pub full_output: Option<ContentRef>,
}

/// Omits the command line, so that it never reaches the log.
impl fmt::Debug for CommandLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CommandLine({} bytes)", self.0.len())
    }
}

/// Omits the output: terminal bytes stay out of logs.
impl fmt::Debug for TerminalEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.preview.as_ref().map(String::len);
        f.debug_struct("TerminalEnd")
            .field("exit_code", &self.exit_code)
            .field("bytes", &bytes)
            .finish_non_exhaustive()
    }
}

impl Host {
    /// Handles an event of a terminal that the host runs.
    pub(crate) fn handle_terminal_event(
        &mut self,
        env: &Env,
        terminal: &Uri,
        event: TerminalEvent,
        out: &mut Effects,
    ) {
        let listed = self.terminals.opened.contains_key(terminal);
        if !listed && !self.turns.has_command_run(terminal) {
            return;
        }
        let Some(state) = self.terminal(terminal) else {
            // The terminal was removed with its session.
            self.turns.remove_command_run(terminal);
            return;
        };
        match event {
            TerminalEvent::Output(data) => {
                self.announce_command(env, terminal, out);
                self.originate(terminal, TerminalAction::Data(data), out);
                self.trim_terminal(terminal, out);
                self.schedule_preview(env, terminal, out);
            }
            TerminalEvent::TitleChanged(mut title) => {
                clean_label(&mut title);
                let changed = TerminalTitleChanged { title };
                self.originate(terminal, TerminalAction::TitleChanged(changed), out);
                if listed {
                    self.sync_terminal_entry(terminal, out);
                }
            }
            // Shells report the directory at every prompt.
            TerminalEvent::DirectoryChanged(cwd) if state.cwd.as_ref() == Some(&cwd) => {}
            TerminalEvent::DirectoryChanged(cwd) => {
                let changed = TerminalCwdChanged { cwd };
                self.originate(terminal, TerminalAction::CwdChanged(changed), out);
            }
            TerminalEvent::CommandDetectionEnabled => {
                if state.supports_command_detection != Some(true) {
                    let available = TerminalCommandDetectionAvailable {};
                    let available = TerminalAction::CommandDetectionAvailable(available);
                    self.originate(terminal, available, out);
                }
            }
            TerminalEvent::CommandExecuted(line) => {
                self.publish_command_start(env, terminal, line, env.now, out);
                self.trim_terminal(terminal, out);
            }
            TerminalEvent::CommandFinished(exit_code) => {
                self.finish_command(env, terminal, exit_code, out);
            }
            TerminalEvent::Exited(end) => {
                self.handle_program_ended(env, terminal, ProgramOutcome::Ended(end), out);
            }
            TerminalEvent::Failed(reason) => {
                self.terminals.silent_commands.remove(terminal);
                let data = format!("{reason}\r\n");
                self.originate(terminal, TerminalAction::Data(TerminalData { data }), out);
                self.handle_program_ended(env, terminal, ProgramOutcome::NotStarted(reason), out);
            }
        }
    }

    /// Marks a terminal as exited. A command that still runs in it ends with the same exit
    /// code.
    pub(crate) fn end_terminal(
        &mut self,
        env: &Env,
        terminal: &Uri,
        exit_code: Option<i64>,
        out: &mut Effects,
    ) {
        self.announce_command(env, terminal, out);
        self.finish_command(env, terminal, exit_code, out);
        let exited = TerminalAction::Exited(TerminalExited { exit_code });
        self.originate(terminal, exited, out);
        self.terminals.output_previews.remove(terminal);
        if self.terminals.opened.contains_key(terminal) {
            self.sync_terminal_entry(terminal, out);
        }
    }

    /// Trims the output of a terminal to its limit (TER-19). It does so with ordinary actions,
    /// so that clients drop the same output.
    pub(crate) fn trim_terminal(&mut self, terminal: &Uri, out: &mut Effects) {
        let Some(state) = self.terminal(terminal) else {
            return;
        };
        let length: usize = state.content.items().map(part_bytes).sum();
        if length <= MAX_OUTPUT_BYTES {
            return;
        }
        let mut actions = vec![TerminalAction::Cleared(TerminalCleared {})];
        actions.extend(trimmed_parts(state).into_iter().flat_map(rebuild_actions));
        for action in actions {
            self.originate(terminal, action, out);
        }
    }
}

/// Returns the end of a terminal's output: whole parts, except that the first may be truncated,
/// if possible at the start of a line.
fn trimmed_parts(state: &TerminalState) -> Vec<TerminalPart> {
    let mut parts = Vec::new();
    let mut missing = TRIMMED_OUTPUT_BYTES;
    for part in state.content.items().rev() {
        parts.push(truncate_part(part, missing));
        missing = missing.saturating_sub(part_bytes(part));
        if missing == 0 {
            break;
        }
    }
    parts.reverse();
    parts
}

/// Returns a part with at most `max_bytes` of output, taken from its end.
fn truncate_part(part: &TerminalPart, max_bytes: usize) -> TerminalPart {
    let mut part = part.clone();
    let output = match &mut part {
        TerminalPart::Unclassified(output) => &mut output.value,
        TerminalPart::Command(command) => &mut command.output,
        TerminalPart::Unknown(_) => return part,
    };
    let from = output.ceil_char_boundary(output.len().saturating_sub(max_bytes));
    if from > 0 {
        let kept = output.get(from..).unwrap_or_default();
        *output = match kept.split_once('\n') {
            Some((cut, rest)) if cut.len() < TRIMMED_OUTPUT_BYTES / 2 => rest.to_owned(),
            _ => kept.to_owned(),
        };
    }
    part
}

/// Returns the actions that recreate a part at the end of a terminal.
fn rebuild_actions(part: TerminalPart) -> Vec<TerminalAction> {
    let data = |data: String| {
        let data = TerminalData { data };
        (!data.data.is_empty()).then_some(TerminalAction::Data(data))
    };
    match part {
        TerminalPart::Unclassified(output) => data(output.value).into_iter().collect(),
        TerminalPart::Command(command) => {
            let TerminalCommand {
                command_id,
                command_line,
                output,
                timestamp,
                is_complete,
                exit_code,
                duration_ms,
            } = command;
            let executed = TerminalAction::CommandExecuted(TerminalCommandExecuted {
                command_id: command_id.clone(),
                command_line,
                timestamp,
            });
            let finished = TerminalAction::CommandFinished(TerminalCommandFinished {
                command_id,
                exit_code,
                duration_ms,
            });
            let finished = is_complete.then_some(finished);
            let actions = [Some(executed), data(output), finished];
            actions.into_iter().flatten().collect()
        }
        TerminalPart::Unknown(_) => Vec::new(),
    }
}

fn part_bytes(part: &TerminalPart) -> usize {
    let bytes = match part {
        TerminalPart::Unclassified(output) => output.value.len(),
        TerminalPart::Command(command) => command.output.len() + command.command_line.len(),
        TerminalPart::Unknown(_) => 0,
    };
    bytes + PART_OVERHEAD_BYTES
}
