//! One turn of the shell agent: ask, run, report.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use agenthost_core::agent::{AgentCommand, AgentEvent, Decision};
use agenthost_core::{
    COMMAND_COLS, COMMAND_ROWS, CommandLine, CommandReport, TerminalEvent, terminal_call_meta,
};
use agenthost_protocol::chat::{ConfirmationOption, ConfirmationOptionKind, ErrorPart};
use agenthost_protocol::common::ErrorInfo;
use agenthost_protocol::ids::{ConfirmationOptionId, ToolCallId, TurnId};
use agenthost_protocol::terminal::{
    TerminalAction, TerminalClaim, TerminalCwdChanged, TerminalExited, TerminalSessionClaim,
    TerminalState, TerminalTitleChanged,
};
use agenthost_protocol::uri::{Uri, path_segment};
use agenthost_workspace::{Program, TerminalStart, path_of};
use tokio::sync::mpsc;

use super::running::{Keyboard, Running};
use crate::agent::{Events, HostGone};
use crate::mapper::{ToolContent, ToolStart, TurnEvent, TurnMapper};

const HELP: &str = "\
I am the shell: no model, just your commands. Each message is a command line; I ask before I run it, in the first
directory of this session, and show its output as it comes.

- Allow once, or for the whole session, or deny.
- Cancel the turn to end a command and everything it started.
- A command that asks something is answered in its terminal.
";

/// A turn, while it runs.
pub(super) struct Turn {
    pub(super) session: Uri,
    pub(super) chat: Uri,
    pub(super) turn: TurnId,
    /// What the host wants of the turn.
    pub(super) commands: mpsc::Receiver<AgentCommand>,
    /// How others type into its terminal.
    pub(super) keyboard: Keyboard,
    pub(super) events: Events,
    pub(super) directory: Option<Uri>,
    /// Where it is noted that a command runs.
    pub(super) notes: Option<Arc<Path>>,
    /// Whether the user allowed everything for the session.
    pub(super) always: Arc<AtomicBool>,
    pub(super) mapper: TurnMapper,
}

/// How a wait in the middle of a turn ended.
enum Waited {
    Decided(Decision),
    /// The turn, or the session, is over.
    Ended,
}

impl Turn {
    /// Asks, runs, reports.
    pub(super) async fn work(mut self, text: &str) -> Result<(), HostGone> {
        let line = CommandLine(text.trim().to_owned());
        if line.0.is_empty() || line.0 == "help" {
            self.say(TurnEvent::Text(HELP.to_owned())).await?;
            return self.end(None).await;
        }
        let always = self.always.load(Ordering::Relaxed);
        let call = ToolCallId::from("command");
        let start = ToolStart {
            id: call.clone(),
            name: "shell".to_owned(),
            display_name: "Shell".to_owned(),
            message: line.invocation(),
            input: Some(line.0.clone()),
            question: (!always).then(|| ToolStart::ask("Run in terminal", options())),
            meta: always.then(terminal_call_meta),
        };
        self.say(TurnEvent::Tool(Box::new(start))).await?;
        if !always {
            match self.wait().await {
                Waited::Ended => return Ok(()),
                Waited::Decided(Decision::Approved { option, .. }) => {
                    if option.is_some_and(|option| option.as_str() == SESSION) {
                        self.always.store(true, Ordering::Relaxed);
                    }
                }
                Waited::Decided(_) => {
                    self.mapper.refused(&call);
                    let text = "I did not run it.".to_owned();
                    self.say(TurnEvent::Text(text)).await?;
                    return self.end(None).await;
                }
            }
        }
        self.run(call, line).await
    }

    async fn run(mut self, call: ToolCallId, line: CommandLine) -> Result<(), HostGone> {
        match self.directory.as_ref().map(path_of) {
            Some(None) => {
                let reason = "the working directory of this session is not a local folder";
                return self.end(Some(failure("directory", reason))).await;
            }
            Some(Some(missing)) if !missing.is_dir() => {
                let reason = format!("the working directory `{}` is no folder", missing.display());
                return self.end(Some(failure("directory", &reason))).await;
            }
            Some(Some(_)) | None => {}
        }
        let start = TerminalStart {
            program: Program::Command(line.clone()),
            directory: self.directory.clone(),
            cols: COMMAND_COLS,
            rows: COMMAND_ROWS,
            notes: self.notes.clone(),
            keep: self.events.keep_output(),
        };
        let running = Running::start(&start);
        let mut running = match running {
            Ok(running) => running,
            Err(error) => {
                let reason = format!("start `sh`: {error}");
                return self.end(Some(failure("spawn", &reason))).await;
            }
        };
        let report = CommandReport {
            line,
            terminal: self.terminal_address(),
        };
        running.connect(&self.keyboard, &report.terminal);
        self.open_terminal(&call, &report).await?;
        let shown = TurnEvent::ToolContent(ToolContent {
            id: call.clone(),
            content: report.running(),
            meta: Some(terminal_call_meta()),
        });
        self.say(shown).await?;
        let end = loop {
            tokio::select! {
                event = running.next() => match event {
                    TerminalEvent::Exited(end) => break end,
                    event => self.tell_event(&report.terminal, event).await?,
                },
                waited = self.wait() => match waited {
                    // It runs already; there is nothing to decide.
                    Waited::Decided(_) => {}
                    Waited::Ended => {
                        running.stop().await;
                        return self.tell_exit(&report.terminal, None).await;
                    }
                },
            }
        };
        // What it left in the background ends with it.
        drop(running);
        // The call has the output before clients let go of the terminal.
        let exit_code = end.exit_code;
        let result = Box::new(report.ended(end));
        self.say(TurnEvent::ToolDone(call, result)).await?;
        self.tell_exit(&report.terminal, exit_code).await?;
        self.end(None).await
    }

