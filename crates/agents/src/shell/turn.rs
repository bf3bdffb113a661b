//! A turn of the shell agent: requests approval, runs the command and reports the result.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use agenthost_core::agent::{AgentCommand, AgentEvent, ToolCallDecision};
use agenthost_core::{
    CommandLine, CommandReport, CommandSize, SessionEnvironment, TerminalEvent, terminal_call_meta,
};
use agenthost_protocol::chat::{ConfirmationOption, ConfirmationOptionKind, ErrorPart};
use agenthost_protocol::common::ErrorInfo;
use agenthost_protocol::ids::{ConfirmationOptionId, ToolCallId, TurnId};
use agenthost_protocol::terminal::{
    TerminalAction, TerminalClaim, TerminalCwdChanged, TerminalExited, TerminalSessionClaim,
    TerminalState, TerminalTitleChanged,
};
use agenthost_protocol::uri::{Uri, encode_path_segment};
use agenthost_workspace::{PtyProgram, TerminalOptions, path_of};
use tokio::sync::mpsc;

use super::command::{RunningCommand, TerminalHandle};
use crate::agent::{AgentEventSender, HostGone};
use crate::turn_mapper::{ToolContent, ToolStart, TurnEvent, TurnMapper};

const HELP_TEXT: &str = "\
This agent has no model: it runs each message as a command line in the first directory of the session, after your
approval. The output appears while the command runs.

- Approve a command once or for the whole session, or deny it.
- Cancel the turn to end a command and all processes that it started.
- If a command needs input, type it into its terminal.
";

/// The state of a running turn.
pub(super) struct ShellTurn {
    pub(super) session: Uri,
    pub(super) chat: Uri,
    pub(super) turn: TurnId,
    /// The queue of commands from the host for the turn.
    pub(super) commands: mpsc::Receiver<AgentCommand>,
    /// The handle for input to its terminal.
    pub(super) terminal: TerminalHandle,
    pub(super) events: AgentEventSender,
    pub(super) directory: Option<Uri>,
    pub(super) environment: SessionEnvironment,
    /// The folder for pid files of running commands.
    pub(super) pid_dir: Option<Arc<Path>>,
    /// The initial size of the terminal.
    pub(super) size: CommandSize,
    /// `true` if the user has approved all commands of the session.
    pub(super) always_allowed: Arc<AtomicBool>,
    pub(super) mapper: TurnMapper,
}

/// The result of a wait in the middle of a turn.
enum WaitOutcome {
    Decided(ToolCallDecision),
    /// The command continues in the background, with its output so far.
    Detached(String),
    /// The turn or the session has ended.
    Ended,
}

impl ShellTurn {
    /// Requests approval, runs the command and reports the result.
    pub(super) async fn run_turn(mut self, text: &str) -> Result<(), HostGone> {
        let line = CommandLine(text.trim().to_owned());
        if line.0.is_empty() || line.0 == "help" {
            self.send_turn_event(TurnEvent::Text(HELP_TEXT.to_owned()))
                .await?;
            return self.end_turn(None).await;
        }
        let always = self.always_allowed.load(Ordering::Relaxed);
        let call = ToolCallId::from("command");
        let start = ToolStart {
            id: call.clone(),
            name: "shell".to_owned(),
            display_name: "Shell".to_owned(),
            message: line.invocation(),
            input: Some(line.0.clone()),
            question: (!always)
                .then(|| ToolStart::build_question("Run in terminal", confirmation_options())),
            meta: always.then(terminal_call_meta),
        };
        self.send_turn_event(TurnEvent::ToolStarted(Box::new(start)))
            .await?;
        if !always {
            match self.wait_for_decision().await {
                WaitOutcome::Ended => return Ok(()),
                WaitOutcome::Decided(ToolCallDecision::Approved { option, .. }) => {
                    if option.is_some_and(|option| option.as_str() == SESSION_OPTION_ID) {
                        self.always_allowed.store(true, Ordering::Relaxed);
                    }
                }
                // No command is running yet that could continue in the background.
                WaitOutcome::Detached(_) | WaitOutcome::Decided(_) => {
                    self.mapper.mark_denied(&call);
                    let text = "The command was not run.".to_owned();
                    self.send_turn_event(TurnEvent::Text(text)).await?;
                    return self.end_turn(None).await;
                }
            }
        }
        self.run_command(call, line).await
    }

