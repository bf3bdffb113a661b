//! Runs messages that are commands: for `!make` the host runs `make` in a terminal.
//!
//! The result is published as an ordinary turn with one tool call (TUR-20). The agent of
//! the session is not involved.

use agenthost_protocol::chat::{
    ChatAction, ConfirmationReason, ErrorPart, Message, MessageKind, ToolCallComplete,
    ToolCallContentChanged, ToolCallQuestion, ToolCallReady, ToolCallResult, ToolCallStart,
    ToolCallTarget, ToolInput, TurnStarted,
};
use agenthost_protocol::common::ErrorInfo;
use agenthost_protocol::ids::{ToolCallId, TurnId};
use agenthost_protocol::terminal::{TerminalClaim, TerminalSessionClaim, TerminalState};
use agenthost_protocol::uri::Uri;
use serde::{Deserialize, Serialize};

use crate::host::Host;
use crate::host::effect::Effects;
use crate::host::step::Env;
use crate::terminal::command_report::{CommandReport, CommandSize, terminal_call_meta};
use crate::terminal::output::{CommandLine, TerminalEnd};
use crate::terminal::{PtyCommand, TerminalProgram};

/// Prefix of a message that is a command.
pub(crate) const COMMAND_PREFIX: &str = "!";

/// Id of the only tool call of a command turn.
const COMMAND_CALL_ID: &str = "command";

/// The command of a command turn.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct CommandRun {
    pub(crate) session: Uri,
    pub(crate) chat: Uri,
    pub(crate) turn: TurnId,
    line: CommandLine,
    stage: CommandStage,
}

/// Lifecycle of the command of a command turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum CommandStage {
    Running,
    /// A client let the command continue without its turn.
    Background,
    /// The turn has ended, and the terminal is being closed.
    Ending,
}

/// Outcome of the program of a terminal.
#[derive(Debug)]
pub(crate) enum ProgramOutcome {
    /// The program started and exited.
    Ended(TerminalEnd),
    /// The program could not be started, for this reason.
    NotStarted(String),
}

/// Returns the command of a message of a user that begins with the prefix.
pub(crate) fn parse_command(message: &Message) -> Option<CommandLine> {
    let line = message.text.strip_prefix(COMMAND_PREFIX)?;
    let by_user = match message.origin.kind {
        MessageKind::User => true,
        MessageKind::Agent
        | MessageKind::Tool
        | MessageKind::Automation
        | MessageKind::SystemNotification
        | MessageKind::Unknown(_) => false,
    };
    by_user.then(|| CommandLine(line.trim().to_owned()))
}

impl Host {
    /// Runs the command of a turn that has just started. It needs no approval: the user
    /// typed it.
    pub(crate) fn run_command(
        &mut self,
        env: &Env,
        chat: &Uri,
        start: &TurnStarted,
        line: CommandLine,
        out: &mut Effects,
    ) {
        let turn = &start.turn_id;
        let size = CommandSize::of_message(&start.message);
        if line.0.is_empty() {
            let message = format!("there is no command after `{COMMAND_PREFIX}`");
            let error = ErrorInfo::new("emptyCommand", message);
            let resumable = None;
            let part = ErrorPart { error, resumable };
            self.end_turn(env, chat, turn, Some(part), out);
            return;
        }
        let Some(session) = self.session_of(chat).cloned() else {
            return;
        };
        let terminal = Uri::from(format!("ahp-terminal:/{}", env.unique_id("command")));
        let directories = self
            .session(&session)
            .and_then(|session| session.metadata.working_directories.as_ref());
        let directory = directories.and_then(|all| all.first()).cloned();
        let target = command_call_target(turn);
        let call = [
            ChatAction::ToolCallStart(Box::new(ToolCallStart {
                target: ToolCallTarget {
                    meta: Some(terminal_call_meta()),
                    ..target.clone()
                },
                tool_name: "terminal".to_owned(),
                display_name: "Terminal".to_owned(),
                intention: None,
                contributor: None,
            })),
            ChatAction::ToolCallReady(Box::new(ToolCallReady {
                target: target.clone(),
                contributor: None,
                intention: None,
                invocation_message: line.invocation(),
                tool_input: Some(ToolInput::Inline(line.0.clone())),
                question: ToolCallQuestion::default(),
                confirmed: Some(ConfirmationReason::UserAction),
            })),
        ];
        for action in call {
            self.originate(chat, action, out);
        }
        let claim = TerminalClaim::Session(TerminalSessionClaim {
            session: session.clone(),
            chat: chat.clone(),
            turn_id: Some(turn.clone()),
            tool_call_id: Some(target.tool_call_id.clone()),
        });
        let state = TerminalState {
            cwd: directory.clone(),
            cols: Some(size.cols),
            rows: Some(size.rows),
            is_pty: Some(true),
            ..TerminalState::new(line.title(), claim)
        };
        self.create_channel(&terminal, Some(&session), state.into(), out);
        self.record_command(env, &terminal, line.clone());
        let run = CommandRun {
            session: session.clone(),
            chat: chat.clone(),
            turn: turn.clone(),
            line: line.clone(),
            stage: CommandStage::Running,
        };
        let content = run.report(&terminal).running_content();
        let shown = ToolCallContentChanged { target, content };
        self.originate(chat, ChatAction::ToolCallContentChanged(shown), out);
        self.sync_chat(chat, out);
        self.turns.command_runs.insert(terminal.clone(), run);
        let open = PtyCommand::Open {
            program: TerminalProgram::Command(line),
            directory,
            cols: size.cols,
            rows: size.rows,
        };
        self.send_pty_command(&terminal, open, out);
    }