    fn terminal_address(&self) -> Uri {
        let chat = path_segment(self.chat.as_str());
        let name = path_segment(self.turn.as_str());
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
            cols: Some(COMMAND_COLS),
            rows: Some(COMMAND_ROWS),
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

    async fn tell_event(&self, terminal: &Uri, event: TerminalEvent) -> Result<(), HostGone> {
        let action = match event {
            TerminalEvent::Output(data) => TerminalAction::Data(data),
            TerminalEvent::Title(title) => {
                TerminalAction::TitleChanged(TerminalTitleChanged { title })
            }
            TerminalEvent::Directory(cwd) => TerminalAction::CwdChanged(TerminalCwdChanged { cwd }),
            // Its end is told by who waits for it, and it has no shell.
            TerminalEvent::CommandDetection
            | TerminalEvent::CommandExecuted(_)
            | TerminalEvent::CommandFinished(_)
            | TerminalEvent::Exited(_)
            | TerminalEvent::Failed(_) => return Ok(()),
        };
        self.tell_terminal(terminal, action).await
    }

    async fn tell_exit(&self, terminal: &Uri, exit_code: Option<i64>) -> Result<(), HostGone> {
        let exited = TerminalAction::Exited(TerminalExited { exit_code });
        self.tell_terminal(terminal, exited).await
    }

    async fn tell_terminal(&self, terminal: &Uri, action: TerminalAction) -> Result<(), HostGone> {
        let event = AgentEvent::Terminal {
            terminal: terminal.clone(),
            action: Box::new(action),
        };
        self.events.send(event).await
    }

    async fn say(&mut self, event: TurnEvent) -> Result<(), HostGone> {
        self.events.say(&self.chat, &mut self.mapper, event).await
    }

    async fn end(&self, error: Option<ErrorPart>) -> Result<(), HostGone> {
        self.events.end(&self.chat, &self.turn, error).await
    }

    /// Waits for something that matters to the turn.
    async fn wait(&mut self) -> Waited {
        loop {
            match self.commands.recv().await {
                Some(AgentCommand::Decide { decision, .. }) => return Waited::Decided(decision),
                Some(AgentCommand::Cancel { turn, .. }) if turn == self.turn => {
                    return Waited::Ended;
                }
                // Cutting off the running turn cancels it.
                Some(
                    AgentCommand::Rewind { .. }
                    | AgentCommand::CloseChat { .. }
                    | AgentCommand::Close,
                )
                | None => {
                    return Waited::Ended;
                }
                Some(
                    AgentCommand::Open { .. }
                    | AgentCommand::Prompt { .. }
                    | AgentCommand::Resume { .. }
                    | AgentCommand::Cancel { .. }
                    | AgentCommand::Answer { .. }
                    | AgentCommand::OpenChat { .. }
                    | AgentCommand::ToolCompleted { .. }
                    | AgentCommand::ClientToolCalled { .. }
                    | AgentCommand::Steer { .. }
                    | AgentCommand::UseTerminal { .. }
                    | AgentCommand::Attached { .. }
                    | AgentCommand::Configure { .. }
                    | AgentCommand::Directories { .. }
                    | AgentCommand::ClientTools { .. }
                    | AgentCommand::ServerTools { .. },
                ) => {}
            }
        }
    }
}

const SESSION: &str = "session";

fn options() -> Vec<ConfirmationOption> {
    let option = |id: &str, label: &str, kind, group| ConfirmationOption {
        id: ConfirmationOptionId::from(id),
        label: label.to_owned(),
        kind,
        group: Some(group),
    };
    use ConfirmationOptionKind::{Approve, Deny};
    vec![
        option("once", "Allow once", Approve, 0),
        option(SESSION, "Allow everything in this session", Approve, 0),
        option("deny", "Deny", Deny, 1),
    ]
}

fn failure(kind: &str, message: &str) -> ErrorPart {
    ErrorPart {
        error: ErrorInfo::new(kind, message),
        resumable: None,
    }
}