    async fn run_command(mut self, call: ToolCallId, line: CommandLine) -> Result<(), HostGone> {
        match self.directory.as_ref().map(path_of) {
            Some(None) => {
                let reason = "the working directory of this session is not a local folder";
                return self.end_turn(Some(error_part("directory", reason))).await;
            }
            Some(Some(missing)) if !missing.is_dir() => {
                let reason = format!(
                    "the working directory `{}` is not a folder",
                    missing.display()
                );
                return self.end_turn(Some(error_part("directory", &reason))).await;
            }
            Some(Some(_)) | None => {}
        }
        let start = TerminalOptions {
            program: PtyProgram::Command(line.clone()),
            environment: self
                .environment
                .variables()
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
            directory: self.directory.clone(),
            cols: self.size.cols,
            rows: self.size.rows,
            pid_dir: self.pid_dir.clone(),
            output_sink: self.events.output_sink(),
        };
        let running = RunningCommand::start(&start);
        let mut running = match running {
            Ok(running) => running,
            Err(error) => {
                let reason = format!("start `sh`: {error}");
                return self.end_turn(Some(error_part("spawn", &reason))).await;
            }
        };
        let report = CommandReport {
            line,
            terminal: self.terminal_address(),
        };
        running.attach_handle(&self.terminal, &report.terminal);
        self.open_terminal(&call, &report).await?;
        let shown = TurnEvent::ToolContent(ToolContent {
            id: call.clone(),
            content: report.running_content(),
            meta: Some(terminal_call_meta()),
        });
        self.send_turn_event(shown).await?;
        let mut is_detached = false;
        let end = loop {
            tokio::select! {
                event = running.next_event() => match event {
                    TerminalEvent::Exited(end) => break end,
                    event => self.send_terminal_event(&report.terminal, event).await?,
                },
                waited = self.wait_for_decision() => match waited {
                    // The command is already running, so there is nothing left to approve.
                    WaitOutcome::Decided(_) => {}
                    WaitOutcome::Detached(output) if !is_detached => {
                        is_detached = true;
                        let result = Box::new(report.background_result(&output));
                        self.send_turn_event(TurnEvent::ToolCompleted(call.clone(), result)).await?;
                        self.end_turn(None).await?;
                    }
                    WaitOutcome::Detached(_) => {}
                    WaitOutcome::Ended => {
                        running.stop().await;
                        return self.send_exit(&report.terminal, None).await;
                    }
                },
            }
        };
        // Background processes of the command end with it.
        drop(running);
        // The tool call must contain the output before clients release the terminal.
        let exit_code = end.exit_code;
        if is_detached {
            return self.send_exit(&report.terminal, exit_code).await;
        }
        let result = Box::new(report.ended_result(end));
        self.send_turn_event(TurnEvent::ToolCompleted(call, result))
            .await?;
        self.send_exit(&report.terminal, exit_code).await?;
        self.end_turn(None).await
    }

    fn terminal_address(&self) -> Uri {
        let chat = encode_path_segment(self.chat.as_str());
        let name = encode_path_segment(self.turn.as_str());
        Uri::from(format!("ahp-terminal:/{chat}/{name}"))
    }

    async fn open_terminal(
        &self,
        call: &ToolCallId,
        report: &CommandReport,
    ) -> Result<(), HostGone> {
        let claim = TerminalClaim::Session(TerminalSessionClaim {
            session: self.session.clone(),
            chat: self.chat.clone(),
            turn_id: Some(self.turn.clone()),
            tool_call_id: Some(call.clone()),
        });
        let state = TerminalState {
            cwd: self.directory.clone(),
            cols: Some(self.size.cols),
            rows: Some(self.size.rows),
            is_pty: Some(true),
            ..TerminalState::new(report.line.title(), claim)
        };
        let opened = AgentEvent::TerminalOpened {
            terminal: report.terminal.clone(),
            state: Box::new(state),
            command: Some(report.line.clone()),
        };
        self.events.send(opened).await
    }