    /// Returns `true` if the host runs a command for this turn.
    pub(crate) fn is_command_turn(&self, chat: &Uri, turn: &TurnId) -> bool {
        let mut runs = self.turns.command_runs.values();
        runs.any(|run| run.chat == *chat && run.turn == *turn)
    }

    /// Returns `true` if the active turn of a chat is a command turn.
    pub(crate) fn runs_command_turn(&self, chat: &Uri) -> bool {
        let turn = self.chat(chat).and_then(|chat| chat.active_turn.as_ref());
        turn.is_some_and(|turn| self.is_command_turn(chat, &turn.id))
    }

    /// Ends the terminal of a program that has exited or could not be started. For a
    /// command turn it also completes the tool call and ends the turn. The call has the
    /// output before the terminal ends, because clients release a terminal that has exited.
    pub(crate) fn handle_program_ended(
        &mut self,
        env: &Env,
        terminal: &Uri,
        outcome: ProgramOutcome,
        out: &mut Effects,
    ) {
        let exit_code = match &outcome {
            ProgramOutcome::Ended(end) => end.exit_code,
            ProgramOutcome::NotStarted(_) => None,
        };
        let Some(run) = self.turns.command_runs.remove(terminal) else {
            self.end_terminal(env, terminal, exit_code, out);
            return;
        };
        self.send_pty_command(terminal, PtyCommand::Close, out);
        self.announce_command(env, terminal, out);
        self.finish_command(env, terminal, exit_code, out);
        // The call of a background command was completed when it was detached.
        let is_running =
            run.stage != CommandStage::Background && self.is_running(&run.chat, &run.turn);
        let has_run = matches!(outcome, ProgramOutcome::Ended(_));
        if is_running {
            let report = run.report(terminal);
            let result = match outcome {
                ProgramOutcome::Ended(end) => report.ended_result(end),
                ProgramOutcome::NotStarted(reason) => report.failed_result(reason),
            };
            self.complete_command_call(&run, result, out);
        }
        self.end_terminal(env, terminal, exit_code, out);
        if is_running {
            let (chat, turn) = (&run.chat, &run.turn);
            if has_run {
                self.survey_after(chat, &command_call_target(turn), out);
            }
            self.finish_command_turn(env, chat, turn, out);
        }
    }

    fn complete_command_call(
        &mut self,
        run: &CommandRun,
        result: ToolCallResult,
        out: &mut Effects,
    ) {
        let complete = ToolCallComplete {
            target: command_call_target(&run.turn),
            result,
            requires_result_confirmation: None,
        };
        let complete = ChatAction::ToolCallComplete(Box::new(complete));
        self.originate(&run.chat, complete, out);
    }

    /// Completes the call and the turn of a command, and lets the command continue.
    pub(crate) fn detach_command_run(
        &mut self,
        env: &Env,
        terminal: &Uri,
        output: String,
        out: &mut Effects,
    ) {
        let Some(run) = self.turns.command_runs.get_mut(terminal) else {
            return;
        };
        if run.stage != CommandStage::Running {
            return;
        }
        run.stage = CommandStage::Background;
        let run = run.clone();
        let (chat, turn) = (&run.chat, &run.turn);
        if self.is_running(chat, turn) {
            let result = run.report(terminal).background_result(&output);
            self.complete_command_call(&run, result, out);
            self.survey_after(chat, &command_call_target(turn), out);
            self.finish_command_turn(env, chat, turn, out);
        }
    }

    /// Closes the terminals of commands whose turn has ended, and of background commands
    /// whose chat was removed.
    pub(crate) fn stop_finished_commands(&mut self, out: &mut Effects) {
        let is_over = |run: &CommandRun| match run.stage {
            CommandStage::Running => !self.is_running(&run.chat, &run.turn),
            CommandStage::Background => !self.channels.contains(&run.chat),
            CommandStage::Ending => false,
        };
        let over: Vec<_> = self
            .turns
            .command_runs
            .iter()
            .filter(|(_, run)| is_over(run))
            .map(|(terminal, _)| terminal.clone())
            .collect();
        for terminal in over {
            if let Some(run) = self.turns.command_runs.get_mut(&terminal) {
                run.stage = CommandStage::Ending;
            }
            self.send_pty_command(&terminal, PtyCommand::Close, out);
        }
    }

    /// Returns the last turn of a chat that its agent knows: the last one that is not a
    /// command turn.
    pub(crate) fn last_turn_of_agent(&self, chat: &Uri) -> Option<TurnId> {
        let mut turns = self.chat(chat)?.turns.items().rev();
        let known = turns.find(|turn| parse_command(&turn.message).is_none());
        known.map(|turn| turn.id.clone())
    }
}

impl CommandRun {
    fn report(&self, terminal: &Uri) -> CommandReport {
        CommandReport {
            line: self.line.clone(),
            terminal: terminal.clone(),
        }
    }
}

fn command_call_target(turn: &TurnId) -> ToolCallTarget {
    ToolCallTarget {
        turn_id: turn.clone(),
        tool_call_id: ToolCallId::from(COMMAND_CALL_ID),
        meta: None,
    }
}
