//! Messages that are commands: `!make` is run by the host itself, in a
//! terminal, and looks like any other turn (TUR-20). The agent of the session
//! hears nothing of it.

use agenthost_protocol::chat::{
    ChatAction, ConfirmationReason, ErrorPart, Message, MessageKind, ToolCallComplete,
    ToolCallContentChanged, ToolCallQuestion, ToolCallReady, ToolCallResult, ToolCallStart,
    ToolCallTarget, ToolInput,
};
use agenthost_protocol::common::ErrorInfo;
use agenthost_protocol::ids::{ToolCallId, TurnId};
use agenthost_protocol::terminal::{TerminalClaim, TerminalSessionClaim, TerminalState};
use agenthost_protocol::uri::Uri;

use crate::command_report::{COMMAND_COLS, COMMAND_ROWS, CommandReport, terminal_call_meta};
use crate::effect::{Effects, TurnPlace};
use crate::env::Env;
use crate::host::Host;
use crate::terminal_output::{CommandLine, TerminalEnd};
use crate::terminals::{TerminalCommand, TerminalProgram};

/// What a message that is a command starts with.
pub(crate) const PREFIX: &str = "!";

/// The tool call of a turn that is a command; it has no other.
const CALL: &str = "command";

/// A command that the host runs for a turn.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    pub(crate) place: TurnPlace,
    pub(crate) turn: TurnId,
    line: CommandLine,
    stage: Stage,
}

/// How far a command is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Running,
    /// Its turn is over, and it was told to end.
    Ending,
}

/// The command that a message is, if it is one: a user's, with the prefix.
pub(crate) fn command_of(message: &Message) -> Option<CommandLine> {
    let line = message.text.strip_prefix(PREFIX)?;
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
    /// Runs a command for a turn that has just begun. Nobody is asked: the
    /// user typed it.
    pub(crate) fn run_command(
        &mut self,
        env: &Env,
        chat: &Uri,
        turn: &TurnId,
        line: CommandLine,
        out: &mut Effects,
    ) {
        if line.0.is_empty() {
            let message = format!("there is no command after `{PREFIX}`");
            let error = ErrorInfo::new("emptyCommand", message);
            let resumable = None;
            let part = ErrorPart { error, resumable };
            self.end_turn(env, chat, turn, Some(part), out);
            return;
        }
        let Some(session) = self.owner(chat).cloned() else {
            return;
        };
        let terminal = Uri::from(format!("ahp-terminal:/{}", env.unique("command")));
        let directories = self
            .session(&session)
            .and_then(|session| session.metadata.working_directories.as_ref());
        let directory = directories.and_then(|all| all.first()).cloned();
        let target = target(turn);
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
            cols: Some(COMMAND_COLS),
            rows: Some(COMMAND_ROWS),
            is_pty: Some(true),
            ..TerminalState::new(line.title(), claim)
        };
        self.create(&terminal, Some(&session), state.into(), out);
        self.note_command(env, &terminal, line.clone());
        let run = Run {
            place: TurnPlace {
                session: session.clone(),
                chat: chat.clone(),
            },
            turn: turn.clone(),
            line: line.clone(),
            stage: Stage::Running,
        };
        let content = run.report(&terminal).running();
        let shown = ToolCallContentChanged { target, content };
        self.originate(chat, ChatAction::ToolCallContentChanged(shown), out);
        self.sync_chat(chat, out);
        self.runs.insert(terminal.clone(), run);
        let open = TerminalCommand::Open {
            program: TerminalProgram::Command(line),
            directory,
            cols: COMMAND_COLS,
            rows: COMMAND_ROWS,
        };
        self.tell_terminal(&terminal, open, out);
    }

    /// Whether a turn is a command that the host runs.
    pub(crate) fn is_command(&self, chat: &Uri, turn: &TurnId) -> bool {
        let mut runs = self.runs.values();
        runs.any(|run| run.place.chat == *chat && run.turn == *turn)
    }

    /// Whether the turn of a chat that runs is such a command.
    pub(crate) fn runs_command(&self, chat: &Uri) -> bool {
        let turn = self.chat(chat).and_then(|chat| chat.active_turn.as_ref());
        turn.is_some_and(|turn| self.is_command(chat, &turn.id))
    }

    /// Ends a terminal whose program has ended, or never began; and if that was
    /// the command of a turn, its call and the turn. The call has the output
    /// before clients let go of the terminal.
    pub(crate) fn program_ended(
        &mut self,
        env: &Env,
        terminal: &Uri,
        ended: Result<TerminalEnd, String>,
        out: &mut Effects,
    ) {
        let exit_code = ended.as_ref().ok().and_then(|end| end.exit_code);
        let Some(run) = self.runs.remove(terminal) else {
            self.end_terminal(env, terminal, exit_code, out);
            return;
        };
        self.tell_terminal(terminal, TerminalCommand::Close, out);
        self.announce_command(env, terminal, out);
        self.finish_command(env, terminal, exit_code, out);
        let is_running = self.is_running(&run.place.chat, &run.turn);
        let has_run = ended.is_ok();
        if is_running {
            let report = run.report(terminal);
            let result = match ended {
                Ok(end) => report.ended(end),
                Err(reason) => report.failed(reason),
            };
            self.complete(&run, result, out);
        }
        self.end_terminal(env, terminal, exit_code, out);
        if is_running {
            let (chat, turn) = (&run.place.chat, &run.turn);
            if has_run {
                self.survey_after(chat, &target(turn), out);
            }
            self.end_command_turn(env, chat, turn, out);
        }
    }

    fn complete(&mut self, run: &Run, result: ToolCallResult, out: &mut Effects) {
        let complete = ToolCallComplete {
            target: target(&run.turn),
            result,
            requires_result_confirmation: None,
        };
        let complete = ChatAction::ToolCallComplete(Box::new(complete));
        self.originate(&run.place.chat, complete, out);
    }

    /// Tells commands to end whose turns are over, whatever ended them.
    pub(crate) fn end_commands(&mut self, out: &mut Effects) {
        let running = |run: &Run| run.stage == Stage::Running;
        let over: Vec<_> = self
            .runs
            .iter()
            .filter(|(_, run)| running(run) && !self.is_running(&run.place.chat, &run.turn))
            .map(|(terminal, _)| terminal.clone())
            .collect();
        for terminal in over {
            if let Some(run) = self.runs.get_mut(&terminal) {
                run.stage = Stage::Ending;
            }
            self.tell_terminal(&terminal, TerminalCommand::Close, out);
        }
    }

    /// The last turn of a chat that its agent knows of.
    pub(crate) fn last_known_to_agent(&self, chat: &Uri) -> Option<TurnId> {
        let mut turns = self.chat(chat)?.turns.items().rev();
        let known = turns.find(|turn| command_of(&turn.message).is_none());
        known.map(|turn| turn.id.clone())
    }
}

impl Run {
    fn report(&self, terminal: &Uri) -> CommandReport {
        CommandReport {
            line: self.line.clone(),
            terminal: terminal.clone(),
        }
    }
}

fn target(turn: &TurnId) -> ToolCallTarget {
    ToolCallTarget {
        turn_id: turn.clone(),
        tool_call_id: ToolCallId::from(CALL),
        meta: None,
    }
}