    async fn send_terminal_event(
        &self,
        terminal: &Uri,
        event: TerminalEvent,
    ) -> Result<(), HostGone> {
        let action = match event {
            TerminalEvent::Output(data) => TerminalAction::Data(data),
            TerminalEvent::TitleChanged(title) => {
                TerminalAction::TitleChanged(TerminalTitleChanged { title })
            }
            TerminalEvent::DirectoryChanged(cwd) => {
                TerminalAction::CwdChanged(TerminalCwdChanged { cwd })
            }
            // The caller reports the exit, and command detection needs an interactive
            // shell.
            TerminalEvent::CommandDetectionEnabled
            | TerminalEvent::CommandExecuted(_)
            | TerminalEvent::CommandFinished(_)
            | TerminalEvent::Exited(_)
            | TerminalEvent::Failed(_) => return Ok(()),
        };
        self.send_terminal_action(terminal, action).await
    }

    async fn send_exit(&self, terminal: &Uri, exit_code: Option<i64>) -> Result<(), HostGone> {
        let exited = TerminalAction::Exited(TerminalExited { exit_code });
        self.send_terminal_action(terminal, exited).await
    }

    async fn send_terminal_action(
        &self,
        terminal: &Uri,
        action: TerminalAction,
    ) -> Result<(), HostGone> {
        let event = AgentEvent::Terminal {
            terminal: terminal.clone(),
            action: Box::new(action),
        };
        self.events.send(event).await
    }

    async fn send_turn_event(&mut self, event: TurnEvent) -> Result<(), HostGone> {
        self.events
            .send_turn_event(&self.chat, &mut self.mapper, event)
            .await
    }

    async fn end_turn(&self, error: Option<ErrorPart>) -> Result<(), HostGone> {
        self.events.end_turn(&self.chat, &self.turn, error).await
    }

    /// Waits for a decision, a move to the background or the end of the turn.
    async fn wait_for_decision(&mut self) -> WaitOutcome {
        loop {
            match self.commands.recv().await {
                Some(AgentCommand::DecideToolCall { decision, .. }) => {
                    return WaitOutcome::Decided(decision);
                }
                Some(AgentCommand::ContinueInBackground { output, .. }) => {
                    return WaitOutcome::Detached(output);
                }
                Some(AgentCommand::Cancel { turn, .. }) if turn == self.turn => {
                    return WaitOutcome::Ended;
                }
                // A rewind that removes the running turn cancels it.
                Some(
                    AgentCommand::Rewind { .. }
                    | AgentCommand::CloseChat { .. }
                    | AgentCommand::Close,
                )
                | None => {
                    return WaitOutcome::Ended;
                }
                Some(
                    AgentCommand::Open { .. }
                    | AgentCommand::Prompt { .. }
                    | AgentCommand::Resume { .. }
                    | AgentCommand::Cancel { .. }
                    | AgentCommand::AnswerInput { .. }
                    | AgentCommand::OpenChat { .. }
                    | AgentCommand::CompleteToolCall { .. }
                    | AgentCommand::HandOverToolCall { .. }
                    | AgentCommand::Steer { .. }
                    | AgentCommand::UseTerminal { .. }
                    | AgentCommand::AddAttachment { .. }
                    | AgentCommand::SetConfig { .. }
                    | AgentCommand::SetDirectories { .. }
                    | AgentCommand::SetClientTools { .. }
                    | AgentCommand::SetMcpTools { .. },
                ) => {}
            }
        }
    }
}

const SESSION_OPTION_ID: &str = "session";

fn confirmation_options() -> Vec<ConfirmationOption> {
    let option = |id: &str, label: &str, kind, group| ConfirmationOption {
        id: ConfirmationOptionId::from(id),
        label: label.to_owned(),
        kind,
        group: Some(group),
    };
    use ConfirmationOptionKind::{Approve, Deny};
    vec![
        option("once", "Allow once", Approve, 0),
        option(
            SESSION_OPTION_ID,
            "Allow everything in this session",
            Approve,
            0,
        ),
        option("deny", "Deny", Deny, 1),
    ]
}

fn error_part(kind: &str, message: &str) -> ErrorPart {
    ErrorPart {
        error: ErrorInfo::new(kind, message),
        resumable: None,
    }
}
