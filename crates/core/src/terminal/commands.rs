//! Commands of a terminal: publishes their start and their end.
//!
//! Clients show output by command (TER-8), also if a terminal runs a single command. The start
//! of that command is published together with its first output, or with its end: a client that
//! subscribes to a command without output can't distinguish it from one that has ended, and
//! would not show later output.

use agenthost_protocol::ids::CommandId;
use agenthost_protocol::number::Millis;
use agenthost_protocol::terminal::{
    TerminalAction, TerminalCommandExecuted, TerminalCommandFinished, TerminalPart,
};
use agenthost_protocol::uri::Uri;
use serde::{Deserialize, Serialize};

use crate::host::Host;
use crate::host::effect::Effects;
use crate::host::step::Env;
use crate::terminal::output::CommandLine;

/// A running command without output so far.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SilentCommand {
    line: CommandLine,
    /// Start time of the command.
    started: Millis,
}

impl Host {
    /// Records that a terminal was opened for a single command, which is running now.
    pub(crate) fn record_command(&mut self, env: &Env, terminal: &Uri, line: CommandLine) {
        let started = env.now;
        let command = SilentCommand { line, started };
        self.terminals
            .silent_commands
            .insert(terminal.clone(), command);
    }

    /// Publishes the start of a terminal's command, unless it has been published.
    pub(crate) fn announce_command(&mut self, env: &Env, terminal: &Uri, out: &mut Effects) {
        if let Some(SilentCommand { line, started }) =
            self.terminals.silent_commands.remove(terminal)
        {
            self.publish_command_start(env, terminal, line, started, out);
        }
    }

    /// Publishes the start of a command. A command that still runs is finished first (TER-9).
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

    /// Publishes the end of the running command of a terminal, if there is one.
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
