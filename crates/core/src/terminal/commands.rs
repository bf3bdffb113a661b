//! The commands of a terminal: the one that a tool call runs in a terminal of
//! its own, and how a command ends.
//!
//! Clients show output by commands (TER-8), also where a terminal runs a single
//! one. Its start is told together with its first output, or with its end: a
//! client that attaches to a command without output can't tell it from one
//! that is over, and would not show what comes later.

use agenthost_protocol::ids::CommandId;
use agenthost_protocol::number::Millis;
use agenthost_protocol::terminal::{
    TerminalAction, TerminalCommandExecuted, TerminalCommandFinished, TerminalPart,
};
use agenthost_protocol::uri::Uri;

use crate::host::Host;
use crate::host::effect::Effects;
use crate::host::step::Env;
use crate::terminal::output::CommandLine;

/// A running command that has not written anything.
#[derive(Debug, Clone)]
pub(crate) struct SilentCommand {
    line: CommandLine,
    /// When it was started.
    started: Millis,
}

impl Host {
    /// Notes that a terminal was opened for one command, which runs now.
    pub(crate) fn record_command(&mut self, env: &Env, terminal: &Uri, line: CommandLine) {
        let started = env.now;
        let command = SilentCommand { line, started };
        self.terminals
            .silent_commands
            .insert(terminal.clone(), command);
    }

    /// Tells the start of the command of a terminal, unless it was told.
    pub(crate) fn announce_command(&mut self, env: &Env, terminal: &Uri, out: &mut Effects) {
        if let Some(SilentCommand { line, started }) =
            self.terminals.silent_commands.remove(terminal)
        {
            self.publish_command_start(env, terminal, line, started, out);
        }
    }

    /// Tells that a command has begun. One that runs ends with it (TER-9).
    pub(crate) fn publish_command_start(
        &mut self,
        env: &Env,
        terminal: &Uri,
        line: CommandLine,
        timestamp: Millis,
        out: &mut Effects,
    ) {
        self.finish_command(env, terminal, None, out);
        let executed = TerminalCommandExecuted {
            command_id: CommandId::from(env.unique_id("command")),
            command_line: line.0,
            timestamp,
        };
        self.originate(terminal, TerminalAction::CommandExecuted(executed), out);
    }

    /// Ends the command that runs in a terminal, if one does.
    pub(crate) fn finish_command(
        &mut self,
        env: &Env,
        terminal: &Uri,
        exit_code: Option<i64>,
        out: &mut Effects,
    ) {
        let Some(state) = self.terminal(terminal) else {
            return;
        };
        let Some(TerminalPart::Command(command)) = state.content.last_item() else {
            return;
        };
        if !command.is_complete {
            let duration = env.now.0.saturating_sub(command.timestamp.0).max(0);
            let finished = TerminalCommandFinished {
                command_id: command.command_id.clone(),
                exit_code,
                duration_ms: Some(Millis(duration)),
            };
            self.originate(terminal, TerminalAction::CommandFinished(finished), out);
        }
    }
}
